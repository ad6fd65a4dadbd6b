"""Forecasts of time series: data sets, networks and losses."""

# libraries: pytorch-forecasting gluonts
import numpy as np
import pandas as pd
import torch
from gluonts.torch.distributions import StudentTOutput
from gluonts.torch.model.d_linear.module import DLinearModel
from gluonts.torch.model.deepar.module import DeepARModel
from gluonts.torch.model.simple_feedforward.module import SimpleFeedForwardModel
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss
from shared.reporting import show

torch.manual_seed(0)
np.random.seed(0)
frame = pd.DataFrame(
    {"t": np.tile(np.arange(30), 3), "group": np.repeat(list("abc"), 30), "value": np.sin(np.arange(90) / 5) + np.random.rand(90) * 0.1}
)
data = TimeSeriesDataSet(
    frame, time_idx="t", target="value", group_ids=["group"], max_encoder_length=10, max_prediction_length=4, time_varying_unknown_reals=["value"],
    static_categoricals=["group"], add_relative_time_idx=True, add_target_scales=True,
)  # fmt: skip
loader = data.to_dataloader(train=False, batch_size=16)
x, y = next(iter(loader))
print(len(data), sorted(x)[:4], tuple(x["encoder_cont"].shape))
torch.manual_seed(0)
net = TemporalFusionTransformer.from_dataset(
    data, hidden_size=8, attention_head_size=2, hidden_continuous_size=4, dropout=0.0, loss=QuantileLoss([0.1, 0.5, 0.9])
)
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(2):
    optimizer.zero_grad()
    loss = net.loss(net(x)["prediction"], y)
    loss.backward()
    optimizer.step()
    show("fusion transformer", loss)
plain = TimeSeriesDataSet(frame, time_idx="t", target="value", group_ids=["group"], max_encoder_length=10, max_prediction_length=4, min_encoder_length=10, min_prediction_length=4, time_varying_unknown_reals=["value"])  # fmt: skip
torch.manual_seed(0)
beats = NBeats.from_dataset(plain, widths=[8, 16], backcast_loss_ratio=0.1, dropout=0.0)
x, y = next(iter(plain.to_dataloader(train=False, batch_size=16)))
found = beats(x)
show("nbeats", found["prediction"], found["backcast"])
for metric in (MAE(), SMAPE()):
    metric.update(found["prediction"][..., 0], y[0])
    show(type(metric).__name__, metric.compute())

torch.manual_seed(0)
model = DeepARModel(
    freq="D", context_length=6, prediction_length=3, num_feat_dynamic_real=1, num_feat_static_real=1, num_feat_static_cat=1, cardinality=[2], num_layers=1,
    hidden_size=8, num_parallel_samples=2,
)  # fmt: skip
inputs = {
    name: torch.rand_like(value) + 0.5 if value.is_floating_point() else value for name, value in model.describe_inputs(2).zeros().items()
}
show("deepar", model(**inputs))
loss = model.loss(**inputs, future_observed_values=torch.ones(2, 3), future_target=torch.rand(2, 3) + 1).mean()
loss.backward()
show("deepar loss", loss, sum(p.grad.norm() for p in model.parameters() if p.grad is not None))
for kind, options in (
    (SimpleFeedForwardModel, {"hidden_dimensions": [8]}), (DLinearModel, {"hidden_dimension": 6, "kernel_size": 5}),
):  # fmt: skip
    torch.manual_seed(0)
    made = kind(prediction_length=3, context_length=12, distr_output=StudentTOutput(), **options).eval()
    given = {name: torch.rand_like(value) for name, value in made.describe_inputs(2).zeros().items()}
    parts, loc, scale = made(**given)
    show(kind.__name__, *parts, loc, scale)

# ruff: noqa
"""fastai: a learner with callbacks."""

# libraries: fastai
import warnings

warnings.simplefilter("ignore")
import torch, numpy as np
from fastai.basics import *
from fastai.callback.all import *
from fastai.losses import *

set_seed(0, reproducible=True)
torch.manual_seed(0)
x = torch.randn(200, 10)
y = (x[:, :3].sum(1) > 0).long()
ds = TensorDataset(x, y) if "TensorDataset" in globals() else torch.utils.data.TensorDataset(x, y)
tr = DataLoader(ds, bs=20, shuffle=False)
va = DataLoader(ds, bs=50)
dls = DataLoaders(tr, va, device=torch.device("cpu"))
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
learn = Learner(dls, net, loss_func=CrossEntropyLossFlat(), metrics=accuracy, cbs=[ShortEpochCallback(1.0)] if False else [])
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(3, 1e-2)
for v in learn.recorder.values:
    print([round(float(z), 4) for z in v])
with learn.no_bar(), learn.no_logging():
    p, t = learn.get_preds()
print(p.shape, f"{p.sum().item():.3f}", (p.argmax(1) == t).float().mean().item())
learn.save("m")
learn.load("m")
with learn.no_bar(), learn.no_logging():
    learn.fit(1, 1e-3, cbs=[GradientClip(0.5), EarlyStoppingCallback()])
    print(round(float(learn.recorder.losses[-1]), 4))
t = TensorImage(torch.rand(3, 4, 4))
print(type(t * 2).__name__, type(t.sum()).__name__, type(TensorBase(torch.ones(2)) + 1).__name__)
print(L(1, 2, 3).map(lambda o: o * 2))
opt = ranger(net.parameters(), lr=1e-2)
learn2 = Learner(dls, net, loss_func=CrossEntropyLossFlat(), opt_func=ranger)
with learn2.no_bar(), learn2.no_logging():
    learn2.fit_flat_cos(1, 1e-3)
    print(round(float(learn2.recorder.losses[-1]), 4))

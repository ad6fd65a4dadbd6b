# ruff: noqa
"""ignite: engines, metrics, handlers."""

# libraries: pytorch-ignite
import torch, warnings

warnings.simplefilter("ignore")
from torch import nn
from ignite.engine import Events, create_supervised_trainer, create_supervised_evaluator, Engine
from ignite.metrics import (
    Accuracy,
    Loss,
    Precision,
    Recall,
    ConfusionMatrix,
    RunningAverage,
    Fbeta,
    SSIM,
    PSNR,
    TopKCategoricalAccuracy,
    MeanSquaredError,
)
from ignite.handlers import (
    ModelCheckpoint,
    EarlyStopping,
    Checkpoint,
    global_step_from_engine,
    LRScheduler,
    CosineAnnealingScheduler,
    TerminateOnNan,
    EMAHandler,
)

torch.manual_seed(0)
X = torch.randn(64, 5)
Y = torch.randint(0, 3, (64,))
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 16)
m = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
tr = create_supervised_trainer(m, opt, nn.CrossEntropyLoss())
ev = create_supervised_evaluator(
    m,
    {
        "acc": Accuracy(),
        "loss": Loss(nn.CrossEntropyLoss()),
        "p": Precision(average=True),
        "r": Recall(average=True),
        "cm": ConfusionMatrix(3),
        "top2": TopKCategoricalAccuracy(2),
    },
)
RunningAverage(output_transform=lambda o: o).attach(tr, "ra")
tr.add_event_handler(Events.ITERATION_STARTED, CosineAnnealingScheduler(opt, "lr", 0.1, 0.01, 12))


@tr.on(Events.EPOCH_COMPLETED)
def _(e):
    ev.run(dl)
    k = ev.state.metrics
    print(
        e.state.epoch,
        f"{e.state.metrics['ra']:.5f} {k['acc']:.4f} {k['loss']:.5f} {k['p']:.4f} {k['r']:.4f} {k['top2']:.4f}",
        k["cm"].tolist(),
        f"{opt.param_groups[0]['lr']:.5f}",
    )


tr.add_event_handler(Events.EPOCH_COMPLETED, ModelCheckpoint("ck", "m", n_saved=2), {"m": m})
tr.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
tr.run(dl, 3)
import os

print(sorted(os.listdir("ck")))
s = SSIM(1.0)
s.update((torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)))
print(f"{float(s.compute()):.5f}")
import ignite.distributed as idist

print(idist.get_world_size(), idist.backend(), idist.device())

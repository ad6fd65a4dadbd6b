# ruff: noqa
"""Loops of mmengine, fairscale and loralib."""

# libraries: mmengine fairscale loralib
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show, train

warnings.simplefilter("ignore")
torch.manual_seed(0)

import loralib
from fairscale.nn import checkpoint_wrapper
from fairscale.nn.misc import FlattenParamsWrapper
from mmengine.model import BaseModel
from mmengine.optim import OptimWrapper


class Classifier(BaseModel):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x, y, mode="loss"):
        return {"loss": F.cross_entropy(self.linear(x), y)} if mode == "loss" else self.linear(x)


model = Classifier()
wrapper = OptimWrapper(torch.optim.SGD(model.parameters(), 0.1), accumulative_counts=2, clip_grad={"max_norm": 1.0})
for _ in range(4):
    show("mmengine", model.train_step([torch.randn(4, 3), torch.randint(0, 2, (4,))], wrapper)["loss"])
wrapped = checkpoint_wrapper(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
x = torch.randn(5, 4, requires_grad=True)
wrapped(x).pow(2).sum().backward()
show("checkpointed", x.grad, *[p.grad for p in wrapped.parameters()])
flat = FlattenParamsWrapper(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)))
show("flat", *train(flat, torch.randn(5, 4), lambda out: out.pow(2).mean()))
print(sorted(flat.state_dict()), len(list(flat.parameters())))
lora = nn.Sequential(loralib.Linear(8, 8, r=2), nn.ReLU(), loralib.MergedLinear(8, 12, r=2, enable_lora=[True, False, True]))
for parameter in lora.parameters():
    nn.init.normal_(parameter, std=0.1)
loralib.mark_only_lora_as_trainable(lora)
show("lora", *train(lora, torch.randn(3, 8), lambda out: out.pow(2).mean()))
show("merged", lora.eval()(torch.ones(1, 8)), lora.train()(torch.ones(1, 8)))

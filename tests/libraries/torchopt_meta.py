# ruff: noqa
"""Differentiable optimizers of torchopt: through steps, and as functions."""

# libraries: torchopt
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import torchopt

model = nn.Linear(4, 2)
x = torch.randn(8, 4)
scale = torch.tensor(1.5, requires_grad=True)
inner = torchopt.MetaSGD(model, lr=0.1, momentum=0.9)
for _ in range(3):
    inner.step((model(x) * scale).pow(2).mean())
outer = model(x).pow(2).mean()
outer.backward()
show("meta", outer, scale.grad)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
parameters = dict(net.named_parameters())
for optimizer in (torchopt.adamw(1e-2), torchopt.rmsprop(1e-2), torchopt.chain(torchopt.clip.clip_grad_norm(0.1), torchopt.sgd(0.1))):
    state, values = optimizer.init(parameters), parameters
    for _ in range(3):
        gradients = torch.func.grad(lambda p: torch.func.functional_call(net, p, (x,)).pow(2).mean())(values)
        updates, state = optimizer.update(gradients, state, params=values, inplace=False)
        values = torchopt.apply_updates(values, updates, inplace=False)
    show("function", torch.func.functional_call(net, values, (x,)))

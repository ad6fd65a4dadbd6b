# ruff: noqa
"""Curvature and several losses at once: curvlinops, laplace-torch, torchjd."""

# libraries: curvlinops-for-pytorch laplace-torch torchjd
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.manual_seed(0)


def show(name, *values):
    print(
        name,
        *[
            f"{v.item() if v.numel() == 1 else v.detach().double().abs().sum().item():.5f}"
            if isinstance(v, torch.Tensor)
            else (f"{v:.5f}" if isinstance(v, float) else v)
            for v in values
        ],
    )


def train(module, x, loss, optimizer=None, steps=3):
    optimizer = optimizer or torch.optim.Adam(module.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(module(x))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


import torchjd
from curvlinops import GGNLinearOperator, HessianLinearOperator
from laplace import Laplace
from torchjd.aggregation import MGDA, UPGrad

model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
x, y = torch.randn(8, 3, dtype=torch.double), torch.randint(0, 2, (8,))
parameters = {name: p for name, p in model.named_parameters()}
vector = torch.randn(sum(p.numel() for p in model.parameters()), dtype=torch.double)
for kind in (HessianLinearOperator, GGNLinearOperator):
    try:
        operator = kind(model, nn.CrossEntropyLoss(), parameters, [(x, y)])
    except (TypeError, AttributeError, ValueError):
        operator = kind(model, nn.CrossEntropyLoss(), list(model.parameters()), [(x, y)])
    show(kind.__name__, operator @ vector)
model = model.float()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.float(), y), batch_size=4)
for structure in ("diag", "full"):
    laplace = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure=structure)
    laplace.fit(loader)
    show(structure, laplace(x.float(), link_approx="probit")[:, 0], laplace.log_marginal_likelihood())

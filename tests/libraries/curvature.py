# ruff: noqa
"""Curvature and several losses at once: curvlinops, laplace-torch, torchjd."""

# libraries: curvlinops-for-pytorch laplace-torch torchjd
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import torchjd
from curvlinops import GGNLinearOperator, HessianLinearOperator
from laplace import Laplace
from torchjd.aggregation import MGDA, UPGrad

model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
x, y = torch.randn(8, 3, dtype=torch.double), torch.randint(0, 2, (8,))
vector = torch.randn(sum(p.numel() for p in model.parameters()), dtype=torch.double)
for kind in (HessianLinearOperator, GGNLinearOperator):
    operator = kind(model, nn.CrossEntropyLoss(), list(model.parameters()), [(x, y)])
    show(kind.__name__, operator @ vector)
model = model.float()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.float(), y), batch_size=4)
for structure in ("diag", "full"):
    laplace = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure=structure)
    laplace.fit(loader)
    show(structure, laplace(x.float(), link_approx="probit")[:, 0], laplace.log_marginal_likelihood())

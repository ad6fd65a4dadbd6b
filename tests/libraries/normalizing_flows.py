# ruff: noqa
"""Normalizing flows of nflows, normflows and FrEIA."""

# libraries: nflows normflows FrEIA
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import FrEIA.framework as Ff
import FrEIA.modules as Fm
import normflows
import numpy as np
from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.transforms import CompositeTransform, MaskedAffineAutoregressiveTransform, RandomPermutation
from nflows.transforms import PiecewiseRationalQuadraticCouplingTransform as Spline
from nflows.nn.nets import ResidualNet

x = torch.randn(16, 4)
autoregressive = [MaskedAffineAutoregressiveTransform(4, 8), RandomPermutation(4)]
flow = Flow(CompositeTransform(autoregressive * 2), StandardNormal([4]))
optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
    show("nflows", loss)
show("sample", flow.sample(3))
spline = Spline(torch.tensor([1, 0, 1, 0]), lambda i, o: ResidualNet(i, o, 8), tails="linear")
out, logdet = spline(x)
back, _ = spline.inverse(out)
show("spline", out, logdet)
print(torch.allclose(back, x, atol=1e-3))
mask = torch.tensor([1.0, 0.0, 1.0, 0.0])
layers = [
    normflows.flows.MaskedAffineFlow(mask, normflows.nets.MLP([4, 8, 4], init_zeros=True), normflows.nets.MLP([4, 8, 4])) for _ in range(2)
]
model = normflows.NormalizingFlow(normflows.distributions.DiagGaussian(4), layers)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = model.forward_kld(x)
    loss.backward()
    optimizer.step()
    show("normflows", loss)
torch.manual_seed(1)
np.random.seed(1)  # its permutations are NumPy's
net = Ff.SequenceINN(4)
for _ in range(2):
    net.append(
        Fm.AllInOneBlock, subnet_constructor=lambda i, o: nn.Sequential(nn.Linear(i, 8), nn.ReLU(), nn.Linear(8, o)), permute_soft=False
    )
z, logdet = net(x)
show("freia", z, logdet)

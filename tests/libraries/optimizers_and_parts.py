# ruff: noqa
"""Optimizers, Bayesian layers, manifolds, effects of sound, tables and archives, a few lines each."""

# libraries: torch-optimi adamp adabound pytorch-lamb parameterfree blitz-bayesian-pytorch pymanopt dasp-pytorch tabm webdataset pytorch-pfn-extras
import os, tempfile, warnings

import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F

warnings.simplefilter("ignore")


def show(name, *values):
    print(name, *[f"{float(v):.5f}" for v in values])


def train(make):
    torch.manual_seed(0)
    X, y = torch.randn(20, 4), torch.randn(20, 1)
    m = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    o = make(m.parameters())
    losses = []
    for _ in range(4):
        o.zero_grad()
        l = F.mse_loss(m(X), y)
        l.backward()
        o.step()
        losses.append(l.item())
    return losses


import adabound, adamp, optimi, parameterfree, pytorch_lamb

for name, make in {
    "optimi.AdamW": lambda p: optimi.AdamW(p, lr=1e-2),
    "optimi.Lion": lambda p: optimi.Lion(p, lr=1e-2),
    "optimi.Ranger": lambda p: optimi.Ranger(p, lr=1e-2),
    "optimi.SGD": lambda p: optimi.SGD(p, lr=1e-2, momentum=0.9, foreach=True),
    "AdamP": lambda p: adamp.AdamP(p, lr=1e-2),
    "SGDP": lambda p: adamp.SGDP(p, lr=1e-2, momentum=0.9),
    "AdaBound": lambda p: adabound.AdaBound(p, lr=1e-2),
    "Lamb": lambda p: pytorch_lamb.Lamb(p, lr=1e-2),
    "COCOB": parameterfree.COCOB,
}.items():
    show(name, *train(make))

from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator


@variational_estimator
class Bayesian(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.l = BayesianConv2d(1, 4, (3, 3)), BayesianLinear(4 * 36, 3)

    def forward(self, x):
        return self.l(F.relu(self.c(x)).flatten(1))


torch.manual_seed(0)
m, x, y = Bayesian(), torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])
o = torch.optim.Adam(m.parameters(), lr=1e-2)
for _ in range(3):
    o.zero_grad()
    l = m.sample_elbo(inputs=x, labels=y, criterion=nn.CrossEntropyLoss(), sample_nbr=2, complexity_cost_weight=1e-4)
    l.backward()
    o.step()
    show("blitz", l)
show("blitz LSTM", BayesianLSTM(3, 5)(torch.randn(2, 4, 3))[0].sum())

import pymanopt
from pymanopt.manifolds import Sphere
from pymanopt.optimizers import SteepestDescent, TrustRegions

A = torch.arange(25.0, dtype=torch.float64).sin().view(5, 5)
A = A + A.T
for optimizer in (SteepestDescent, TrustRegions):
    sphere = Sphere(5)

    @pymanopt.function.pytorch(sphere)
    def cost(x):
        return -x @ A @ x

    np.random.seed(0)
    found = optimizer(verbosity=0, max_iterations=30).run(pymanopt.Problem(sphere, cost), initial_point=np.ones(5) / np.sqrt(5))
    show(optimizer.__name__, found.cost)

from dasp_pytorch.functional import compressor, distortion, gain

torch.manual_seed(0)
sound, each = torch.randn(2, 1, 2000) * 0.1, lambda v: torch.tensor([v] * 2)
for effect in (
    gain(sound, 8000, each(3.0)),
    distortion(sound, 8000, each(6.0)),
    compressor(sound, 8000, each(-20.0), each(4.0), each(5.0), each(50.0), each(3.0), each(0.0)),
):
    show("dasp", effect.abs().sum())

import tabm

torch.manual_seed(0)
m = tabm.TabM.make(n_num_features=4, cat_cardinalities=[3], d_out=2, k=4, n_blocks=1, d_block=8, dropout=0.0)
out = m(torch.randn(5, 4), torch.randint(0, 3, (5, 1)))
out.pow(2).sum().backward()
show("tabm", out.sum(), sum(p.grad.abs().sum() for p in m.parameters() if p.grad is not None))

import webdataset

folder = tempfile.mkdtemp()
with webdataset.TarWriter(f"{folder}/a.tar") as w:
    for i in range(10):
        w.write({"__key__": f"s{i:03d}", "cls": i % 3, "t.pth": torch.arange(3.0) + i})
data = webdataset.WebDataset(f"{folder}/a.tar", shardshuffle=False, empty_check=False).decode().to_tuple("t.pth", "cls").batched(4)
for tensors, labels in webdataset.WebLoader(data, batch_size=None, num_workers=1):
    show("webdataset", torch.stack(list(tensors)).sum(), sum(map(int, labels)))

import pytorch_pfn_extras as ppe
from pytorch_pfn_extras.training import extensions

torch.manual_seed(0)
m = nn.Sequential(ppe.nn.LazyLinear(None, 8), nn.ReLU(), ppe.nn.LazyLinear(None, 2))
m(torch.randn(1, 4))
o = torch.optim.SGD(m.parameters(), lr=0.1)
manager = ppe.training.ExtensionsManager(
    m, o, 2, iters_per_epoch=3, out_dir=folder, extensions=[extensions.snapshot(), extensions.LogReport()]
)
while not manager.stop_trigger:
    for _ in range(3):
        with manager.run_iteration():
            o.zero_grad()
            l = F.cross_entropy(m(torch.randn(3, 4)), torch.tensor([0, 1, 0]))
            ppe.reporting.report({"train/loss": l.item()})
            l.backward()
            o.step()
    show("ppe", l, manager.epoch)
print(sorted(each for each in os.listdir(folder) if "snapshot" in each))

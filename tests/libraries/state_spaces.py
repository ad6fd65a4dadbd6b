# ruff: noqa
"""Recurrent models that are trained in parallel: mambapy, xlstm."""

# libraries: mambapy xlstm
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


from mambapy.mamba import Mamba, MambaConfig
from mambapy.pscan import pscan
from xlstm import mLSTMBlockConfig, mLSTMLayerConfig, xLSTMBlockStack, xLSTMBlockStackConfig

x = torch.randn(2, 12, 16)
model = Mamba(MambaConfig(d_model=16, n_layers=2))
show("mamba", *train(model, x, lambda out: out.pow(2).mean()))
a, b = torch.rand(2, 8, 3, 4, requires_grad=True), torch.randn(2, 8, 3, 4, requires_grad=True)
pscan(a, b).sum().backward()
show("scan", a.grad, b.grad)
layer = mLSTMBlockConfig(mlstm=mLSTMLayerConfig(conv1d_kernel_size=4, qkv_proj_blocksize=4, num_heads=4))
stack = xLSTMBlockStack(xLSTMBlockStackConfig(mlstm_block=layer, context_length=16, num_blocks=2, embedding_dim=32))
x = torch.randn(2, 16, 32)
show("xlstm", *train(stack, x, lambda out: out.pow(2).mean()))
stack.eval()
state, outs = None, []
with torch.no_grad():
    whole = stack(x)
    for step in range(4):
        out, state = stack.step(x[:, step : step + 1], state=state)
        outs.append(out)
show("steps", torch.cat(outs, 1))
print(torch.allclose(torch.cat(outs, 1), whole[:, :4], atol=1e-3))

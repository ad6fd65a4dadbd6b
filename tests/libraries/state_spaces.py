# ruff: noqa
"""Recurrent models that are trained in parallel: mambapy, xlstm."""

# libraries: mambapy xlstm
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show, train

warnings.simplefilter("ignore")
torch.manual_seed(0)

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

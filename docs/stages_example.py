"""The example of docs/architecture.md: a Function with a softmax, and the stages of its compilation, printed as JSON."""

from __future__ import annotations

import json

import rushlight as torch
from rushlight.stages import stages


class Tempered(torch.autograd.Function):
    """softmax(x / temperature), with its gradient written by hand."""

    @staticmethod
    def forward(ctx, x, temperature):
        weights = torch.softmax(x / temperature, -1)
        ctx.save_for_backward(weights)
        ctx.temperature = temperature
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True)) / ctx.temperature, None


def loss(x):
    return Tempered.apply(x, 2.0).square().sum()


if __name__ == "__main__":
    found = stages(loss, torch.ones(4, 64, requires_grad=True))
    print(json.dumps({each.name: each.text for each in found}))

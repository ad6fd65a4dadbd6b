"""Results as the programs print them, and a few steps of training."""

import torch


def show(name, *values):
    """Print tensors by the sum of their magnitudes, single numbers by themselves."""
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
    """The losses of a few steps."""
    optimizer = optimizer or torch.optim.Adam(module.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(module(x))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses

"""What compiling takes grows in proportion to the program: counted in calls of functions, which every machine makes alike."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
nn = torch.nn


def calls_of(run: Any) -> int:
    """How many Python functions are called."""
    count = 0

    def count_calls(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def compiling(layers: int, optimizer: Any) -> int:
    """The calls that it takes to compile a training step of so many layers, and to make it."""
    net = nn.Sequential(*[each for _ in range(layers) for each in (nn.Linear(8, 8), nn.Tanh())])
    chosen, x = optimizer(net.parameters()), torch.ones(4, 8)

    def step() -> Any:
        chosen.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        chosen.step()
        return loss

    compiled = torch.compile(step)

    def run() -> None:
        for _ in range(4):
            compiled()

    return calls_of(run)


@pytest.mark.parametrize("optimizer", [lambda params: torch.optim.SGD(params, lr=0.1), torch.optim.Adam], ids=["SGD", "Adam"])
def test_compiling_is_linear(optimizer: Any) -> None:
    compiling(2, optimizer)  # what is loaded and made once
    few, many = compiling(12, optimizer), compiling(48, optimizer)
    assert many < 4.4 * few, (few, many)

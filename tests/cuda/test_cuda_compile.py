"""Compiled programs on CUDA: Triton kernels, replayed as CUDA graphs, with eager mode's results."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import rushlight as torch
from rushlight.runtime.cuda.graph_replay import ReplayedSchedule
from rushlight.testing import assert_close


def replays() -> int:
    """How often programs that are alive have been replayed."""
    return sum(each.counted["replayed"] for each in gc.get_objects() if isinstance(each, ReplayedSchedule))


MODELS: dict[str, Any] = {
    "mlp": (lambda: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)), (6, 8)),
    "encoder": (lambda: torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, activation="gelu"), (3, 5, 16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_steps_are_replayed(name: str) -> None:
    torch.compiler.reset()
    make, shape = MODELS[name]
    torch.manual_seed(0)
    plain = make().cuda()
    model = copy.deepcopy(plain)
    compiled = torch.compile(model)
    steps = [torch.optim.SGD(each.parameters(), lr=0.05) for each in (plain, model)]
    for number in range(8):
        x = torch.randn(shape, device="cuda")  # moves from call to call
        losses = []
        for call, optimizer in zip((plain, compiled), steps):
            optimizer.zero_grad()
            loss = call(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert abs(losses[0] - losses[1]) < 1e-4 * max(1.0, abs(losses[0])), number
    assert replays() > 0
    for one, other in zip(plain.parameters(), model.parameters()):
        assert_close(other, one, rtol=1e-3, atol=1e-4)


def test_results_that_are_held_do_not_change() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x: (x * 2).softmax(-1) + 1)
    inputs = [torch.randn(4, 64, device="cuda") for _ in range(8)]
    with torch.no_grad():
        held = [compiled(each) for each in inputs]
        for one, x in zip(held, inputs):
            assert_close(one, (x * 2).softmax(-1) + 1)
        del held, one
        for x in inputs:
            assert_close(compiled(x), (x * 2).softmax(-1) + 1)
    assert replays() > 0

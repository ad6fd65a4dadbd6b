"""Training steps of larger models, compiled whole; and what native code does for them: updates in place, and nothing where it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from models import GPT, Bags, ResNet
from support.training import training_step
from train_steps import BACKENDS, batches, network

import rushlight as torch
from rushlight import nn, optim

MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gpt": (GPT, lambda: torch.randint(0, 50, (2, 8))),
    "resnet": (ResNet, lambda: torch.randn(2, 3, 16, 16)),
    "bags": (Bags, lambda: torch.randint(0, 30, (3, 4))),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, backend: str) -> None:
    runs = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = MODELS[name][0]()
        optimizer = optim.AdamW(model.parameters(), 0.001)
        batch = MODELS[name][1]()

        def step(x: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (model(x) - 0.3).pow(2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = [function(batch).item() for _ in range(5)]
        runs.append((losses, [each.float().numpy() for each in model.buffers()], model))
    np.testing.assert_allclose(runs[1][0], runs[0][0], 1e-4)
    for mine, its in zip(runs[1][1], runs[0][1]):
        np.testing.assert_allclose(mine, its, 1e-3, 1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_that_fails_changes_no_parameter(backend: str) -> None:
    torch.manual_seed(0)
    table = nn.Embedding(5, 3)
    optimizer = optim.SGD(table.parameters(), 0.1)

    def step(index: Any) -> Any:
        loss = table(index).pow(2).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    function = torch.compile(step, backend=backend, fullgraph=True)
    for _ in range(3):
        function(torch.tensor([0, 1, 1]))
    before = table.weight.detach().clone()
    with pytest.raises(IndexError):
        function(torch.tensor([0, 5, 1]))
    assert torch.equal(table.weight, before)
    function(torch.tensor([0, 1, 1]))
    assert not torch.equal(table.weight, before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_that_share_memory(backend: str) -> None:
    found = []
    for compiled in (False, True):
        memory = torch.arange(6.0)
        first, second = nn.Parameter(memory[:4]), nn.Parameter(memory[2:])
        optimizer = optim.SGD([first, second], 0.1)

        def step(x: Any, first: Any = first, second: Any = second, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (first * x).pow(2).sum() + second.pow(3).sum()
            loss.backward()
            optimizer.step()
            return loss

        function = torch.compile(step, backend=backend) if compiled else step
        losses = [function(torch.ones(4)).item() for _ in range(3)]
        found.append((losses, memory.tolist()))
    np.testing.assert_allclose(found[1][0], found[0][0], 1e-5)
    np.testing.assert_allclose(found[1][1], found[0][1], 1e-5)


def test_steps_are_native_calls() -> None:
    model = network().eval()
    optimizer = optim.AdamW(model.parameters(), 0.01)
    step = training_step(model, optimizer)

    function = torch.compile(step, backend="native", fullgraph=True)
    versions = [param._version for param in model.parameters()]
    arrays = [param._array for param in model.parameters()]
    for x, y in batches(4):
        function(x, y)
    entry = function._compiled.cache.entries[None][-1]
    program = entry.executable.used.forward.last
    assert entry.launcher in program.launchers.values()  # one call, which takes tensors
    assert not program.copies  # parameters and state are updated where they are
    assert all(param._version >= version + 4 for param, version in zip(model.parameters(), versions))
    assert all(param._array is array for param, array in zip(model.parameters(), arrays))

"""Compiled scripted Modules: captured with their parameters and gradients, and what a script reads of its Module is guarded."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compiler import explain


class Reads(nn.Module):
    """Reads numbers, a list, a buffer and the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.n, self.sizes = 2, [1, 2]
        self.register_buffer("b", torch.ones(3))

    def forward(self, x):
        if self.training:
            return x * self.n + self.b * self.sizes[1]
        return x - self.n


class Counts(nn.Module):
    """Sets an attribute in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n += 1
        return x + self.n


class Collects(nn.Module):
    """Appends to a list that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = [0]

    def forward(self, x):
        self.seen.append(1)
        return x + len(self.seen)


class Branches(nn.Module):
    """Branches by a value, and loops over the rows of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        if bool(x.sum() > 0):
            x = self.layer(x)
        total = torch.zeros(3)
        for i in range(x.size(0)):
            total = total + x[i]
        return total


def test_what_a_script_reads_may_change() -> None:
    script, x = torch.jit.script(Reads()), torch.arange(3.0)
    compiled = torch.compile(script)
    changes: list[Any] = [
        lambda: None, lambda: None, lambda: setattr(script, "n", 5), script.eval, script.train,
        lambda: setattr(script, "b", torch.zeros(3)), lambda: script.b.add_(4), lambda: script.sizes.__setitem__(1, 7),
    ]  # fmt: skip
    for change in changes:
        change()
        assert torch.equal(compiled(x), script(x))


def test_attributes_that_a_script_sets() -> None:
    x = torch.zeros(2)
    compiled = torch.compile(torch.jit.script(Counts()))
    assert [compiled(x)[0].item() for _ in range(4)] == [1, 2, 3, 4]
    compiled = torch.compile(torch.jit.script(Collects()))
    assert [compiled(x)[0].item() for _ in range(4)] == [2, 3, 4, 5]


def test_branches_and_sizes() -> None:
    script = torch.jit.script(Branches())
    compiled = torch.compile(script)
    for x in (torch.ones(2, 3), -torch.ones(2, 3), torch.ones(5, 3), torch.ones(4, 3), -torch.ones(1, 3)):
        assert torch.allclose(compiled(x), script(x))


@pytest.mark.parametrize("form", ["scripted", "archive", "file", "method"])
def test_training_in_one_graph(form: str) -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2))
    script = torch.jit.script(model)
    if form in ("archive", "file"):
        file = io.BytesIO()
        torch.jit.save(script, file, **({"format": "torchscript"} if form == "archive" else {}))
        file.seek(0)
        script = torch.jit.load(file)
    other = torch.jit.script(model) if form in ("archive", "file") else torch.jit.script(_copy(model))
    x, before = torch.randn(3, 2, 8), {name: each.clone() for name, each in script.state_dict().items()}
    called = script.forward if form == "method" else script
    assert " 1 graph" in str(explain(called, x)).splitlines()[0]
    for each in (script, other):  # what the explanation ran on
        each.load_state_dict(before)
    compiled = torch.compile(called)
    for one, run in ((script, compiled), (other, other)):
        optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            run(x).square().sum().backward()
            optimizer.step()
    for one, two in zip(script.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.allclose(one, two, atol=1e-5)
    script.eval(), other.eval()
    assert torch.allclose(compiled(x), other(x), atol=1e-5)


def _copy(model: Any) -> Any:
    made = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2))
    made.load_state_dict(model.state_dict())
    return made


class Collector:
    """Collects tensors, and counts them."""

    def __init__(self, number: int):
        self.number = number
        self.items: list[torch.Tensor] = []

    def add(self, x: torch.Tensor):
        self.items.append(x * self.number)
        self.number += 1


class CollectsInLoop(nn.Module):
    def forward(self, x: torch.Tensor):
        found = Collector(2)
        for _ in range(3):
            found.add(x)
        return torch.stack(found.items).sum(0), found.number


def test_an_attempt_to_capture_a_loop_leaves_the_lists_of_objects_as_they_were():
    model = torch.jit.script(CollectsInLoop())
    for called in (model, torch.compile(model), torch.export.export(model, (torch.ones(2),)).module()):
        total, count = called(torch.ones(2))
        assert total.tolist() == [9.0, 9.0]
        assert count == 5

"""compile: graphs that fail after they have written to tensors or drawn random numbers."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

BACKENDS = ["eager", "aot_eager", "native"]


class Shifted(torch.autograd.Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx: Any, x: Any, by: float) -> Any:
        ctx.mark_dirty(x)
        return x.add_(by)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, None


def written(buffer: Any, table: Any, index: Any, log: list[Any]) -> Any:
    log.append("begin")
    try:
        buffer.add_(1)
        drawn = torch.rand(2)
        picked = table[index] * 2
        log.append("picked")
        return picked + drawn.sum()
    except IndexError as error:
        log.append(str(error))
        return buffer * torch.rand(3)
    finally:
        log.append("end")


def viewed(buffer: Any, table: Any, index: Any, log: list[Any]) -> Any:
    part = buffer[1:]
    part.mul_(2).add_(1)
    log.append(part.sum())
    try:
        buffer[index] = 5.0
        return table[index]
    except IndexError:
        return part + 1


def dirty(buffer: Any, table: Any, index: Any, log: list[Any]) -> Any:
    moved = Shifted.apply(buffer, 2.0)
    try:
        return moved.sum() + table[index]
    except IndexError:
        log.append("out of range")
        return moved * 3


def uncaught(buffer: Any, table: Any, index: Any, log: list[Any]) -> Any:
    log.append(1)
    nn.functional.dropout(buffer, 0.5, inplace=True)
    log.append(2)
    result = table[index].sum()
    log.append(3)
    return result


def seen(function: Any, index: int, gradients: bool) -> Any:
    """All that can be seen of a call."""
    torch.manual_seed(index)
    buffer, table, log = torch.ones(3), torch.arange(8.0).reshape(4, 2).requires_grad_(gradients), []
    other = buffer.view(3, 1)
    try:
        result = function(buffer, table, torch.tensor([index]), log)
        if result.requires_grad:
            result.sum().backward()
        result = result.tolist()
    except IndexError as error:
        result = str(error)
    gradient = None if table.grad is None else table.grad.tolist()
    return result, buffer.tolist(), other.tolist(), str(log), gradient, torch.rand(1).item()


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [written, viewed, dirty, uncaught], ids=lambda each: each.__name__)
def test_what_a_failing_graph_changed(program: Any, backend: str, gradients: bool) -> None:
    compiled = torch.compile(program, backend=backend)
    for index in (1, 2, 9, 1, 7):
        assert seen(compiled, index, gradients) == seen(program, index, gradients)


def test_history_is_put_back() -> None:
    def program(x: Any, index: Any) -> Any:
        x.mul_(3)
        try:
            return x[index].sum()
        except IndexError:
            return x.sum()

    compiled = torch.compile(program, backend="eager")
    for index in (1, 8):
        found = []
        for function in (program, compiled, compiled):
            leaf = torch.ones(3, requires_grad=True)
            function(leaf * 2, torch.tensor([index])).backward()
            found.append(leaf.grad.tolist())
        assert found[0] == found[1] == found[2]


def test_normalisation_keeps_its_statistics() -> None:
    torch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())

    def loss(model: Any, x: Any, target: Any) -> Any:
        return nn.functional.cross_entropy(model(x), target)

    compiled = torch.compile(loss, backend="aot_eager")
    x = torch.randn(5, 4)
    for wrong in (0, 1, 7, 2):
        target, results = torch.tensor([0, 1, 2, 0, wrong]), []
        for function, model in zip((loss, compiled), models):
            try:
                results.append(function(model, x, target).item())
            except IndexError as error:
                results.append(str(error))
        assert results[0] == pytest.approx(results[1]) if wrong != 7 else results[0] == results[1]
        for name, each in models[0].state_dict().items():
            torch.testing.assert_close(models[1].state_dict()[name], each)


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_that_eager_mode_does_not_keep_may_be_written_to(backend: str) -> None:
    def program(weight: Any, x: Any) -> Any:
        return torch.minimum(weight + 1, x * 2), weight

    found = []
    for function in (program, torch.compile(program, backend=backend)):
        for _ in range(2):
            weight, x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.ones(3, requires_grad=True)
            result, same = function(weight, x)
            assert same is weight
            with torch.no_grad():
                weight.mul_(-3)
                x.add_(5)
            result.sum().backward()
            found.append((weight.grad.tolist(), x.grad.tolist()))
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_that_eager_mode_keeps_may_not(backend: str) -> None:
    compiled = torch.compile(lambda weight, x: (weight * x).sum(), backend=backend)
    for _ in range(2):
        weight, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        result = compiled(weight, x)
        with torch.no_grad():
            x.add_(5)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.backward()

"""compile: hooks on gradients that a program registers."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.testing.compiling import CompileCounterWithBackend

BACKENDS = ["eager", "aot_eager", "native"]
FACTOR = 3.0


def doubled(gradient: Any) -> Any:
    return gradient * 2


def of_a_value(x: Any, log: list[Any]) -> Any:
    y = x.sin()
    early = y * 2
    y.register_hook(doubled)
    return (early + y * 3).sum()


def with_a_closure(x: Any, log: list[Any]) -> Any:
    y = x * 2
    scale = y.detach().abs().sum()

    def hook(gradient: Any) -> Any:
        log.append(gradient.tolist())
        return gradient * scale * FACTOR

    y.register_hook(hook)
    y.register_hook(lambda gradient: log.append("second"))
    return (y * y).sum()


def of_the_argument(x: Any, log: list[Any]) -> Any:
    x.register_hook(lambda gradient: log.append(gradient.sum().item()))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(leaf.grad.tolist()))
    return (x * x).sum()


def removed(x: Any, log: list[Any]) -> Any:
    y = x.exp()
    handle = y.register_hook(lambda gradient: log.append("never"))
    with y.register_hook(lambda gradient: log.append("nor this")):
        z = y * 2
    y.register_hook(lambda gradient: log.append("always"))
    handle.remove()
    return z.sum()


def in_parts(x: Any, log: list[Any]) -> Any:
    parts = [each * 2 for each in x.unbind(0)]
    for number, each in enumerate(parts):
        each.register_hook(lambda gradient, number=number: (log.append(number), gradient * number)[1])
    return sum(parts) * parts[0]


def call(function: Any, x: Any) -> Any:
    log: list[Any] = []
    result = function(x, log)
    if isinstance(result, tuple):
        handle, result = result
        handle.remove()
    result.backward()
    return log, x.grad.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [of_a_value, with_a_closure, of_the_argument, removed, in_parts], ids=lambda each: each.__name__)
def test_hooks_are_part_of_the_graph(function: Any, backend: str) -> None:
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(function, backend=counter, fullgraph=True)
    for number in range(3):
        values = [0.5, -1.0, 2.0 + number]
        want, got = (call(each, torch.tensor(values, requires_grad=True)) for each in (function, compiled))
        assert want[0] == got[0] and got[1] == pytest.approx(want[1], rel=1e-5)
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_handle_that_is_given_back(backend: str) -> None:
    def program(x: Any, log: list[Any]) -> Any:
        y = x * 2
        return y.register_hook(lambda gradient: log.append("never")), (y * y).sum()

    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        log, gradient = call(compiled, torch.ones(2, requires_grad=True))
        assert log == [] and gradient == [8, 8]


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_see_the_world_as_it_is_in_backward(backend: str) -> None:
    global FACTOR
    compiled = torch.compile(with_a_closure, backend=backend)
    for _ in range(2):
        results = []
        for function in (with_a_closure, compiled):
            x, FACTOR = torch.ones(2, requires_grad=True), 3.0
            loss = function(x, [])
            FACTOR = 5.0
            loss.backward()
            results.append(x.grad.tolist())
        assert results[0] == results[1] == [160.0, 160.0]
    FACTOR = 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_results_and_double_backward(backend: str) -> None:
    def wrong(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda gradient: gradient[:1])
        return y.sum()

    compiled = torch.compile(wrong, backend=backend)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has changed the size of value"):
            compiled(torch.ones(3, requires_grad=True)).backward()

    def cubed(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda gradient: gradient * 2)
        return (y * x).sum()

    compiled = torch.compile(cubed, backend=backend)
    for _ in range(2):
        found = []
        for function in (cubed, compiled):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            (first,) = torch.autograd.grad(function(x), x, create_graph=True)
            found.append((first.tolist(), torch.autograd.grad(first.sum(), x)[0].tolist()))
        assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_and_backward_in_one_program(backend: str) -> None:
    torch.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    seen: list[Any] = []

    def step(model: Any, x: Any) -> Any:
        hidden = model(x)
        hidden.register_hook(lambda gradient: seen.append(gradient.shape))
        loss = hidden.pow(2).sum()
        loss.backward()
        return loss.detach()

    compiled = torch.compile(step, backend=backend)
    for _ in range(3):
        seen.clear()
        x = torch.randn(4, 3)
        assert step(models[0], x).item() == pytest.approx(compiled(models[1], x).item()) and seen == [(4, 2), (4, 2)]
        torch.testing.assert_close(models[0].weight.grad, models[1].weight.grad)

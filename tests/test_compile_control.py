"""``cond`` and ``while_loop``: eager, compiled into one graph, and exported.  And generators that are interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import compiler, nn
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.testing.compiling import CompileCounter
from rushlight.utils.checkpoint import checkpoint

FACTOR = 2.0
WEIGHT = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
LAYER = nn.Linear(3, 3)


class Doubled(torch.autograd.Function):
    """Twice its argument; its gradient is three times what comes in."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def helper(x: Any) -> Any:
    return x * FACTOR + WEIGHT


def plain(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))


def named(x: Any) -> Any:
    y = x * 3
    return torch.cond(x.mean() > 0, helper, lambda v: y - v, (x + 1,)) * y


def nested(x: Any) -> Any:
    return torch.cond(x[0] > 0, lambda v: torch.cond(v[1] > 0, lambda w: w * 2, lambda w: w * 3, (v,)), lambda v: v * 5, (x,))


def layers(x: Any) -> Any:
    return torch.cond(x.sum() > 0, LAYER, lambda v: torch.relu(v), (x,))


def functions(x: Any) -> Any:
    return torch.cond(x.sum() > 0, Doubled.apply, lambda v: Doubled.apply(v) + 1, (x,))


def several(x: Any) -> Any:
    first, second = torch.cond(x.sum() > 0, lambda a, b: (a + b, a * b), lambda a, b: (a - b, a / (b.abs() + 1)), (x, x + 1))
    return first * 2 + second


def turns(x: Any) -> Any:
    count, value = torch.while_loop(lambda i, v: v.abs().sum() < 50, lambda i, v: (i + 1, v * FACTOR + 0.5), (torch.tensor(0), x))
    return value * count


@pytest.mark.parametrize("function", [plain, named, nested, layers, functions, several, turns], ids=lambda each: each.__name__)
@pytest.mark.parametrize("backend", ["eager", None])
def test_one_graph(function: Any, backend: Any) -> None:
    counter = CompileCounter()
    compiled = torch.compile(function, fullgraph=True, **({"backend": counter} if backend == "eager" else {}))
    for sign in (1.0, -1.0, 1.0, -2.0):
        found = []
        for run in (function, compiled):
            x = (torch.tensor([1.0, -0.5, 2.0]) * sign).requires_grad_()
            WEIGHT.grad = None
            LAYER.zero_grad()
            result = run(x)
            result.sum().backward()
            found.append([each.detach().numpy() if each is not None else None for each in (result, x.grad, WEIGHT.grad, LAYER.weight.grad)])
        for want, got in zip(*found):
            assert (want is None) is (got is None)
            if want is not None:
                np.testing.assert_allclose(got, want, rtol=1e-6)
    assert backend is None or counter.frame_count == 1


def test_what_bodies_read_is_guarded() -> None:
    compiled = torch.compile(named, backend="eager", fullgraph=True)
    compiled(torch.ones(3))
    globals()["FACTOR"] = 5.0
    try:
        assert torch.equal(compiled(torch.ones(3)), named(torch.ones(3)))
    finally:
        globals()["FACTOR"] = 2.0
    assert torch.equal(compiled(torch.ones(3)), named(torch.ones(3)))


def test_bodies_with_effects_end_the_graph() -> None:
    log: list[str] = []

    def program(x: Any) -> Any:
        return torch.cond((x * 2).sum() > 0, lambda v: (log.append("yes"), v + 1)[1], lambda v: (log.append("no"), v - 1)[1], (x,)) * 2

    compiled = torch.compile(program, backend="eager")
    for sign in (1, -1, 1):
        log.clear()
        assert torch.equal(compiled(torch.ones(2) * sign), (torch.ones(2) * sign + sign) * 2) and log == ["yes" if sign > 0 else "no"]
    with pytest.raises(compiler.Unsupported, match="a function given to cond can't be part of a graph"):
        torch.compile(program, fullgraph=True)(torch.ones(2))


def test_arguments() -> None:
    x = torch.ones(3)
    assert torch.cond(True, lambda: x + 1, lambda: x).tolist() == [2, 2, 2]
    assert torch.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (0, x))[1].tolist() == [8, 8, 8]
    with pytest.raises(RuntimeError, match="Expected pred to be bool or tensor, but got a"):
        torch.cond("a", lambda v: v, lambda v: v, (x,))
    with pytest.raises(RuntimeError, match="single-element"):
        torch.cond(x > 0, lambda v: v, lambda v: v, (x,))
    with pytest.raises(RuntimeError, match="as many values"):
        torch.while_loop(lambda v: v.sum() < 9, lambda v: (v, v), (x,))


@pytest.mark.parametrize("function", [plain, nested, turns], ids=lambda each: each.__name__)
def test_export(function: Any) -> None:
    pytest.importorskip("onnxruntime")

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    program = torch.onnx.export(Model(), (torch.tensor([1.0, -0.5, 2.0]),), dynamo=True)
    for sign in (1.0, -1.0):
        x = torch.tensor([1.0, -0.5, 2.0]) * sign
        np.testing.assert_allclose(program(x)[0].numpy(), function(x).numpy(), rtol=1e-6)


# -- generators ------------------------------------------------------------------------------------------------------


def produce(x: Any, count: int, log: list[Any]) -> Any:
    try:
        for number in range(count):
            log.append(number)
            compiler.graph_break()
            got = yield x * number
            log.append(got)
            x = x + 1
    finally:
        log.append("end")
    return "result"


def delegating(x: Any, log: list[Any]) -> Any:
    found = yield from produce(x, 2, log)
    log.append(found)
    yield x


def in_a_loop(x: Any, log: list[Any]) -> Any:
    total = x
    for each in produce(x, 3, log):
        total = total + each
        if total.sum() > 5:
            log.append("large")
    return total


def given_up(x: Any, log: list[Any]) -> Any:
    for each in produce(x, 5, log):
        compiler.graph_break()
        if each.sum() > 2:
            return each
    return x


def gathered(x: Any, log: list[Any]) -> Any:
    return (
        list(produce(x, 3, log)),
        sum(produce(x, 2, log)),
        [each * 1 for each in delegating(x, log)],
        any(each.sum() > 1 for each in produce(x, 3, log)),
    )


def handed_out(x: Any, log: list[Any]) -> Any:
    begun = produce(x, 3, log)
    first = next(begun)
    compiler.graph_break()
    return begun, first


@pytest.mark.parametrize("function", [in_a_loop, given_up, gathered, handed_out], ids=lambda each: each.__name__)
def test_breaks_in_generators(function: Any) -> None:
    compiled = torch.compile(function, backend="eager")
    for turn in range(3):
        found = []
        for run in (function, compiled):
            log: list[Any] = []
            result = run(torch.ones(2), log)
            parts = result if isinstance(result, tuple) else (result,)
            values = [
                [each.tolist() for each in part]
                if not isinstance(part, (torch.Tensor, bool))
                else part.tolist()
                if isinstance(part, torch.Tensor)
                else part
                for part in parts
            ]
            found.append((values, log))
        assert found[0] == found[1], turn
    assert not compiled._compiled.unkept


def left_early(x: Any, log: list[Any]) -> Any:
    for each in produce(x, 5, log):
        x = x + each
        if len(log) > 2:
            break
    log.append("after the loop")
    return x


def left_by_an_error(x: Any, log: list[Any]) -> Any:
    try:
        for each in produce(x, 5, log):
            x = each + torch.ones(len(log) + 1)
    except RuntimeError:
        log.append("caught")
    return x


def first_of(values: Any) -> Any:
    for each in values:
        return each


def left_by_a_return(x: Any, log: list[Any]) -> Any:
    first = first_of(produce(x, 5, log))
    log.append("after the call")
    begun = produce(x, 3, log)
    log.append(next(begun).sum().item())
    begun = None
    log.append("no longer named")
    return first + x


@pytest.mark.parametrize("function", [left_early, left_by_an_error, left_by_a_return], ids=lambda each: each.__name__)
def test_generators_that_are_abandoned_are_closed_at_once(function: Any) -> None:
    compiled = torch.compile(function, backend="eager")
    for _ in range(3):
        logs: list[list[Any]] = [[], []]
        assert torch.equal(function(torch.ones(2), logs[0]), compiled(torch.ones(2), logs[1])) and logs[0] == logs[1]


def test_an_error_keeps_no_generator() -> None:
    def program(x: Any, log: list[Any]) -> Any:
        for each in produce(x, 5, log):
            x = each + torch.ones(len(log) + 1)
        return x

    compiled = torch.compile(program, backend="eager")
    for _ in range(2):
        log: list[Any] = []
        with pytest.raises(RuntimeError) as raised:
            compiled(torch.ones(2), log)
        assert log[-1] == "end", raised


def halted(value: Any) -> Any:
    compiler.graph_break()
    return value


BUILT = [
    lambda x: [halted(x * i) for i in range(3)], lambda x: [*[1, 2], halted(x), *[x, 3], *(halted(x * 2),)], lambda x: {i: halted(x * i) for i in range(3)},
    lambda x: {**halted({"a": 1}), "b": halted(x), **halted({"c": x + 1})}, lambda x: {halted(i) for i in range(3)}, lambda x: {*(halted(1), 2), halted(3)},
    lambda x: (lambda **k: k)(**halted({"a": x}), **halted({"b": x + 1})), lambda x: f"{halted(1)}-{halted(2)}" + str(halted(3)),
]  # fmt: skip


def values_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: values_of(each) for key, each in value.items()}
    return [values_of(each) for each in value] if isinstance(value, list) else value.tolist() if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("number", range(len(BUILT)))
def test_breaks_while_a_container_is_built(number: int) -> None:
    function = BUILT[number]
    compiled = torch.compile(function, backend="eager")
    for value in (1.0, 2.0, 3.0):
        assert values_of(compiled(torch.tensor([value]))) == values_of(function(torch.tensor([value])))
    assert not compiled._compiled.unkept


def test_conditions_that_are_inputs_and_nothing_else():
    """A tensor that only a branch or a loop asks for is an input of the graph, and not what it held when it was captured."""

    def nested(x, a, b):
        inner = lambda x: torch.cond(b, lambda x: x + 1, lambda x: x * 2, (x,))
        return torch.cond(a, inner, lambda x: x - 1, (x,))

    def repeated(x, a, b):
        return torch.while_loop(lambda y, go: go, lambda y, go: (y * 2, y.sum() < 20), (x, a))[0]

    x = torch.full((2,), 3.0)
    for program in (nested, repeated):
        compiled = torch.compile(program, fullgraph=True)
        for a in (True, False):
            for b in (True, False):
                flags = torch.tensor(a), torch.tensor(b)
                assert compiled(x, *flags).tolist() == program(x, *flags).tolist()

    class Held(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("flag", torch.tensor(True))

        def forward(self, x):
            return torch.cond(self.flag, lambda x: x + 1, lambda x: x * 2, (x,))

    module = Held()
    compiled = torch.compile(module, fullgraph=True)
    assert compiled(x).tolist() == [4.0, 4.0]
    module.flag.fill_(False)
    assert compiled(x).tolist() == [6.0, 6.0]


def test_a_reentrant_checkpoint_of_inputs_without_gradients() -> None:
    layer = torch.nn.Linear(3, 3)

    def function(x):
        return checkpoint(lambda y: layer(y).sin(), x, use_reentrant=True) * 2

    compiled = torch.compile(function, fullgraph=True)
    for requires_grad in (False, True, False):
        x = torch.ones(2, 3, requires_grad=requires_grad)
        found = compiled(x)
        assert found.requires_grad is requires_grad and torch.allclose(found, layer(x).sin() * 2)


def test_cond_refuses_what_is_no_branch_or_no_tuple():
    pred, x = torch.tensor(True), torch.ones(2)
    with pytest.raises(RuntimeError, match="Expect both branches to be callable."):
        torch.cond(pred, 3, torch.neg, (x,))
    for operands in (x, {"x": x}):
        with pytest.raises(RuntimeError, match="Expect operands to be a tuple of possibly nested dict/list/tuple"):
            torch.cond(pred, torch.sin, torch.neg, operands)


def test_cond_of_a_batch_of_conditions() -> None:
    """Under vmap each example takes its own way: both branches are computed."""

    def chosen(x: Any, y: Any) -> Any:
        return torch.cond(x.sum() < y.sum(), lambda x, y: {"a": x * y}, lambda x, y: {"a": -y}, (x, y))["a"]

    x, y = torch.arange(6.0).reshape(3, 2), torch.full((3, 2), 3.0)
    expected = [[0.0, 3.0], [6.0, 9.0], [-3.0, -3.0]]
    assert torch.vmap(chosen)(x, y).tolist() == expected
    assert torch.compile(torch.vmap(chosen), backend="eager")(x, y).tolist() == expected
    gradient = torch.func.grad(lambda x: torch.vmap(chosen)(x, y).sum())(x)
    assert gradient.tolist() == [[3.0, 3.0], [3.0, 3.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="Unmatched output spec"):
        torch.vmap(lambda x: torch.cond(x.sum() > 0, lambda x: (x, x), lambda x: x, (x,)))(x)


def test_make_fx_of_branches_with_parameters() -> None:
    """Parameters in branches are attributes of the graph; the gradient of a branch, which would be the one that is taken now, is refused."""

    def program(pred: Any, x: Any) -> Any:
        return torch.cond(pred, lambda x: LAYER(x), lambda x: x * LAYER.weight[0], (x,)) + LAYER.bias

    x = torch.arange(3.0)
    for pred in (torch.tensor(True), torch.tensor(False)):
        graph = make_fx(program)(pred, x)
        for each in (torch.tensor(True), torch.tensor(False)):
            assert torch.allclose(graph(each, x), program(each, x))
    with pytest.raises(RuntimeError, match="make_fx does not record the gradient of cond"):
        make_fx(lambda pred, x: torch.autograd.grad(program(pred, x).sum(), LAYER.weight))(torch.tensor(True), x)

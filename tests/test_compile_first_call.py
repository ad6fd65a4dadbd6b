"""The first call of a compiled function on large tensors: its ops are left to the compiled graph, or run when something reads their values."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from support.results import tensors_in

import rushlight as torch
from rushlight.capture.compile.record import deferred

pytest.importorskip("llvmlite")
LARGE = 1 << 20  # elements: 4 MB


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How values were computed: by the compiled graph ("graph"), or one by one ("ops")."""
    seen: list[str] = []
    one_by_one, by_graph = deferred.DeferredOps.compute, deferred.DeferredOps.compute_with

    def compute(self: Any) -> None:
        if self.calls:
            seen.append("ops")
        one_by_one(self)

    def compute_by(self: Any, *args: Any) -> None:
        before = len(seen)
        by_graph(self, *args)
        if len(seen) == before:
            seen.append("graph")

    monkeypatch.setattr(deferred.DeferredOps, "compute", compute)
    monkeypatch.setattr(deferred.DeferredOps, "compute_with", compute_by)
    return seen


def numbers() -> Any:
    return torch.linspace(-1, 2, LARGE)


def assert_first_calls_match(function: Any, *args: Any, gradients: bool = False) -> Any:
    """Both calls of the compiled function against eager."""
    compiled = torch.compile(function)
    with torch.set_grad_enabled(gradients):
        expected = function(*args)
        for _ in range(2):
            for found, want in zip(tensors_in(compiled(*args)), tensors_in(expected), strict=True):
                assert found._array.__class__ is want._array.__class__ is np.ndarray
                np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=2e-6, atol=1e-6)
    return compiled


def test_by_the_graph(ways: list[str]) -> None:
    assert_first_calls_match(lambda x: (x * 2 + 1).tanh() * x, numbers())
    assert ways == ["graph"]


def test_modules_and_several_results(ways: list[str]) -> None:
    norm = torch.nn.LayerNorm(1024)
    assert_first_calls_match(lambda x: (norm(x).softmax(-1), (x.exp(), x + 1)), numbers().reshape(1024, 1024))
    assert ways == ["graph"]


def test_the_same_value_twice(ways: list[str]) -> None:
    def function(x: Any) -> Any:
        y = x * 2
        return y, y, y + 1

    compiled = torch.compile(function)
    with torch.no_grad():
        a, b, _ = compiled(numbers())
    assert a is b and ways == ["graph"]


def test_small_tensors_are_computed(ways: list[str]) -> None:
    assert_first_calls_match(lambda x: x * 2, torch.ones(16))
    assert ways == []


def test_gradients(ways: list[str]) -> None:
    x, weight = numbers().requires_grad_(), torch.full((1,), 3.0, requires_grad=True)
    y = x * 1.0  # has a history of its own
    compiled = torch.compile(lambda x, y, weight: (x * y * weight, (x + 1).exp()))
    for _ in range(2):
        x.grad = weight.grad = None
        one, other = compiled(x, y, weight)
        (one.sum() * 2 + other[:3].sum()).backward(retain_graph=True)
        values = x.detach().numpy().astype(np.float64)
        expected = 12 * values
        expected[:3] += np.exp(values[:3] + 1)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(weight.grad.numpy(), [2 * (values**2).sum()], rtol=1e-5)
    assert ways == ["graph"]


def test_gradients_inside(ways: list[str]) -> None:
    """A write that reads ``.grad`` anew: whichever way the first step is computed, all are right."""

    def step(x: Any, weight: Any) -> Any:
        loss = ((x * weight).tanh() * x).sum()
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=1e-7)
        return loss

    found = []
    for run in (step, torch.compile(step)):
        x, weight = numbers(), torch.full((1,), 0.5, requires_grad=True)
        losses = []
        for _ in range(3):
            weight.grad = None
            losses.append(float(run(x, weight)))
        found.append([*losses, float(weight), float(weight.grad)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_a_write_to_a_result_of_the_first_call() -> None:
    x = numbers().requires_grad_()
    compiled = torch.compile(lambda x: (x * 2).exp())
    made = compiled(x)
    with torch.no_grad():
        made.add_(1)  # its elements are needed for its gradient
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2)[:10] + 1,  # a view
        lambda x: (x * 2).reshape(2, -1),
        lambda x: x * 2 if (x * 2).sum() > 3 else x * 3,  # a break
        lambda x: x * float((x * 3).sum()),
        lambda x: x * (x * 2).shape[0],
        lambda x: (x * 2).sort().values,
        lambda x: (x * 2).to(torch.int64),
        lambda x: torch.zeros(4, device=(x * 2).device) + 1,
        lambda x: (x * 2).add_(1),  # a write
        lambda x: (x * 2).float(),  # the same tensor
        lambda x: (x * 2).detach() + 1,
        lambda x: torch.cat([x * 2, x]),
        lambda x: [y + 1 for y in (x * 2, x * 3)],
        lambda x: {"a": x * 2}["a"] + 1,
        lambda x: (x * 2 > 1).to(torch.float32),
        lambda x: torch.where(x * 2 > 1, x, -x),
        lambda x: (x * 2).new_zeros(3) + 1,
        lambda x: x * 2 if (x * 2) is not None else x,
    ],
)
def test_what_looks_at_values(function: Any, ways: list[str]) -> None:
    assert_first_calls_match(function, numbers())


def test_views(ways: list[str]) -> None:
    """Views of values that wait, wait too."""
    x = numbers().reshape(1024, 1024)
    assert_first_calls_match(lambda x: (x * 2).t().reshape(-1) + 1, x)
    assert_first_calls_match(lambda x: (x * 2).flatten().reshape(512, -1).sum(1), x)
    assert ways == ["graph"] * 2
    assert_first_calls_match(lambda x: [each + 1 for each in (x * 2).split(512)], x)


@pytest.mark.parametrize("gradients", [False, True])
def test_views_that_are_written_to(gradients: bool) -> None:
    def function(x: Any) -> Any:
        y = x * 2
        view = y.view(2, -1)
        other = y.t()
        view.add_(1)
        return y, view, other, y.exp()

    x = numbers().reshape(1024, 1024).requires_grad_(gradients)
    compiled = torch.compile(function)
    with torch.set_grad_enabled(gradients):
        for _ in range(2):
            for found, want in zip(compiled(x), function(x), strict=True):
                np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), rtol=2e-6)


def test_results_that_share_memory() -> None:
    compiled = torch.compile(lambda x: (lambda y: (y, y.view(2, -1), y.t()))(x * 2))
    with torch.no_grad():
        for _ in range(2):
            y, view, turned = compiled(numbers().reshape(1024, 1024))
            view[0, 1] = 7.0
            assert y[0, 1] == 7 and turned[1, 0] == 7


def test_other_tensors_are_not_waited_for(ways: list[str]) -> None:
    """An op on small tensors in between is run as it is."""
    assert_first_calls_match(lambda x, small: x * 2 + small.abs().sum() * x, numbers(), torch.tensor([2, 0, 1]))
    assert ways == ["graph"]


def test_a_convolutional_network(ways: list[str]) -> None:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 64, 10)
    ).eval()
    compiled, x = torch.compile(model), torch.randn(40, 3, 16, 16)
    x = torch.cat([x] * 4)
    with torch.no_grad():
        for _ in range(2):
            np.testing.assert_allclose(compiled(x).numpy(), model(x).numpy(), rtol=1e-4, atol=1e-5)
    assert ways == ["graph"]
    model.train()
    twin = copy.deepcopy(model)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).detach().numpy(), twin(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model[1].running_mean.numpy(), twin[1].running_mean.numpy(), rtol=1e-4, atol=1e-6)


def test_a_write_to_an_input() -> None:
    x, y = numbers(), numbers()

    def function(x: Any) -> Any:
        y = x * 2
        x.add_(1)
        return y + x

    compiled = torch.compile(function)
    with torch.no_grad():
        for _ in range(2):
            np.testing.assert_allclose(compiled(x).numpy(), function(y).numpy(), rtol=1e-6)
            np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_what_is_stored(ways: list[str]) -> None:
    class Model(torch.nn.Module):
        kept: Any = None

        def forward(self, x: Any) -> Any:
            y = x * 2
            self.kept = y + 1
            return y

    model = Model()
    compiled = torch.compile(model)
    x = numbers()
    with torch.no_grad():
        for _ in range(2):
            compiled(x)
            np.testing.assert_allclose(model.kept.numpy(), x.numpy() * 2 + 1, rtol=1e-6)


def test_random_numbers_are_drawn_once() -> None:
    def function(x: Any) -> Any:
        return torch.nn.functional.dropout(x * 2, 0.5) * 2

    x = numbers()
    compiled = torch.compile(function)
    torch.manual_seed(0)
    with torch.no_grad():
        expected = [function(x).numpy() for _ in range(2)]
    torch.manual_seed(0)
    with torch.no_grad():
        found = [compiled(x).numpy() for _ in range(2)]
    np.testing.assert_array_equal(found, expected)


def test_an_error_is_eagers() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        try:
            return y + torch.ones(3)
        except RuntimeError:
            return y - 1

    assert_first_calls_match(function, numbers())
    with pytest.raises(RuntimeError, match="size"), torch.no_grad():
        torch.compile(lambda x: (x * 2) @ torch.ones(3))(numbers())


def test_other_back_ends_compute_at_once(ways: list[str]) -> None:
    with torch.no_grad():
        torch.compile(lambda x: x * 2 + 1, backend="eager")(numbers())
    assert ways == []


def test_intermediate_values_let_go_of_their_memory() -> None:
    """What only the capture knows of has no elements any more."""
    seen: list[int] = []

    def back_end(module: Any, inputs: list[Any]) -> Any:
        return module.forward

    def function(x: Any) -> Any:
        for _ in range(6):
            x = x * 2
        return x

    from rushlight.capture.compile.record import tracer

    drop = tracer.CompileTracer.release_large

    def counted(self: Any) -> None:
        before = len(self.large)
        drop(self)
        seen.append(before - len(self.large))

    tracer.CompileTracer.release_large = counted  # type: ignore[method-assign]
    try:
        x = numbers()
        with torch.no_grad():
            found = torch.compile(function, backend=back_end)(x)
        np.testing.assert_array_equal(found.numpy(), x.numpy() * 64)
    finally:
        tracer.CompileTracer.release_large = drop  # type: ignore[method-assign]
    assert sum(seen) >= 4


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_of_what_waits_may_differ(dynamic: bool | None, gradients: bool) -> None:
    """The size of a value that waits is the program's number, not that of the first call."""
    weight = torch.ones(300, 300, requires_grad=gradients)

    def function(x: Any) -> Any:
        out = x @ weight
        return out.sum() / out.shape[0]

    compiled = torch.compile(function, dynamic=dynamic)
    for count in (300, 400, 500, 400):
        assert float(compiled(torch.ones(count, 300))) == 90000.0


# -- paths on which something reads values ---------------------------------------------------------------------------------


class Wave(torch.autograd.Function):
    """x + sin(x)^2."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x + torch.sin(x) ** 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * (1 + torch.sin(2 * x))


class Both(torch.autograd.Function):
    """Twice one argument, and a copy of another."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * 2, y.clone()

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return first * 2, second


class Holder:
    """Keeps what it is given."""

    kept: Any = None

    def keep(self, x: Any) -> Any:
        self.kept = x
        return x + 1

    @classmethod
    def less(cls, x: Any) -> Any:
        return x - 2


@torch.compiler.allow_in_graph
def allowed(x: Any) -> Any:
    return torch.sin(x) + x


@torch.compiler.disable
def disabled(x: Any) -> Any:
    return torch.sin(x) + float(x.sum())


def written(x: Any) -> Any:
    x[0] = 1.0
    return x * 2


def refused(x: Any) -> Any:
    try:
        return x.reshape(7, 7)
    except RuntimeError:
        return x + 1


def halves(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(x, x.t()).float()


def listened(x: Any) -> Any:
    if x.requires_grad:
        x.register_hook(lambda gradient: gradient * 2)
    return x * 3


HOLDER = Holder()
LAYER = torch.nn.Linear(64, 64)
HOOKED = torch.nn.Linear(64, 64)
HOOKED.register_forward_hook(lambda module, inputs, output: output * 2)
INNER = torch.compile(lambda x: x * 2 + 1)
SCRIPTED = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()))
TRACED = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()), torch.ones(3, 64))
ROADS: dict[str, Any] = {
    "a Function": lambda x: Wave.apply(LAYER(x)) + 1, "a Function of two": lambda x: sum(Both.apply(x * 2, x + 1)),
    "Functions in turn": lambda x: Wave.apply(LAYER(Wave.apply(LAYER(x)))) * 2, "allowed": lambda x: allowed(x * 2) * 3,
    "disabled": lambda x: disabled(x * 2) * 3, "compiled": lambda x: INNER(x * 2) * 3, "scripted": lambda x: SCRIPTED(x * 2) * 3,
    "traced": lambda x: TRACED(x * 2) * 3, "cond": lambda x: torch.cond((x * 2).sum() > 0, lambda v: v * 2, lambda v: v - 1, (x * 3,)),
    "while_loop": lambda x: torch.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 1.5), (torch.tensor(0), x * 2))[1],
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(lambda v: torch.sin(v) * v, x * 2, use_reentrant=False),
    "vmap": lambda x: torch.vmap(lambda v: v * 2)(x * 2), "func.grad": lambda x: torch.func.grad(lambda v: (v * v).sum())(x * 2),
    "an object": lambda x: HOLDER.keep(x * 2) * HOLDER.kept, "a class": lambda x: Holder.less(x * 2), "a hook of a Module": lambda x: HOOKED(x * 2) + 1,
    "in place": lambda x: (x * 2).add_(1) * 3, "an item that is set": lambda x: written(x * 2), "a number": lambda x: x * 2 * (x * 2).mean().item(),
    "a decision": lambda x: x * 2 if (x * 3).sum() > 0 else x - 1, "an error": lambda x: refused(x * 2), "a list": lambda x: x * 2 + (x * 2)[0].tolist()[0],
    "NumPy": lambda x: x * 2 + torch.from_numpy((x * 2).detach().numpy() * 1), "map": lambda x: sum(map(torch.sin, [x * 2, x * 3])),
    "sorted": lambda x: sorted([x * 2], key=lambda v: float(v.sum()))[0], "autocast": lambda x: halves(x * 2), "a hook": lambda x: listened(x * 2),
    "data": lambda x: (x * 2).data + x, "dropout": lambda x: torch.nn.functional.dropout(x * 2, 0.5), "rand_like": lambda x: x * 2 + torch.rand_like(x * 2),
}  # fmt: skip


@pytest.mark.parametrize("needs", [False, True], ids=["plain", "with gradients"])
@pytest.mark.parametrize("name", ROADS)
def test_roads(name: str, needs: bool) -> None:
    found = []
    for function in (ROADS[name], torch.compile(ROADS[name])):
        torch.manual_seed(3)
        results = []
        for _ in range(3):
            x = torch.randn(2048, 64).requires_grad_(needs)
            result = function(x)
            if needs and result.requires_grad:
                result.sum().backward()
            if name == "autocast":
                assert_rounded_product(result.detach().numpy(), (x.detach() * 2).bfloat16().double().numpy())
            results.append((result.detach().numpy().copy(), None if x.grad is None else x.grad.numpy()))
        found.append(results)
    for want, got in zip(*found, strict=True):
        if name != "autocast":  # sums in another order may be rounded to the other neighbour
            np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-3)
        assert (got[1] is None) == (want[1] is None)
        if want[1] is not None:
            np.testing.assert_allclose(got[1], want[1], rtol=1e-4, atol=1e-3)


def assert_rounded_product(found: Any, rows: Any) -> None:
    """The product of rows with themselves, rounded once to bfloat16: at most half a unit of the last digit away, but for the error of a float32 sum."""
    exact = rows @ rows.T
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), np.finfo(np.float32).tiny))) - 7)
    assert (np.abs(found - exact) <= unit / 2 + 2.0**-22 * (np.abs(rows) @ np.abs(rows).T)).all()

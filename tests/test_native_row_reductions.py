"""Row reductions: kernels of several passes, column sums in the same pass, and values stored between passes."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np
import pytest
from support.compiled import assert_threads_change_nothing

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

import rushlight as torch
from rushlight import nn
from rushlight.backends import native


def compiled(function: Any, *args: Any) -> tuple[Any, str]:
    """The results of a compiled function, and the groups it was made of."""
    made = torch.compile(function)
    with torch.no_grad():
        made(*args)
        return made(*args), native.describe(made)


def gradients(run: Any, module: Any) -> list[Any]:
    module.zero_grad()
    run().backward()
    return [each.grad.numpy().copy() for each in module.parameters()]


def test_columns_are_summed_while_rows_are_there() -> None:
    """The gradients of a layer norm's weight and bias: sums along the batch in the pass over its rows."""
    torch.manual_seed(0)
    for shape in ((300, 64), (8, 64, 128), (5, 40, 3, 32), (3, 1000, 48), (16, 8, 17)):
        x, y, norm = torch.randn(*shape, requires_grad=True), torch.randn(*shape), nn.LayerNorm(shape[-1])

        def loss(x: Any = x, y: Any = y, norm: Any = norm) -> Any:
            return (torch.softmax(norm(torch.tanh(x)), -1) * y).sum()

        step = torch.compile(loss)
        wanted = [*gradients(loss, norm), x.grad.numpy().copy()]
        for _ in range(3):
            x.grad = None
            found = [*gradients(step, norm), x.grad.numpy().copy()]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, 2e-4, 2e-5)
        backward = native.describe(step).split("backward")[1]
        assert backward.count(f"group over {list(shape)}") == 1, "all of the backward pass is one pass over memory"


def test_columns_do_not_depend_on_threads() -> None:
    torch.manual_seed(0)
    x, norm = torch.randn(2000, 256), nn.LayerNorm(256)
    step = torch.compile(lambda: torch.softmax(norm(x.exp()), -1).square().sum())
    assert_threads_change_nothing(lambda: gradients(step, norm) and gradients(step, norm), (2, 1, 2))


def test_columns_of_what_has_no_rows() -> None:
    """Sums along the batch of something computed element by element, or of an input: by blocks of rows, too."""
    torch.manual_seed(0)
    x, y = torch.randn(1000, 33), torch.randn(10, 100, 33).transpose(0, 1)
    for function in (
        lambda x, y: x.sin().sum(0),
        lambda x, y: (x.sum(0), (x * 2).cos()),
        lambda x, y: (y.sum((0, 1)), (y * y).sum((0, 1)).sqrt()),
    ):
        found, wanted = compiled(function, x, y)[0], function(x, y)
        for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-5, 1e-4)


@pytest.mark.parametrize("dynamic", [False, True])
def test_columns_beside_a_fold_of_everything(dynamic: bool) -> None:
    """A sum along the columns can't be begun in a pass that folds along other axes: the gradient of a smallest element counts how many there are."""
    function = lambda x, y: (x.amin(), (x - y).tanh(), (x * y).sum() * y.exp())
    made = torch.compile(function, dynamic=dynamic)
    for rows in (300, 300, 200, 500):
        torch.manual_seed(rows)
        x, y = torch.randn(rows, 64, dtype=torch.float64, requires_grad=True), torch.randn(64, dtype=torch.float64, requires_grad=True)
        found, wanted = (torch.autograd.grad(sum(each.sum() for each in run(x, y)), (x, y)) for run in (made, function))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-10, 1e-10)


def test_a_training_step_is_one_pass() -> None:
    """Forward, loss and backward of rows are one group; what comes after are small sums and updates."""
    torch.manual_seed(0)
    x, y, model = torch.randn(512, 96), torch.randn(512, 96), nn.LayerNorm(96)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = (torch.softmax(model(torch.tanh(x)), -1) * y).sum()
        loss.backward()
        optimizer.step()
        return loss

    whole = torch.compile(step)
    losses = [whole().item() for _ in range(4)]
    assert native.describe(whole).count("[512, 96]") == 1
    for each in model.parameters():
        each.data.fill_(1.0 if each is model.weight else 0.0)
    np.testing.assert_allclose(losses, [step().item() for _ in range(4)], 1e-4)


def test_stored_values_reuse_the_memory_of_a_result() -> None:
    """Elements that a later pass reads again may lie in the memory of its result: they are read before that is written."""
    x = torch.randn(40, 100)

    def function(x: Any) -> Any:
        power = (x - x.amax(-1, keepdim=True)).exp()
        total = power.sum(-1, keepdim=True)
        return power / total, power - total, (power * total).sum(-1), power.cos() * total

    found, groups = compiled(function, x)
    assert groups.count("group over") == 1
    for one, other in zip(found, function(x), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("shape", [(100, 100), (70, 3, 40), (2, 2, 2, 5000), (4100, 20), (20000,), (64, 16), (63, 16)])
def test_sums_of_everything(shape: tuple[int, ...]) -> None:
    x = torch.rand(*shape, dtype=torch.float64).float()
    (total, mean), _ = compiled(lambda x: (x.exp().sum(), x.mean()), x)
    exact = np.exp(x.numpy().astype(np.float64)).sum()
    assert abs(total.item() - exact) <= 1e-6 * exact
    assert abs(mean.item() - x.numpy().astype(np.float64).mean()) < 1e-6


def test_extremes_of_rows_with_strange_numbers() -> None:
    x = np.random.default_rng(0).standard_normal((6, 37)).astype(np.float32)
    x[1, 5], x[2, 36], x[3, :], x[4, 7] = np.nan, -np.inf, -np.inf, np.inf
    given = torch.from_numpy(x)
    (largest, smallest, soft), _ = compiled(lambda x: (x.amax(-1), x.amin(-1), torch.softmax(x, -1)), given)
    np.testing.assert_array_equal(largest.numpy(), x.max(-1))
    np.testing.assert_array_equal(smallest.numpy(), x.min(-1))
    np.testing.assert_allclose(soft.numpy(), torch.softmax(given, -1).numpy(), 1e-6, 1e-7)


def test_softmax_of_far_numbers() -> None:
    """exp of what is not positive gives denormal numbers and zeros as exp does."""
    x = torch.linspace(-120, 0, 3001).reshape(1, -1)
    (found,), _ = compiled(lambda x: ((x - x.amax(-1, keepdim=True)).exp(),), x)
    wanted = np.exp(x.numpy().astype(np.float64))
    np.testing.assert_allclose(found.numpy(), wanted, 3e-7, 1.5e-45)


def test_factor_of_softmax() -> None:
    """The exp in softmax has a factor that is divided away, unless anything else uses the exp or its sum."""
    x = torch.linspace(-120, 0, 3000).reshape(6, 500)
    x[0, 1], x[1, 1], x[2], x[3, 1] = math.nan, math.inf, -math.inf, -math.inf

    def by_hand(x: Any) -> Any:
        parts = (x - x.amax(-1, keepdim=True)).exp()
        total = parts.sum(-1, keepdim=True)
        return parts * total.reciprocal(), parts * (1 / total), parts, total

    for function in (lambda x: (torch.softmax(x, -1), torch.softmax(x, 0)), by_hand, lambda x: by_hand(x)[:2], lambda x: by_hand(x)[:1]):
        for dtype in (torch.float32, torch.float64):
            found, _ = compiled(function, x.to(dtype))
            for one, other in zip(found, function(x.double()), strict=True):
                tolerance = (1e-5, 1.5e-45) if dtype == torch.float32 else (1e-13, 0)
                np.testing.assert_allclose(one.numpy(), other.numpy(), *tolerance)
    for dtype in (torch.float32, torch.float64):
        masked = torch.full((3, 40), -math.inf, dtype=dtype)
        masked[:, 7] = 2.0
        found, _ = compiled(lambda x: torch.softmax(x, -1), masked)
        assert torch.equal(found, torch.eye(40, dtype=dtype)[7].expand(3, 40))


def test_one_and_tanh() -> None:
    """``1 + tanh(x)`` is one function where nothing else uses the tanh, and two steps elsewhere."""
    x = torch.linspace(-30, 30, 1000)

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    def both(x: Any) -> Any:
        found = torch.tanh(x)
        return found + 1, found * x

    def other_orders(x: Any) -> Any:
        return x * 0.5 * (torch.tanh(x) + 1), (1 + torch.tanh(x)) * (x * 0.5), 0.25 * x * (1 + torch.tanh(x)), x * (1 + torch.tanh(x))

    x[:5] = torch.tensor([math.inf, -math.inf, math.nan, -0.0, 1e-40])
    for function in (gelu, both, other_orders, lambda x: nn.functional.gelu(x, approximate="tanh"), lambda x: x[5:].tanh().mean() + 1):
        found, wanted = compiled(function, x)[0], function(x)
        for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-6, 1e-6)


def test_rows_are_updated_where_they_are() -> None:
    """A parameter whose gradient comes from folds of its own rows is updated in place, in the last pass over each row."""
    torch.manual_seed(0)
    target = torch.randn(300, 40)
    start = torch.randn(300, 40)

    def steps(compiled: bool) -> tuple[list[float], Any, str]:
        weight = nn.Parameter(start.clone())
        optimizer = torch.optim.SGD([weight], lr=0.5)

        def step() -> Any:
            optimizer.zero_grad()
            loss = (torch.softmax(weight, -1) * target).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiled else step
        return [run().item() for _ in range(5)], weight.detach().numpy(), native.describe(run) if compiled else ""

    found, wanted = steps(True), steps(False)
    np.testing.assert_allclose(found[0], wanted[0], 1e-5)
    np.testing.assert_allclose(found[1], wanted[1], 1e-5, 1e-6)
    assert found[2].count("[300, 40]") == 1 and "copy" not in found[2]

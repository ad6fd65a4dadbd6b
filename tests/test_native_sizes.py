"""Programs for sizes that may differ: compiled once, filled with numbers for each size, and right for all of them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.backends import native
from rushlight.backends.native import general
from rushlight.backends.native.machine import machine
from rushlight.backends.native.sizes import Fixed, Size, Sizes, if_many, least, may_reach, most
from rushlight.core.sizes import Expression
from rushlight.nn import functional as F

# -- numbers -----------------------------------------------------------------------------------------------------


def size(value: int = 33) -> tuple[Sizes, Any]:
    sizes = Sizes({"n": value})
    return sizes, sizes.size(Expression.symbol("n"))


@pytest.mark.parametrize(
    "leak", [int, float, range, np.empty, np.float32, math.sqrt, math.ceil, round, lambda n: [0] * n, lambda n: "ab"[n:], lambda n: np.zeros((n, 2)), lambda n: f"{n / 2}"]
)  # fmt: skip
def test_a_size_is_no_number(leak: Callable[[Any], Any]) -> None:
    """Nothing takes its value unnoticed."""
    with pytest.raises((Fixed, TypeError)):
        leak(size()[1])


def test_comparisons_are_guarded() -> None:
    sizes, n = size()
    assert n * 64 > 200 and not n < 8 and n != 40 and 2.5 * n > 10
    assert list(sizes.guards) == ["(64*n) > 200", "not ((n) < 8)", "(n) != 40", "(2.5 * (n)) > 10"]
    assert n + 1 > n and n * 4 == 2 * n + n * 2 and n != 1 and (n, 3) == (n, 3) and len({n, n * 2, n}) == 2
    assert len(sizes.guards) == 4  # what holds for all sizes is not asked
    holds = sizes.function(" and ".join(sizes.guards))
    assert holds(n=33) and holds(n=1000) and not holds(n=40) and not holds(n=7)


def test_arithmetic() -> None:
    sizes, n = size()
    for made, wanted in ((-(-n // 16), 3), (n % 8, 1), (math.prod((n, 2, n)), 2178), (sum([n, n, 1]), 67), (7 - n, -26), (np.prod((n, 3)), 99), (abs(n), 33)):
        assert isinstance(made, Size) and made.value == wanted
    assert n * 0 == 0 and n - n == 0 and n // n == 1 and not sizes.guards
    assert least(n, 16).value == 16 and most(n, 50).value == 50 and least(3, 4) == 3 and if_many(n, 20, 5, 6).value == 5 and may_reach(n, 1000)
    assert sizes.function(f"({most(n, 50)!r}, {if_many(n, 20, 5, 6)!r}, {-(-n // 16)!r})")(n=10) == (50, 6, 1)


# -- programs ----------------------------------------------------------------------------------------------------


class Counted:
    """Counts the programs that are made for any sizes, and those that are filled in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = self.filled = 0
        begin, fill = general.Template.__init__, general.Template.instance

        def beginning(template: Any, *given: Any) -> None:
            begin(template, *given)
            self.made += 1

        def filling(template: Any, values: Any) -> Any:
            self.filled += 1
            return fill(template, values)

        monkeypatch.setattr(general.Template, "__init__", beginning)
        monkeypatch.setattr(general.Template, "instance", filling)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def check(function: Any, inputs: Callable[[int], list[Any]], sizes: Any, gradients: bool, dynamic: bool | None = True) -> None:
    """A program at several sizes, compiled for any of them (or, where it is not said, for any of those that have differed), against eager mode."""
    compiled = torch.compile(function, dynamic=dynamic)
    for count in sizes:
        given = inputs(count)
        for each in given:
            each.requires_grad_(gradients and each.is_floating_point())
        leaves = [each for each in given if each.requires_grad]
        outcomes = []
        for run in (compiled, compiled, function):
            with torch.set_grad_enabled(gradients):
                results = run(*given)
            results = results if isinstance(results, tuple) else (results,)
            found = [each.detach().numpy() for each in results]
            if gradients:
                total = sum((each * torch.arange(each.numel()).reshape(each.shape).cos()).sum() for each in results if each.requires_grad)
                slopes = torch.autograd.grad(total, leaves, allow_unused=True) if leaves else ()
                found += [None if each is None else each.numpy() for each in slopes]
            outcomes.append(found)
        for once in outcomes[:2]:
            for one, wanted in zip(once, outcomes[2], strict=True):
                assert (one is None) == (wanted is None), count
                if one is not None:
                    assert one.shape == wanted.shape and one.dtype == wanted.dtype, count
                    scale = max(1.0, float(np.abs(np.nan_to_num(wanted)).max(initial=0)))
                    np.testing.assert_allclose(one, wanted, 1e-4, 1e-5 * scale, err_msg=f"size {count}")


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "pointwise": (lambda x: (x * 2 + x.shape[0]).tanh() / x.shape[0], lambda n: [torch.randn(n, 5)]),
    "mean of columns": (lambda x: x.mean(0), lambda n: [torch.randn(n, 17)]),
    "mean of all": (lambda x: (x * x).mean(), lambda n: [torch.randn(n, 17)]),
    "sum of a length": (lambda x: x.sum(1) - x.amax(1), lambda n: [torch.randn(3, n)]),
    "variance": (lambda x: x.var(0), lambda n: [torch.randn(n, 4)]),
    "softmax over a length": (lambda x: x.softmax(-1), lambda n: [torch.randn(3, n)]),
    "layer norm": (lambda x: F.layer_norm(x, (16,)).gelu() if hasattr(x, "gelu") else F.gelu(F.layer_norm(x, (16,))), lambda n: [torch.randn(n, 2, 16)]),
    "product": (lambda x, w: x @ w, lambda n: [torch.randn(n, 24), torch.randn(24, 40)]),
    "product along a length": (lambda x, y: x.transpose(0, 1) @ y, lambda n: [torch.randn(n, 24), torch.randn(n, 40)]),
    "batch of products": (lambda x, y: x @ y, lambda n: [torch.randn(3, n, 4), torch.randn(3, 4, n)]),
    "two sizes": (lambda x, y: x.unsqueeze(1) * y, lambda n: [torch.randn(n, 3), torch.randn(n + 2, 3)]),
    "views": (lambda x: x.reshape(-1, 4)[1:].transpose(0, 1).reshape(2, -1) + 1, lambda n: [torch.randn(n, 8)]),
    "parts": (lambda x: [a * b + c for a, b, c in [x.chunk(3, -1)]][0], lambda n: [torch.randn(n, 6)]),
    "joined": (lambda x, y: torch.cat((x, y.relu(), x)), lambda n: [torch.randn(n, 3), torch.randn(4, 3)]),
    "picked": (lambda x: x[-1] + x[0], lambda n: [torch.randn(n, 3)]),
    "embedding": (lambda i, w: F.embedding(i, w) + torch.arange(i.shape[1]).unsqueeze(-1), lambda n: [torch.randint(0, 7, (2, n)), torch.randn(7, 5)]),
    "loss": (lambda x, t: F.cross_entropy(x, t), lambda n: [torch.randn(n, 10), torch.randint(0, 10, (n,))]),
    "attention": (
        lambda x: F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True), lambda n: [torch.randn(2, 2, n, 8)]
    ),
    "convolution": (
        lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b, padding=1).relu(), 2).flatten(1).mean(1), lambda n: [torch.randn(n, 3, 8, 8), torch.randn(16, 3, 3, 3), torch.randn(16)]
    ),
    "wide convolution": (
        lambda x, w: F.batch_norm(F.conv2d(x, w, padding=1), None, None, training=True), lambda n: [torch.randn(n, 16, 16, 16), torch.randn(32, 16, 3, 3) / 9]
    ),
    "recurrent": (lambda x, w, u: torch.stack([(x @ w).tanh(), (x @ u).sigmoid()]).prod(0), lambda n: [torch.randn(n, 3, 8), torch.randn(8, 8), torch.randn(8, 8)]),
    "a size in a choice": (lambda x: x.sum() if x.shape[0] > 20 else x * 2, lambda n: [torch.randn(n, 3)]),
    "whole numbers": (lambda x: x.cumsum(0) * x.shape[0], lambda n: [torch.arange(2 * n).reshape(n, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, gradients: bool) -> None:
    torch.manual_seed(0)
    function, inputs = PROGRAMS[name]
    images = "convolution" in name
    check(function, inputs, (12, 13, 9, 24, 2, 1) if images else (12, 13, 40, 5, 24, 2, 130, 1, 64, 13), gradients, None if images else True)


def test_most_programs_are_for_any_size(counted: Counted) -> None:
    for name in ("pointwise", "mean of all", "product", "views", "loss", "layer norm", "attention", "embedding", "two sizes"):
        before = counted.filled
        check(*PROGRAMS[name], (12, 13, 14), True)  # some of whose sizes can't differ
        assert counted.filled >= before + 4, name
    for name in ("convolution", "wide convolution", "layer norm"):
        before = counted.filled
        check(*PROGRAMS[name], (11, 12, 13, 14), True, None)
        assert counted.filled >= before + 4, name


def test_a_new_size_needs_no_compiler(counted: Counted) -> None:
    """A network is compiled for any batch that is computed in the same way."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.LayerNorm(24), nn.Linear(24, 3))
    compiled = torch.compile(model)
    for count in (70, *[75] * 20):  # in the end guards are asked by native code, which is compiled once
        compiled(torch.randn(count, 24)).sum().backward()
    before, made = machine().emitted, counted.made
    filled = counted.filled
    for count in (80, 81, 100, 99, 80):
        x = torch.randn(count, 24)
        model.zero_grad()
        compiled(x).sum().backward()
        slopes = [each.grad.numpy().copy() for each in model.parameters()]
        model.zero_grad()
        model(x).sum().backward()
        for one, other in zip(slopes, model.parameters(), strict=True):
            np.testing.assert_allclose(one, other.grad.numpy(), 1e-4, 1e-5)
    assert machine().emitted == before and counted.made == made and counted.filled == filled + 8
    assert "compiled for any sizes in" in native.describe(compiled) and "group over [s0, 24]" in native.describe(compiled)


def test_a_training_step_of_any_size(counted: Counted) -> None:
    def trained(compile: Any) -> Any:
        torch.manual_seed(0)
        model = nn.Linear(6, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(x: Any, t: Any) -> Any:
            optimizer.zero_grad()
            loss = ((model(x) - t) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = compile(step)
        return [run(torch.randn(count, 6), torch.randn(count, 2)).item() for count in (8, 9, 9, 10, 11, 10, 30, 8)]

    np.testing.assert_allclose(trained(torch.compile), trained(lambda step: step), 1e-5)
    assert counted.filled >= 3


def test_layouts_and_kinds() -> None:
    """Inputs that lie otherwise, or are of another type, have programs of their own."""
    compiled = torch.compile(lambda x: (x + 1).sum(0) * 2, dynamic=True)
    for count in (6, 7, 8):
        for x in (torch.randn(count, 4), torch.randn(4, count).t(), torch.randn(2 * count, 4)[::2], torch.randn(1, 4).expand(count, 4), torch.randn(count, 4, dtype=torch.float64)):
            np.testing.assert_allclose(compiled(x).numpy(), ((x + 1).sum(0) * 2).numpy(), 1e-5, 1e-5)


def test_calls_from_several_threads() -> None:
    """Programs for different sizes share their code, and nothing else."""
    compiled = torch.compile(lambda x: ((x * 2).tanh() @ x.t()).softmax(-1).sum(0), dynamic=True)
    inputs = [torch.randn(20 + at, 30) for at in range(4)]
    wanted = [((x * 2).tanh() @ x.t()).softmax(-1).sum(0).numpy() for x in inputs]
    compiled(inputs[0]), compiled(inputs[1])
    wrong: list[Any] = []

    def work(at: int) -> None:
        for _ in range(200):
            if not np.allclose(compiled(inputs[at]).numpy(), wanted[at], 1e-4, 1e-5):
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_what_holds_for_one_size_is_said_and_compiled_for_it(counted: Counted) -> None:
    """A graph that is another for each size: as many nodes as there are rows."""
    compiled = torch.compile(lambda x: torch.stack([row * at for at, row in enumerate(x.unbind(0))]).sum(0), dynamic=True)
    for count in (3, 4, 5, 4):
        x = torch.randn(count, 3)
        np.testing.assert_allclose(compiled(x).numpy(), sum((row * at for at, row in enumerate(x)), torch.zeros(3)).numpy(), 1e-5, 1e-6)
    assert counted.made == 0


def test_why_a_program_is_for_one_size_is_said(counted: Counted) -> None:
    compiled = torch.compile(lambda x: x.tanh().diagonal(0, 0, 1) * 2, dynamic=True)
    with torch.no_grad():
        for count in (4, 5):
            x = torch.randn(count, 7)
            np.testing.assert_allclose(compiled(x).numpy(), (x.tanh().diagonal(0, 0, 1) * 2).numpy(), 1e-5, 1e-6)
    assert counted.made == 0 and "a program for each size, since Fixed: diagonal of a value whose sizes may differ" in native.describe(compiled)


def test_many_sizes_are_not_all_kept() -> None:
    compiled = torch.compile(lambda x: (x * 2).sum(), dynamic=True)
    for count in range(2, 2 + general.KEPT + 20):
        x = torch.ones(count, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None and x.grad.tolist() == [2.0] * count


# -- random programs ---------------------------------------------------------------------------------------------


class Random:
    """A random program: steps that are possible for any size."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.shapes: list[tuple[Any, ...]] = []
        for _ in range(self.random.integers(1, 4)):
            choices: list[Any] = ["n", "n", "m", 1, 3, 16]
            self.shapes.append(tuple([choices[self.random.integers(len(choices))] for _ in range(self.random.integers(1, 4))]))
        self.steps: list[tuple[Any, tuple[int, ...]]] = []
        trials = [self.inputs(5), self.inputs(8)]
        for _ in range(self.random.integers(3, 11)):
            self.add(trials)

    def inputs(self, count: int) -> list[Any]:
        generator = np.random.default_rng(count)
        sizes = {"n": count, "m": count + 3}
        return [torch.from_numpy(generator.standard_normal([sizes.get(each, each) for each in shape]).astype(np.float32)) for shape in self.shapes]

    def add(self, trials: list[list[Any]]) -> None:
        random = self.random
        picked = tuple(int(each) for each in random.integers(len(trials[0]), size=2))
        rank = trials[0][picked[0]].ndim
        dim = int(random.integers(rank)) if rank else 0
        number = float(random.integers(1, 4))
        keep = bool(random.integers(2))
        steps: list[Any] = [
            lambda a, b: a + b, lambda a, b: a * b, lambda a, b: torch.maximum(a, b), lambda a, b: a.tanh(), lambda a, b: a.sigmoid() * number, lambda a, b: a.relu() - number,
            lambda a, b: a.sum(dim, keepdim=keep), lambda a, b: a.mean(dim, keepdim=keep), lambda a, b: a.amax(dim, keepdim=keep), lambda a, b: a.mean(),
            lambda a, b: a.softmax(dim), lambda a, b: a.transpose(0, dim), lambda a, b: a.unsqueeze(dim), lambda a, b: a.reshape(-1), lambda a, b: a.flatten(0, dim),
            lambda a, b: a[1:], lambda a, b: a[..., ::2], lambda a, b: a[-1], lambda a, b: a @ b, lambda a, b: a @ b.transpose(-1, -2), lambda a, b: torch.cat((a, b), dim),
            lambda a, b: torch.where(a > 0, a, b), lambda a, b: F.gelu(a), lambda a, b: a / a.shape[dim], lambda a, b: a.expand(2, *a.shape), lambda a, b: a.cumsum(dim),
        ]  # fmt: skip
        step = steps[random.integers(len(steps))]
        try:
            made = [step(*[values[at] for at in picked]) for values in trials]
        except (RuntimeError, TypeError, IndexError, ValueError):
            return
        if all(each.numel() < 20000 and float(each.abs().amax() if each.numel() else 0) < 1e4 for each in made):
            self.steps.append((step, picked))
            for values, each in zip(trials, made):
                values.append(each)

    def __call__(self, *inputs: Any) -> Any:
        values = list(inputs)
        for step, picked in self.steps:
            values.append(step(*[values[at] for at in picked]))
        return tuple(values[-2:])


def check_random(seed: int, sizes: Any = (5, 8, 12, 33, 2, 70)) -> None:
    program = Random(seed)
    try:
        check(lambda *inputs: program(*inputs), program.inputs, [each for each in sizes if possible(program, each)], bool(seed % 2))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error


def possible(program: Random, count: int) -> bool:
    """Whether eager mode can run a program for a size."""
    try:
        program(*program.inputs(count))
    except (RuntimeError, IndexError):
        return False
    return True


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int, counted: Counted) -> None:
    for seed in range(12 * block, 12 * block + 12):
        check_random(seed)
    assert counted.filled > 12

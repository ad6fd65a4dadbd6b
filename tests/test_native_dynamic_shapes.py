"""Dynamic shapes: code compiled once with symbolic sizes, specialized for each size, and right for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.backends import native
from rushlight.backends.native import dynamic_shapes
from rushlight.nn import functional as F
from rushlight.runtime.cpu.jit import jit

# -- programs ----------------------------------------------------------------------------------------------------


class Counted:
    """Counts the programs that are made for any sizes, and those that are filled in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = self.filled = 0
        begin, fill = dynamic_shapes.Template.__init__, dynamic_shapes.Template.instance

        def beginning(template: Any, *given: Any) -> None:
            begin(template, *given)
            self.made += 1

        def filling(template: Any, values: Any) -> Any:
            self.filled += 1
            return fill(template, values)

        monkeypatch.setattr(dynamic_shapes.Template, "__init__", beginning)
        monkeypatch.setattr(dynamic_shapes.Template, "instance", filling)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def assert_matches_eager_at_sizes(
    function: Any, inputs: Callable[[int], list[Any]], sizes: Any, gradients: bool, dynamic: bool | None = True
) -> None:
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
    "unbound": (lambda x: [a * b + c for a, b, c in [x.unbind(1)]][0], lambda n: [torch.randn(n, 3, 4)]),
    "diagonals": (lambda x: torch.cat((x.diagonal(), x.diagonal(1), x.diagonal(-1), x.sin().diagonal(2, 1, 0))) * 2, lambda n: [torch.randn(n, n + 2)]),
    "windows": (lambda x: (x.unfold(0, 2, 1) * x.tanh().unfold(0, 2, 1)).sum(-1) + x[1:], lambda n: [torch.randn(n + 1, 3)]),
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
    "sorted": (lambda x: (x * 2).sort(0)[0].tanh() + x, lambda n: [torch.randn(n, 3)]),
    "the largest": (lambda x: x.exp().topk(x.shape[0] // 2 + 1, 0)[0] / x.shape[0], lambda n: [torch.randn(n, 3)]),
    "solved": (lambda x, y: torch.linalg.solve(x + 9 * torch.eye(3), y.sin()).sum(1) * 2, lambda n: [torch.randn(n, 3, 3), torch.randn(n, 3, 2)]),
    "enlarged": (lambda x: F.interpolate(x.tanh(), scale_factor=2, mode="bilinear") * 2, lambda n: [torch.randn(n, 2, 3, 4)]),
    "whole numbers": (lambda x: x.cumsum(0) * x.shape[0], lambda n: [torch.arange(2 * n).reshape(n, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, gradients: bool) -> None:
    torch.manual_seed(0)
    function, inputs = PROGRAMS[name]
    images = "convolution" in name
    assert_matches_eager_at_sizes(
        function, inputs, (12, 13, 9, 24, 2, 1) if images else (12, 13, 40, 5, 24, 2, 130, 1, 64, 13), gradients, None if images else True
    )


PAIRS: dict[str, Any] = {
    "scores": lambda x, y: (x @ y.transpose(0, 1)) / x.shape[0] ** 0.5 + y.shape[0] / 3,
    "one by one": lambda x, y: x.unsqueeze(1) + y,
    "every other": lambda x, y: torch.cat((x, y, x)).cumsum(0)[1::2],
    "as many as there are": lambda x, y: x[x > 0].sum() + y[:, 1:].sum() * 2,
    "counted": lambda x, y: x + torch.arange(x.shape[0]).unsqueeze(1) + torch.arange(y.shape[0]).sum(),
}


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_where_one_of_two_sizes_is_small(name: str, gradients: bool) -> None:
    pairs = [(5, 7), (6, 7), (6, 9), (1, 4), (1, 5), (1, 6), (4, 1), (9, 1), (1, 1), (2, 2), (64, 4), (4, 64)]
    assert_matches_eager_at_sizes(PAIRS[name], lambda at: [torch.randn(size, 4) for size in pairs[at]], range(len(pairs)), gradients)


def test_most_programs_are_for_any_size(counted: Counted) -> None:
    for name in ("pointwise", "mean of all", "product", "views", "loss", "layer norm", "attention", "embedding", "two sizes"):
        before = counted.filled
        assert_matches_eager_at_sizes(*PROGRAMS[name], (12, 13, 14), True)  # some of whose sizes can't differ
        assert counted.filled >= before + 4, name
    for name in ("convolution", "wide convolution", "layer norm", "enlarged"):
        before = counted.filled
        assert_matches_eager_at_sizes(*PROGRAMS[name], (11, 12, 13, 14), True, None)
        assert counted.filled >= before + 4, name


def test_a_new_size_needs_no_compiler(counted: Counted) -> None:
    """A network is compiled for any batch that is computed in the same way."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.LayerNorm(24), nn.Linear(24, 3))
    compiled = torch.compile(model)
    for count in (70, *[75] * 20):  # in the end guards are asked by native code, which is compiled once
        compiled(torch.randn(count, 24)).sum().backward()
    before, made = jit().emitted, counted.made
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
    assert jit().emitted == before and counted.made == made and counted.filled == filled + 8
    assert "compiled for any sizes in" in native.describe(compiled) and "group over [s0, 24]" in native.describe(compiled)


class Recurrent(nn.Module):
    """A recurrent network with something after it."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        self.network = getattr(nn, kind)(6, 10, batch_first=True, **options)
        self.last = nn.LazyLinear(3)

    def forward(self, x: Any) -> Any:
        return self.last(self.network(x)[0])


@pytest.mark.parametrize(
    ("kind", "options"), [("LSTM", {}), ("GRU", {}), ("RNN", {}), ("LSTM", {"proj_size": 4}), ("GRU", {"num_layers": 2, "bidirectional": True}), ("RNN", {"nonlinearity": "relu", "bias": False})]
)  # fmt: skip
def test_recurrent_networks_of_any_batch_and_length(kind: str, options: dict[str, Any], counted: Counted) -> None:
    """The loop through time, too, is one for all sizes; where one of the two is 1, one for all of the other."""
    torch.manual_seed(0)
    model = Recurrent(kind, **options)
    model(torch.randn(2, 3, 6))
    compiled = torch.compile(model)
    made = filled = 0
    for more, sizes in (
        (2, ((4, 10), (5, 11), (5, 11), (7, 20), (9, 9), (16, 8), (2, 3), (33, 4), (3, 40), (9, 9))),
        (2, ((1, 5), (1, 6), (1, 30), (1, 2))),
        (2, ((5, 1), (6, 1), (2, 1))),
    ):
        for count, length in sizes:
            x = torch.randn(count, length, 6, requires_grad=True)
            found = []
            for run in (compiled, model):
                model.zero_grad()
                result = run(x)
                slope = torch.autograd.grad((result * result).sum(), [x, *model.parameters()])
                found.append([result.detach(), *slope])
            for one, wanted in zip(*found, strict=True):
                np.testing.assert_allclose(
                    one.numpy(), wanted.numpy(), 1e-4, 1e-5 * max(1.0, float(wanted.abs().max())), err_msg=f"{count}, {length}"
                )
        made += more
        assert counted.made == made
        assert counted.filled > filled
        filled = counted.filled
    with torch.no_grad():
        for count, length in ((4, 10), (3, 7), (1, 7), (1, 9)):
            x = torch.randn(count, length, 6)
            np.testing.assert_allclose(compiled(x).numpy(), model(x).numpy(), 1e-4, 1e-5)
    assert counted.made <= made + 2


def test_one_program_does_for_all_small_and_large_batches(counted: Counted) -> None:
    """The GEMM kernel, its tiles, the order of column sums and sizes that happen to be equal (here to a width) are decided when sizes are specialized."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    compiled = torch.compile(model)
    for count in (32, 48, 48, 64, 80, 33, 34, 35, 16, 15, 7, 8, 2, 128, 255, 256, 257, 511, 600, 3000):
        x = torch.randn(count, 64)
        slopes = []
        for run in (compiled, model):
            model.zero_grad()
            run(x).pow(2).sum().backward()
            slopes.append([each.grad.numpy().copy() for each in model.parameters()])
        for one, wanted in zip(*slopes, strict=True):
            np.testing.assert_allclose(one, wanted, 1e-4, 1e-5 * max(1.0, float(np.abs(wanted).max())), err_msg=f"size {count}")
    assert counted.made == 2


class Block(nn.Module):
    """Attention and two layers, with all that reshapes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.both = nn.LayerNorm(16), nn.Linear(16, 48)
        self.wide = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: Any) -> Any:
        count, length, width = x.shape
        query, key, value = self.both(self.norm(x)).view(count, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).reshape(count, length, width)
        return x + self.wide(x)


class Language(nn.Module):
    """A small model of sequences of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places, self.block, self.last = nn.Embedding(11, 16), nn.Embedding(70, 16), Block(), nn.Linear(16, 11)

    def forward(self, tokens: Any) -> Any:
        return self.last(self.block(self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))))


MODELS: dict[str, tuple[Callable[[], Any], Callable[..., Any], Any]] = {
    "transformer": (Language, lambda *sizes: torch.randint(0, 11, sizes), ((4, 12), (5, 14), (5, 14), (2, 3), (9, 9), (3, 40), (20, 33), (16, 64), (2, 70), (11, 16))),
    "images": (
        lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)),
        lambda count: torch.randn(count, 3, 16, 16), ((9,), (10,), (10,), (3,), (2,), (16,), (7,), (8,), (33,), (64,)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_models_of_any_sizes(name: str, counted: Counted) -> None:
    """One program for the forward and one for the backward do for all sizes."""
    torch.manual_seed(0)
    make, inputs, sizes = MODELS[name]
    model = make()
    compiled = torch.compile(model)
    for given in sizes:
        x = inputs(*given)
        found = []
        for run in (compiled, model):
            model.zero_grad()
            result = run(x)
            result.pow(2).mean().backward()
            found.append([result.detach().numpy(), *[each.grad.numpy().copy() for each in model.parameters()]])
        for one, wanted in zip(*found, strict=True):
            np.testing.assert_allclose(one, wanted, 1e-3, 1e-5 * max(1.0, float(np.abs(wanted).max())), err_msg=str(given))
    assert counted.made == 2


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


def test_ops_that_are_called(counted: Counted) -> None:
    """What native code has no form for is called, with the sizes of each call."""
    for name in ("sorted", "the largest", "solved"):
        made, filled = counted.made, counted.filled
        assert_matches_eager_at_sizes(*PROGRAMS[name], (12, 13, 14, 20, 7), False)
        assert counted.made == made + 1 and counted.filled >= filled + 5, name


def test_writes_to_inputs(counted: Counted) -> None:
    """Also such as are copied back after a call."""

    def write(x: Any, y: Any, z: Any) -> Any:
        y.copy_((x * 2).sort(0)[0])
        z.add_(y.sum())
        y[1:] = x[:-1]
        return y.tanh() * 2 + z

    compiled = torch.compile(write)
    with torch.no_grad():
        for count in (5, 6, 6, 8, 9, 2, 30):
            x = torch.randn(count, 3)
            found = [(torch.zeros(count, 3), torch.ones(count, 3)) for _ in range(2)]
            results = [run(x, *given) for run, given in zip((compiled, write), found)]
            for one, wanted in zip((results[0], *found[0]), (results[1], *found[1])):
                np.testing.assert_allclose(one.numpy(), wanted.numpy(), 1e-5, 1e-5)
    assert counted.made == 1


def test_layouts_and_kinds() -> None:
    """Inputs that lie otherwise, or are of another type, have programs of their own."""
    compiled = torch.compile(lambda x: (x + 1).sum(0) * 2, dynamic=True)
    for count in (6, 7, 8):
        several = (
            torch.randn(count, 4),
            torch.randn(4, count).t(),
            torch.randn(2 * count, 4)[::2],
            torch.randn(1, 4).expand(count, 4),
            torch.randn(count, 4, dtype=torch.float64),
        )
        for x in (*several, torch.randn(count, 9)[:, 3:7], torch.randn(9, count)[2:6].t()):
            np.testing.assert_allclose(compiled(x).numpy(), ((x + 1).sum(0) * 2).numpy(), 1e-5, 1e-5)


def test_strided_inputs(counted: Counted) -> None:
    """Parts of larger values that a backward needs, and inputs that are parts of others: their strides are as they are for all sizes."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.GLU(), nn.Linear(8, 16), nn.GLU())
    compiled = torch.compile(model)
    for count, length in ((4, 3), (5, 4), (5, 4), (9, 2), (2, 30), (33, 5)):
        x = torch.randn(count, length, 12)[:, :, 3:9]
        found = []
        for run in (compiled, model):
            model.zero_grad()
            run(x).pow(2).sum().backward()
            found.append([each.grad.numpy().copy() for each in model.parameters()])
        for one, wanted in zip(*found, strict=True):
            np.testing.assert_allclose(one, wanted, 1e-4, 1e-5 * max(1.0, float(np.abs(wanted).max())))
    assert counted.made == 2


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
    compiled = torch.compile(lambda x: x.as_strided((x.shape[0],), (8,)) * 2, dynamic=True)
    with torch.no_grad():
        for count in (4, 5):
            x = torch.randn(count, 9)
            np.testing.assert_allclose(compiled(x).numpy(), (x.as_strided((count,), (8,)) * 2).numpy(), 1e-5, 1e-6)
    assert counted.made == 0 and "a program for each size, since Fixed: strided_view of a value with symbolic sizes" in native.describe(
        compiled
    )


def test_many_sizes_are_not_all_kept() -> None:
    compiled = torch.compile(lambda x: (x * 2).sum(), dynamic=True)
    for count in range(2, 2 + dynamic_shapes.KEPT + 20):
        x = torch.ones(count, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None and x.grad.tolist() == [2.0] * count


def test_a_size_that_equals_another_by_chance_and_then_does_not() -> None:
    """What is made where a batch is as large as a layer is wide holds for that batch alone."""
    runs: list[list[float]] = []
    for compile_it in (False, True):
        torch.manual_seed(0)
        layer, last = nn.LSTM(4, 16, batch_first=True), nn.Linear(16, 16)
        optimizer = torch.optim.Adam([*layer.parameters(), *last.parameters()], 0.01)

        def step(x: Any, layer: Any = layer, last: Any = last, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = last(layer(x)[0][:, -1]).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        function = torch.compile(step, dynamic=True) if compile_it else step
        runs.append([])
        for number, count in enumerate((16, 5, 16, 8, 16, 5)):
            torch.manual_seed(number)
            runs[-1].append(float(function(torch.randn(count, 6, 4))))
    np.testing.assert_allclose(runs[1], runs[0], 1e-4)


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
        return [
            torch.from_numpy(generator.standard_normal([sizes.get(each, each) for each in shape]).astype(np.float32))
            for shape in self.shapes
        ]

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


def check_random(seed: int, sizes: Any = (5, 8, 12, 33, 2, 1, 70)) -> None:
    program = Random(seed)
    try:
        assert_matches_eager_at_sizes(
            lambda *inputs: program(*inputs), program.inputs, [each for each in sizes if possible(program, each)], bool(seed % 2)
        )
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

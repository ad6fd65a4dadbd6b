"""Native code against eager mode: random graphs, whole models, and what the back-end promises beside numbers."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import threading
import warnings
from typing import Any

import models
import numpy as np
import pytest
from native_samples import BFLOAT16, TOLERANCE
from op_samples import flatten
from support.compiled import assert_compiled_matches_eager

import rushlight as torch
from rushlight import nn
from rushlight.core.base import Spec
from rushlight.core.declare import table
from rushlight.graph import Graph
from rushlight.nn import functional as F

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends import native
from rushlight.backends.native.executable import compile_graph
from rushlight.schedule.tensor_ir import elements

assert_matches_eager = functools.partial(assert_compiled_matches_eager, tolerance=2e-6, gradients=False)


def native_of(function: Any, *inputs: Any) -> tuple[Any, Any]:
    """What a compiled function gives when it is called a second time, and what it gives in eager mode."""
    compiled = torch.compile(function, backend="native")
    with torch.no_grad():
        compiled(*inputs)
        return compiled(*inputs), function(*inputs)


def graph_of(function: Any, *inputs: Any) -> Any:
    """The graph module that ``compile`` captures."""
    seen: list[Any] = []

    def keep(module: Any, examples: list[Any]) -> Any:
        seen.append((module, examples))
        return module.forward

    with torch.no_grad():
        torch.compile(function, backend=keep)(*inputs)
    return seen[0]


# -- random graphs -----------------------------------------------------------------------------------------------

DTYPES = (np.float32, np.float32, np.float64, np.float16, BFLOAT16.type, np.int64, np.int32, np.uint8, np.bool_)


class Writer:
    """Writes a random graph, and runs it in eager mode as it goes."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.graph = Graph()
        self.values: list[tuple[Any, Any, bool]] = []  # node, tensor, and whether every way of computing it gives the same bits
        self.inputs: list[Any] = []
        for _ in range(self.random.integers(1, 4)):
            self.add_input()
        for _ in range(self.random.integers(3, 14)):
            self.step()
        chosen = [each for each in self.values if each[0].op != "placeholder"][-4:]
        self.results = [tensor for _, tensor, _ in chosen]
        self.exact = [exact for _, _, exact in chosen]
        self.graph.output(tuple(node for node, _, _ in chosen))

    def add_input(self) -> None:
        shape = tuple(int(each) for each in self.random.choice([1, 2, 3, 5, 17], self.random.integers(0, 4)))
        kind = DTYPES[self.random.integers(len(DTYPES))]
        array: Any = (
            (self.random.standard_normal(shape) * 3).astype(kind) if kind is not np.uint8 else self.random.integers(0, 9, shape, np.uint8)
        )
        if array.ndim > 1 and self.random.integers(3) == 0:
            array = np.ascontiguousarray(array.T).T  # transposed in memory
        if array.ndim and self.random.integers(4) == 0:
            array = np.repeat(array, 2, 0)[::2]
        tensor = torch.from_numpy(np.asarray(array))
        self.inputs.append(tensor)
        self.values.append((self.graph.placeholder(f"x{len(self.inputs)}"), tensor, True))

    def pick(self, **wanted: Any) -> Any:
        fitting = [each for each in self.values if all(test(each) for test in wanted.values())]
        return fitting[self.random.integers(len(fitting))] if fitting else None

    def call(self, name: str, *args: Any, exact: bool, **kwargs: Any) -> None:
        """Add a call of an op; arguments that are values stand for their nodes and tensors."""
        given = [each[1] if isinstance(each, tuple) and len(each) == 3 and hasattr(each[0], "op") else each for each in args]
        nodes = [each[0] if isinstance(each, tuple) and len(each) == 3 and hasattr(each[0], "op") else each for each in args]
        op = table[name]
        try:
            result = op.call(*given, **kwargs)
        except (RuntimeError, TypeError, IndexError, NotImplementedError):
            return  # shapes or types that do not go together
        if result._array.size > 20000 or not np.all(np.abs(np.nan_to_num(result._array.astype(np.float64), posinf=9, neginf=9)) < 1e6):
            return
        node = self.graph.call_function(op.call, tuple(nodes), kwargs)
        node.meta["val"] = Spec(result._array.shape, result._array.dtype)
        self.values.append((node, result, exact))

    def step(self) -> None:
        floating = lambda each: each[1].is_floating_point()
        exactly = lambda each: each[2]
        has_dims = lambda each: each[1].ndim > 0 and each[1].numel() > 0
        choice = self.random.integers(12)
        a, b = self.pick(), self.pick()
        dim = int(self.random.integers(-a[1].ndim, a[1].ndim)) if a[1].ndim else 0
        both = a[2] and b[2]
        if choice == 0:
            self.call(str(self.random.choice(["add", "sub", "mul", "maximum", "minimum"])), a, b, exact=both)
        elif choice == 1:
            self.call(str(self.random.choice(["neg", "abs", "relu", "sign", "square", "clone"])), a, exact=a[2])
        elif choice == 2 and (a := self.pick(kind=floating)):
            name = str(self.random.choice(["tanh", "sigmoid", "sin", "cos", "erf", "expm1", "softplus", "silu", "gelu_exact"]))
            bounded = ("tanh", "sigmoid", "sin", "cos", "erf")
            if name in bounded or float(a[1].abs().amax() if a[1].numel() else 0) < 9:
                self.call(name, a, exact=False)
        elif choice == 3 and (a := self.pick(dims=has_dims)):
            dim = int(self.random.integers(-a[1].ndim, a[1].ndim))
            name = str(self.random.choice(["sum", "mean", "amax", "amin", "any", "softmax", "log_softmax"]))
            if "softmax" in name:
                self.call(name, a, dim, exact=False)
            else:
                self.call(name, a, dim, bool(self.random.integers(2)), exact=a[2] and (name in ("amax", "amin", "any") or not floating(a)))
        elif choice == 4 and a[1].ndim > 1:
            self.call("transpose", a, dim, int(self.random.integers(a[1].ndim)), exact=a[2])
        elif choice == 5 and a[1].ndim:
            if self.random.integers(2):
                self.call("slice", a, dim, int(self.random.integers(3)), None, int(self.random.integers(1, 3)), exact=a[2])
            else:
                self.call("reshape", a, -1, exact=a[2])
        elif choice == 6:
            self.call("unsqueeze", a, dim, exact=a[2])
        elif choice == 7 and (a := self.pick(exact=exactly)) and (b := self.pick(exact=exactly)):
            self.call(str(self.random.choice(["lt", "ge", "eq", "logical_and"])), a, b, exact=True)
        elif choice == 8:
            condition = self.pick(kind=lambda each: each[1].dtype == torch.bool)
            if condition is not None:
                self.call("where_elements", condition, a, b, exact=both)
            elif a[2]:
                self.call("cast", a, torch.float64, exact=True)
        elif choice == 9 and a[1].ndim:
            name = str(self.random.choice(["flip", "expand", "permute", "select"]))
            order = [int(each) for each in self.random.permutation(a[1].ndim)]
            wide = [3 if size == 1 else -1 for size in a[1].shape]
            rest = {"flip": ([dim],), "expand": ([2, *wide],), "permute": (order,), "select": (dim, -1 if a[1].shape[dim] else 0)}[name]
            self.call(name, a, *rest, exact=a[2])
        elif choice == 10 and (a := self.pick(dims=has_dims)):
            dims = [int(each) for each in self.random.permutation(a[1].ndim)[: self.random.integers(1, a[1].ndim + 1)]]
            name = str(self.random.choice(["sum", "amax", "amin", "mean"]))
            self.call(name, a, dims, bool(self.random.integers(2)), exact=a[2] and (name in ("amax", "amin") or not floating(a)))
        elif choice == 11 and (a := self.pick(kind=floating)) and (b := self.pick(kind=floating)):
            self.call("matmul", a, b, exact=False)


def check_random_graph(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = Writer(seed)
        arrays = [each._array for each in writer.inputs]
        program = compile_graph(writer.graph, [Spec(each.shape, each.dtype, elements(each)) for each in arrays])
        found = program(arrays)
    for one, wanted, exact in zip(found, writer.results, writer.exact, strict=True):
        other = wanted._array
        assert one.shape == other.shape and one.dtype == other.dtype, f"seed {seed}"
        if exact:
            np.testing.assert_array_equal(one, other, f"seed {seed}")
        elif other.dtype.name in TOLERANCE:  # a choice by inexact numbers may fall either way
            limit = 8 * max(TOLERANCE.get(tensor._array.dtype.name, 0) for _, tensor, _ in writer.values)
            one, other = one.astype(np.float64), other.astype(np.float64)
            np.testing.assert_allclose(
                one, other, limit, limit * max(1.0, float(np.abs(np.nan_to_num(other)).max(initial=0))), err_msg=f"seed {seed}"
            )


@pytest.mark.parametrize("block", range(8))
def test_random_graphs(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        check_random_graph(seed)


# -- groups ------------------------------------------------------------------------------------------------------


def test_a_chain_is_one_kernel() -> None:
    """Pointwise work with what it folds goes over memory once."""

    def step(x: Any, weight: Any, bias: Any) -> Any:
        return F.softmax(F.layer_norm(F.gelu(x), (33,), weight, bias), -1)

    inputs = torch.randn(7, 33), torch.randn(33), torch.randn(33)
    assert_matches_eager(step, *inputs)
    module, examples = graph_of(step, *inputs)
    program = native.compile_module(module, [each._array for each in examples])
    assert len(program.kernels) == 1 and len(program.schedule.steps) == 1 and not program.arena


@pytest.mark.parametrize("shape", [(1,), (5,), (4, 1), (1, 7), (3, 5, 2), (2, 1, 3, 4), (300, 7)])
def test_folds_along_any_dimensions(shape: Any) -> None:
    x = torch.randn(shape)
    for dim in range(len(shape)):
        assert_matches_eager(lambda x, dim=dim: ((x * 2).sum(dim), x.amax(dim, True) + 1, F.softmax(x, dim)), x, tolerance=1e-5)
    assert_matches_eager(lambda x: (x.sum(), x.mean(), x.exp().sum(tuple(range(x.ndim)), True) * x), x, tolerance=1e-5)


def test_long_sums_are_exact() -> None:
    """A million numbers in single precision, as well as PyTorch adds them."""
    x = torch.full((1 << 20,), 0.1)
    found, _ = native_of(lambda x: x.sum(), x)
    assert abs(float(found) / (0.1 * (1 << 20)) - 1) < 1e-6
    found, _ = native_of(lambda x: x.reshape(-1, 4).sum(0), x)
    assert abs(float(found[1]) / (0.1 * (1 << 18)) - 1) < 1e-6


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4,), (4, 3)),
        ((3, 4), (4,)),
        ((1, 4), (4, 1)),
    ],
)
def test_products(left: Any, right: Any) -> None:
    a, b = torch.randn(left), torch.randn(right)
    assert_matches_eager(lambda a, b: a @ b + 1, a, b, tolerance=1e-5)
    if a.ndim > 1 and b.ndim > 1:
        turned = a.transpose(-1, -2).contiguous().transpose(-1, -2), b.transpose(-1, -2).contiguous().transpose(-1, -2)
        assert_matches_eager(lambda a, b: (a * 2) @ b, *turned, tolerance=1e-5)
        assert_matches_eager(lambda a, b: a[..., ::2] @ b[..., ::2, :], a, b, tolerance=1e-5)


# -- models ------------------------------------------------------------------------------------------------------


def whole_models() -> list[Any]:
    torch.manual_seed(0)
    return [
        (models.ResNet(), (torch.randn(2, 3, 32, 32),)),
        (models.GPT(), (torch.randint(0, 50, (2, 9)),)),
        (models.ViT(), (torch.randn(2, 3, 16, 16),)),
        (models.UNet(), (torch.randn(2, 3, 8, 8),)),
        (models.Tagger(), (torch.randint(1, 20, (3, 7)), torch.tensor([7, 5, 2]))),
        (models.Bags(), (torch.randint(0, 30, (4, 5)),)),
        (nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)), (torch.randn(32, 64),)),
        (nn.LSTM(6, 5), (torch.randn(4, 2, 6),)),
    ]


@pytest.mark.parametrize("case", whole_models(), ids=lambda case: type(case[0]).__name__)
def test_models(case: Any) -> None:
    model, inputs = case
    model.eval()
    compiled = torch.compile(model, backend="native")
    with torch.no_grad():
        compiled(*inputs)
        found, wanted = compiled(*inputs), model(*inputs)
    for one, other in zip(flatten(found), flatten(wanted), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("case", [1, 0, 3, 6], ids=["GPT", "ResNet", "UNet", "MLP"])
def test_training(case: int) -> None:
    """Losses and weights of a few steps are those of eager mode."""
    states = []
    for backend in ("eager", "native"):
        model, inputs = whole_models()[case]
        torch.manual_seed(1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        compiled = torch.compile(model, backend=backend)
        for _ in range(3):
            optimizer.zero_grad()
            loss = compiled(*inputs).square().mean()
            loss.backward()
            optimizer.step()
        states.append([loss.item(), *(each.detach().numpy() for each in model.parameters())])
    for one, other in zip(*states, strict=True):
        np.testing.assert_allclose(one, other, 1e-3, 2e-5)


# -- what is promised beside numbers -----------------------------------------------------------------------------


def test_results_share_memory_as_in_eager_mode() -> None:
    x = torch.randn(3, 4)
    compiled = torch.compile(lambda x: (x.t(), x[1:], x, x * 2), backend="native")
    with torch.no_grad():
        compiled(x)
        turned, part, same, made = compiled(x)
        assert same is x
        x[2, 1] = 7.0
        assert turned[1, 2] == 7.0 and part[1, 1] == 7.0 and made[2, 1] != 14.0
        assert made.is_contiguous()


def test_writes_to_inputs_are_made() -> None:
    def step(x: Any) -> Any:
        x.add_(1)
        return x * 2

    compiled = torch.compile(step, backend="native")
    with torch.no_grad():
        for _ in range(3):
            x = torch.zeros(4)
            assert compiled(x).tolist() == [2.0] * 4 and x.tolist() == [1.0] * 4


def test_other_sizes_and_layouts() -> None:
    compiled = torch.compile(lambda x: (x * 2).sum(-1), backend="native")
    with torch.no_grad():
        for x in (
            torch.randn(3, 4),
            torch.randn(5, 4),
            torch.randn(4, 3).t(),
            torch.randn(3, 8)[:, ::2],
            torch.randn(0, 4),
            torch.randn(3, 4).double(),
        ):
            np.testing.assert_allclose(compiled(x).numpy(), (x * 2).sum(-1).numpy(), 1e-6, 1e-6)


def test_gradients() -> None:
    """A call that records a gradient gives that of eager mode."""
    weight = torch.randn(4, 3, requires_grad=True)
    x = torch.randn(5, 4)
    compiled = torch.compile(lambda x: F.gelu(x @ weight).sum(), backend="native")
    for _ in range(2):
        (found,) = torch.autograd.grad(compiled(x), weight)
        (wanted,) = torch.autograd.grad(F.gelu(x @ weight).sum(), weight)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-5, 1e-5)


def test_random_numbers_are_those_of_eager_mode() -> None:
    def step(x: Any) -> Any:
        return F.dropout(x, 0.5) + torch.rand(4) * torch.randn(4)

    compiled = torch.compile(step, backend="native")
    x = torch.ones(4)
    with torch.no_grad():
        for seed in (1, 2, 3):
            torch.manual_seed(seed)
            found = compiled(x)
            torch.manual_seed(seed)
            np.testing.assert_allclose(found.numpy(), step(x).numpy(), 1e-6)


def test_any_number_of_threads() -> None:
    """The same bits come out for any number of threads, and from several callers at once."""
    x = torch.randn(500, 700)
    compiled = torch.compile(lambda x: (F.softmax(x, -1), x.exp().sum(0), (x * x).tanh()), backend="native")
    before = torch.get_num_threads()
    results = []
    try:
        with torch.no_grad():
            compiled(x)
            for count in (1, 2, 3, 5, 1):
                torch.set_num_threads(count)
                results.append([each.numpy().copy() for each in compiled(x)])
            callers = [
                threading.Thread(target=lambda: results.append([each.numpy().copy() for each in _without_gradient(compiled, x)]))
                for _ in range(4)
            ]
            for each in callers:
                each.start()
            for each in callers:
                each.join()
    finally:
        torch.set_num_threads(before)
    assert len(results) == 9
    for each in results[1:]:
        for one, other in zip(each, results[0]):
            np.testing.assert_array_equal(one, other)


def _without_gradient(function: Any, *args: Any) -> Any:
    with torch.no_grad():
        return function(*args)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork() -> None:
    """A child has none of its parent's threads, and computes all the same."""
    x = torch.randn(700, 900)
    compiled = torch.compile(lambda x: (x * x).tanh().sum(-1), backend="native")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(x)
        wanted = compiled(x).numpy()
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(compiled(x).numpy(), wanted) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_explain() -> None:
    module, examples = graph_of(lambda x: torch.sort(x.exp())[0] + 1, torch.randn(5))
    text = native.explain(module, *examples)
    assert "call: sort" in text and "group over [5]: exp" in text


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning with the command, then the graph op by op."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(native.backend, "_said", [])
    with pytest.warns(UserWarning, match="pip install llvmlite"):
        compiled = torch.compile(lambda x: x + 1, backend="native")
        assert compiled(torch.zeros(2)).tolist() == [1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.compile(lambda x: x + 2, backend="native")(torch.zeros(2)).tolist() == [2.0, 2.0]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_does_not_grow() -> None:
    compiled = torch.compile(lambda x: (x + 1).exp().sum(-1), backend="native")
    x = torch.randn(64, 64)

    def pages() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1])

    with torch.no_grad():
        for _ in range(2000):
            compiled(x)
        before = pages()
        for _ in range(20000):
            compiled(x)
        assert pages() - before < 300


def test_gradients_that_a_graph_switches_on() -> None:
    """After a break where they are off, the rest of the program has them on again."""

    def function(x: Any, weight: Any) -> Any:
        with torch.no_grad():
            print(end="")  # a break
            y = x * 2
        return y * weight

    compiled = torch.compile(function, backend="native")
    for needs in (True, True, True, False, True):
        x, weight = torch.arange(3.0), torch.full((3,), 2.0, requires_grad=needs)
        result = compiled(x, weight)
        assert result.requires_grad is needs
        if needs:
            result.sum().backward()
            assert weight.grad.tolist() == [0.0, 2.0, 4.0]
        assert result.tolist() == [0.0, 4.0, 8.0]

"""What compiled programs do with Python: programs of random statements, and what such programs and other people's tests have shown."""

import collections
import functools
import operator
import types
import unittest
from collections.abc import Callable

import numpy as np
import pytest
from fuzz.python_programs import python_program
from fuzz.run_python import FORMS, run_python

import rushlight as torch
from rushlight.compat import pytree
from rushlight.passes import partition as partitioning
from rushlight.utils.checkpoint import checkpoint


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_random_python_programs(seed: int) -> None:
    source = python_program(seed)
    assert run_python(torch, source, FORMS["captured"]) == run_python(torch, source, FORMS["eager"])


class Items:
    """A sequence by ``__getitem__`` alone."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, at: int) -> int:
        if at >= self.count:
            raise IndexError(at)
        return at + 1


def test_iteration_by_getitem() -> None:
    def function(x, items):
        for each in items:
            x = x + each
        first, *rest = items
        return x, sum(1 for _ in items), [*items], sum(items), 2 in items, first, rest, sorted(items, reverse=True), list(zip(items, items))

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for count in (3, 3, 4):
        found, wanted = compiled(torch.zeros(2), Items(count)), function(torch.zeros(2), Items(count))
        assert found[0].tolist() == wanted[0].tolist() and found[1:] == wanted[1:]


class Sized:
    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


class Whole:
    def __bool__(self) -> int:  # what Python refuses
        return 1


def test_truth_of_objects() -> None:
    def function(x, value):
        try:
            return (x + 1 if value else x - 1).tolist()
        except (TypeError, ValueError) as error:
            return str(error)

    compiled = torch.compile(function, backend="eager")
    for value in (Sized(0), Sized(2), Sized(5), Sized(6), Sized(-1), Whole()):  # the size is a symbolic number from the third on
        assert compiled(torch.zeros(1), value) == function(torch.zeros(1), value)


def test_errors_name_the_type_of_a_number() -> None:
    def function(x, n):
        try:
            n.absent
        except AttributeError as error:
            return x + n, str(error)

    compiled = torch.compile(function, backend="eager")
    assert [compiled(torch.zeros(1), n)[1] for n in (3, 4, 5)] == ["'int' object has no attribute 'absent'"] * 3


def test_assertions_of_unittest_are_captured() -> None:
    case = unittest.TestCase()

    def function(x):
        with case.assertRaises(KeyError):
            {}[1]
        case.assertEqual([1, 2], [1, 2])
        try:
            raise ValueError("a")
        except ValueError as error:
            error.add_note("noted")
            kept = error.with_traceback(None)
        return x + len(kept.__notes__)

    assert torch.compile(function, backend="eager", fullgraph=True)(torch.zeros(2)).tolist() == [1.0, 1.0]


class Block(torch.nn.Module):
    """A residual block whose inner part is checkpointed."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
        self.reentrant = reentrant

    def forward(self, x):
        return (x + checkpoint(self.inner, x, use_reentrant=self.reentrant)).tanh()


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_is_a_region_of_the_graph(reentrant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    minimum_cut = partitioning.minimum_cut

    def observed(*args):
        found = minimum_cut(*args)
        kept.append([tuple(each.meta["val"].shape) for each in found])
        return found

    monkeypatch.setattr(partitioning, "minimum_cut", observed)
    torch.manual_seed(0)
    model = torch.nn.Sequential(Block(reentrant), Block(reentrant))
    x = torch.randn(8, 4, requires_grad=True)
    model(x).sum().backward()
    wanted = [each.grad for each in (x, *model.parameters())]
    compiled = torch.compile(model, fullgraph=True)
    for _ in range(3):
        for each in (x, *model.parameters()):
            each.grad = None
        compiled(x).sum().backward()
    for each, gradient in zip((x, *model.parameters()), wanted):
        np.testing.assert_allclose(each.grad, gradient, rtol=1e-4, atol=1e-6)
    assert (
        len(kept) == 1 and (8, 16) not in kept[0] and kept[0].count((8, 4)) == 3
    )  # what goes into the checkpoints and out of them, and nothing inside


def test_checkpoint_with_dropout_draws_once() -> None:
    def function(x):
        return checkpoint(lambda a: torch.nn.functional.dropout(a.sin(), 0.5).cos(), x, use_reentrant=False)

    compiled = torch.compile(function)
    for _ in range(3):
        results = []
        for each in (function, compiled):
            x = torch.linspace(0, 1, 40).requires_grad_()
            torch.manual_seed(1)
            y = each(x)
            y.sum().backward()
            results.append([*y.tolist(), *x.grad.tolist()])
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)


def test_checkpoint_that_is_no_graph_breaks_before_it() -> None:
    seen = []

    def inner(a):
        seen.append(float(a.sum()))
        return a.sin()

    def function(x):
        return checkpoint(inner, x.cos(), use_reentrant=False) * 2

    x = torch.ones(3, requires_grad=True)
    torch.compile(function)(x).sum().backward()
    assert len(seen) == 2  # once for the value, once for the gradient
    np.testing.assert_allclose(x.grad, 2 * np.cos(np.cos(1)) * -np.sin(1) * np.ones(3), rtol=1e-5)


def test_metaclass_attributes_are_guarded() -> None:
    class Meta(type):
        def __getattribute__(cls, name):
            return type.__getattribute__(cls, name)

    class Settings(metaclass=Meta):
        value = 10

    compiled = torch.compile(lambda x: x + Settings.value, backend="eager")
    assert compiled(torch.zeros(1)).item() == 10
    Settings.value = 20
    assert compiled(torch.zeros(1)).item() == 20


def test_data_of_a_new_tensor_is_replaced() -> None:
    def function(x):
        z = torch.zeros([4, 4])
        z.data = x.data
        return z * x if x.size() == z.size() else x

    x = torch.arange(25.0).reshape(5, 5)
    assert torch.compile(function, backend="eager")(x).tolist() == function(x).tolist()


class Factor:
    value = 2.0


TRANSFORMS = {
    "vmap": lambda x: torch.func.vmap(lambda a: a.sin() * Factor.value + a.shape[0])(x),
    "vmap of some": lambda x: torch.func.vmap(lambda a, b: (a * b).sum(), in_dims=(0, None))(x, x.detach() + 1),
    "nested vmap": lambda x: torch.func.vmap(torch.func.vmap(lambda a: a * Factor.value))(x),
    "composite in vmap": lambda x: torch.func.vmap(lambda a: torch.nn.functional.softmin(a, 0))(x),
    "grad": lambda x: torch.func.grad(lambda a: (a.sin() * Factor.value).sum())(x),
    "grad and value": lambda x: torch.func.grad_and_value(lambda a: (a.sin() * Factor.value).sum())(x),
    "grad of grad": lambda x: torch.func.grad(lambda y: torch.func.grad(lambda a: (a**3).sum())(y).sum())(x),
    "grad of each": lambda x: torch.func.vmap(torch.func.grad(lambda a: (a * a * Factor.value).sum()))(x),
    "jvp": lambda x: torch.func.jvp(lambda a: a.sin() * 2, (x,), (x,)),
    "vjp": lambda x: torch.func.vjp(lambda a: a.sin() * 2, x)[1](x),
    "jacrev": lambda x: torch.func.jacrev(lambda a: a.sin() * 2)(x),
    "jacfwd": lambda x: torch.func.jacfwd(lambda a: a.sin() * 2)(x),
    "hessian": lambda x: torch.func.hessian(lambda a: (a.sin() * 2).sum())(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_captured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = TRANSFORMS[name]
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for seed, factor, trained in ((0, 2.0, False), (1, 2.0, False), (2, 3.0, True), (3, 3.0, True)):
        monkeypatch.setattr(Factor, "value", factor)
        torch.manual_seed(seed)
        x = torch.randn(3, 2)
        found = []
        for each in (function, compiled):
            given = x.clone().requires_grad_(trained)
            results = each(given)
            results = results if isinstance(results, tuple) else (results,)
            found.append([result.detach().numpy() for result in results])
            if trained and results[0].requires_grad:
                sum((result * result).sum() for result in results).backward()
                found[-1].append(given.grad.numpy())
        assert len(found[0]) == len(found[1])
        for wanted, got in zip(*found):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_a_function_that_vmap_breaks_in_runs_natively() -> None:
    seen: list[int] = []

    def function(x):
        def inner(a):
            print(len(seen))
            seen.append(1)
            return a.sin()

        return torch.func.vmap(inner)(x) * 2

    compiled = torch.compile(function, backend="eager")
    for count in (1, 2):
        np.testing.assert_allclose(compiled(torch.ones(2, 2)), 2 * np.sin(np.ones((2, 2))), rtol=1e-6)
        assert len(seen) == count


def test_compiled_modules_inside_a_checkpoint() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.RMSNorm(4), torch.nn.Linear(4, 4), torch.nn.RMSNorm(4), torch.nn.Linear(4, 4))
    x = torch.randn(3, 4)
    model(x).sum().backward()
    wanted = [each.grad.clone() for each in model.parameters()]
    for each in model:
        each.compile(backend="aot_eager")
    for _ in range(3):
        model.zero_grad()
        checkpoint(model, x, use_reentrant=False).sum().backward()
        for each, gradient in zip(model.parameters(), wanted):
            np.testing.assert_allclose(each.grad, gradient, rtol=1e-4, atol=1e-6)


def test_functions_given_to_tree_map_are_captured() -> None:
    factor = 2

    def function(x):
        return pytree.tree_map(lambda a: a * factor, {"a": x, "b": [x + 1, (x,)]}), pytree.tree_map_only(
            torch.Tensor, lambda a: a + factor, [x, 1]
        )

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for factor in (2, 3):
        first, second = compiled(torch.ones(1))
        assert [each.tolist() for each in pytree.tree_leaves(first)] == [[factor], [2 * factor], [factor]]
        assert second[0].tolist() == [1 + factor] and second[1] == 1


def test_functional_call_is_captured() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.BatchNorm1d(2)).eval()
    compiled = torch.compile(lambda w, x: torch.func.functional_call(layer, {"0.weight": w}, (x,)), backend="eager", fullgraph=True)
    before = layer[0].weight
    for factor in (2.0, 3.0):
        found = compiled(torch.eye(2) * factor, torch.ones(1, 2))
        np.testing.assert_allclose(found.detach(), np.full((1, 2), factor), rtol=1e-4)
    assert layer[0].weight is before


class Mapped:
    """A mapping by ``keys`` and ``__getitem__``."""

    def keys(self):
        return ["a", "b"]

    def __getitem__(self, key: str) -> int:
        return ord(key)

    def __iter__(self):
        return iter(self.keys())


def test_copies_of_mappings() -> None:
    def function(x, mapped):
        proxy = types.MappingProxyType({"k": 3})
        return x + dict(proxy)["k"], dict(mapped), dict(mapped, c=1), collections.OrderedDict(mapped)

    found = torch.compile(function, backend="eager")(torch.zeros(1), Mapped())
    assert found[0].item() == 3 and found[1:] == function(torch.zeros(1), Mapped())[1:]


def test_attribute_getters_are_captured_and_guarded() -> None:
    box = types.SimpleNamespace(inner=types.SimpleNamespace(value=2), count=3)
    get, both = operator.attrgetter("inner.value"), operator.attrgetter("count", "inner.value")

    def function(x):
        shaped = operator.methodcaller("reshape", 1, -1)(x)
        return operator.methodcaller("sum", dim=1)(shaped) * get(box) + both(box)[0]

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).item() == 7
    box.inner.value = 5
    assert compiled(torch.ones(2)).item() == 13


def test_grad_modes_decorate_functions_inside() -> None:
    def function(x):
        @torch.no_grad()
        def inner(a):
            return a * 2

        return inner(x), torch.enable_grad()(lambda a: a * 3)(x)

    first, second = torch.compile(function, backend="eager", fullgraph=True)(torch.ones(1, requires_grad=True))
    assert not first.requires_grad and second.requires_grad and (first + second).item() == 5


def test_compiled_functions_inside_of_transforms() -> None:
    compiled = torch.compile(lambda a: (a * a).sin(), backend="eager")
    x = torch.linspace(0, 1, 6).reshape(3, 2)
    for _ in range(2):
        np.testing.assert_allclose(torch.func.vmap(compiled)(x), (x * x).sin(), rtol=1e-6)
        np.testing.assert_allclose(torch.func.grad(lambda a: compiled(a).sum())(x), 2 * x * (x * x).cos(), rtol=1e-5)
        np.testing.assert_allclose(compiled(x), (x * x).sin(), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.tensor(x).add_(1),
        lambda x: torch.tensor(x * 2, dtype=torch.float64),
        lambda x: x.new_tensor(x) + 1,
        lambda x: torch.tensor([[x[0], 2], [3.5, x[1]]]),
        lambda x: torch.tensor([x[0].long(), True]),
        lambda x: torch.tensor([x[0], 2], dtype=torch.int64),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_copies_of_computed_values_are_no_constants(function) -> None:
    compiled = torch.compile(function, fullgraph=True)
    for value in (1.0, 0.0, 2.0):
        x = torch.full((3,), value)
        found, wanted = compiled(x), function(x)
        assert found.dtype is wanted.dtype and found.tolist() == wanted.tolist() and x.tolist() == [value] * 3


@functools.cache
def doubled(x, times: int = 2):
    return x * times


def test_functions_that_keep_results_by_tensors() -> None:
    def function(x):
        return doubled(x) + doubled(x + 1, times=3)

    compiled = torch.compile(function, fullgraph=True)
    for value in (1.0, 2.0):
        x = torch.full((2,), value)
        assert compiled(x).tolist() == function(x).tolist()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.func.grad(lambda v: (v.sin() * v).sum())(x),
        lambda x: torch.func.vmap(lambda row: row.softmax(0) + row.sum())(x),
        lambda x: torch.func.jacrev(lambda v: v.sin().sum(0))(x),
        lambda x: torch.func.jvp(lambda v: v.mean(0) * v, (x,), (x,))[1],
        lambda x: torch.func.grad(lambda v: (v * v).sum())(x[x > 0]),
    ],
    ids=["grad", "vmap", "jacrev", "jvp", "size by values"],
)
def test_transforms_of_other_sizes(function: Callable[[torch.Tensor], torch.Tensor], dynamic: bool | None) -> None:
    """Rules of a transform compute with plain sizes, which hold for these sizes alone; a size of 1 would broadcast unnoticed."""
    compiled = torch.compile(function, backend="eager", dynamic=dynamic)
    for size in (4, 2, 1, 3, 1):
        x = torch.arange(3.0 * size).reshape(size, 3) - 2
        torch.testing.assert_close(compiled(x), function(x))

"""Indexing: recorded PyTorch expressions, random ones against NumPy (read, written, differentiated), errors, gradients."""

from __future__ import annotations

import json
import pathlib
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_expressions import GET, SET, namespace
from op_samples import convert
from samples import makers, samples_of

import rushlight
from rushlight.core.base import Spec, make
from rushlight.core.declare import table

RECORDED = json.loads((pathlib.Path(__file__).resolve().parent / "data" / "indexing.json").read_text())


def tensor(array: Any, requires_grad: bool = False) -> Any:
    result = make(np.array(array, order="K", copy=True))
    return result.requires_grad_() if requires_grad else result


def check_error(expected: dict[str, Any], raised: Any) -> None:
    names = [kind.__name__ for kind in type(raised.value).__mro__]
    assert expected["error"] in names, (expected, raised.value)


# -- what PyTorch gave -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", GET)
def test_reading_as_pytorch(expression: str) -> None:
    expected = RECORDED["get"][expression]
    names = namespace(tensor)
    names["x"].requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "error" in expected:
            with pytest.raises(Exception) as raised:
                eval(expression, names)
            check_error(expected, raised)
            return
        result = eval(expression, names)
    assert list(result.shape) == expected["shape"]
    assert result.reshape(-1).tolist() == expected["values"]
    assert result._is_view() == expected["view"]
    assert (result.grad_fn.name() if result.grad_fn is not None else None) == expected["node"]
    assert any("several dimensions" in str(each.message) for each in caught) == expected["warns"]


@pytest.mark.parametrize("statement", SET)
def test_writing_as_pytorch(statement: str) -> None:
    expected = RECORDED["set"][statement]
    names = namespace(tensor)
    if "error" in expected:
        with pytest.raises(Exception) as raised:
            exec(statement, names)
        check_error(expected, raised)
        return
    exec(statement, names)
    result = names[statement[0]]
    np.testing.assert_array_equal(result.reshape(-1).tolist(), expected["values"])
    assert result._version == expected["version"]


# -- random expressions against NumPy ----------------------------------------------------------------------------


def extent(item: Any) -> int:
    """How many dimensions an item of an index takes: a mask as many as it has."""
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


class Index:
    """An index expression over a shape, as rushlight takes it and as NumPy does.

    An integer is a view step in PyTorch and one of the advanced indices in NumPy; so ``basic`` (which holds the integers) is
    applied first, then ``advanced``.  Without integers beside arrays ``whole`` does both at once.
    """

    def __init__(self, shape: tuple[int, ...], items: list[Any]) -> None:
        self.shape = shape
        self.items = items
        self.basic: list[Any] = []
        self.advanced: list[Any] = []
        whole: list[Any] = []
        taken = sum(0 if item is None or item is Ellipsis else extent(item) for item in items)
        for item in items:
            if isinstance(item, np.ndarray):
                self.basic += [slice(None)] * extent(item)
                self.advanced.append(item)
                whole.append(item)
            elif item is Ellipsis:
                # Spelled out: to NumPy `...` separates index arrays even where it stands for no dimension.
                spared = [slice(None)] * (len(shape) - taken)
                self.basic += spared
                self.advanced += spared
                whole += spared
            else:
                self.basic.append(item)
                whole.append(item)
                if not isinstance(item, int):
                    self.advanced.append(slice(None))
        mixed = any(isinstance(item, np.ndarray) for item in items) and any(isinstance(item, int) for item in items)
        self.whole = None if mixed else tuple(whole)

    def tensors(self, spelling: str) -> tuple[Any, ...]:
        """The index for rushlight: arrays as tensors, as they are, or as lists."""
        turn = {"tensor": tensor, "array": lambda a: a, "list": lambda a: a.tolist() if a.size else tensor(a)}[spelling]
        return tuple(turn(item) if isinstance(item, np.ndarray) else item for item in self.items)

    def read(self, array: np.ndarray) -> np.ndarray:
        return array[self.whole] if self.whole is not None else array[tuple(self.basic)][tuple(self.advanced)]

    def write(self, array: np.ndarray, value: Any) -> None:
        if self.whole is not None:
            array[self.whole] = value
        else:
            array[tuple(self.basic)][tuple(self.advanced)] = value

    def add(self, array: np.ndarray, value: Any) -> None:
        if self.whole is not None:
            np.add.at(array, self.whole, value)
        else:
            np.add.at(array[tuple(self.basic)], tuple(self.advanced), value)

    def __repr__(self) -> str:
        return f"Index({self.shape}, {self.items})"


@st.composite
def indices(draw: Any) -> Index:
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 3, 4]), min_size=1, max_size=4)))
    together = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))  # what index arrays broadcast to
    items: list[Any] = []
    dim, used_ellipsis = 0, False
    while dim < len(shape):
        kinds = ["slice", "slice", "none", "stop", "array", "array", "array", "mask"]
        kinds += ["int"] * (shape[dim] > 0) + ["ellipsis"] * (not used_ellipsis)
        kind = draw(st.sampled_from(kinds))
        size = shape[dim]
        if kind == "stop":
            break
        if kind == "none":
            items.append(None)
            if len(items) > 6:
                break
            continue
        if kind == "ellipsis":
            used_ellipsis = True
            dim += draw(st.integers(0, len(shape) - dim))
            items.append(("ellipsis", dim))
            continue
        if kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 2, size + 2)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "array":
            shape_here = tuple(draw(st.sampled_from([n, n, 1])) for n in together[draw(st.integers(0, len(together) - 1)) :])
            count = int(np.prod(shape_here)) if size else 0
            values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count)) if count else []
            dtype = draw(st.sampled_from([np.int64, np.int32]))
            items.append(np.array(values, dtype).reshape(shape_here if size else (0,)))
        else:
            dims = draw(st.integers(1, min(2, len(shape) - dim)))
            mask = draw(st.lists(st.booleans(), min_size=int(np.prod(shape[dim : dim + dims])),
                                 max_size=int(np.prod(shape[dim : dim + dims]))))  # fmt: skip
            items.append(np.array(mask, np.bool_).reshape(shape[dim : dim + dims]))
            dim += dims - 1
        dim += 1
    # ``...`` stands for what the others leave: cut the dimensions that come after it to fit.
    position = next((n for n, item in enumerate(items) if isinstance(item, tuple)), None)
    if position is not None:
        if dim < len(shape):
            items = items[: position + 1]
        items[position] = Ellipsis
    return Index(shape, items)


def broadcasts(index: Index) -> bool:
    try:
        index.read(np.empty(index.shape))
    except IndexError:  # index arrays (or masks) that do not broadcast together
        return False
    return True


def counting(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + 1


@settings(max_examples=400, deadline=None)
@given(indices(), st.sampled_from(["tensor", "array", "list"]), st.booleans())
def test_reading_and_its_gradient(index: Index, spelling: str, transposed: bool) -> None:
    data = counting(index.shape)
    if transposed:
        data = np.asfortranarray(data)
    x = tensor(data, requires_grad=True)
    if not broadcasts(index):
        with pytest.raises((IndexError, RuntimeError)):
            x[index.tensors(spelling)]
        return
    expected = index.read(data)
    result = x[index.tensors(spelling)]
    np.testing.assert_array_equal(result.detach()._array, expected)
    assert tuple(result.shape) == expected.shape
    with rushlight.autograd.no_grad():  # the shorter road gives the same
        np.testing.assert_array_equal(x[index.tensors(spelling)]._array, expected)
    weights = counting(expected.shape) * 0.5
    (result * tensor(weights)).sum().backward()
    gradient = np.zeros(index.shape)
    index.add(gradient, weights)
    np.testing.assert_allclose(x.grad._array, gradient)
    if not any(isinstance(item, np.ndarray) for item in index.items):
        assert result._is_view()
        assert not expected.size or np.shares_memory(result._array, x._array)


@settings(max_examples=400, deadline=None)
@given(indices(), st.sampled_from(["tensor", "array", "list"]), st.integers(0, 4), st.booleans(), st.booleans())
def test_writing_and_its_gradient(index: Index, spelling: str, dropped: int, thin: bool, transposed: bool) -> None:
    data = counting(index.shape)
    if transposed:
        data = np.asfortranarray(data)
    if not broadcasts(index):
        with pytest.raises((IndexError, RuntimeError)):
            tensor(data)[index.tensors(spelling)] = 1.0
        return
    shape = index.read(data).shape
    value_shape = tuple(1 if thin and n % 2 else size for n, size in enumerate(shape[dropped:]))
    value = -counting(value_shape)

    expected = data.copy()
    index.write(expected, value)
    plain = tensor(data)
    plain[index.tensors(spelling)] = tensor(value)
    np.testing.assert_array_equal(plain._array, expected)
    plain[index.tensors(spelling)] = 7
    index.write(expected, 7)
    np.testing.assert_array_equal(plain._array, expected)

    x, v = tensor(data, requires_grad=True), tensor(value, requires_grad=True)
    y = x * 2
    y[index.tensors(spelling)] = v
    weights = counting(index.shape)
    (y * tensor(weights)).sum().backward()
    kept = weights * 2
    index.write(kept, 0)
    if x.grad is None:  # nothing of it is left, so that backward never came to it
        assert not kept.any()
    else:
        np.testing.assert_allclose(x.grad._array, kept)
    passed = index.read(weights)
    for _ in range(len(passed.shape) - len(value_shape)):
        passed = passed.sum(0)
    for axis, size in enumerate(value_shape):
        if size == 1:
            passed = passed.sum(axis, keepdims=True)
    np.testing.assert_allclose(v.grad._array, passed)


@settings(max_examples=150, deadline=None)
@given(indices())
def test_views_replay(index: Index) -> None:
    """A view made outside the graph follows its base into it: the recorded chain says how it was made."""
    if any(isinstance(item, np.ndarray) for item in index.items):
        return
    x = tensor(counting(index.shape))
    view = x[index.tensors("tensor")]
    factor = tensor(np.array(3.0), requires_grad=True)
    x.mul_(factor)
    np.testing.assert_allclose(view._array, index.read(counting(index.shape) * 3))
    view.sum().backward()
    np.testing.assert_allclose(factor.grad._array, index.read(counting(index.shape)).sum())


# -- gradients, versions, errors ---------------------------------------------------------------------------------


def test_writing_by_a_mask_in_the_middle_of_a_model() -> None:
    x, v = tensor(counting((2, 3)), requires_grad=True), tensor(np.array([10.0, 20.0]), requires_grad=True)
    y = x * x
    mask = tensor(np.array([[True, False, False], [False, False, True]]))
    y[mask] = v * 3
    y[0] *= 2
    (y * y).sum().backward()
    values = counting((2, 3)) ** 2
    values[0, 0], values[1, 2] = 30, 60
    values[0] *= 2
    outer = 2 * values * np.array([[2], [1]])
    np.testing.assert_allclose(v.grad._array, [3 * outer[0, 0], 3 * outer[1, 2]])
    expected = outer * 2 * counting((2, 3))
    expected[0, 0] = expected[1, 2] = 0
    np.testing.assert_allclose(x.grad._array, expected)


def test_gradient_of_gradient_through_reading_and_writing() -> None:
    places = tensor(np.array([0, 2, 0]))

    def function(x: Any, v: Any) -> Any:
        y = x * x
        y[places, 1] = v * v
        y[0:2] = y[0:2].clone() * x[1:3]
        y[y.detach() > 1e9] = 0.0
        return y[places] * y[..., 0:1][places]

    x, v = tensor(counting((3, 2)) * 0.3, requires_grad=True), tensor(np.array([0.5, 0.7, 0.9]), requires_grad=True)
    # Of the two values that go to row 0 the second stays; as in PyTorch both get its gradient, so v is not checked there.
    assert rushlight.autograd.gradcheck(lambda x: function(x, v.detach()), (x,))
    assert rushlight.autograd.gradgradcheck(lambda x: function(x, v.detach()), (x,))
    apart = tensor(np.array([2, 1]))

    def written(v: Any) -> Any:
        y = (x.detach() * 1).index_put((apart,), v * v)
        return y * y

    given = tensor(counting((2, 2)), requires_grad=True)
    assert rushlight.autograd.gradcheck(written, (given,))
    assert rushlight.autograd.gradgradcheck(written, (given,))


def test_leaves_are_protected() -> None:
    x = tensor(np.ones(3), requires_grad=True)
    for statement in ("x[0] = 1", "x[T([0])] = 1", "x[x > 2] = 0", "x[...] = 1", "x[0:2] = x[1:3] * 2"):
        with pytest.raises(RuntimeError, match="leaf"):
            exec(statement, {"x": x, "T": tensor})
    with rushlight.autograd.no_grad():
        x[0] = 5
        x[tensor(np.array([1]))] = 6
    assert x.tolist() == [5, 6, 1]
    assert x.grad_fn is None


def test_a_write_to_what_backward_needs_is_found() -> None:
    x = tensor(np.ones(3), requires_grad=True) * 1
    y = x * x
    x[0] = 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_views_share_memory_and_version() -> None:
    x = tensor(counting((3, 4)))
    x[1:, 2] += 10
    x[0][0] = -1
    assert x.tolist() == [[-1, 2, 3, 4], [5, 6, 17, 8], [9, 10, 21, 12]]
    view = x[:, 1:3][::2]
    view[1, 0] = 100
    assert x[2, 1].item() == 100
    assert view._version == x._version == 4  # `+=` writes twice: to the view, and the view to itself
    assert view._base is x


def test_blocks_do_not_overwrite_themselves() -> None:
    x = tensor(counting((4,)))
    with pytest.raises(RuntimeError, match="clone"):
        x[1:] = x[:-1]
    x[1:] = x[:-1].clone()
    assert x.tolist() == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("expression", "kind", "message"),
    [
        ("x[T([7])]", IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        ("x[:, T([0, -5])]", IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
        ("x[3]", IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        ("x[0, -5]", IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
        ("x[T([True, False])]", IndexError, r"mask \[2\] at index 0 does not match .* \[3, 4\] at index 0"),
        ("x[0, 0, 0]", IndexError, "too many indices for tensor of dimension 2"),
        ("x[::-1]", ValueError, "step must be greater than zero"),
        ("x[1.5]", IndexError, r"only integers, slices .* \(got float\)"),
        ("x[T([0]), T([0, 1]), ...][T([0, 1]), T([0])]", IndexError, None),
        ("x[T([0, 1]), T([0, 1, 2])]", IndexError, r"could not be broadcast together with shapes \[2\], \[3\]"),
        ("x[:, T([9])].sum()", IndexError, "index 9 is out of bounds for dimension 1"),
        ("x.gather(0, T([[3]]))", RuntimeError, "index 3 is out of bounds for dimension 0 with size 3"),
        ("x.scatter_add(1, T([[4]]), x)", RuntimeError, "index 4 is out of bounds for dimension 1 with size 4"),
        ("x.index_add(0, T([7]), x[:1])", RuntimeError, "index 7 is out of bounds for dimension 0 with size 3"),
        ("x.index_copy(0, T([7]), x[:1])", IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        ("x.index_fill(0, T([-4]), 1)", IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        ("x.take(T([12]))", IndexError, "tried to access index 12 on a tensor of 12 elements"),
        ("x.__delitem__(0)", TypeError, "does not support deleting"),
        ("x.__setitem__(0, [1, 2, 3, 4])", TypeError, "can't assign a list to a torch.DoubleTensor"),
    ],
)
def test_errors(expression: str, kind: type[Exception], message: str | None) -> None:
    with pytest.raises(kind, match=message):
        eval(expression, {"x": tensor(counting((3, 4))), "T": tensor})


# -- tensors without data, in-place forms, cost ------------------------------------------------------------------


def test_tensors_without_data() -> None:
    x = make(Spec((3, 4, 5), np.dtype(np.float32)))
    places = make(Spec((2, 2), np.dtype(np.int64)))
    assert tuple(x[0, 1:3].shape) == (2, 5)
    assert tuple(x[..., None, 0].shape) == (3, 4, 1)
    assert tuple(x[:, places].shape) == (3, 2, 2, 5)
    assert tuple(x[places, :, places].shape) == (2, 2, 4)
    x[0] = 1
    x[places] = 2.0
    x[:, 1] = make(Spec((5,), np.dtype(np.float32)))
    with pytest.raises(NotImplementedError, match="depends on the data"):
        x[make(Spec((3,), np.dtype(np.bool_)))]
    with pytest.raises(RuntimeError):
        x[0] = make(Spec((3,), np.dtype(np.float32)))


OURS = [
    op for op in table.values()
    if op.functional is None and op.source_module.rpartition(".")[2] in ("indexing", "masking", "scattering", "selecting")
]  # fmt: skip


@pytest.mark.parametrize("op", [op for op in OURS if op in makers and op.name + "_" in table], ids=lambda op: op.name)
def test_in_place_forms_do_as_the_others(op: Any) -> None:
    checked = 0
    for sample in samples_of(op):
        keywords = {name: convert(value, tensor, None) for name, value in sample.kwargs.items()}
        args = [convert(value, tensor, None) for value in sample.args]
        try:
            expected = op.call(*args, **keywords)
        except Exception as error:
            with pytest.raises(type(error)):
                getattr(args[0], op.name + "_")(*args[1:], **keywords)
            assert args[0]._version == 0
            continue
        if tuple(expected.shape) != tuple(args[0].shape):
            continue
        for target in (args[0], tensor(np.repeat(args[0]._array[..., None], 2, -1))[..., 0]):  # the latter not contiguous
            version = target._version
            result = getattr(target, op.name + "_")(*args[1:], **keywords)
            assert result is target and target._version == version + 1
            np.testing.assert_array_equal(target._array, expected._array)
        checked += 1
    assert checked > 3


@pytest.mark.parametrize(
    "statement",
    [
        "x.index_put_((i,), v)", "x.index_put_((i,), v, accumulate=True)", "x.index_add_(0, i, v)", "x.index_copy_(0, i, v)",
        "x.index_fill_(0, i, 2.0)", "x.scatter_add_(0, i[:, None], v)", "x.scatter_(0, i[:, None], v)",
        "x.scatter_(0, i[:, None], 1.0)", "x.put_(i, v[:, 0])", "x.masked_fill_(m, 3.0)", "x[i] = v", "x[i] = 1.0", "x[5] = 1",
        "x[i, i] = 2.0", "x[m[:, 0]] = 2.0", "x.masked_scatter_(m, v)", "x[2:4]", "x[i]",
    ],
)  # fmt: skip
def test_writing_a_little_does_not_copy_the_whole(statement: str) -> None:
    x = tensor(np.zeros((1 << 12, 1 << 8), np.float32))  # 4 MiB
    mask = np.zeros((1 << 12, 1), np.bool_)
    mask[2:4] = True
    names = {"x": x, "i": tensor(np.array([3, 1, 3])), "v": tensor(np.ones((3, 1 << 8), np.float32)), "m": tensor(mask)}
    exec(statement, dict(names))
    tracemalloc.start()
    exec(statement, dict(names))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A mask that broadcasts may cost a byte for each element, never a copy of them.
    assert peak < (1 << 20) + (1 << 18), peak


def test_many_elements_add_up_across_chunks() -> None:
    stream = np.random.default_rng(0)
    places, values = stream.integers(0, 50, 3000), stream.random((3000, 100))
    expected = np.zeros((50, 100))
    np.add.at(expected, places, values)
    zeros = np.zeros((50, 100))
    spread = tensor(np.repeat(places[:, None], 100, 1))
    results = [
        tensor(zeros).index_add_(0, tensor(places), tensor(values)),
        tensor(zeros).index_put_((tensor(places),), tensor(values), accumulate=True),
        tensor(zeros).scatter_add_(0, spread, tensor(values)),
        tensor(zeros.T.copy()).index_add_(1, tensor(places), tensor(values.T)).T,
        tensor(zeros).scatter_reduce(0, spread, tensor(values), "sum"),
    ]
    for result in results:
        np.testing.assert_allclose(result._array, expected)
    narrow = tensor(zeros.astype(np.float16)).index_add_(0, tensor(places), tensor(values.astype(np.float16)))
    np.testing.assert_allclose(narrow._array, expected, rtol=2e-3)  # summed in float32, rounded once


def test_one_element_costs_microseconds() -> None:
    x = tensor(counting((8, 8)))

    def best(function: Any) -> float:
        times = []
        for _ in range(50):
            start = time.perf_counter()
            for _ in range(20):
                function()
            times.append((time.perf_counter() - start) / 20)
        return min(times) * 1e6

    # Twenty times what they take on a quiet machine.
    assert best(lambda: x[0]) < 30
    assert best(lambda: x[1:3]) < 50
    assert best(lambda: x[:, 1]) < 60


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_end_at_the_last_offset(mode: str) -> None:
    weight = rushlight.randn(10, 3)
    found = rushlight.nn.functional.embedding_bag(
        rushlight.arange(7), weight, rushlight.tensor([0, 2, 5, 6]), mode=mode, include_last_offset=True
    )
    reduce = {"sum": lambda rows: rows.sum(0), "mean": lambda rows: rows.mean(0), "max": lambda rows: rows.amax(0)}[mode]
    rushlight.testing.assert_close(found, rushlight.stack([reduce(weight[start:end]) for start, end in ((0, 2), (2, 5), (5, 6))]))


def test_expanded_tensors_are_written_to_as_in_pytorch() -> None:
    """Indexed writes warn, ``fill_`` and ``zero_`` do not; all others are refused."""
    expanded = rushlight.tensor(0.0).expand(3)
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        expanded[expanded == 0] = 2.0
    assert expanded.tolist() == [2.0, 2.0, 2.0]
    with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors is deprecated"):
        expanded.masked_fill_(expanded == 2, 3.0)
    assert expanded.fill_(4.0).tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded.add_(1)


@pytest.mark.parametrize(
    "operation, message",
    [
        (
            lambda: rushlight.zeros(2, 3).copy_(rushlight.zeros(4, 5)),
            "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1",
        ),
        (
            lambda: rushlight.zeros(2, 3).copy_(rushlight.zeros(4, 2, 3)),
            "output with shape [2, 3] doesn't match the broadcast shape [4, 2, 3]",
        ),
        (
            lambda: rushlight.zeros(2, 3, 4) + rushlight.zeros(3, 4, 5),
            "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 2",
        ),
        (
            lambda: rushlight.zeros(2, 3).__setitem__(slice(None), rushlight.zeros(4, 5)),
            "The expanded size of the tensor (3) must match the existing size (5) at non-singleton dimension 1.  Target sizes: [2, 3].  Tensor sizes: [4, 5]",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_named(operation, message):
    with pytest.raises(RuntimeError) as raised:
        operation()
    assert str(raised.value).startswith(message)

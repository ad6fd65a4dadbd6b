"""Views: their strides and memory, writes through them, and gradients through writes."""

from __future__ import annotations

import io
import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.core.base import Spec, make, storage_of
from rushlight.core.declare import table

FACTS = json.loads((pathlib.Path(__file__).resolve().parent / "data" / "views.json").read_text())


def tensor(values: Any, requires_grad: bool = False) -> Any:
    """A tensor of doubles over its own memory."""
    result = make(np.array(values, np.float64))
    result._requires_grad = requires_grad
    return result


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def contents(value: Any) -> np.ndarray:
    return np.asarray(value._array)


# -- layouts, and what views make of them ------------------------------------------------------------------------


@st.composite
def layouts(draw: Any, smallest: int = 0) -> np.ndarray:
    """An array of distinct numbers: contiguous, permuted, sliced with steps, or several of these."""
    shape = draw(st.lists(st.integers(1, 4), min_size=smallest, max_size=4))
    array = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    for _ in range(draw(st.integers(0, 2))):
        if array.ndim and draw(st.booleans()):
            array = array.transpose(draw(st.permutations(range(array.ndim))))
        elif array.ndim:
            dim = draw(st.integers(0, array.ndim - 1))
            start, step = draw(st.integers(0, 1)), draw(st.integers(1, 2))
            array = array[(slice(None),) * dim + (slice(min(start, array.shape[dim] - 1), None, step),)]
    return array


def _dim(draw: Any, array: np.ndarray) -> int:
    return draw(st.integers(-array.ndim, array.ndim - 1))


def _unsqueeze(draw: Any, array: np.ndarray) -> Any:
    dim = draw(st.integers(-array.ndim - 1, array.ndim))
    return (dim,), np.expand_dims(array, dim)


def _squeeze(draw: Any, array: np.ndarray) -> Any:
    dims = tuple(dim for dim in range(array.ndim) if draw(st.booleans()))
    return (dims,), np.squeeze(array, tuple(dim for dim in dims if array.shape[dim] == 1))


def _select(draw: Any, array: np.ndarray) -> Any:
    dim = _dim(draw, array)
    index = draw(st.integers(-array.shape[dim], array.shape[dim] - 1))
    return (dim, index), np.take(array, index, dim)


def _slice(draw: Any, array: np.ndarray) -> Any:
    bounds = st.none() | st.integers(-5, 5)
    dim, start, end, step = _dim(draw, array), draw(bounds), draw(bounds), draw(st.integers(1, 3))
    return (dim, start, end, step), array[(slice(None),) * (dim % array.ndim) + (slice(start, end, step),)]


def _permute(draw: Any, array: np.ndarray) -> Any:
    order = draw(st.permutations(range(array.ndim)))
    return tuple(order), array.transpose(order)


def _transpose(draw: Any, array: np.ndarray) -> Any:
    first, second = _dim(draw, array), _dim(draw, array)
    return (first, second), array.swapaxes(first, second)


def _expand(draw: Any, array: np.ndarray) -> Any:
    lead = draw(st.lists(st.integers(1, 2), max_size=2))
    shape = (*lead, *(3 if size == 1 and draw(st.booleans()) else size for size in array.shape))
    return shape, np.broadcast_to(array, shape)


def _diagonal(draw: Any, array: np.ndarray) -> Any:
    first, second = draw(st.permutations(range(array.ndim)))[:2]
    offset = draw(st.integers(-3, 3))
    return (offset, first, second), np.diagonal(array, offset, first, second)


def _unfold(draw: Any, array: np.ndarray) -> Any:
    dim = _dim(draw, array)
    size, step = draw(st.integers(0, array.shape[dim])), draw(st.integers(1, 3))
    windows = np.lib.stride_tricks.sliding_window_view(array, size, dim) if size else np.zeros(
        (*array.shape[: dim % array.ndim], array.shape[dim] + 1, *array.shape[dim % array.ndim + 1 :], 0)
    )  # fmt: skip
    return (dim, size, step), windows[(slice(None),) * (dim % array.ndim) + (slice(None, None, step),)]


def _unbind(draw: Any, array: np.ndarray) -> Any:
    dim = _dim(draw, array)
    return (dim,), [np.take(array, index, dim) for index in range(array.shape[dim])]


def _split(draw: Any, array: np.ndarray) -> Any:
    dim = _dim(draw, array)
    first = draw(st.integers(0, array.shape[dim]))
    return ([first, array.shape[dim] - first], dim), np.split(array, [first], dim)


# op -> (how many dimensions its input needs, arguments and NumPy's result for an array)
VIEWS: dict[str, tuple[int, Any]] = {
    "unsqueeze": (0, _unsqueeze),
    "squeeze": (0, _squeeze),
    "select": (1, _select),
    "slice": (1, _slice),
    "permute": (0, _permute),
    "transpose": (1, _transpose),
    "expand": (0, _expand),
    "diagonal": (2, _diagonal),
    "unfold": (1, _unfold),
    "unbind": (1, _unbind),
    "split_with_sizes": (1, _split),
    "detach": (0, lambda draw, array: ((), array)),
    "alias": (0, lambda draw, array: ((), array)),
}


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", VIEWS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_view_is_numpys_view(name: str, data: Any) -> None:
    """Values are NumPy's, memory is the input's, 0-dim results are arrays, and the meta rule gives the true strides."""
    smallest, build = VIEWS[name]
    array = data.draw(layouts(smallest))
    args, wanted = build(data.draw, array)
    op = table[name]
    found = several(op.call(make(array), *args))
    spec = Spec(array.shape, array.dtype, tuple(step // array.itemsize for step in array.strides))
    specs = several(op.call(make(spec), *args))
    assert len(found) == len(specs) == len(several(wanted))
    for view, meta, expected in zip(found, specs, several(wanted)):
        seen = view._array
        assert isinstance(seen, np.ndarray)
        np.testing.assert_array_equal(seen, expected)
        assert seen.shape == expected.shape == meta._array.shape
        if seen.size:
            assert np.shares_memory(seen, array)
        for size, real, predicted in zip(seen.shape, seen.strides, meta._array.strides):
            assert size <= 1 or not seen.size or real == predicted


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in ("expand", "unfold")])
@settings(max_examples=25)
@given(data=st.data())
def test_writes_are_seen_by_all(name: str, data: Any) -> None:
    """A write through a view changes the base, a write to the base changes the view, and both know the version."""
    smallest, build = VIEWS[name]
    array = data.draw(layouts(smallest))
    args, _ = build(data.draw, array)
    base = make(array)
    places = make(np.arange(array.size, dtype=np.float64).reshape(array.shape))
    for view, place in zip(several(table[name].call(base, *args)), several(table[name].call(places, *args))):
        touched = contents(place).astype(int).reshape(-1)
        before = contents(base).copy()
        view.mul_(-3)
        before.reshape(-1)[touched] *= -3
        np.testing.assert_array_equal(contents(base), before)
        base.add_(1)
        np.testing.assert_array_equal(contents(view), (before + 1).reshape(-1)[touched].reshape(contents(view).shape))
        assert view._version == base._version


def test_strides_are_pytorchs() -> None:
    """Strides of views of many layouts, and which shapes can be viewed without copying, as recorded from PyTorch."""
    refused = 0
    for name, shape, strides, args, wanted in FACTS:
        given = make(Spec(shape, np.dtype(np.float32), tuple(strides)))
        call = table[name].call
        if wanted is None:
            refused += 1
            with pytest.raises(RuntimeError, match="view size is not compatible"):
                call(given, args)
            continue
        found = call(given, *args) if args or name == "squeeze" else call(given, ())
        assert [list(found._array.shape), list(found._array.element_strides)] == wanted, (name, shape, strides, args)
    assert refused > 50


def test_reshape_views_where_pytorch_does() -> None:
    """``reshape`` gives a view exactly where ``view`` is possible, and the right elements in any case."""
    for name, shape, strides, args, wanted in FACTS:
        if name != "view" or not shape:
            continue
        reach = 1 + sum((size - 1) * step for size, step in zip(shape, strides))
        memory = np.arange(float(reach))
        array = np.lib.stride_tricks.as_strided(memory, shape, [8 * step for step in strides])
        base = make(array)
        found = base.reshape(args)
        np.testing.assert_array_equal(contents(found), array.reshape(args))
        assert np.shares_memory(contents(found), memory) == (wanted is not None)
        assert found._is_view() == (wanted is not None)


# -- gradients through writes to views ---------------------------------------------------------------------------


class Flat:
    """A base as one vector, with views as places in it: reads and writes without any view or in-place op."""

    def __init__(self, start: Any) -> None:
        self.shape = start._array.shape
        self.vector = start.reshape(1, -1)

    def _picks(self, places: np.ndarray) -> Any:
        picks = np.zeros((self.vector._array.shape[1], places.size))
        picks[places.reshape(-1), np.arange(places.size)] = 1
        return tensor(picks)

    def read(self, places: np.ndarray) -> Any:
        return rushlight.matmul(self.vector, self._picks(places)).reshape(places.shape)

    def write(self, places: np.ndarray, value: Any) -> None:
        kept = np.ones(self.vector._array.shape)
        kept[0, places.reshape(-1)] = 0
        spread = rushlight.matmul(value.expand(places.shape).reshape(1, -1), tensor(self._picks(places)._array.T))
        self.vector = self.vector * tensor(kept) + spread


STEPS = {
    "transpose": lambda x: x.transpose(0, -1),
    "select": lambda x: x.select(0, -1),
    "slice": lambda x: table["slice"].call(x, 0, 0, None, 2),
    "narrow": lambda x: x.narrow(-1, 0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.squeeze(),
    "flatten": lambda x: x.view(-1) if x.is_contiguous() else x,
    "diagonal": lambda x: x.diagonal() if x.ndim > 1 else x,
    "movedim": lambda x: x.movedim(0, -1),
    "strided": lambda x: x.as_strided((1 + x.numel() // 3,), (1,)) if x.is_contiguous() else x,
    "split": lambda x: x.tensor_split(2, 0)[0],
    "index": lambda x: x[..., ::2],
    "item": lambda x: x[-1],
    "new": lambda x: x[None, :1],
}


def assign(x: Any, other: Any) -> None:
    x[...] = other


WRITES = {
    "assign": (assign, lambda x, other: x * 0 + other),
    "scale": (lambda x, other: x.mul_(3), lambda x, other: x * 3),
    "times": (lambda x, other: x.mul_(other), lambda x, other: x * other),
    "plus": (lambda x, other: x.add_(other), lambda x, other: x + other),
    "over": (lambda x, other: x.copy_(other), lambda x, other: x * 0 + other),
    "zero": (lambda x, other: x.zero_(), lambda x, other: x * 0),
    "squash": (lambda x, other: x.mul_(0.5).add_(other), lambda x, other: x * 0.5 + other),
}


@st.composite
def programs(draw: Any) -> list[tuple[Any, ...]]:
    """Views of views of a (2, 3, 2) tensor, writes to any of them, and reads, in random order."""
    steps: list[tuple[Any, ...]] = []
    views = 1
    for _ in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(("view", "view", "write", "write", "read")))
        which = draw(st.integers(0, views - 1))
        if kind == "view":
            steps.append((kind, which, draw(st.sampled_from(sorted(STEPS)))))
            views += 1
        elif kind == "write":
            steps.append((kind, which, draw(st.sampled_from(sorted(WRITES)))))
        else:
            steps.append((kind, which))
    return [*steps, ("read", draw(st.integers(0, views - 1)))]


def in_place(program: Any, x: Any, other: Any) -> Any:
    """Run a program as written: with views and in-place writes."""
    base = x * 1
    views = [base]
    total = (x * x * x).sum()
    for kind, which, *rest in program:
        if kind == "view":
            parent = views[which]
            views.append(STEPS[rest[0]](parent) if parent.ndim else parent)
        elif kind == "write":
            WRITES[rest[0]][0](views[which], other)
        else:
            total = total + (views[which] * tensor(numbers(*views[which].shape, seed=which))).sum()
    return total + (base * base * base).sum()


def functional(program: Any, x: Any, other: Any) -> Any:
    """Run a program without views or in-place writes."""
    flat = Flat(x * 1)
    shadow = make(np.arange(x.numel(), dtype=np.float64).reshape(x.shape))
    views = [shadow]
    total = (x * x * x).sum()
    for kind, which, *rest in program:
        places = contents(views[which]).astype(int)
        if kind == "view":
            parent = views[which]
            views.append(STEPS[rest[0]](parent) if parent.ndim else parent)
        elif kind == "write":
            flat.write(places, WRITES[rest[0]][1](flat.read(places), other))
        else:
            total = total + (flat.read(places) * tensor(numbers(*places.shape, seed=which))).sum()
    whole = flat.vector
    return total + (whole * whole * whole).sum()


@settings(max_examples=150)
@given(program=programs())
def test_writes_to_views_have_the_gradients_of_functions(program: Any) -> None:
    """A program that writes to views has the value, gradients and second gradients of its functional rewrite."""
    results = []
    for run in (in_place, functional):
        x, other = tensor(numbers(2, 3, 2), True), tensor(0.7, True)
        value = run(program, x, other)
        first = rushlight.autograd.grad(value, [x, other], create_graph=True, allow_unused=True)
        second = rushlight.autograd.grad(sum((each * each).sum() for each in first if each is not None), [x, other], allow_unused=True)
        results.append([value, *first, *second])
    for found, wanted in zip(*results):
        zero = np.zeros(())
        found, wanted = (zero if each is None else contents(each) for each in (found, wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_a_view_follows_its_base() -> None:
    """A view taken before a write to its base has the gradient of the value after it."""
    x = tensor(numbers(3, 2), True)
    base = x * 2
    view = base.select(0, 1)
    base.mul_(5)
    assert view.grad_fn.name() == "SelectBackward0"
    view.sum().backward()
    np.testing.assert_array_equal(contents(x.grad), [[0, 0], [10, 10], [0, 0]])


def test_a_base_without_gradient_gets_one_through_its_view() -> None:
    """Writing a differentiable value to part of a constant makes the constant differentiable."""
    weight = tensor([1.0, 2.0], True)
    base = tensor(np.zeros((3, 2)))
    base.select(0, 1).copy_(weight)
    assert base.requires_grad and base.grad_fn.name() == "CopySlices"
    (base * base).sum().backward()
    np.testing.assert_array_equal(contents(weight.grad), [2.0, 4.0])


def test_gradients_of_a_write_that_arrive_in_another_layout() -> None:
    """The views of a write fit a gradient that is expanded or transposed, too."""
    for spread in (lambda x: x.sum(), lambda x: (x.t() * tensor(numbers(4, 3))).sum()):
        x = tensor(numbers(3, 4), True)
        base = x * 1
        base.view(12).mul_(2)
        base.as_strided((2, 2), (5, 1), 1).mul_(3)
        spread(base).backward()
        y = tensor(numbers(3, 4), True)
        factors = np.full(12, 2.0)
        factors[[1, 2, 6, 7]] *= 3
        spread(y * tensor(factors.reshape(3, 4))).backward()
        np.testing.assert_allclose(contents(x.grad), contents(y.grad))


def test_writes_that_would_lose_gradients_are_refused() -> None:
    leaf = tensor(numbers(2, 2), True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        leaf.select(0, 0).mul_(2)
    parts = (leaf * 1).unbind(0)
    with pytest.raises(RuntimeError, match="multiple views"):
        parts[0].mul_(2)
    for unsafe in ((leaf * 1).unsafe_split(1), (leaf * 1).tensor_split(2)):
        unsafe[0].mul_(2)
        unsafe[0].sum().backward()
    np.testing.assert_array_equal(contents(leaf.grad), [[4, 4], [0, 0]])
    base = leaf * 1
    with rushlight.autograd.no_grad():
        view = base.select(0, 0)
        hidden = leaf.select(0, 0)
    assert view.requires_grad and hidden.requires_grad
    for made, reason in ((view, "created in no_grad mode"), (hidden, "created in no_grad mode")):
        with pytest.raises(RuntimeError, match=reason):
            made.mul_(2)
    parts = base.unbind(0)
    base.mul_(2)
    for made in (view, parts[0]):
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified"):
            made.grad_fn


def test_writes_where_elements_share_memory_are_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element"):
        tensor([1.0, 2.0]).expand(3, 2).add_(1)
    with pytest.raises(RuntimeError, match="more than one element"):
        tensor([1.0, 2.0]).as_strided((2, 2), (0, 1)).mul_(2)
    with pytest.raises(RuntimeError, match="more than one element"):
        tensor([1.0, 2.0]).expand(3, 2)[:, 0] = 5


# -- views by strides --------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    size=st.lists(st.integers(0, 4), max_size=3), steps=st.lists(st.integers(0, 5), min_size=3, max_size=3),
    offset=st.none() | st.integers(0, 14), start=st.integers(0, 4),
)  # fmt: skip
def test_as_strided_stays_in_its_storage(size: list[int], steps: list[int], offset: int | None, start: int) -> None:
    """It gives the elements that its strides name, and refuses where one of them is out of bounds."""
    memory = np.arange(12.0)
    whole = make(memory)
    part = table["slice"].call(whole, 0, start, 9, 1)
    strides, first = steps[: len(size)], start if offset is None else offset
    places = first + sum(np.arange(n).reshape([-1 if i == j else 1 for j in range(len(size))]) * s
                         for i, (n, s) in enumerate(zip(size, strides)))  # fmt: skip
    places = np.broadcast_to(places, size)
    if places.size and places.max() >= 12:
        with pytest.raises(RuntimeError, match="out of bounds"):
            part.as_strided(size, strides, offset)
        return
    found = part.as_strided(size, strides, offset)
    np.testing.assert_array_equal(contents(found), places)
    if places.size:
        assert np.shares_memory(contents(found), memory)
        assert found.storage_offset() == first


def test_as_strided_of_memory_with_gaps() -> None:
    """A tensor over foreign memory that is not one block never reads beyond itself."""
    memory = np.arange(24.0).reshape(4, 6)[:, ::2]
    base = make(memory)
    np.testing.assert_array_equal(contents(base.as_strided((3,), (2,))), [0, 2, 4])
    with pytest.raises(RuntimeError, match="out of bounds"):
        base.as_strided((24,), (1,))


def test_gradient_of_overlapping_strides() -> None:
    x = tensor(numbers(7), True)
    assert gradcheck(lambda x: x.as_strided((3, 3), (2, 1)) * tensor(numbers(3, 3)), [x])
    assert gradgradcheck(lambda x: x.as_strided((3, 3), (2, 1)) ** 2, [x])
    assert gradcheck(lambda x: (x * 1).expand(2, 7).as_strided((2, 2), (0, 1)) * tensor(numbers(2, 2)), [x])
    part = tensor(numbers(2, 2), True)
    assert gradcheck(lambda x, part: x.as_strided_scatter(part, (2, 2), (3, 2), 1), [x, part])


# -- whole tensors again -----------------------------------------------------------------------------------------


def test_detach_shares_memory_and_version_only() -> None:
    x = tensor(numbers(3), True)
    y = x * 2
    for cut in (y.detach(), table["detach"].call(y)):
        before = y._version
        assert not cut.requires_grad and cut.grad_fn is None and not cut._is_view()
        cut.add_(1)
        assert y._version == cut._version == before + 1
        assert np.shares_memory(contents(cut), contents(y))
    assert not cut.requires_grad


def test_contiguous_returns_what_is_contiguous() -> None:
    x = tensor(numbers(2, 3, 4, 5))
    assert x.contiguous() is x
    turned = x.transpose(0, 3)
    copied = turned.contiguous()
    assert copied is not turned and copied.is_contiguous() and not np.shares_memory(contents(copied), contents(x))
    np.testing.assert_array_equal(contents(copied), contents(turned))
    last = type("format", (), {"name": "channels_last"})()
    found = x.contiguous(memory_format=last)
    assert found.stride() == (60, 1, 15, 3)
    np.testing.assert_array_equal(contents(found), contents(x))
    assert found.contiguous(memory_format=last) is found
    with pytest.raises(RuntimeError, match="required rank 4"):
        x.select(0, 0).contiguous(memory_format=last)


def test_bytes_read_as_another_type() -> None:
    x = make(np.arange(8, dtype=np.float32))
    whole = x.view(rushlight.int32)
    whole.zero_()
    assert not contents(x).any()
    assert whole._version == x._version
    assert x.view(rushlight.float64).shape == (4,) and x.view(dtype=rushlight.int16).shape == (16,)
    with pytest.raises(RuntimeError, match="storage_offset"):
        table["slice"].call(x, 0, 1, 5, 1).view(rushlight.float64)
    assert not tensor([1.0], True).view(rushlight.int64).requires_grad


def test_shapes_changed_in_place() -> None:
    x = tensor(numbers(2, 3), True)
    y = x * 2
    assert y.unsqueeze_(0) is y and y.shape == (1, 2, 3) and y._version == 1
    assert y.squeeze_().t_().shape == (3, 2)
    assert y.transpose_(0, 1).swapdims_(0, 1).shape == (3, 2)
    part = y.select(0, 1)
    part.unsqueeze_(1)
    assert part.shape == (2, 1) and part._base is y
    part.mul_(10)
    (y * tensor(numbers(3, 2))).sum().backward()
    factors = np.full((3, 2), 2.0)
    factors[1] = 20
    np.testing.assert_allclose(contents(x.grad), (numbers(3, 2) * factors).T)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.unsqueeze_(0)
    with rushlight.autograd.no_grad():
        assert x.unsqueeze_(0).shape == (1, 2, 3) and x.is_leaf and x.requires_grad


def test_resize() -> None:
    x = make(np.arange(6.0))
    memory = contents(x)
    x.resize_(2, 2)
    np.testing.assert_array_equal(contents(x), [[0, 1], [2, 3]])
    assert np.shares_memory(contents(x), memory)
    np.testing.assert_array_equal(contents(x.resize_(6)), np.arange(6.0))
    np.testing.assert_array_equal(contents(x.resize_(2, 4)), [[0, 1, 2, 3], [4, 5, 0, 0]])
    assert storage_of(x).array.size == 8
    np.testing.assert_array_equal(contents(x.resize_as_(tensor(np.zeros((1, 3))))), [[0, 1, 2]])
    with pytest.raises(RuntimeError, match="require grad"):
        tensor([1.0], True).resize_(2)
    with pytest.raises(RuntimeError):
        x.resize_(-1)


def test_split_outputs_that_get_no_gradient_count_as_zero() -> None:
    x = tensor(numbers(5, 2), True)
    x.split(2)[1].sum().backward()
    np.testing.assert_array_equal(contents(x.grad)[:, 0], [0, 0, 1, 1, 0])
    x.unbind(1)[1].sum().backward()
    np.testing.assert_array_equal(contents(x.grad), [[0, 1], [0, 1], [1, 2], [1, 2], [0, 1]])


def test_broadcast_shapes() -> None:
    shapes = rushlight.broadcast_shapes
    assert shapes((2, 3)) == (2, 3) and shapes() == () and shapes((2, 1), 3, [1, 1, 1]) == (1, 2, 3) and shapes(2, 1) == (2,)
    for bad, error in ((((2,), (3,)), RuntimeError), (((2,), (-1,)), RuntimeError), (((-1,),), ValueError)):
        with pytest.raises(error):
            shapes(*bad)
    with pytest.raises(TypeError):
        shapes((1.5,))


def test_meshgrid_without_indexing_warns() -> None:
    with pytest.warns(UserWarning, match="indexing"):
        rows, _ = rushlight.meshgrid(tensor([1.0, 2.0]), tensor([3.0]))
    np.testing.assert_array_equal(contents(rows), [[1], [2]])


def test_empty_tensors_have_a_place_in_their_storage():
    x = rushlight.arange(12.0).view(3, 4)
    empty = rushlight.empty(0).set_(x.untyped_storage(), 2, (0, 3), (3, 1))
    assert (empty.storage_offset(), empty.stride(), empty.data_ptr()) == (2, (3, 1), 0)
    assert rushlight.empty(0).set_(x.untyped_storage(), 99, (0,), (1,)).storage_offset() == 12  # the end
    file = io.BytesIO()
    rushlight.save([rushlight.empty(0, 2), rushlight.empty(2, 0).T, rushlight.empty(0, dtype=rushlight.bfloat16), x[:, 4:]], file)
    file.seek(0)
    assert [each.storage_offset() for each in rushlight.load(file)] == [0, 0, 0, 0]
    assert rushlight.empty(3, 0).untyped_storage().tolist() == []


def test_a_copy_of_an_expanded_tensor_lies_in_order():
    expanded = rushlight.arange(12.0).reshape(6, 2).unsqueeze(1).expand(-1, 2, -1)
    for tensor, strides in ((expanded, (4, 2, 1)), (expanded.permute(1, 0, 2), (12, 2, 1)), (rushlight.ones(4, 6).t()[::2], (1, 3))):
        copy = tensor.clone()
        assert copy.stride() == strides and rushlight.equal(copy, tensor)
        assert copy.untyped_storage().nbytes() == 4 * copy.numel()


def test_writes_through_views_of_a_view_that_was_made_a_leaf() -> None:
    leaf = rushlight.arange(6.0).reshape(2, 3).requires_grad_()  # a view of what `arange` made, and a leaf
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        leaf.view(-1).mul_(2)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        leaf.mul_(2)
    assert leaf.tolist() == [[0, 1, 2], [3, 4, 5]]

"""Repeating, rolling and turning elements, and the products (Kronecker, cross) that amount to that."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY
from ...core.errors import ArgumentError, DimensionError, DtypeError, NotSupported, ShapeError
from ...core.families import normalize_dim, normalize_dims, plain_number
from .views import dim_of, unsqueeze

# -- repeating ---------------------------------------------------------------------------------------------------


def _repeat_meta(input: Any, repeats: Any) -> Spec:
    if any(isinstance(each, float) for each in repeats):
        raise ArgumentError("repeat(): argument 'repeats' must be tuple of ints")
    extra = len(repeats) - input.ndim
    if extra < 0:
        raise ShapeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = tuple(size * times for size, times in zip((1,) * extra + tuple(input.shape), repeats))
    if any(times < 0 for times in repeats):
        raise ShapeError(f"Trying to create tensor with negative dimension: repeats {list(repeats)}")
    return Spec(shape, input.dtype)


def _repeat_kernel(xp: Any, input: Any, repeats: Any) -> Any:
    _repeat_meta(input, repeats)
    return xp.tile(input, repeats)


def _repeat_gradient(g: Any, input_shape: Any, repeats: Any) -> Any:
    """The sum over all copies: each dimension is taken apart into (copies, size)."""
    shape = (1,) * (len(repeats) - len(input_shape)) + tuple(input_shape)
    apart = [each for pair in zip(repeats, shape) for each in pair]
    return g.reshape(apart).sum(list(range(0, len(apart), 2))).reshape(input_shape) if apart else g


def _repeat_onnx(g: Any, input: Any, repeats: Any) -> Any:
    whole = g.unsqueeze(input, range(len(repeats) - input.rank))
    return whole if all(type(each) is int and each == 1 for each in repeats) else g.Tile(whole, g.sizes(repeats))


@primitive(
    meta=_repeat_meta,
    kernel=_repeat_kernel,
    vjp={"input": _repeat_gradient},
    exact=True,
    namespace=None,
    method=True,
    out=False,
    onnx={9: _repeat_onnx},
)
def repeat(input: Tensor, *repeats: int) -> Tensor:
    """The tensor copied so many times along each dimension; new dimensions go in front."""


@composite()
def tile(input: Tensor, *dims: int) -> Tensor:
    """The tensor copied so many times along its last dimensions."""
    return repeat(input, (1,) * (input._array.ndim - len(dims)) + tuple(dims))


def _check_repeats(repeats: Any) -> None:
    if repeats.dtype.kind not in "iu" or repeats.dtype.itemsize < 4:
        raise NotSupported(f"repeat_interleave(): repeats must be int32 or int64, not {BY_NUMPY[repeats.dtype]}")


def _interleave_indices_kernel(xp: Any, repeats: Any, output_size: Any) -> Any:
    if repeats.ndim != 1:
        raise ShapeError("repeat_interleave only accept 1D vector as repeat")
    _check_repeats(repeats)
    if (repeats < 0).any():
        raise ShapeError("repeats can not be negative")
    if output_size is not None and output_size != (needed := int(repeats.sum())):
        raise ShapeError(f"repeat_interleave: allocated size {output_size} does not match required size {needed}")
    return xp.repeat(xp.arange(repeats.shape[0], dtype=repeats.dtype), repeats)


def _interleave_indices_meta(repeats: Any, output_size: Any) -> Spec:
    if output_size is None:
        raise NotSupported("repeat_interleave(): the size of the result depends on the data: give output_size")
    return Spec((output_size,), repeats.dtype)


def _interleave_indices_onnx(g: Any, repeats: Any, output_size: Any) -> Any:
    # The index of a place in the result is how many runs end at it or before.
    repeats = g.cast(repeats, np.int64)
    ends = g.running_sum(repeats)
    total = g.reduce("ReduceSum", repeats, [0])
    places = g.range(0, total if output_size is None else output_size)
    ended = g.Not(g.Less(g.unsqueeze(places, [1]), g.unsqueeze(ends, [0])))
    return g.reduce("ReduceSum", g.cast(ended, np.int64), [1])


@primitive(
    meta=_interleave_indices_meta,
    kernel=_interleave_indices_kernel,
    vjp={},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    data_dependent=True,
    onnx={9: _interleave_indices_onnx},
)
def interleave_indices(repeats: Tensor, output_size: Any) -> Tensor:
    """Every index so many times as ``repeats`` says for it."""


def _repeat_each(input: Tensor, repeats: int, dim: int, output_size: Any) -> Tensor:
    if repeats < 0:
        raise ShapeError("Repeats must be non-negative")
    shape = tuple(input._array.shape)
    if output_size is not None and output_size != shape[dim] * repeats:
        raise ShapeError(f"repeat_interleave: Invalid output_size, expected {shape[dim] * repeats} but got {output_size}")
    spread = unsqueeze(input, dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    return spread.clone().reshape(*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :])


def _repeat_by(input: Tensor, repeats: Tensor, dim: int, output_size: Any) -> Tensor:
    times, length = repeats._array, input._array.shape[dim]
    if times.ndim > 1:
        raise ShapeError("repeats must be 0-dim or 1-dim tensor")
    if times.size == 1:
        repeats = repeats.reshape(1).expand(length)
    elif times.shape[0] != length:
        raise ShapeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {times.shape[0]} and "
            f"input.size({dim}) = "
            f"{length}"
        )
    return input.index_select(dim, interleave_indices(repeats, output_size))


def _repeat_interleave_onnx(g: Any, input: Any, repeats: Any, dim: Any, output_size: Any) -> Any:
    if repeats is None:
        return _interleave_indices_onnx(g, input, output_size)
    if not hasattr(repeats, "rank"):
        return NotImplemented
    whole = g.reshape(input, (math.prod(input.shape),)) if dim is None else input
    dim = 0 if dim is None else dim % whole.rank
    if not repeats.rank or repeats.shape[0] == 1:
        repeats = g.expand(g.at_least_1d(repeats), (whole.shape[dim],))
    return g.gather(whole, _interleave_indices_onnx(g, repeats, output_size), dim)


@composite(
    data_dependent=True,
    notes="data-dependent (where repeats is a tensor)",
    onnx={9: _repeat_interleave_onnx},
)
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Every element (or index of a dimension) so many times in a row; of repeats alone, the indices that this takes."""
    if repeats is None:
        return interleave_indices(input, output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = dim_of(input._array, dim, "repeat_interleave")
    if isinstance(repeats, Tensor):
        return _repeat_by(input, repeats, dim, output_size)
    repeats = plain_number(repeats)
    if not isinstance(repeats, int) or isinstance(repeats, bool):
        raise ArgumentError(f"repeat_interleave(): argument 'repeats' must be int or Tensor, not {type(repeats).__name__}")
    return _repeat_each(input, repeats, dim, output_size)


# -- rolling and turning -----------------------------------------------------------------------------------------


def _rolled(input: Any, shifts: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Shifts and dimensions as tuples of one length; None for the elements in order of memory."""
    steps = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    axes = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not steps:
        raise ShapeError("`shifts` required")
    if any(isinstance(each, float) for each in steps):
        raise ArgumentError(f"roll(): argument 'shifts' (position 2) must be tuple of ints, not {type(shifts).__name__}")
    if not axes and len(steps) == 1:
        return steps, None
    if len(steps) != len(axes):
        raise ShapeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    if not input.ndim:
        raise DimensionError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    return steps, tuple(normalize_dim(axis, input.ndim) for axis in axes)


def _roll_meta(input: Any, shifts: Any, dims: Any = None) -> Spec:
    _rolled(input, shifts, dims)
    return Spec(input.shape, input.dtype)


def _roll_kernel(xp: Any, input: Any, shifts: Any, dims: Any = None) -> Any:
    steps, axes = _rolled(input, shifts, dims)
    return xp.roll(input, steps[0] if axes is None else steps, axes)


def _roll_back(g: Any, shifts: Any, dims: Any) -> Any:
    return roll(g, [-each for each in shifts] if isinstance(shifts, (tuple, list)) else -shifts, dims)


def _roll_onnx(g: Any, input: Any, shifts: Any, dims: Any) -> Any:
    steps, axes = _rolled(Spec(input.shape, input.dtype), shifts, dims)
    result = input if axes is not None else g.reshape(input, (math.prod(input.shape),))
    for step, axis in zip(steps, (0,) if axes is None else axes):
        size = result.shape[axis]
        if not size:
            continue
        step = step if -size < step < size else step % size  # a small shift needs no look at the size
        if type(step) is not int or step:
            shape = result.shape
            parts = [g.slice(result, [-step], [g.TO_THE_END], [axis]), g.slice(result, [0], [-step], [axis])]
            result = g.concat(parts, axis)
            result.shape = shape
    return g.reshape(result, input.shape) if axes is None else result


@primitive(
    meta=_roll_meta,
    kernel=_roll_kernel,
    vjp={"input": _roll_back},
    exact=True,
    out=False,
    onnx={9: _roll_onnx},
)
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dimensions; what falls off one end comes in at the other."""


def _flip_dims(input: Any, dims: Any) -> tuple[int, ...]:
    return normalize_dims(tuple(dims), input.ndim, empty_is_all=False)


def _flip_meta(input: Any, dims: Any) -> Spec:
    _flip_dims(input, dims)
    return Spec(input.shape, input.dtype)


def _flip_kernel(xp: Any, input: Any, dims: Any) -> Any:
    axes = _flip_dims(input, dims)
    flipped = input[tuple(slice(None, None, -1) if axis in axes else slice(None) for axis in range(input.ndim))]
    return xp.array(flipped, order="C", copy=True)


def _flip_onnx(g: Any, input: Any, dims: Any) -> Any:
    axes = normalize_dims(tuple(dims), input.rank, empty_is_all=False) if input.rank else ()
    if not axes:
        return input
    return g.slice(input, [-1] * len(axes), [g.TO_THE_BEGINNING] * len(axes), axes, [-1] * len(axes))


@primitive(
    layout="preserve",
    meta=_flip_meta,
    kernel=_flip_kernel,
    vjp={"input": lambda g, dims: flip(g, dims)},
    needs_variadic=True,
    exact=True,
    out=False,
    onnx={9: _flip_onnx},
)
def flip(input: Tensor, *dims: int) -> Tensor:
    """A copy with the order of elements reversed along dimensions."""


@composite()
def fliplr(input: Tensor) -> Tensor:
    """A copy reversed from left to right, along dimension 1."""
    if input._array.ndim < 2:
        raise ShapeError("Input must be >= 2-d.")
    return flip(input, 1)


@composite()
def flipud(input: Tensor) -> Tensor:
    """A copy reversed from top to bottom, along dimension 0."""
    if input._array.ndim < 1:
        raise ShapeError("Input must be >= 1-d.")
    return flip(input, 0)


@composite()
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy rotated by ``k`` times 90 degrees in the plane of two dimensions, from the first towards the second."""
    ndim = input._array.ndim
    if len(dims) != 2:
        raise ShapeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise ShapeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = normalize_dim(dims[0], ndim), normalize_dim(dims[1], ndim)
    if first == second:
        raise ShapeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if k % 4 == 0:
        return input.clone()
    if k % 4 == 1:
        return flip(input, second).transpose(first, second)
    if k % 4 == 2:
        return flip(input, first, second)
    return flip(input, first).transpose(first, second)


# -- products that repeat or roll their operands -----------------------------------------------------------------


@composite(
    out=True,
)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: the block matrix of ``other`` times each element of ``input``."""
    ndim = max(input._array.ndim, other._array.ndim)
    a = (1,) * (ndim - input._array.ndim) + tuple(input._array.shape)
    b = (1,) * (ndim - other._array.ndim) + tuple(other._array.shape)
    left = input.reshape([each for size in a for each in (size, 1)])
    right = other.reshape([each for size in b for each in (1, size)])
    return (left * right).reshape([x * y for x, y in zip(a, b)])


def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    a, b = input._array, other._array
    if a.ndim != b.ndim:
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    if a.dtype != b.dtype:
        raise DtypeError(f"cross: expected scalar type {BY_NUMPY[a.dtype].name} but found {BY_NUMPY[b.dtype].name}")
    if a.dtype.kind == "b":
        raise NotSupported("cross: not implemented for 'Bool'")
    place = normalize_dim(dim, a.ndim)
    if not a.ndim or a.shape[place] != 3 or b.shape[place] != 3:
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[place:][:1]} and {b.shape[place:][:1]}")
    return roll(input, -1, place) * roll(other, 1, place) - roll(input, 1, place) * roll(other, -1, place)


@composite(
    out=True,
)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three along a dimension."""
    return _cross(input, other, dim)


@composite(
    out=True,
)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along a dimension: by default the first of size 3."""
    if dim is None:
        shape = tuple(input._array.shape)
        if 3 not in shape:
            raise ShapeError("no dimension of size 3 in input")
        dim = shape.index(3)
    return _cross(input, other, dim)

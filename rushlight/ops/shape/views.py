"""Views: ops whose results share the memory of their input."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.base import Spec, contiguous_strides, make
from ...core.base import TensorBase as Tensor
from ...core.base import alias as shared
from ...core.declare import composite, primitive
from ...core.devices import sole_accelerator, strided
from ...core.dtypes import legacy_name
from ...core.entry import forwards
from ...core.errors import DimensionError, ShapeError, ValueRangeError, dimension_error
from ...core.families import normalize_dim, normalize_dims
from ...core.fast_paths import gradient_array
from ...core.kernel_providers import contiguous_copy
from ...core.symbolic import SymbolicInt, is_symbolic
from .memory import element_strides, infer_size, is_contiguous, view_strides

_INTEGERS = frozenset((int,))  # what may be part of a key


def dim_of(input: Any, dim: Any, what: str) -> int:
    """A dimension of a tensor that must have one."""
    if not input.ndim:
        raise DimensionError(f"{what}() cannot be applied to a 0-dim tensor.")
    return normalize_dim(dim, input.ndim)


# -- another shape -----------------------------------------------------------------------------------------------


def _view_meta(input: Any, size: Any) -> Spec:
    wanted = infer_size(size, input.size)
    strides = view_strides(tuple(input.shape), element_strides(input), wanted)
    if strides is None:
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return Spec(wanted, input.dtype, strides)


def _view_kernel(xp: Any, input: Any, size: Any) -> Any:
    if is_contiguous(input) and (not size or min(size) >= -1):  # NumPy infers any negative size, not just -1
        return input.reshape(size)
    return strided(input, *_planned(_view_meta, input, tuple(size)))


def _planned(meta: Any, input: Any, argument: Any) -> tuple[Any, Any]:
    """The shape and the strides of a view that an op with one argument, sizes or a dimension, makes of an array."""
    sizes = argument if argument.__class__ is tuple else (argument,)
    if not _INTEGERS.issuperset(map(type, sizes)):  # such as tensors without dimensions, whose values may change
        spec = meta(input, argument)
        return spec.shape, spec.element_strides
    return _view_layout(meta, input.shape, input.strides, input.itemsize, argument)


@functools.lru_cache(4096)
def _view_layout(meta: Any, shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int, argument: Any) -> tuple[Any, Any]:
    """The shape and the strides of a view of memory with strides in bytes: the same again and again where steps of training repeat."""
    spec = meta(Spec(shape, np.dtype(f"V{itemsize}"), tuple([step // itemsize for step in steps])), argument)
    return spec.shape, spec.element_strides


def _reshape_gradient(g: Any, input_shape: Any) -> Any:
    array = None if sole_accelerator.array_type is None else gradient_array(g)
    if array is None:
        return g.reshape(input_shape)
    if is_contiguous(array):
        return make(array.reshape(input_shape))
    if not views_as(array, input_shape):
        return g.reshape(input_shape)
    return shared(g, strided(array, *_planned(_view_meta, array, tuple(input_shape))))


@primitive(
    meta=_view_meta,
    kernel=_view_kernel,
    vjp={"input": _reshape_gradient},
    view=True,
    namespace=None,
    method=False,
    node_name="ViewBackward0",
    onnx={9: lambda g, input, size: g.reshape(input, g.outputs[0].shape)},
)
def view_shape(input: Tensor, *size: int) -> Tensor:
    """The same memory in another shape."""


def _view_dtype_meta(input: Any, dtype: Any, offset: int = 0) -> Spec:
    old, new = input.dtype.itemsize, dtype.numpy.itemsize
    shape, strides = list(input.shape), list(element_strides(input))
    if 0 in shape:
        strides = list(contiguous_strides(shape))
    if old == new:
        return Spec(tuple(shape), dtype.numpy, tuple(strides))
    names = f"to view {legacy_name(input.dtype)} as {legacy_name(dtype.numpy)} (different element sizes)"
    if not shape:
        raise ShapeError(f"self.dim() cannot be 0 {names}")
    if strides[-1] != 1 and shape[-1] != 1:
        raise ShapeError(f"self.stride(-1) must be 1 {names}, but got {strides[-1]}")
    if new < old:
        ratio = old // new
        return Spec((*shape[:-1], shape[-1] * ratio), dtype.numpy, (*(step * ratio for step in strides[:-1]), 1))
    ratio = new // old
    if shape[-1] % ratio:
        raise ShapeError(f"self.size(-1) must be divisible by {ratio} {names}, but got {shape[-1]}")
    if offset % ratio:
        raise ShapeError(f"self.storage_offset() must be divisible by {ratio} {names}, but got {offset}")
    for dim, step in enumerate(strides[:-1]):
        if step % ratio and shape[dim] > 1:
            raise ShapeError(f"self.stride({dim}) must be divisible by {ratio} {names}, but got {step}")
    return Spec((*shape[:-1], shape[-1] // ratio), dtype.numpy, (*(step // ratio for step in strides[:-1]), 1))


def _view_dtype_kernel(xp: Any, input: Any, dtype: Any) -> Any:
    spec = _view_dtype_meta(input, dtype)
    return strided(input, spec.shape, spec.element_strides, dtype=spec.dtype)


def _view_dtype_onnx(g: Any, input: Any, dtype: Any) -> Any:
    if dtype.numpy.itemsize != input.dtype.itemsize:
        raise g.unsupported("ONNX reads bytes as another type only where elements have the same size")
    made = g.op("BitCast", input, to_i=g.element_type(dtype))
    made.dtype = dtype.numpy
    return made


@primitive(
    meta=_view_dtype_meta,
    kernel=_view_dtype_kernel,
    vjp={},
    view=True,
    namespace=None,
    method=False,
    onnx={26: _view_dtype_onnx},
)
def view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The same bytes read as another type; gradients do not pass."""


@composite(namespace=None, method=True)
def view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or (given a dtype) the same bytes read as another type."""
    if dtype is None and len(size) > 1:
        return view_shape(input, *size)
    if dtype is None and size and hasattr(size[0], "numpy") and not isinstance(size[0], Tensor):
        dtype = size[0]
    if dtype is None:
        return view_shape(input, size)
    if input.storage_offset() * input._array.itemsize % dtype.numpy.itemsize:
        _view_dtype_meta(input._array, dtype, input.storage_offset())
    return view_dtype(input, dtype)


forwards.set(("dtype is None and size is MISSING and len(size_given) > 1", "view_shape", "*size_given"), "view")


def _reshape_copy_kernel(xp: Any, input: Any, shape: Any) -> Any:
    copied = contiguous_copy(input) if xp is np else xp.array(input, order="C", copy=True)
    return copied.reshape(_reshape_copy_meta(input, shape).shape)


def _reshape_copy_meta(input: Any, shape: Any) -> Spec:
    return Spec(infer_size(shape, input.size), input.dtype)


@primitive(
    meta=_reshape_copy_meta,
    kernel=_reshape_copy_kernel,
    vjp={"input": _reshape_gradient},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="UnsafeViewBackward0",
    onnx={9: lambda g, input, shape: g.reshape(input, g.outputs[0].shape)},
)
def reshape_copy(input: Tensor, shape: Any) -> Tensor:
    """The elements copied into another shape."""


def views_as(array: Any, shape: Any) -> bool:
    """Whether an array can take another shape without copying (True for a bad shape, so that ``view`` says why)."""
    if is_contiguous(array):
        return True
    if array.__class__ is Spec or not _INTEGERS.issuperset(map(type, shape)):
        return view_strides(tuple(array.shape), element_strides(array), infer_size(shape, array.size)) is not None
    return (_is_view.__wrapped__ if any(map(is_symbolic, shape)) else _is_view)(array.shape, array.strides, array.itemsize, tuple(shape))


@functools.lru_cache(4096)
def _is_view(shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int, wanted: tuple[int, ...]) -> bool:
    """Whether memory with strides in bytes reads as another shape without copying."""
    size = infer_size(wanted, math.prod(shape))
    return view_strides(shape, tuple([step // itemsize for step in steps]), size) is not None


@composite(
    method=True,
    onnx={9: lambda g, input, shape: g.reshape(input, g.outputs[0].shape)},
)
def reshape(input: Tensor, *shape: int) -> Tensor:
    """The same elements in another shape: a view where that is possible, else a copy."""
    return view_shape(input, shape) if views_as(input._array, shape) else reshape_copy(input, shape)


# -- dimensions of size 1 ----------------------------------------------------------------------------------------


def _expand_meta(input: Any, size: Any) -> Spec:
    shape, strides = tuple(input.shape), element_strides(input)
    extra = len(size) - len(shape)
    if extra < 0:
        raise ShapeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            "dimensions in the "
            f"tensor ({len(shape)})"
        )
    result: list[int] = []
    steps: list[int] = []
    for i in range(len(size) - 1, -1, -1):
        wanted = size[i]
        have = shape[i - extra] if i >= extra else 1
        step = strides[i - extra] if i >= extra else (result[-1] * steps[-1] if result else 0)
        if wanted == -1:
            if i < extra:
                raise ShapeError(f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing dimension {i}")
            wanted = have
        if have != wanted and (have != 1 or wanted < 0):
            raise ShapeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) at non-singleton "
                "dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        result.append(wanted)
        steps.append(step if have == wanted else 0)
    return Spec(tuple(reversed(result)), input.dtype, tuple(reversed(steps)))


def _expand_kernel(xp: Any, input: Any, size: Any) -> Any:
    if xp is np and not input.ndim and all(each >= 0 for each in size):  # a scalar: the strides are all 0
        return np.ndarray(size, input.dtype, input, 0, (0,) * len(size))
    return strided(input, *_planned(_expand_meta, input, tuple(size)))


@primitive(
    meta=_expand_meta,
    kernel=_expand_kernel,
    vjp={"input": lambda g, input_shape: g.sum_to_size(input_shape)},
    view=True,
    namespace=None,
    method=True,
    onnx={9: lambda g, input, size: g.expand(input, g.outputs[0].shape)},
)
def expand(input: Tensor, *size: int) -> Tensor:
    """A view in which dimensions of size 1 (and new leading ones) are repeated without copying."""


def _unsqueeze_meta(input: Any, dim: int) -> Spec:
    if not -input.ndim - 1 <= dim <= input.ndim:
        raise dimension_error(dim, input.ndim + 1)
    place = dim + input.ndim + 1 if dim < 0 else dim
    shape, strides = tuple(input.shape), element_strides(input)
    step = shape[place] * strides[place] if place < len(shape) else 1
    return Spec((*shape[:place], 1, *shape[place:]), input.dtype, (*strides[:place], step, *strides[place:]))


def _unsqueeze_kernel(xp: Any, input: Any, dim: int) -> Any:
    ndim = input.ndim
    if input.__class__ is not sole_accelerator.array_type and input.flags.c_contiguous and -ndim - 1 <= dim <= ndim:
        return input[(slice(None),) * (dim + ndim + 1 if dim < 0 else dim) + (None,)]
    return strided(input, *_planned(_unsqueeze_meta, input, dim))


@primitive(
    meta=_unsqueeze_meta,
    kernel=_unsqueeze_kernel,
    vjp={"input": lambda g, dim: g.squeeze(dim)},
    view=True,
    onnx={9: lambda g, input, dim: g.unsqueeze(input, [dim])},
)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in at a place."""


def _squeezed_dims(input: Any, dim: Any) -> list[int]:
    """The dimensions that stay."""
    dims = normalize_dims(dim, input.ndim, empty_is_all=False)
    return [i for i, size in enumerate(input.shape) if size != 1 or i not in dims]


def _squeeze_meta(input: Any, dim: Any = None) -> Spec:
    kept = _squeezed_dims(input, dim)
    strides = element_strides(input)
    return Spec(tuple(input.shape[i] for i in kept), input.dtype, tuple(strides[i] for i in kept))


def _squeeze_kernel(xp: Any, input: Any, dim: Any = None) -> Any:
    kept = _squeezed_dims(input, dim)
    # The Ellipsis keeps what would be a scalar a 0-dim array over the same memory.
    return input[(*(slice(None) if i in kept else 0 for i in range(input.ndim)), ...)]


def _squeeze_onnx(g: Any, input: Any, dim: Any) -> Any:
    dims = normalize_dims(dim, input.rank, empty_is_all=False)
    dynamic = [axis for axis in dims if type(input.shape[axis]) is not int and (dim is not None or input.shape[axis] == 1)]
    if dynamic:  # whether such a dimension goes is known when the file runs
        sizes = g.shape(input)
        stays = g.constant(np.array([axis not in dims for axis in range(input.rank)]))
        left = g.Compress(sizes, g.Or(stays, g.Not(g.Equal(sizes, g.constant(1, np.int64)))), axis=0)
        return g.Reshape(input, left, allowzero=1 if g.opset >= 14 else None)
    return g.squeeze(input, [axis for axis in dims if input.shape[axis] == 1])


@primitive(
    meta=_squeeze_meta,
    kernel=_squeeze_kernel,
    vjp={"input": lambda g, input_shape: g.reshape(input_shape)},
    view=True,
    more_dims=True,
    onnx={9: _squeeze_onnx},
)
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Dimensions of size 1 left out: all, or those named."""


# -- parts of a dimension ----------------------------------------------------------------------------------------


def _slice_length(start: Any, end: Any, step: int, size: int) -> Any:
    """How many indices a slice takes of a dimension, as a formula where sizes are symbolic."""
    if not any(isinstance(each, SymbolicInt) for each in (start, end, size)):
        return len(range(*slice(start, end, step).indices(size)))
    first, last = (
        max(bound + size, 0) if bound < 0 else min(bound, size) for bound in (0 if start is None else start, size if end is None else end)
    )
    return (last - first + step - 1) // step if last > first else 0


def slice_meta(input: Any, dim: int, start: Any, end: Any, step: int) -> Spec:
    dim = dim_of(input, dim, "slice")
    if step <= 0:
        raise ValueRangeError("slice step must be positive")
    length = _slice_length(start, end, step, input.shape[dim])
    shape, strides = list(input.shape), list(element_strides(input))
    shape[dim] = length
    strides[dim] *= step
    return Spec(tuple(shape), input.dtype, tuple(strides))


def slice_kernel(xp: Any, input: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    dim = dim_of(input, dim, "slice")
    if step <= 0:
        raise ValueRangeError("slice step must be positive")
    return input[(slice(None),) * dim + (slice(start, end, step),)]


def _slice_onnx(g: Any, input: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    if end is None and type(step) is int and step == 1 and (start is None or (type(start) is int and start == 0)):
        return input
    return g.slice(input, [0 if start is None else start], [g.TO_THE_END if end is None else end], [dim], [step])


@primitive(
    meta=slice_meta,
    kernel=slice_kernel,
    vjp={"input": lambda g, input_shape, dim, start, end, step: slice_backward(g, input_shape, dim, start, end, step)},
    view=True,
    namespace=None,
    method=False,
    name="slice",
    onnx={9: _slice_onnx},
)
def slice_dim(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A range of one dimension: what ``x[1:4]`` calls."""


def _slice_backward_kernel(xp: Any, grad: Any, shape: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    result = xp.zeros(shape, grad.dtype)
    slice_kernel(xp, result, dim, start, end, step)[...] = grad
    return result


def _slice_backward_onnx(g: Any, grad: Any, shape: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    dim, size = dim % grad.rank, shape[dim]
    start = 0 if start is None else max(start + size, 0) if start < 0 else min(start, size)
    if step != 1:  # zeros between the elements first
        grad = g.pad_dim(g.unsqueeze(grad, [dim + 1]), dim + 1, 0, step - 1)
        count = grad.shape[dim] * step
        grad = g.reshape(grad, (*grad.shape[:dim], count, *grad.shape[dim + 2 :]))
        if count > size - start:
            grad = g.slice(grad, [0], [size - start], [dim])
    return g.pad_dim(grad, dim, start, size - start - grad.shape[dim])


@primitive(
    meta=lambda grad, shape, dim, start, end, step: Spec(shape, grad.dtype),
    kernel=_slice_backward_kernel,
    vjp={"grad": lambda g, dim, start, end, step: slice_dim(g, dim, start, end, step)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _slice_backward_onnx},
)
def slice_backward(grad: Tensor, shape: Any, dim: int, start: Any, end: Any, step: int) -> Tensor:
    """Zeros of a shape with ``grad`` in the place of a slice."""


def _selected(input: Any, dim: int, index: int) -> tuple[int, int]:
    """Dimension and index counted from the front."""
    place = dim_of(input, dim, "select")
    size = input.shape[place]
    if not -size <= index < size:
        raise DimensionError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {place}")
    return place, index + size if index < 0 else index


def select_meta(input: Any, dim: int, index: int) -> Spec:
    place, _ = _selected(input, dim, index)
    shape, strides = tuple(input.shape), element_strides(input)
    return Spec(shape[:place] + shape[place + 1 :], input.dtype, strides[:place] + strides[place + 1 :])


def select_kernel(xp: Any, input: Any, dim: int, index: int) -> Any:
    place, _ = _selected(input, dim, index)
    return input[(slice(None),) * place + (index, ...)]  # the Ellipsis makes a 0-dim view of what would be a scalar


def _select_onnx(g: Any, input: Any, dim: int, index: int) -> Any:
    dim = dim % input.rank
    if index < 0 and (g.opset < 11 or (type(index) is int and type(input.shape[dim]) is int)):
        index = index + input.shape[dim]  # not all opsets count from the end; that of a loop may be negative now and then
    return g.gather(input, index, dim)


@primitive(
    meta=select_meta,
    kernel=select_kernel,
    vjp={"input": lambda g, input_shape, dim, index: select_backward(g, input_shape, dim, index)},
    view=True,
    onnx={9: _select_onnx},
)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which falls away: what ``x[i]`` calls."""


def _select_backward_kernel(xp: Any, grad: Any, shape: Any, dim: int, index: int) -> Any:
    result = xp.zeros(shape, grad.dtype)
    select_kernel(xp, result, dim, index)[...] = grad
    return result


def _select_backward_onnx(g: Any, grad: Any, shape: Any, dim: int, index: int) -> Any:
    dim = dim % len(shape)
    index = index + shape[dim] if index < 0 else index
    return g.pad_dim(g.unsqueeze(grad, [dim]), dim, index, shape[dim] - index - 1)


@primitive(
    meta=lambda grad, shape, dim, index: Spec(shape, grad.dtype),
    kernel=_select_backward_kernel,
    vjp={"grad": lambda g, dim, index: select(g, dim, index)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _select_backward_onnx},
)
def select_backward(grad: Tensor, shape: Any, dim: int, index: int) -> Tensor:
    """Zeros of a shape with ``grad`` in the place of one index of a dimension."""


# -- the whole tensor again --------------------------------------------------------------------------------------


@primitive(
    meta=lambda input: Spec(input.shape, input.dtype, element_strides(input)),
    kernel=lambda xp, input: input[...],
    vjp={},
    view=True,
    onnx={9: lambda g, input: input},
)
def detach(input: Tensor) -> Tensor:
    """The same memory, outside the gradient graph; writes through either are counted for both."""


@primitive(
    meta=lambda input: Spec(input.shape, input.dtype, element_strides(input)),
    kernel=lambda xp, input: input[...],
    vjp={"input": lambda g: g},
    view=True,
    namespace=None,
    method=False,
    onnx={9: lambda g, input: input},
)
def alias(input: Tensor) -> Tensor:
    """A view of the whole tensor."""

"""Copies with given strides, and views by strides over a tensor's whole storage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.argument_checks import demand
from ...core.base import Spec, contiguous_strides, storage_of
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.devices import device_type_of, strided
from ...core.errors import GradientError, OperationError, ShapeError
from ...core.families import normalize_dim
from ...core.in_place import check_in_place, check_inference
from ...core.layout import suggests_channels_last
from ...core.state import state
from ..create.factories import checked_size, unwritten
from ..index.indexing_onnx import write_slices
from .memory import channels_last_strides, element_strides, extent, is_contiguous, lies_as, zeros_beside
from .permute import t, transpose
from .views import squeeze, unsqueeze

# -- copies ------------------------------------------------------------------------------------------------------


def _lay_out_kernel(xp: Any, input: Any, strides: Any) -> Any:
    shape = input.shape
    if lies_as(shape, strides, contiguous_strides(shape)):
        return xp.array(input, order="C", copy=True)
    result = strided(xp.zeros(extent(shape, strides), input.dtype), shape, strides)
    result[...] = input
    return result


@primitive(
    meta=lambda input, strides: Spec(input.shape, input.dtype, tuple(strides)),
    kernel=_lay_out_kernel,
    vjp={"input": lambda g: g},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="CloneBackward0",
    onnx={9: lambda g, input, strides: input},
)
def lay_out(input: Tensor, strides: Any) -> Tensor:
    """A copy with given strides (in elements)."""


@composite(
    namespace=None,
    method=False,
    onnx={9: lambda g, input, strides: input},
)
def laid_as(input: Tensor, strides: Any) -> Tensor:
    """The tensor itself if it has these strides, else a copy that does."""
    array = input._array
    return input if lies_as(array.shape, element_strides(array), strides) else lay_out(input, strides)


@composite(
    namespace=None,
    method=True,
    onnx={9: lambda g, input, memory_format: input},
)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if it is contiguous (in the given memory format), else a contiguous copy."""
    array = input._array
    name = "contiguous_format" if memory_format is None else memory_format.name
    if name == "contiguous_format" and is_contiguous(array):
        return input
    if name == "contiguous_format":
        return laid_as(input, contiguous_strides(array.shape))
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(name)
    if rank is None:
        raise OperationError(f"{name} memory format is unsupported by the contiguous operator")
    if array.ndim != rank:
        raise ShapeError(f"required rank {rank} tensor to use {name} format")
    return laid_as(input, channels_last_strides(array.shape))


# -- views by strides --------------------------------------------------------------------------------------------

Geometry = tuple[Any, Any, int]  # size, strides and offset of a tensor in a block of memory, all in elements


def _cells(xp: Any, geometry: Geometry, low: int) -> Any:
    """For every element, its place in memory counted from ``low``."""
    size, stride, offset = geometry
    found = xp.asarray(offset - low)
    for count, step in zip(size, stride):
        found = found[..., None] + xp.arange(count) * step
    return found


def _overlaps(geometry: Geometry) -> bool:
    """Whether two elements may share memory."""
    reach = 0
    for step, size in sorted((step, size) for size, step in zip(*geometry[:2]) if size > 1):
        if step <= reach:
            return True
        reach += (size - 1) * step
    return False


def _block(*geometries: Geometry) -> tuple[int, int]:
    """The offset and the number of elements of the memory that several geometries span."""
    low = min(offset for _, _, offset in geometries)
    return low, max(offset - low + extent(size, stride) for size, stride, offset in geometries)


def _restride_kernel(xp: Any, input: Any, source: Geometry, target: Geometry, counted: Geometry) -> Any:
    low, length = _block(source, target, counted)
    memory = xp.zeros(length, input.dtype)
    if _overlaps(source):
        xp.add.at(memory, _cells(xp, source, low).reshape(-1), input.reshape(-1))
    else:
        memory[_cells(xp, source, low)] = input
    if _overlaps(counted):
        times = xp.bincount(_cells(xp, counted, low).reshape(-1), minlength=length)
        memory = memory / xp.maximum(times, 1).astype(memory.real.dtype)
    return memory[_cells(xp, target, low)]


def _flat_places(g: Any, input: Any, input_stride: Any, geometry: Geometry) -> Any:
    """For every element of a view by strides, its place among the elements of the input in row-major order."""
    size, stride, offset = geometry
    if lies_as(input.shape, input_stride, contiguous_strides(input.shape)):
        places = g.constant(offset, np.int64)
        for count, step in zip(size, stride):
            steps = g.range(0, count * step, step) if step else g.full((count,), 0, np.int64)
            places = g.Add(g.unsqueeze(places, [places.rank]), steps)
        return places
    if not all(type(each) is int for each in (*input.shape, *size)):
        raise g.unsupported("a view by strides of a tensor that is not contiguous and whose sizes are not fixed")
    whole = (input.shape, input_stride, 0)
    low, length = _block(whole, geometry)
    order = np.full(length, -1, np.int64)
    order[_cells(np, whole, low)] = np.arange(math.prod(input.shape)).reshape(input.shape)
    places = order[_cells(np, geometry, low)]
    if (places < 0).any():
        raise g.unsupported("a view by strides that reaches beyond the tensor itself")
    return g.constant(places)


def _strided_onnx(g: Any, input: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    places = _flat_places(g, input, input_stride, (size, stride, offset))
    return g.gather(g.reshape(input, (math.prod(input.shape),)), places, 0)


def _strided_scatter_onnx(g: Any, input: Any, src: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    places = _flat_places(g, input, input_stride, (size, stride, offset))
    flat, count = g.reshape(input, (math.prod(input.shape),)), (math.prod(size),)
    return g.reshape(g.scatter_elements(flat, g.reshape(places, count), g.reshape(src, count), 0), input.shape)


def _restride_onnx(g: Any, input: Any, source: Geometry, target: Geometry, counted: Geometry) -> Any:
    low, length = _block(source, target, counted)
    places = _cells(np, source, low).reshape(-1)
    zeros, values = g.full((length,), 0, input.dtype), g.reshape(input, (math.prod(input.shape),))
    memory = g.scatter_elements(zeros, g.constant(places), values, 0, "add" if _overlaps(source) else None)
    if _overlaps(counted):
        times = np.bincount(_cells(np, counted, low).reshape(-1), minlength=length)
        memory = g.Div(memory, g.constant(np.maximum(times, 1).astype(input.dtype)))
    return g.gather(memory, g.constant(_cells(np, target, low)), 0)


@primitive(
    meta=lambda input, source, target, counted: Spec(target[0], input.dtype),
    kernel=_restride_kernel,
    vjp={"input": lambda g, source, target, counted: restride(g, target, source, counted)},
    namespace=None,
    method=False,
    out=False,
    node_name="AsStridedBackwardBackward0",
    onnx={9: _restride_onnx},
)
def restride(input: Tensor, source: Any, target: Any, counted: Any) -> Tensor:
    """Lay elements into zeroed memory by one geometry (adding up where they meet) and read them by another.

    A geometry is (size, strides, offset).  In between, every place is divided by how often ``counted`` names it: an
    element that several indices of a tensor share has one gradient, not several.
    """


def _strided_gradient(g: Any, input_shape: Any, input_stride: Any, size: Any, stride: Any, offset: int) -> Any:
    whole = (tuple(input_shape), input_stride, 0)
    return restride(g, (size, stride, offset), whole, whole)


@primitive(
    meta=lambda input, size, stride, offset, input_stride: Spec(size, input.dtype, stride),
    kernel=lambda xp, input, size, stride, offset, input_stride: strided(input, size, stride, offset),
    vjp={"input": _strided_gradient},
    view=True,
    namespace=None,
    method=False,
    node_name="AsStridedBackward0",
    onnx={9: _strided_onnx},
)
def strided_view(input: Tensor, size: Any, stride: Any, offset: int, input_stride: Any) -> Tensor:
    """A view by size and strides that starts ``offset`` elements from the input's own first element."""


def _placed(input: Any, size: Any, stride: Any, storage_offset: Any) -> tuple[Any, Any, int, Any]:
    """Checked arguments of ``as_strided``, with the offset counted from the input's first element."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise ShapeError(f"mismatch in length of strides and shape: {len(size)} sizes, {len(stride)} strides")
    if any(step < 0 for step in stride):
        raise ShapeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(each < 0 for each in size):
        raise ShapeError(f"as_strided: a size can't be negative, got sizes: {list(size)}")
    start = input.storage_offset()
    offset = start if storage_offset is None else storage_offset
    if offset < 0:
        raise ShapeError(f"Tensor: invalid storage offset {offset}")
    whole = storage_of(input).array
    available = extent(whole.shape, element_strides(whole)) * whole.itemsize // input._array.itemsize
    needed = offset + extent(size, stride) if math.prod(size) else 0
    if needed > available:
        raise ShapeError(
            f"as_strided: sizes {list(size)}, strides {list(stride)} and storage offset {offset} need a storage of "
            f"{needed} elements, "
            f"out of bounds for storage of {available} elements"
        )
    return size, stride, offset - start if needed else 0, element_strides(input._array)


@composite(
    of_storage=True,
    notes="memory: the result depends on the tensor's storage",
)
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view by size, strides and offset (in elements) over the tensor's whole storage."""
    return strided_view(input, *_placed(input, size, stride, storage_offset))


def _strided_scatter_meta(input: Any, src: Any, size: Any, *rest: Any) -> Spec:
    if tuple(src.shape) != tuple(size):
        raise ShapeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(size)}")
    return Spec(input.shape, input.dtype)


def _strided_scatter_kernel(xp: Any, input: Any, src: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    _strided_scatter_meta(input, src, size)
    whole, part = (input.shape, input_stride, 0), (size, stride, offset)
    low, length = _block(whole, part)
    memory = xp.zeros(length, input.dtype)
    memory[_cells(xp, whole, low)] = input
    memory[_cells(xp, part, low)] = src
    return memory[_cells(xp, whole, low)]


def _scattered_source(g: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    whole, part = (tuple(g._array.shape), input_stride, 0), (size, stride, offset)
    return restride(g, whole, part, whole)


@primitive(
    meta=_strided_scatter_meta,
    kernel=_strided_scatter_kernel,
    vjp={
        "input": lambda g, src_shape, size, stride, offset, input_stride: strided_scatter(
            g, zeros_beside(g, src_shape), size, stride, offset, input_stride
        ),
        "src": _scattered_source,
    },
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="AsStridedScatterBackward0",
    onnx={9: _strided_scatter_onnx},
)
def strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, offset: int, input_stride: Any) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of a view by strides."""


@composite(
    of_storage=True,
    notes="memory: the result depends on the tensor's storage",
)
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of ``input.as_strided(size, stride, storage_offset)``."""
    return strided_scatter(input, src, *_placed(input, size, stride, storage_offset))


# -- windows -----------------------------------------------------------------------------------------------------


def _unfold_meta(input: Any, dimension: int, size: int, step: int) -> Spec:
    dim = normalize_dim(dimension, input.ndim)
    shape, strides = list(input.shape), list(element_strides(input))
    length, stride = (shape[dim], strides[dim]) if shape else (1, 1)
    if size < 0:
        raise ShapeError(f"size is {size} but must be >= 0")
    if size > length:
        raise ShapeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise ShapeError(f"step is {step} but must be > 0")
    if not shape:
        return Spec((size,), input.dtype, (1,))
    shape[dim] = (length - size) // step + 1
    strides[dim] = stride * step
    return Spec((*shape, size), input.dtype, (*strides, stride))


def _unfold_kernel(xp: Any, input: Any, dimension: int, size: int, step: int) -> Any:
    spec = _unfold_meta(input, dimension, size, step)
    return strided(input, spec.shape, spec.element_strides)


def _unfold_onnx(g: Any, input: Any, dimension: int, size: int, step: int) -> Any:
    if not input.rank:
        return g.slice(g.reshape(input, (1,)), [0], [size], [0])
    dim = normalize_dim(dimension, input.rank)
    count = g.outputs[0].shape[dim]
    starts = g.unsqueeze(g.range(0, count * step, step), [1])
    windows = g.gather(input, g.Add(starts, g.range(0, size)), dim)
    return g.transpose(windows, [*range(dim + 1), *range(dim + 2, input.rank + 1), dim + 1])


@primitive(
    meta=_unfold_meta,
    kernel=_unfold_kernel,
    vjp={"input": lambda g, input_shape, dimension, size, step: unfold_backward(g, input_shape, dimension, size, step)},
    view=True,
    namespace=None,
    method=True,
    onnx={9: _unfold_onnx},
)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along a dimension, each ``step`` from the last, as a new last dimension."""


def _unfold_backward_kernel(xp: Any, grad: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
    result = xp.zeros(shape, grad.dtype)
    if not shape:
        return result + grad.sum()
    dim = normalize_dim(dimension, len(shape))
    before = (slice(None),) * dim
    reach = (grad.shape[dim] - 1) * step + 1
    for place in range(size):  # windows overlap, but no two of them with the same element at the same place
        result[(*before, slice(place, place + reach, step))] += grad[..., place]
    return result


def _unfold_backward_onnx(g: Any, grad: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
    if not shape:
        return g.reshape(grad, ()) if size else g.full((), 0, grad.dtype)
    dim = normalize_dim(dimension, len(shape))
    order = [*range(dim + 1), grad.rank - 1, *range(dim + 1, grad.rank - 1)]
    windows = g.transpose(grad, order)
    count = windows.shape[dim] * size
    flat = g.reshape(windows, (*windows.shape[:dim], count, *windows.shape[dim + 2 :]))
    starts = g.unsqueeze(g.range(0, windows.shape[dim] * step, step), [1])
    places = g.reshape(g.Add(starts, g.range(0, size)), (count,))
    return write_slices(g, g.full(shape, 0, grad.dtype), dim, places, flat, "add")


@primitive(
    meta=lambda grad, shape, dimension, size, step: Spec(shape, grad.dtype),
    kernel=_unfold_backward_kernel,
    vjp={"grad": lambda g, dimension, size, step: unfold(g, dimension, size, step)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: _unfold_backward_onnx},
)
def unfold_backward(grad: Tensor, shape: Any, dimension: int, size: int, step: int) -> Tensor:
    """Windows added up again where they came from."""


# -- shapes changed in place -------------------------------------------------------------------------------------


def _become(target: Tensor, op: Any, *args: Any) -> Tensor:
    """Make a tensor what a view op gives for it."""
    check_inference(target)
    if target.requires_grad and state.grad_enabled:
        check_in_place(target)
    seen = op(target, *args)
    target._array = seen._array
    if hasattr(target, "_become"):  # a tensor that consists of others
        target._become(seen)
    if target._view is not None:
        target._view = seen._view
    if seen._grad_fn is not None:
        target._grad_fn, target._output_index = seen._grad_fn, seen._output_index
    storage_of(target).version += 1
    if target._view is not None:
        target._view.version = storage_of(target).version
    if state.capture is not None:
        state.capture.reshaped(target, seen)
    return target


@composite(namespace=None, method=True, of_storage=True)
def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Put a dimension of size 1 into this tensor's shape."""
    return _become(input, unsqueeze, dim)


@composite(namespace=None, method=True, of_storage=True, more_dims=True)
def squeeze_(input: Tensor, dim: Any = None) -> Tensor:
    """Leave dimensions of size 1 out of this tensor's shape."""
    return _become(input, squeeze, dim)


@composite(namespace=None, method=("transpose_", "swapdims_"), of_storage=True)
def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of this tensor."""
    return _become(input, transpose, dim0, dim1)


@composite(namespace=None, method=True)
def swapaxes_(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two dimensions of this tensor."""
    return transpose_(input, axis0, axis1)


@composite(namespace=None, method=True, of_storage=True)
def t_(input: Tensor) -> Tensor:
    """Transpose this matrix."""
    return _become(input, t)


@composite(namespace="", method=True, of_storage=True)
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Give this tensor another size, strides and offset in its memory."""
    return _become(input, as_strided, size, stride, storage_offset)


@composite(namespace=None, method=True)
def resize_(input: Tensor, *size: int, memory_format: Any = None) -> Tensor:
    """Give this tensor another size; elements stay in the order of memory, which grows where it has to.

    Memory that grows is new: other tensors that looked at the old memory no longer see writes to this one.  New
    elements are 0, or what `use_deterministic_algorithms` fills memory with.
    """
    if input.requires_grad:
        raise GradientError("cannot resize variables that require grad")
    check_inference(input)
    size = checked_size(size)
    if math.prod(size) * input._array.dtype.itemsize > 2**63 - 1:
        raise OperationError(f"Storage size calculation overflowed with sizes={list(size)}")
    if math.prod(max(each, 1) for each in size) > 2**63 - 1:
        raise OperationError("Stride calculation overflowed")
    array, storage, start = input._array, storage_of(input), input.storage_offset()
    strides = contiguous_strides(size)
    if memory_format is not None and memory_format.name in ("channels_last", "channels_last_3d"):
        strides = channels_last_strides(size)
    if array.__class__ is Spec:
        input._array = Spec(size, array.dtype, strides, array.device)
        return input
    held = extent(storage.array.shape, element_strides(storage.array)) * storage.array.itemsize // array.itemsize
    needed = start + extent(size, strides) if math.prod(size) else 0
    if needed > held:
        xp = device_type_of(array).arrays
        grown = unwritten(xp)(needed, array.dtype) if demand.made else xp.zeros(needed, array.dtype)
        grown[:held] = strided(storage.array, (held,), (1,), dtype=array.dtype)
        version, input._storage = storage.version, type(storage)(grown)
        storage = input._storage
        storage.version = version
    input._array = strided(storage.array, size, strides, start if needed else 0, array.dtype)
    storage.version += tuple(array.shape) != size
    return input


@composite(method=True)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
    if tuple(input._array.shape) == tuple(the_template._array.shape) and memory_format is None:
        return input
    size = tuple(the_template._array.shape)
    resize_(input, *size, memory_format=memory_format)
    if memory_format is not None and memory_format.name == "preserve_format":
        if not is_contiguous(the_template._array) and suggests_channels_last(size, the_template.stride()):
            _become(input, as_strided, size, channels_last_strides(size), input.storage_offset())
    return input

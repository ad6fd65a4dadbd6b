"""Shapes: dimensions merged, taken apart, moved and cut, in terms of the views (and so views where PyTorch has them)."""

from __future__ import annotations

from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, exports, primitive, table
from ...core.errors import ArgumentError, DimensionError, ShapeError
from ...core.families import broadcast_shapes as broadcast_sizes
from ...core.families import normalize_dim
from ...core.size import Size
from ...core.symbolic import SymbolicInt
from ..index.indexing_onnx import write_slices
from .memory import zeros_beside
from .views import expand, reshape, select, select_kernel, select_meta, slice_dim, slice_kernel, slice_meta, view_shape

# -- merged and taken apart --------------------------------------------------------------------------------------


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """A range of dimensions merged into one: a view where that is possible."""
    shape = tuple(input._array.shape)
    first, last = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if not shape:
        return reshape(input, 1)
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    merged = 1
    for size in shape[first : last + 1]:
        merged *= size
    return reshape(input, (*shape[:first], merged, *shape[last + 1 :]))


@composite()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, contiguous: a view where that is possible."""
    return table["contiguous"].call(reshape(input, -1))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension taken apart into several; one of the sizes may be -1."""
    shape = tuple(input._array.shape)
    if not shape:
        raise ShapeError("unflatten: the tensor has no dimensions")
    place = normalize_dim(dim, len(shape))
    if not isinstance(sizes, (tuple, list)):
        raise ArgumentError(f"unflatten(): argument 'sizes' must be tuple of ints, not {type(sizes).__name__}")
    if not sizes:
        raise ShapeError("unflatten: sizes must be non-empty")
    known = 1
    for size in sizes:
        known *= size if size != -1 else 1
    inferred = list(sizes).count(-1)
    if (known != shape[place]) if not inferred else (inferred == 1 and known and shape[place] % known):
        raise ShapeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[place]}) in the input tensor"
        )
    if inferred == 1 and known:
        sizes = [shape[place] // known if size == -1 else size for size in sizes]
    return view_shape(input, (*shape[:place], *sizes, *shape[place + 1 :]))


@composite(
    namespace=None,
    method=True,
)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return view_shape(input, other._array.shape)


@composite(
    namespace=None,
    method=True,
)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor."""
    return reshape(input, other._array.shape)


# -- expanded ----------------------------------------------------------------------------------------------------


@composite(
    namespace=None,
    method=True,
)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of another tensor."""
    return expand(input, other._array.shape)


@composite(more_dims=True)
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """A view expanded to a shape."""
    return expand(input, tuple(size) if isinstance(size, (tuple, list)) else size)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to; a number counts as a shape of one dimension."""
    found = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    for shape in found:
        for size in shape:
            if not hasattr(size, "__index__"):
                raise ArgumentError(f"broadcast_shapes: expected shapes of ints, not {type(size).__name__}")
    try:
        made = Size(broadcast_sizes(found))
    except ShapeError as error:
        raise ShapeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {found}") from error
    if any(size < 0 for size in made):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return made


exports["", "broadcast_shapes"] = broadcast_shapes  # it takes shapes, not tensors, and so is no op


# -- cut out -----------------------------------------------------------------------------------------------------


@composite(
    data_dependent=True,
    notes="data-dependent (where start is a tensor)",
)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of so many indices of a dimension."""
    shape = tuple(input._array.shape)
    if not shape:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start._array.ndim or start._array.dtype.kind not in "iu":
            raise ShapeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    if length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    size = shape[normalize_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise DimensionError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    unknown = isinstance(start, SymbolicInt) and input._array.__class__ is Spec  # its sign is that of one run alone
    first = start + size if start < 0 and not unknown else start
    if first + length > size:
        raise ShapeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_dim(input, dim, first, first + length)


@composite(
    out=True,
)
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A copy of so many indices of a dimension."""
    return narrow(input, dim, start, length).clone()


# -- set in ------------------------------------------------------------------------------------------------------


def scattering(view_meta: Any, view_kernel: Any) -> tuple[Any, Any]:
    """Meta rule and kernel of an op that copies its input and writes ``src`` over what a view op sees of the copy."""

    def meta(input: Any, src: Any, *args: Any) -> Spec:
        seen = tuple(view_meta(input, *args).shape)
        if tuple(src.shape) != seen:
            raise ShapeError(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(seen)}"
            )
        return Spec(input.shape, input.dtype)

    def kernel(xp: Any, input: Any, src: Any, *args: Any) -> Any:
        meta(input, src, *args)
        result = xp.array(input, order="C", copy=True)
        view_kernel(xp, result, *args)[...] = src
        return result

    return meta, kernel


def _select_scatter_onnx(g: Any, input: Any, src: Any, dim: int, index: Any) -> Any:
    dim = dim % input.rank
    size, row = input.shape[dim], g.unsqueeze(src, [dim])
    if type(index) is int and (index >= 0 or type(size) is int):
        return _slice_scatter_onnx(g, input, row, dim, index % size if type(size) is int else index, None if index == -1 else index + 1, 1)
    place = g.gather(g.range(0, size), index, 0)  # which counts from the end where the index is negative
    return write_slices(g, input, dim, g.unsqueeze(place, [0]), g.cast(row, input.dtype))


def _slice_scatter_onnx(g: Any, input: Any, src: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    dim, src = dim % input.rank, g.cast(src, input.dtype)
    size = input.shape[dim]
    start = 0 if start is None else start
    if all(type(each) is int for each in (size, start, 0 if end is None else end, step)):
        start, end, step = slice(start, end, step).indices(size)
    fixed = all(type(each) is int and each >= 0 for each in (start, 0 if end is None else end))
    if not fixed or step != 1:  # a size that is not known may make the slice shorter, or empty
        places = g.slice(g.range(0, size), [start], [g.TO_THE_END if end is None else end], [0], [step])
        places.shape = (src.shape[dim],)
        return write_slices(g, input, dim, places, src)
    parts = [src]
    if start:
        parts.insert(0, g.slice(input, [0], [start], [dim]))
    if end is not None and not (type(size) is int and end >= size):
        parts.append(g.slice(input, [max(start, end)], [g.TO_THE_END], [dim]))
    return g.concat(parts, dim)


_select_scatter_meta, _select_scatter_kernel = scattering(select_meta, select_kernel)


@primitive(
    out=False,
    meta=_select_scatter_meta,
    kernel=_select_scatter_kernel,
    vjp={
        "input": lambda g, src_shape, dim, index: select_scatter(g, zeros_beside(g, src_shape), dim, index),
        "src": lambda g, dim, index: select(g, dim, index),
    },
    exact=True,
    onnx={9: _select_scatter_onnx},
)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of one index of a dimension."""


_slice_scatter_meta, _slice_scatter_kernel = scattering(slice_meta, slice_kernel)


@primitive(
    meta=_slice_scatter_meta,
    kernel=_slice_scatter_kernel,
    vjp={
        "input": lambda g, src_shape, dim, start, end, step: slice_scatter(g, zeros_beside(g, src_shape), dim, start, end, step),
        "src": lambda g, dim, start, end, step: slice_dim(g, dim, start, end, step),
    },
    exact=True,
    onnx={9: _slice_scatter_onnx},
)
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy of ``input`` with ``src`` in the place of a range of one dimension."""

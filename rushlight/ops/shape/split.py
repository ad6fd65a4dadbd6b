"""Splitting: one tensor as several, each a view of a part of it."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import legacy_name
from ...core.errors import ArgumentError, DimensionError, DtypeError, ShapeError
from ...core.families import normalize_dim, plain_number
from .memory import element_strides, zeros_beside
from .views import select_meta, slice_dim


def _unbind_dim(input: Any, dim: int) -> int:
    if not input.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, input.ndim)


def _unbind_meta(input: Any, dim: int = 0) -> list[Spec]:
    return [select_meta(input, dim, index) for index in range(input.shape[_unbind_dim(input, dim)])]


def _unbind_kernel(xp: Any, input: Any, dim: int = 0) -> list[Any]:
    place = _unbind_dim(input, dim)
    before = (slice(None),) * place
    return [input[(*before, index, ...)] for index in range(input.shape[place])]


def _unbind_gradient(g: Any, dim: int) -> Any:
    known = next(each for each in g if each is not None)
    return table["stack"].call([zeros_beside(known, known._array.shape) if each is None else each for each in g], dim)


def _unbind_onnx(g: Any, input: Any, dim: int) -> Any:
    dim = dim % input.rank
    return [g.squeeze(part, [dim]) for part in g.split(input, [1] * len(g.outputs), dim)]


@primitive(
    meta=_unbind_meta,
    kernel=_unbind_kernel,
    vjp={"input": _unbind_gradient},
    returns="list",
    view=True,
    onnx={9: _unbind_onnx},
)
def unbind(input: Tensor, dim: int = 0) -> Any:
    """All indices of a dimension, one by one: a tuple of views."""


# -- parts of given sizes ----------------------------------------------------------------------------------------


def check_sizes(input: Any, split_sizes: Any, dim: int) -> int:
    """The dimension to split along, once the sizes are known to fill it."""
    if not input.ndim:
        raise ShapeError("split expects at least a 1-dimensional tensor")
    place = normalize_dim(dim, input.ndim)
    if not isinstance(split_sizes, (tuple, list)) or any(not hasattr(size, "__index__") for size in split_sizes):
        raise ArgumentError(f"split_with_sizes(): argument 'split_sizes' must be tuple of ints, not {split_sizes!r}")
    if any(size < 0 for size in split_sizes):
        raise ShapeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}")
    if sum(split_sizes) != input.shape[place]:
        raise ShapeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[place]} (input tensor's size at "
            f"dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return place


def _split_meta(input: Any, split_sizes: Any, dim: int = 0) -> list[Spec]:
    place = check_sizes(input, split_sizes, dim)
    shape, strides = tuple(input.shape), element_strides(input)
    return [Spec((*shape[:place], size, *shape[place + 1 :]), input.dtype, strides) for size in split_sizes]


def _split_kernel(xp: Any, input: Any, split_sizes: Any, dim: int = 0) -> list[Any]:
    before = (slice(None),) * check_sizes(input, split_sizes, dim)
    ends = list(accumulate(split_sizes))
    return [input[(*before, slice(end - size, end))] for size, end in zip(split_sizes, ends)]


def _split_gradient(g: Any, input_shape: Any, split_sizes: Any, dim: int) -> Any:
    known = next(each for each in g if each is not None)
    place = normalize_dim(dim, len(input_shape))
    shapes = [(*input_shape[:place], size, *input_shape[place + 1 :]) for size in split_sizes]
    parts = [zeros_beside(known, shape) if each is None else each for each, shape in zip(g, shapes)]
    return table["cat"].call(parts, place)


@primitive(
    meta=_split_meta,
    kernel=_split_kernel,
    vjp={"input": _split_gradient},
    returns="list",
    view=True,
    onnx={9: lambda g, input, split_sizes, dim: g.split(input, split_sizes, dim % input.rank)},
)
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """Parts of the given sizes along a dimension: a tuple of views."""


@primitive(
    meta=_split_meta,
    kernel=_split_kernel,
    vjp={"input": _split_gradient},
    returns="list",
    view=True,
    namespace=None,
    method=False,
    node_name="SplitBackward0",
    onnx={9: lambda g, input, split_sizes, dim: g.split(input, split_sizes, dim % input.rank)},
)
def split_evenly(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """What ``split`` and ``chunk`` call: parts of one size, but for the last."""


@primitive(
    meta=lambda *values: [Spec(each.shape, each.dtype, each.element_strides) for each in _split_meta(*values)],
    kernel=_split_kernel,
    vjp={"input": _split_gradient},
    returns="list",
    exact=True,
    out=False,
    node_name="UnsafeSplitBackward0",
    onnx={9: lambda g, input, split_sizes, dim: g.split(input, split_sizes, dim % input.rank)},
)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """Like ``split_with_sizes``, but not tracked as views: write to the parts only if the input is not used again."""


def _even_sizes(input: Tensor, split_size: int, dim: int) -> list[int]:
    """The sizes of parts of one size, the last of which may be smaller."""
    array = input._array
    if not array.ndim:
        raise ShapeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise ShapeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    length = array.shape[normalize_dim(dim, array.ndim)]
    if not split_size and length:
        raise ShapeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    count = max(-(-length // split_size), 1) if split_size else 1
    parts = [split_size] * (count - 1)
    return [*parts, length - split_size * len(parts)]


def _chunk_sizes(input: Tensor, chunks: int, dim: int) -> list[int]:
    """The sizes of so many parts (or fewer, where they come out whole)."""
    array = input._array
    if not array.ndim:
        raise ShapeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise ShapeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = array.shape[normalize_dim(dim, array.ndim)]
    return _even_sizes(input, -(-length // chunks), dim) if length else [0] * chunks


@composite(
    method=True,
)
def split(tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> Any:
    """Parts of one size (the last may be smaller) or of given sizes along a dimension: a tuple of views."""
    sections = split_size if split_size_or_sections is None else split_size_or_sections
    if isinstance(sections, Tensor) and not sections._array.ndim:
        sections = sections.__index__()  # type: ignore[operator]
    if isinstance(sections, int):
        return split_evenly(tensor, _even_sizes(tensor, sections, dim), dim)
    return split_with_sizes(tensor, sections, dim)


@composite()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """Like ``split``, but the parts are not tracked as views."""
    return unsafe_split_with_sizes(input, _even_sizes(input, split_size, dim), dim)


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """At most so many parts of one size (the last may be smaller) along a dimension: a tuple of views."""
    return split_evenly(input, _chunk_sizes(input, chunks, dim), dim)


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """Like ``chunk``, but the parts are not tracked as views."""
    return unsafe_split_with_sizes(input, _chunk_sizes(input, chunks, dim), dim)


# -- parts between given places ----------------------------------------------------------------------------------


def _places(sections: Any) -> Any:
    """What ``tensor_split`` was given, as an int or a sequence of ints."""
    if not isinstance(sections, Tensor):
        return plain_number(sections)
    if sections._array.ndim > 1:
        raise ShapeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            "but got a tensor "
            f"with {sections._array.ndim} dims"
        )
    if sections._array.dtype != np.int64:
        raise DtypeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {legacy_name(sections._array.dtype)}"
        )
    return sections.tolist()


def _tensor_split_onnx(g: Any, input: Any, indices_or_sections: Any, dim: int, sections: Any, indices: Any) -> Any:
    given = next(each for each in (indices_or_sections, sections, indices) if each is not None)
    if not hasattr(given, "rank"):
        return NotImplemented
    dim, count = dim % input.rank, len(g.outputs)  # how many parts there are is fixed, where they end is not
    length = input.shape[dim]
    if not given.rank:
        return g.split(input, [(length + count - 1 - index) // count for index in range(count)], dim)
    ends = [g.gather(given, index, 0) for index in range(count - 1)]
    return [g.slice(input, [start], [end], [dim]) for start, end in zip([0, *ends], [*ends, g.TO_THE_END])]


@composite(
    data_dependent=True,
    notes="data-dependent (where the places are a tensor)",
    onnx={9: _tensor_split_onnx},
)
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None) -> Any:
    """So many parts whose sizes differ by at most 1, or the parts between given places: a tuple of views."""
    given = _places(next((each for each in (indices_or_sections, sections, indices) if each is not None), None))
    array = input._array
    if not array.ndim:
        raise ShapeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    length = array.shape[normalize_dim(dim, array.ndim)]
    if isinstance(given, int):
        if given <= 0:
            raise ShapeError(f"number of sections must be larger than 0, got {given}")
        sizes = [(length + given - 1 - index) // given for index in range(given)]
        given = list(accumulate(sizes))[:-1]
    starts, ends = [0, *given], [*given, length]
    return tuple(slice_dim(input, dim, start, end) for start, end in zip(starts, ends))


def _axis_split(input: Tensor, given: Any, dim: int, name: str, least: int) -> Any:
    array = input._array
    if array.ndim < least:
        raise ShapeError(f"{name} requires a tensor with at least {least} dimension, but got a tensor with {array.ndim} dimensions!")
    given = plain_number(given)
    if isinstance(given, int) and (given == 0 or array.shape[dim] % given):
        raise ShapeError(
            f"{name} attempted to split along dimension {dim}, but the size of the dimension {array.shape[dim]} is "
            "not divisible by "
            f"the split_size {given}!"
        )
    return tensor_split(input, given, dim)


@composite(more_dims=True)
def hsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the second dimension (of a vector, the first)."""
    return _axis_split(input, indices_or_sections, 0 if input._array.ndim == 1 else 1, "torch.hsplit", 1)


@composite(more_dims=True)
def vsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the first dimension."""
    return _axis_split(input, indices_or_sections, 0, "torch.vsplit", 2)


@composite(more_dims=True)
def dsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the third dimension."""
    return _axis_split(input, indices_or_sections, 2, "torch.dsplit", 3)

"""Diagonals and triangles of matrices."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.devices import strided
from ...core.errors import ShapeError
from ...core.families import normalize_dim
from ...core.symbolic import is_symbolic, larger, smaller
from .memory import element_strides, zeros_beside
from .reshape import scattering

# -- diagonals ---------------------------------------------------------------------------------------------------


def _plane(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    """Two different dimensions, counted from the front."""
    first, second = normalize_dim(dim1, ndim), normalize_dim(dim2, ndim)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def _place(input: Any, offset: int, dim1: int, dim2: int) -> tuple[Spec, int]:
    """Shape and strides of a diagonal, and where it starts."""
    first, second = _plane(input.ndim, dim1, dim2)
    shape, strides = tuple(input.shape), element_strides(input)
    length = smaller(shape[first] + smaller(offset, 0), shape[second] - larger(offset, 0))
    length = larger(length, 0) if offset or is_symbolic(offset) else length
    start = (offset * strides[second] if offset >= 0 else -offset * strides[first]) if length else 0
    rest = [dim for dim in range(len(shape)) if dim not in (first, second)]
    steps = (*(strides[dim] for dim in rest), strides[first] + strides[second])
    return Spec((*(shape[dim] for dim in rest), length), input.dtype, steps), start


def _diagonal_meta(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Spec:
    return _place(input, offset, dim1, dim2)[0]


def _diagonal_kernel(xp: Any, input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    spec, start = _place(input, offset, dim1, dim2)
    return strided(input, spec.shape, spec.element_strides, start)


def _plane_last(ndim: int, dim1: int, dim2: int) -> list[int]:
    """The order of dimensions in which the two of a plane come last."""
    plane = _plane(ndim, dim1, dim2)
    return [*(dim for dim in range(ndim) if dim not in plane), *plane]


def _diagonal_onnx(g: Any, input: Any, offset: int, dim1: int, dim2: int) -> Any:
    result = g.outputs[0].shape
    matrices = g.transpose(input, _plane_last(input.rank, dim1, dim2))
    *rest, rows, columns = matrices.shape
    length, start = result[-1], larger(offset, 0) + larger(-offset, 0) * columns
    fixed = not is_symbolic(length)
    places = g.constant([], np.int64) if fixed and not length else g.range(start, start + length * (columns + 1), columns + 1)
    return g.gather(g.reshape(matrices, (*rest, rows * columns)), places, len(rest))


def _as_diagonal(g: Any, src: Any, rows: Any, columns: Any, offset: int, other: Any) -> Any:
    """Matrices (or a number) with the last dimension of a value as a diagonal."""
    length = src.shape[-1]
    if is_symbolic(offset):
        before = larger(-offset, 0)
        spread = g.unsqueeze(g.pad_dim(src, src.rank - 1, before, rows - length - before), [-1])
    elif offset >= 0:  # an element stands in the row of its index, or (below) in the column
        spread = g.unsqueeze(g.pad_dim(src, src.rank - 1, 0, rows - length), [-1])
    else:
        spread = g.unsqueeze(g.pad_dim(src, src.rank - 1, 0, columns - length), [-2])
    return g.where(g.diagonal_mask(rows, columns, offset), spread, other)


def _diagonal_backward_onnx(g: Any, grad: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
    order = _plane_last(len(shape), dim1, dim2)
    made = _as_diagonal(g, grad, shape[order[-2]], shape[order[-1]], offset, 0)
    return g.transpose(made, [order.index(dim) for dim in range(len(shape))])


def _diagonal_scatter_onnx(g: Any, input: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    order = _plane_last(input.rank, dim1, dim2)
    matrices = g.transpose(input, order)
    rows, columns = matrices.shape[-2:]
    made = _as_diagonal(g, g.cast(src, input.dtype), rows, columns, offset, matrices)
    return g.transpose(made, [order.index(dim) for dim in range(input.rank)])


@primitive(
    meta=_diagonal_meta,
    kernel=_diagonal_kernel,
    vjp={"input": lambda g, input_shape, offset, dim1, dim2: diagonal_backward(g, input_shape, offset, dim1, dim2)},
    view=True,
    onnx={9: _diagonal_onnx},
)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of the matrices that two dimensions span, as a last dimension."""


def _diagonal_backward_kernel(xp: Any, grad: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
    result = xp.zeros(shape, grad.dtype)
    _diagonal_kernel(xp, result, offset, dim1, dim2)[...] = grad
    return result


@primitive(
    meta=lambda grad, shape, offset, dim1, dim2: Spec(shape, grad.dtype),
    kernel=_diagonal_backward_kernel,
    vjp={"grad": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _diagonal_backward_onnx},
)
def diagonal_backward(grad: Tensor, shape: Any, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of a shape with ``grad`` as a diagonal."""


def _diag_embed_meta(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Spec:
    ndim = input.ndim + 1
    first, second = _plane(ndim, dim1, dim2)
    size = input.shape[-1] + larger(offset, -offset)
    rest = iter(input.shape[:-1])
    return Spec(tuple(size if dim in (first, second) else next(rest) for dim in range(ndim)), input.dtype)


def _diag_embed_kernel(xp: Any, input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return _diagonal_backward_kernel(xp, input, _diag_embed_meta(input, offset, dim1, dim2).shape, offset, dim1, dim2)


@primitive(
    out=False,
    meta=_diag_embed_meta,
    kernel=_diag_embed_kernel,
    vjp={"input": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    exact=True,
    onnx={9: lambda g, input, *place: _diagonal_backward_onnx(g, input, g.outputs[0].shape, *place)},
)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros with the last dimension as a diagonal."""


@composite(
    out=True,
)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of a diagonal."""
    ndim = input._array.ndim
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(input, diagonal) if ndim == 1 else input.diagonal(diagonal).clone()


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements as a diagonal."""
    return diag_embed(input.reshape(-1), offset)


_diagonal_scatter_meta, _diagonal_scatter_kernel = scattering(_diagonal_meta, _diagonal_kernel)


@primitive(
    out=False,
    meta=_diagonal_scatter_meta,
    kernel=_diagonal_scatter_kernel,
    vjp={
        "input": lambda g, src_shape, offset, dim1, dim2: diagonal_scatter(g, zeros_beside(g, src_shape), offset, dim1, dim2),
        "src": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    },
    exact=True,
    onnx={9: _diagonal_scatter_onnx},
)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of ``input`` with ``src`` as a diagonal."""


# -- triangles ---------------------------------------------------------------------------------------------------


def _triangle_meta(name: str) -> Any:
    def meta(input: Any, diagonal: int = 0) -> Spec:
        if input.ndim < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions")
        return Spec(input.shape, input.dtype)

    return meta


_FAR = 2**62


def _below(xp: Any, input: Any, diagonal: int) -> Any:
    """A mask of the elements on a diagonal or below it."""
    rows, columns = input.shape[-2:]
    diagonal = index(diagonal)
    if diagonal.__class__ is int:  # no column is so far away, and the difference fits into 64 bits
        diagonal = max(-_FAR, min(diagonal, _FAR))
    return xp.arange(rows)[:, None] >= xp.arange(columns) - diagonal


def _tril_kernel(xp: Any, input: Any, diagonal: int = 0) -> Any:
    _triangle_meta("tril")(input)
    return xp.where(_below(xp, input, diagonal), input, input.dtype.type(0))


def _triu_kernel(xp: Any, input: Any, diagonal: int = 0) -> Any:
    _triangle_meta("triu")(input)
    return xp.where(_below(xp, input, diagonal - 1), input.dtype.type(0), input)


def _triangle_onnx(g: Any, input: Any, diagonal: int, upper: bool) -> Any:
    if g.opset >= 14:
        return g.Trilu(input, None if type(diagonal) is int and diagonal == 0 else g.number(diagonal, np.int64), upper=int(upper))
    rows, columns = input.shape[-2:]
    across = g.range(upper - diagonal, columns + upper - diagonal)
    edge = g.Less(g.unsqueeze(g.range(0, rows), [1]), g.unsqueeze(across, [0]))
    return g.where(edge, input, 0) if upper else g.where(edge, g.number(0, input.dtype), input)


@primitive(
    layout="contiguous",
    meta=_triangle_meta("tril"),
    kernel=_tril_kernel,
    vjp={"input": lambda g, diagonal: tril(g, diagonal)},
    exact=True,
    in_place=True,
    onnx={9: lambda g, input, diagonal: _triangle_onnx(g, input, diagonal, False)},
)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal."""


@primitive(
    layout="contiguous",
    meta=_triangle_meta("triu"),
    kernel=_triu_kernel,
    vjp={"input": lambda g, diagonal: triu(g, diagonal)},
    exact=True,
    in_place=True,
    onnx={9: lambda g, input, diagonal: _triangle_onnx(g, input, diagonal, True)},
)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal."""


@composite()
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if input._array.ndim != 2:
        raise ShapeError("trace: expected a matrix")
    return input.diagonal().sum()

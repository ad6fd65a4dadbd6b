"""Products of vectors along a dimension, and matrices made of their powers."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import DtypeError, ShapeError
from ...core.families import broadcast_shapes
from ..pointwise.arithmetic import conjugate
from .checks import check_floating, check_same_dtype


@composite(out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products of vectors along a dimension, the first conjugated."""
    check_floating("linalg.vecdot", x._array, low_precision=True)
    check_same_dtype("linalg.vecdot", x._array, y._array, ("x", "y"))
    broadcast_shapes([tuple(x._array.shape), tuple(y._array.shape)])
    return (conjugate(x) * y).sum(dim)


def _powers(x: Any, count: int) -> Any:
    """``x ** 0 ... x ** (count - 1)`` in a new last dimension, by repeated multiplication."""
    if x._array.dtype.kind in "biu":  # as products of integers are
        x = x.long()
    one = table["ones_like"].call(x).unsqueeze(-1)
    if count < 2:
        return one.narrow(-1, 0, count)
    repeated = x.unsqueeze(-1).expand((*x._array.shape, count - 1))
    return table["cat"].call([one, repeated.cumprod(-1)], -1)


@composite(out=False)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of every element in rising order: the Vandermonde matrix."""
    if x._array.dtype.kind == "b":
        raise DtypeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    if not x._array.ndim:
        x = x.reshape(1)
    count = x._array.shape[-1] if N is None else N
    if count <= 1:
        raise ShapeError("N must be greater than 1.")
    return _powers(x, count)


@composite(method=False, out=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of every element of a vector, in falling order unless ``increasing``."""
    if x._array.ndim != 1:
        raise ShapeError("x must be a one-dimensional tensor.")
    count = x._array.shape[0] if N is None else N
    if count < 0:
        raise ShapeError("N must be non-negative.")
    powers = _powers(x, count)
    return powers if increasing else powers.flip(-1)


@composite()
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return A.diagonal(offset, dim1, dim2)

"""Products of vectors along a dimension, and matrices made of their powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import DtypeError, ShapeError
from ...core.families import broadcast_shapes
from ...core.samples import Sample, cases
from ..pointwise.arithmetic import conjugate
from .checks import check_floating, check_same_dtype
from .matmul import refused


@composite(
    samples=cases(lambda m: [
        Sample(m.real(2, 3), m.real(3)), Sample(m.real(2, 3), m.real(2, 1), dim=0),
        Sample(m.complex(2, 3), m.complex(2, 3)), Sample(m.real(0, 3), m.real(0, 3)),
        refused(m.real(2, 3), m.real(2, 2)), refused(m.integers(3), m.integers(3)),
        refused(m.real(3), m.real(3, dtype=np.float64)),
    ]),
    out=True,
)  # fmt: skip
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products of vectors along a dimension, the first conjugated."""
    check_floating("linalg.vecdot", x._array, low_precision=True)
    check_same_dtype("linalg.vecdot", x._array, y._array, ("x", "y"))
    broadcast_shapes([tuple(x._array.shape), tuple(y._array.shape)])
    return (conjugate(x) * y).sum(dim)


def _powers(x: Any, count: int) -> Any:
    """``x ** 0 ... x ** (count - 1)`` in a new last dimension, by repeated multiplication."""
    one = table["ones_like"].call(x).unsqueeze(-1)
    if count < 2:
        return one.narrow(-1, 0, count)
    repeated = x.unsqueeze(-1).expand((*x._array.shape, count - 1))
    return table["cat"].call([one, repeated.cumprod(-1)], -1)


@composite(
    samples=cases(lambda m: [
        Sample(m.apart(3)), Sample(m.apart(3), N=2), Sample(m.apart(2, 3), N=4), Sample(m.integers(3), gradient=False),
        Sample(m.complex(2)),
        refused(m.real(2), N=0), refused(m.booleans(2)), refused(m.real()),
    ]),
    out=True,
)  # fmt: skip
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of every element in rising order: the Vandermonde matrix."""
    if x._array.dtype.kind == "b":
        raise DtypeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    count = (x._array.shape[-1] if x._array.ndim else 1) if N is None else N
    if count <= 1:
        raise ShapeError("N must be greater than 1.")
    return _powers(x, count)


@composite(
    samples=cases(lambda m: [
        Sample(m.apart(3)), Sample(m.apart(3), 2, True), Sample(m.apart(3), 1, gradient=False),
        Sample(m.integers(3), gradient=False), Sample(m.real(2), 0, gradient=False),
        refused(m.real(2, 2)), refused(m.real(2), -1),
    ]),
    method=False,
    out=True,
)  # fmt: skip
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of every element of a vector, in falling order unless ``increasing``."""
    if x._array.ndim != 1:
        raise ShapeError("x must be a one-dimensional tensor.")
    count = x._array.shape[0] if N is None else N
    if count < 0:
        raise ShapeError("N must be non-negative.")
    powers = _powers(x, count)
    return powers if increasing else powers.flip(-1)


@composite(
    samples=cases(
        lambda m: [
            Sample(m.real(2, 3)),
            Sample(m.real(2, 2, 3), offset=1),
            Sample(m.real(2, 3, 2), offset=-1, dim1=0, dim2=1),
        ]
    )
)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return A.diagonal(offset, dim1, dim2)

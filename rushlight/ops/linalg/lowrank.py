"""Approximate decompositions of low rank, by random projections (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import ValueRangeError
from .factorizations import linalg_qr, linalg_svd
from .matmul import adjoint, matmul


def _basis(A: Any, q: int, niter: int, M: Any) -> Any:
    """Orthonormal columns that nearly span the range of ``A - M``, by subspace iteration from random vectors."""

    def times(matrix: Any, offset: Any, columns: Any) -> Any:
        product = matmul(matrix, columns)
        return product if offset is None else product - matmul(offset, columns)

    Ah, Mh = adjoint(A), None if M is None else adjoint(M)
    start = table["randn"].call(A._array.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = linalg_qr(times(A, M, start))[0]
    for _ in range(niter):
        Q = linalg_qr(times(Ah, Mh, Q))[0]
        Q = linalg_qr(times(A, M, Q))[0]
    return Q


@composite(
    method=False,
)
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of ``A`` (or ``A - M``), nearly, with their vectors: U, S and V."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A._array.shape[-2:]
    if M is not None:
        M = M.expand(tuple(A._array.shape))
    wide = rows < columns
    if wide:
        A, M = adjoint(A), None if M is None else adjoint(M)
    Q = _basis(A, q, niter, M)
    rest: Any = A if M is None else table["sub"].call(A, M)
    U, S, Vh = linalg_svd(matmul(adjoint(Q), rest), False)
    U, V = matmul(Q, U), adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


@composite(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The first q principal components, nearly: the decomposition of a matrix less the mean of its rows."""
    smaller = min(A._array.shape[-2:])
    q = min(6, smaller) if q is None else q
    if not 0 <= q <= smaller:
        raise ValueRangeError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}")
    if niter < 0:
        raise ValueRangeError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)

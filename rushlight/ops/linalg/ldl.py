"""Symmetric and Hermitian matrices as ``L D L^T``: D has blocks of one or two, chosen as Bunch and Kaufman did (1977)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY, LOW_PRECISION, legacy_name
from ...core.errors import DtypeError, OperationError, ShapeError, UnsupportedDtype
from ...core.families import broadcast_shapes, normalize_dim
from ...core.named_results import make_named
from ..pointwise.binary import underivable
from .checks import check_square, checked
from .functions_onnx import no_operator

_INT32 = np.dtype(np.int32)
_ALPHA = (1 + math.sqrt(17)) / 8  # the bound that keeps the growth of entries smallest


def _size(values: Any) -> Any:
    """How large numbers are, as LAPACK measures it."""
    return np.abs(values) if values.dtype.kind == "f" else np.abs(values.real) + np.abs(values.imag)


def _choose(rest: Any) -> tuple[int, int]:
    """The row that comes next in a matrix that is yet to be factored, and whether its block has one row or two."""
    first = _size(rest[:1, 0])[0]
    if len(rest) == 1:
        return 0, 1
    column = _size(rest[1:, 0])
    other = 1 + int(column.argmax())
    largest = column[other - 1]
    if first >= _ALPHA * largest:  # so it is when both are 0
        return 0, 1
    row = _size(rest[other])
    diagonal, row[other] = row[other], 0
    if first >= _ALPHA * largest * (largest / row.max()):
        return 0, 1
    return other, 1 if diagonal >= _ALPHA * row.max() else 2


def _factor(matrix: Any, hermitian: bool) -> tuple[Any, Any, int]:
    """The factors of one matrix, of which the lower triangle is read, in LAPACK's form, and its first zero pivot."""
    n = len(matrix)
    mirrored = np.tril(matrix, -1).T
    rest = np.tril(matrix) + (mirrored.conj() if hermitian else mirrored)
    if hermitian:
        np.fill_diagonal(rest, np.diagonal(rest).real.copy())
    pivots, info, k = np.zeros(n, np.int32), 0, 0
    while k < n:
        chosen, width = _choose(rest[k:, k:])
        moved, place = k + width - 1, k + chosen
        if place != moved:  # earlier columns of L keep their order: the solver exchanges rows as it goes
            rest[[moved, place], k:] = rest[[place, moved], k:]
            rest[k:, [moved, place]] = rest[k:, [place, moved]]
        end = k + width
        pivots[k:end] = place + 1 if width == 1 else -(place + 1)
        if width == 1 and rest[k, k] == 0:
            info = info or k + 1
        else:
            below = rest[end:, k:end].copy()
            scaled = below / rest[k, k] if width == 1 else np.linalg.solve(rest[k:end, k:end].T, below.T).T
            rest[end:, end:] -= scaled @ (below.conj().T if hermitian else below.T)
            if hermitian:
                places = np.arange(end, n)
                rest[places, places] = rest[places, places].real
            rest[end:, k:end] = scaled
        k = end
    return np.tril(rest), pivots, info


def factor_ldl(matrices: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """Packed factors, pivots (from 1, negative in blocks of two) and the first zero pivot (from 1) or 0 of a batch."""
    n = matrices.shape[-1]
    packed = np.zeros(matrices.shape, matrices.dtype)
    pivots, info = np.zeros(matrices.shape[:-1], _INT32), np.zeros(matrices.shape[:-2], _INT32)
    with np.errstate(all="ignore"):
        for index in np.ndindex(*matrices.shape[:-2]) if n else ():
            packed[index], pivots[index], info[index] = _factor(matrices[index], hermitian)
    return packed, pivots, info


def _blocks(pivots: Any) -> list[tuple[int, int, int]]:
    """Where each block begins and ends, and the row that its last row was exchanged with."""
    found, k = [], 0
    while k < len(pivots):
        end = k + (1 if pivots[k] > 0 else 2)
        found.append((k, end, abs(int(pivots[k])) - 1))
        k = end
    return found


def _solve(packed: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """The solution for one matrix by its factors."""
    blocks = _blocks(pivots)
    x = b.copy()
    for start, end, place in blocks:
        x[[end - 1, place]] = x[[place, end - 1]]
        x[end:] -= packed[end:, start:end] @ x[start:end]
        if end - start == 1:
            x[start] /= packed[start, start]
        else:
            block = packed[start:end, start:end].copy()
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
            x[start:end] = np.linalg.solve(block, x[start:end])
    for start, end, place in reversed(blocks):
        below = packed[end:, start:end]
        x[start:end] -= (below.conj().T if hermitian else below.T) @ x[end:]
        x[[end - 1, place]] = x[[place, end - 1]]
    return x


def _factor_meta(A: Any, hermitian: bool, check_errors: bool, name: str = "torch.linalg.ldl_factor_ex") -> list[Spec]:
    if A.dtype in LOW_PRECISION and A.ndim >= 2:
        raise UnsupportedDtype(f'"ldl_factor" not implemented for {legacy_name(A.dtype)!r}')
    check_square(name, A)
    return [Spec(A.shape, A.dtype), Spec(A.shape[:-1], _INT32), Spec(A.shape[:-2], _INT32)]


def _factor_kernel(xp: Any, A: Any, hermitian: bool, check_errors: bool) -> Any:
    found = factor_ldl(A, hermitian and A.dtype.kind == "c")
    if check_errors and found[2].any():
        first = int(found[2].reshape(-1)[np.flatnonzero(found[2])[0]])
        raise OperationError(f"torch.linalg.ldl_factor_ex: D[{first},{first}] is zero, and solving with these factors would divide by it")
    return found


@primitive(
    layout="column major",
    meta=_factor_meta,
    kernel=checked(_factor_meta, _factor_kernel),
    vjp={"A": underivable("linalg_ldl_factor_ex")},
    returns=("LD", "pivots", "info"),
    nondifferentiable=("pivots", "info"),
    exact=True,
    onnx=no_operator("symmetric factors"),
)
def linalg_ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The packed factors L and D, the exchanges of rows and, instead of an error, the first zero on the diagonal of D."""


_Factored = make_named("linalg_ldl_factor", ("LD", "pivots"))


@composite(
    returns=("LD", "pivots"),
    out=True,
)
def linalg_ldl_factor(A: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """Factors of symmetric (or Hermitian) matrices, packed into one matrix, and the exchanges of rows as LAPACK tells them.

    L (with ones on its diagonal) is below the blocks of D; a block of two has two equal negative pivots.
    """
    return _Factored(*linalg_ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])


def _solve_meta(LD: Any, pivots: Any, B: Any, hermitian: bool) -> Spec:
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD")
    if B.ndim < 2:
        normalize_dim(-2, B.ndim)
        raise ShapeError(f"{name}: B must have at least 2 dimensions")
    if LD.shape[-1] != B.shape[-2]:
        raise ShapeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise ShapeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    if BY_NUMPY[pivots.dtype].is_floating_point or BY_NUMPY[pivots.dtype].is_complex or pivots.dtype.kind == "b":
        raise DtypeError(f"{name}: Expected pivots to be integers. Got {legacy_name(pivots.dtype)}")
    if LD.dtype != B.dtype:
        raise DtypeError(
            f"Expected b and A to have the same dtype, but found b of type {legacy_name(B.dtype)} and A of type "
            f"{legacy_name(LD.dtype)} instead."
        )
    return Spec((*broadcast_shapes([LD.shape[:-2], B.shape[:-2]]), *B.shape[-2:]), B.dtype)


def _solve_kernel(xp: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, B = np.broadcast_to(LD, batch + LD.shape[-2:]), np.broadcast_to(B, batch + B.shape[-2:])
    pivots = np.broadcast_to(pivots, LD.shape[:-1])
    if pivots.size and not ((np.abs(pivots) >= 1) & (np.abs(pivots) <= LD.shape[-1])).all():
        raise OperationError("torch.linalg.ldl_solve: pivots must be those of linalg.ldl_factor, from 1 to the size of the matrix")
    result = np.empty(B.shape, B.dtype)
    with np.errstate(all="ignore"):
        for index in np.ndindex(*batch) if result.size else ():
            result[index] = _solve(LD[index], pivots[index], B[index], hermitian and LD.dtype.kind == "c")
    return result


@primitive(
    layout="column major",
    meta=_solve_meta,
    kernel=checked(_solve_meta, _solve_kernel),
    vjp={"LD": underivable("linalg_ldl_solve"), "B": underivable("linalg_ldl_solve")},
    exact=True,
    onnx=no_operator("symmetric factors"),
)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution X of ``A X = B`` from the factors that ``linalg.ldl_factor`` gave."""

"""Algorithms of linear algebra that NumPy lacks, on batches: loops run over blocks and columns, never elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.devices import device_type_of
from ...core.errors import LinAlgError
from .checks import raise_for

_TRIANGLE = 64  # triangles up to this size are solved by LAPACK as they are; larger ones are split
_PANEL = 32  # columns that the LU factorisation finishes before it updates the rest with one product


def solve_triangle(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """The solution X of ``A X = B`` for triangular A; zeros on the diagonal give inf or nan."""
    xp = device_type_of(a).arrays
    size = a.shape[-1]
    if size > _TRIANGLE:
        half = size // 2
        first, second = a[..., :half, :half], a[..., half:, half:]
        if upper:
            below = solve_triangle(second, b[..., half:, :], upper, unit)
            above = solve_triangle(first, b[..., :half, :] - a[..., :half, half:] @ below, upper, unit)
        else:
            above = solve_triangle(first, b[..., :half, :], upper, unit)
            below = solve_triangle(second, b[..., half:, :] - a[..., half:, :half] @ above, upper, unit)
        return xp.concatenate([above, below], axis=-2)
    triangle = xp.triu(a) if upper else xp.tril(a)
    if unit:
        set_diagonal(triangle, 1)
    if not upper:  # reversed it is upper triangular, where LAPACK's elimination has nothing to do
        triangle, b = triangle[..., ::-1, ::-1], b[..., ::-1, :]
    try:
        solution = xp.linalg.solve(triangle, b)
    except np.linalg.LinAlgError:
        solution = _substitute(triangle, b)
    return solution if upper else xp.ascontiguousarray(solution[..., ::-1, :])  # no tensor has negative strides


def _substitute(triangle: Any, b: Any) -> Any:
    """Back substitution row by row, which divides by zeros of the diagonal where they are."""
    xp = device_type_of(triangle).arrays
    batch = np.broadcast_shapes(triangle.shape[:-2], b.shape[:-2])
    x = xp.array(xp.broadcast_to(b, batch + b.shape[-2:]), dtype=xp.result_type(triangle, b))
    with np.errstate(all="ignore"):
        for row in range(triangle.shape[-1] - 1, -1, -1):
            known = triangle[..., row : row + 1, row + 1 :] @ x[..., row + 1 :, :]
            x[..., row, :] = (x[..., row, :] - known[..., 0, :]) / triangle[..., row, row, None]
    return x


def set_diagonal(matrix: Any, value: Any) -> None:
    """Write a number to the diagonal of every matrix of a batch."""
    xp = device_type_of(matrix).arrays
    places = xp.arange(min(matrix.shape[-2:]))
    matrix[..., places, places] = value


def factor_lu(a: Any) -> tuple[Any, Any, Any]:
    """LU with partial pivoting, packed as in LAPACK: factors, pivots (from 1), the first zero pivot (from 1) or 0."""
    xp = device_type_of(a).arrays
    rows, columns = a.shape[-2:]
    lu = xp.array(a, order="C").reshape(math.prod(a.shape[:-2]), rows, columns)
    count = min(rows, columns)
    pivots = xp.zeros((lu.shape[0], count), np.int32)
    info = xp.zeros(lu.shape[0], np.int32)
    batch = xp.arange(lu.shape[0])
    for start in range(0, count if lu.size else 0, _PANEL):
        stop = min(start + _PANEL, count)
        for column in range(start, stop):
            candidates = lu[:, column:, column]
            size = xp.abs(candidates) if lu.dtype.kind == "f" else xp.abs(candidates.real) + xp.abs(candidates.imag)
            chosen = size.argmax(axis=1) + column
            pivots[:, column] = chosen + 1
            kept = lu[batch, chosen]
            lu[batch, chosen] = lu[:, column]
            lu[:, column] = kept
            pivot = lu[:, column, column]
            info = xp.where((info == 0) & (pivot == 0), column + 1, info).astype(np.int32)
            lu[:, column + 1 :, column] /= xp.where(pivot == 0, 1, pivot)[:, None]
            lu[:, column + 1 :, column + 1 : stop] -= lu[:, column + 1 :, column, None] * lu[:, column, None, column + 1 : stop]
        if stop < columns:
            lu[:, start:stop, stop:] = solve_triangle(lu[:, start:stop, start:stop], lu[:, start:stop, stop:], False, True)
            lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ lu[:, start:stop, stop:]
    shape = a.shape[:-2]
    return lu.reshape(a.shape), pivots.reshape(*shape, count), info.reshape(shape)


def permutation_of(pivots: Any, rows: int) -> Any:
    """The order of rows that the exchanges of an LU factorisation (pivots from 1) amount to."""
    xp = device_type_of(pivots).arrays
    batch = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = xp.tile(xp.arange(rows), (batch.shape[0], 1))
    everyone = xp.arange(batch.shape[0])
    for place in range(batch.shape[1]):
        other = batch[:, place] - 1
        kept = order[everyone, other]
        order[everyone, other] = order[:, place]
        order[:, place] = kept
    return order.reshape(*pivots.shape[:-1], rows)


def solve_factored(lu: Any, pivots: Any, b: Any) -> Any:
    """The solution of ``A X = B`` from the LU factors of A; singular matrices give inf or nan."""
    xp = device_type_of(lu).arrays
    order = permutation_of(pivots, lu.shape[-1])
    batch = np.broadcast_shapes(order.shape[:-1], b.shape[:-2])
    order = xp.broadcast_to(order, batch + order.shape[-1:])
    moved = xp.take_along_axis(xp.broadcast_to(b, batch + b.shape[-2:]), order[..., None], axis=-2)
    return solve_triangle(lu, solve_triangle(lu, moved, False, True), True, False)


def solve_with_info(a: Any, b: Any) -> tuple[Any, Any]:
    """The solution of ``A X = B`` and, for each matrix, 0 or the number of the first zero pivot."""
    xp = device_type_of(a).arrays
    try:
        return xp.linalg.solve(a, b), xp.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = factor_lu(a)
        return solve_factored(lu, pivots, b), info


def invert_with_info(a: Any) -> tuple[Any, Any]:
    """The inverse and, for each matrix, 0 or the number of the first zero pivot."""
    xp = device_type_of(a).arrays
    try:
        return xp.linalg.inv(a), xp.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = factor_lu(a)
        return solve_factored(lu, pivots, xp.eye(a.shape[-1], dtype=a.dtype)), info


def factor_cholesky(a: Any) -> tuple[Any, Any]:
    """The lower Cholesky factor and, for each matrix, 0 or the order of the first minor that is not positive."""
    xp = device_type_of(a).arrays
    try:
        found = xp.linalg.cholesky(a)
        if not xp.isnan(found).any():  # LAPACK takes NaN for a positive number
            return found, xp.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    size = a.shape[-1]
    factor = xp.tril(a).reshape(-1, size, size)
    info = xp.zeros(factor.shape[0], np.int32)
    with np.errstate(all="ignore"):
        for column in range(size):
            active = info == 0  # a matrix that has failed stays as it is
            above = factor[:, column, :column]
            pivot = factor[:, column, column].real - (above * above.conj()).real.sum(axis=1)
            info = xp.where(active & ~(pivot > 0), column + 1, info).astype(np.int32)
            good = info == 0
            factor[active, column, column] = xp.where(good, xp.sqrt(pivot), pivot)[active]
            rest = factor[:, column + 1 :, column] - (factor[:, column + 1 :, :column] @ above.conj()[..., None])[..., 0]
            factor[good, column + 1 :, column] = (rest / xp.sqrt(pivot)[:, None])[good]
    return factor.reshape(a.shape), info.reshape(a.shape[:-2])


# The coefficients of the diagonal Padé approximant of degree 13 to the exponential, and the norm up to which it is exact
# to double precision (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_RADIUS = 5.371920351148152


_NON_FINITE = "The algorithm failed to converge because the input matrix contained non-finite values."
_ILL = "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: {})."


def singular(xp: Any, a: Any, vectors: bool = True, full: bool = False) -> Any:
    """The singular value decomposition of matrices, or the singular values alone."""
    return _decomposed(xp, "linalg.svd", _NON_FINITE, a, lambda part: xp.linalg.svd(part, full_matrices=full, compute_uv=vectors))


def symmetric(xp: Any, a: Any, vectors: bool = True, triangle: str = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices, or the eigenvalues alone."""
    function = xp.linalg.eigh if vectors else xp.linalg.eigvalsh
    return _decomposed(xp, "linalg.eigh", _ILL, a, lambda part: function(part, triangle), a.shape[-1] > 2)  # smaller ones end on NaN


def _decomposed(xp: Any, name: str, message: str, a: Any, function: Any, iterates: bool = True) -> Any:
    """The result of an algorithm that, where it iterates, need not end on infinities: NaN stands for the results of matrices that hold one."""
    finite = xp.isfinite(a).all((-2, -1))
    if finite.all():
        try:
            return function(a)
        except np.linalg.LinAlgError:
            raise LinAlgError(f"{name}: The algorithm failed to converge.") from None
    if iterates:
        raise_for(name, xp.isnan(a).any((-2, -1)).astype(int), message)
    found = function(xp.where(finite[..., None, None], a, 0))
    parts = found if isinstance(found, tuple) else (found,)
    filled = tuple(
        xp.where(finite.reshape(finite.shape + (1,) * (each.ndim - finite.ndim)), each, np.nan).astype(each.dtype) for each in parts
    )
    return filled if isinstance(found, tuple) else filled[0]


def exponential(a: Any) -> Any:
    """The matrix exponential by scaling and squaring, in double precision throughout."""
    xp = device_type_of(a).arrays
    size = a.shape[-1]
    if not a.size:
        return xp.array(a)
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64).reshape(-1, size, size)
    norm = xp.abs(wide).sum(axis=-2).max(axis=-1)
    with np.errstate(divide="ignore"):
        halvings = xp.ceil(xp.log2(xp.where(xp.isfinite(norm), norm, 1.0) / _PADE_RADIUS))
    halvings = xp.maximum(halvings, 0).astype(np.int64)
    wide = wide / (2.0**halvings)[:, None, None]
    unit = xp.eye(size)
    second = wide @ wide
    fourth = second @ second
    sixth = fourth @ second
    c = _PADE
    odd = wide @ (sixth @ (c[13] * sixth + c[11] * fourth + c[9] * second) + c[7] * sixth + c[5] * fourth + c[3] * second + c[1] * unit)
    even = sixth @ (c[12] * sixth + c[10] * fourth + c[8] * second) + c[6] * sixth + c[4] * fourth + c[2] * second + c[0] * unit
    result = xp.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max())):
        left = halvings > step
        result[left] = result[left] @ result[left]
    return result.reshape(a.shape).astype(a.dtype)

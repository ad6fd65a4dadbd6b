"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues.

Vectors of a decomposition are defined up to a sign (of complex matrices, a phase); gradients are right for functions
that do not depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import legacy_name
from ...core.errors import DtypeError, GradientError, LinAlgError, OperationError, ShapeError
from ...core.families import broadcast_shapes
from ...core.named_results import make_named
from ...core.symbolic import smaller
from ..pointwise.arithmetic import conjugate
from .checks import check_matrix, check_square, checked, complex_type, raise_for, real_type
from .functions import identity_like, linalg_solve_triangular, solve_system
from .functions_onnx import cholesky_form, looped, no_operator, qr_form
from .kernels import factor_cholesky, singular, solve_triangle, symmetric
from .matmul import adjoint, matmul

_INT32 = np.dtype(np.int32)


# -- Cholesky -----------------------------------------------------------------------------------------------------

_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is "
    "not positive-definite)."
)


def _cholesky_meta(input: Any, upper: bool, check_errors: bool) -> list[Spec]:
    check_square("linalg.cholesky", input)
    return [Spec(input.shape, input.dtype), Spec(input.shape[:-2], _INT32)]


def _cholesky_kernel(xp: Any, input: Any, upper: bool, check_errors: bool) -> Any:
    factor, info = factor_cholesky(input.conj().swapaxes(-1, -2) if upper else input)
    if check_errors:
        raise_for("linalg.cholesky", info, _NOT_POSITIVE)
    return factor.conj().swapaxes(-1, -2) if upper else factor, info


def _cholesky_gradient(g: Any, L: Any, upper: bool) -> Any:
    if upper:
        g, L = adjoint(g), adjoint(L)
    product = matmul(adjoint(L), g)
    lower = product.tril()
    whole = lower + adjoint(lower) - conjugate(product.diagonal(0, -2, -1)).diag_embed()
    middle = linalg_solve_triangular(adjoint(L), whole, upper=True)
    return linalg_solve_triangular(L, middle, upper=False, left=False) * 0.5


@primitive(
    layout="column major",
    meta=_cholesky_meta,
    kernel=checked(_cholesky_meta, _cholesky_kernel),
    vjp={"input": _cholesky_gradient},
    returns=("L", "info"),
    nondifferentiable=("info",),
    exact=True,
    onnx=looped(cholesky_form),
)
def linalg_cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The Cholesky factor and, instead of an error, the first leading minor that is not positive-definite."""


@composite(out=True)
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with ``L @ L.mH == input`` (or U with ``U.mH @ U``) of positive-definite matrices."""
    return linalg_cholesky_ex(input, upper=upper, check_errors=True)[0]


@composite(out=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor of positive-definite matrices."""
    return linalg_cholesky_ex(input, upper=upper, check_errors=True)[0]


def _inverse_meta(input: Any, upper: bool) -> Spec:
    check_square("cholesky_inverse", input)
    return Spec(input.shape, input.dtype)


def _inverse_kernel(xp: Any, input: Any, upper: bool) -> Any:
    inverse = xp.linalg.inv(xp.triu(input) if upper else xp.tril(input))
    across = inverse.conj().swapaxes(-1, -2)
    found = xp.matmul(inverse, across) if upper else xp.matmul(across, inverse)
    return found.conj().swapaxes(-1, -2)  # the same matrix, each column after the other


def _inverse_gradient(g: Any, input: Any, result: Any, upper: bool) -> Any:
    """The gradient for all of the factor: the half that is not read counts as if the product of factors were formed with it."""
    both = matmul(result, matmul(g + adjoint(g), result))
    return -matmul(input, both) if upper else -matmul(both, input)


@composite(out=True, kernel=checked(_inverse_meta, _inverse_kernel), meta=_inverse_meta, vjp={"input": _inverse_gradient})
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix from its Cholesky factor."""
    check_square("cholesky_inverse", input._array)
    unit = identity_like(input, input._array.shape[-1])
    inverse = linalg_solve_triangular(input, unit, upper=upper)
    return matmul(inverse, adjoint(inverse)) if upper else matmul(adjoint(inverse), inverse)


def _solve_meta(input: Any, input2: Any, upper: bool) -> Spec:
    if input.ndim < 2:
        raise ShapeError(f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    check_square("cholesky_solve", input2)
    if input.dtype != input2.dtype:
        names = [legacy_name(each.dtype) for each in (input, input2)]
        raise DtypeError(f"Expected b and A to have the same dtype, but found b of type {names[0]} and A of type {names[1]} instead.")
    if input.shape[-2] != input2.shape[-1]:
        raise ShapeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} but each b matrix "
            f"is {input.shape[-2]} by {input.shape[-1]}"
        )
    return Spec((*broadcast_shapes([tuple(input.shape[:-2]), tuple(input2.shape[:-2])]), *input.shape[-2:]), input.dtype)


def _solve_kernel(xp: Any, input: Any, input2: Any, upper: bool) -> Any:
    factor = xp.triu(input2).conj().swapaxes(-1, -2) if upper else xp.tril(input2)
    transposed = factor.conj().swapaxes(-1, -2)
    if xp is np and not np.diagonal(factor, axis1=-2, axis2=-1).all():  # infinite or NaN, not an error
        return solve_triangle(transposed, solve_triangle(factor, input, False, False), True, False)
    return xp.linalg.solve(transposed, xp.linalg.solve(factor, input))


def _solve_factor_gradient(g: Any, result: Any, input2: Any, upper: bool) -> Any:
    both = matmul(cholesky_solve(g, input2, upper), adjoint(result))
    both = both + adjoint(both)
    return -matmul(input2, both) if upper else -matmul(both, input2)


@composite(
    layout="column major", out=True, kernel=checked(_solve_meta, _solve_kernel), meta=_solve_meta,
    vjp={"input": lambda g, input2, upper: cholesky_solve(g, input2, upper), "input2": _solve_factor_gradient},
)  # fmt: skip
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solution X of ``A X = input`` from the Cholesky factor ``input2`` of A."""
    if input._array.ndim < 2:
        raise ShapeError(f"b should have at least 2 dimensions, but has {input._array.ndim} dimensions instead")
    check_square("cholesky_solve", input2._array)
    first, second = (adjoint(input2), input2) if upper else (input2, adjoint(input2))
    return linalg_solve_triangular(second, linalg_solve_triangular(first, input, upper=False), upper=True)


# -- QR -----------------------------------------------------------------------------------------------------------


def _qr_meta(A: Any, mode: str) -> list[Spec]:
    if mode not in ("reduced", "complete", "r"):
        raise OperationError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix("linalg.qr", A)
    batch, rows, columns = A.shape[:-2], A.shape[-2], A.shape[-1]
    inner = rows if mode == "complete" else smaller(rows, columns)
    left = (0,) if mode == "r" else (*batch, rows, inner)
    return [Spec(left, A.dtype), Spec((*batch, inner, columns), A.dtype)]


def _qr_kernel(xp: Any, A: Any, mode: str) -> Any:
    left, right = _qr_meta(A, mode)
    if 0 in A.shape[-2:]:
        unit = xp.eye(A.shape[-2], left.shape[-1], dtype=A.dtype)
        return xp.zeros(0, A.dtype) if mode == "r" else xp.array(xp.broadcast_to(unit, left.shape)), xp.zeros(right.shape, A.dtype)
    if mode == "r":
        return xp.zeros(0, A.dtype), xp.linalg.qr(A, "r").astype(A.dtype, copy=False)
    q, r = xp.linalg.qr(A, mode)
    return q.astype(A.dtype, copy=False), r.astype(A.dtype, copy=False)


def _qr_gradient(g: Any, A_shape: Any, Q: Any, R: Any, mode: str) -> Any:
    of_q, of_r = g
    rows, columns = A_shape[-2:]
    if mode == "r":
        raise GradientError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') "
            "if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise GradientError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    of_rest = None
    if rows < columns:  # A = [A1 A2], and R = [R1 R2] with R2 = Q^H A2: the rest of the gradient goes through A1 and Q
        rest = R.narrow(-1, rows, columns - rows)
        R = R.narrow(-1, 0, rows)
        if of_r is not None:
            beside = of_r.narrow(-1, rows, columns - rows)
            of_r = of_r.narrow(-1, 0, rows)
            of_rest = matmul(Q, beside)
            through = matmul(Q, matmul(rest, adjoint(beside)))
            of_q = through if of_q is None else of_q + through
    inner = None if of_r is None else matmul(of_r, adjoint(R))
    if of_q is not None:
        projected = matmul(adjoint(Q), of_q)
        inner = -projected if inner is None else inner - projected
    if inner is None:
        return None
    upper = inner.triu(1)
    diagonal = inner.diagonal(0, -2, -1)
    middle = upper + adjoint(upper) + (diagonal.real if diagonal._array.dtype.kind == "c" else diagonal).diag_embed()
    result = matmul(Q, middle)
    if of_q is not None:
        result = result + of_q
    result = linalg_solve_triangular(adjoint(R), result, upper=False, left=False)
    if rows >= columns:
        return result
    return table["cat"].call([result, result.new_zeros((*A_shape[:-1], columns - rows)) if of_rest is None else of_rest], -1)


@primitive(
    layout="column major", meta=_qr_meta, kernel=_qr_kernel, vjp={"A": _qr_gradient}, returns=("Q", "R"), exact=True, onnx=looped(qr_form)
)
def linalg_qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """``A = Q @ R`` with orthonormal columns in Q and an upper triangle R; mode is "reduced", "complete" or "r" (only R)."""


_QR = make_named("qr", ("Q", "R"))


@composite(
    returns=("Q", "R"),
    out=True,
)
def qr(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """``input = Q @ R``; with ``some=False`` Q is square."""
    return _QR(*linalg_qr(input, "reduced" if some else "complete"))


# -- singular values ----------------------------------------------------------------------------------------------


def _check_driver(driver: Any) -> None:
    if driver is not None:
        raise OperationError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def _svd_meta(A: Any, full_matrices: bool, driver: Any) -> list[Spec]:
    check_matrix("linalg.svd", A)
    _check_driver(driver)
    batch, rows, columns = tuple(A.shape[:-2]), A.shape[-2], A.shape[-1]
    count = min(rows, columns)
    return [
        Spec((*batch, rows, rows if full_matrices else count), A.dtype),
        Spec((*batch, count), real_type(A.dtype)),
        Spec((*batch, columns if full_matrices else count, columns), A.dtype),
    ]


def _svd_kernel(xp: Any, A: Any, full_matrices: bool, driver: Any) -> Any:
    return tuple(singular(xp, A, full=full_matrices))


def _differences(values: Any) -> Any:
    """``1 / (value j - value i)`` for every pair, 0 on the diagonal."""
    unit = identity_like(values, values._array.shape[-1])
    return 1 / (values.unsqueeze(-2) - values.unsqueeze(-1) + unit) - unit


def _svd_gradient(g: Any, U: Any, S: Any, Vh: Any) -> Any:
    of_u, of_s, of_vh = g
    count, rows, columns = S._array.shape[-1], U._array.shape[-2], Vh._array.shape[-1]
    if not count:
        return matmul(U, Vh) if rows and columns else None
    U, Vh = U.narrow(-1, 0, count), Vh.narrow(-2, 0, count)
    middle: Any = None if of_s is None else of_s.diag_embed()
    outside = []
    if of_u is not None or of_vh is not None:
        pairs = _differences(S * S)
        column, row = S.unsqueeze(-2), S.unsqueeze(-1)
    if of_u is not None:
        of_u = of_u.narrow(-1, 0, count)
        inner = matmul(adjoint(U), of_u)
        skew = pairs * inner
        turn = (skew + adjoint(skew)) * column
        if inner._array.dtype.kind == "c":  # the phase of a pair of vectors
            turn = turn + (inner.diagonal(0, -2, -1).imag / S * 1j).diag_embed()
        middle = turn if middle is None else middle + turn
        if rows > count:
            outside.append(matmul((of_u - matmul(U, inner)) / column, Vh))
    if of_vh is not None:
        of_vh = of_vh.narrow(-2, 0, count)
        inner = adjoint(matmul(of_vh, adjoint(Vh)))
        skew = pairs * inner
        turn = row * (skew + adjoint(skew))
        middle = turn if middle is None else middle + turn
        if columns > count:
            outside.append(matmul(U, (of_vh - matmul(adjoint(inner), Vh)) / row))
    if middle._array.dtype != U._array.dtype:
        middle = table["cast"].call(middle, U.dtype)
    result = matmul(U, matmul(middle, Vh))
    for each in outside:
        result = result + each
    return result


# Singular vectors are defined up to sign, and so not compared: tests/test_linalg.py checks what they have to satisfy.
@primitive(
    layout="column major",
    meta=_svd_meta,
    kernel=checked(_svd_meta, _svd_kernel),
    vjp={"A": _svd_gradient},
    returns=("U", "S", "Vh"),
    exact=True,
    onnx=no_operator("singular values"),
)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition ``A = U @ diag(S) @ Vh``, singular values from the largest down."""


def _svdvals_meta(A: Any, driver: Any) -> Spec:
    return _svd_meta(A, False, driver)[1]


def _svdvals_kernel(xp: Any, A: Any, driver: Any) -> Any:
    return singular(xp, A, vectors=False)


def _svdvals_gradient(g: Any, A: Any) -> Any:
    U, _, Vh = linalg_svd(A, False)
    return matmul(U * g.unsqueeze(-2), Vh)


@primitive(
    meta=_svdvals_meta,
    kernel=checked(_svdvals_meta, _svdvals_kernel),
    vjp={"A": _svdvals_gradient},
    exact=True,
    onnx=no_operator("singular values"),
)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, from the largest down."""


_SVD = make_named("svd", ("U", "S", "V"))


@composite(returns=("U", "S", "V"), out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """``input = U @ diag(S) @ V.mH``; with ``compute_uv=False`` U and V are zeros."""
    if compute_uv:
        U, S, Vh = linalg_svd(input, not some)
        return _SVD(U, S, adjoint(Vh))
    *batch, rows, columns = input._array.shape
    return _SVD(input.new_zeros((*batch, rows, rows)), linalg_svdvals(input), input.new_zeros((*batch, columns, columns)))


# -- eigenvalues of symmetric and Hermitian matrices --------------------------------------------------------------


def _eigh_meta(input: Any, UPLO: str) -> list[Spec]:
    check_square("linalg.eigh", input)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise OperationError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return [Spec(input.shape[:-1], real_type(input.dtype)), Spec(input.shape, input.dtype)]


def _eigh_kernel(xp: Any, input: Any, UPLO: str) -> Any:
    return tuple(symmetric(xp, input, triangle=UPLO.upper()))


def _eigh_gradient(g: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    of_values, of_vectors = g
    back = adjoint(eigenvectors)
    if of_vectors is None:
        return None if of_values is None else matmul(eigenvectors * of_values.unsqueeze(-2), back)
    middle = matmul(back, of_vectors) * _differences(eigenvalues)
    middle = (middle + adjoint(middle)) / 2  # of all gradients with this effect on Hermitian inputs the one that is Hermitian itself
    if of_values is not None:
        middle = middle + of_values.diag_embed()
    return matmul(eigenvectors, matmul(middle, back))


@primitive(
    layout="column major",
    meta=_eigh_meta,
    kernel=checked(_eigh_meta, _eigh_kernel),
    vjp={"input": _eigh_gradient},
    returns=("eigenvalues", "eigenvectors"),
    exact=True,
    onnx=no_operator("eigenvalues"),
)
def linalg_eigh(input: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """Eigenvalues (rising) and orthonormal eigenvectors of symmetric or Hermitian matrices, read off one triangle."""


@primitive(
    meta=lambda input, UPLO: _eigh_meta(input, UPLO)[0],
    kernel=checked(_eigh_meta, lambda xp, input, UPLO: symmetric(xp, input, vectors=False, triangle=UPLO.upper())),
    vjp={"input": lambda g, input, UPLO: _eigh_gradient((g, None), None, linalg_eigh(input, UPLO)[1])},
    exact=True,
    onnx=no_operator("eigenvalues"),
)
def linalg_eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues, in rising order, of symmetric or Hermitian matrices."""


# -- eigenvalues of any square matrices ---------------------------------------------------------------------------


def _eig_meta(input: Any) -> list[Spec]:
    check_square("linalg.eig", input)
    dtype = complex_type(input.dtype)
    return [Spec(input.shape[:-1], dtype), Spec(input.shape, dtype)]


def _eig_kernel(xp: Any, input: Any) -> Any:
    if not np.isfinite(input).all():
        raise OperationError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    try:
        return tuple(each.astype(complex_type(input.dtype), copy=False) for each in xp.linalg.eig(input))
    except np.linalg.LinAlgError:
        raise LinAlgError("linalg.eig: The algorithm failed to converge.") from None


def _eig_gradient(g: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    of_values, of_vectors = g
    back = adjoint(eigenvectors)
    middle = None if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        inner = matmul(back, of_vectors)
        along = inner.diagonal(0, -2, -1).real.unsqueeze(-2)  # eigenvectors have length 1
        turn = (inner - matmul(back, eigenvectors) * along) * conjugate(_differences(eigenvalues))
        middle = turn if middle is None else middle + turn
    return None if middle is None else solve_system(back, matmul(middle, back), True)[0]


@primitive(
    layout="column major",
    meta=_eig_meta,
    kernel=checked(_eig_meta, _eig_kernel),
    vjp={"input": _eig_gradient},
    returns=("eigenvalues", "eigenvectors"),
    exact=True,
    onnx=no_operator("eigenvalues"),
)
def linalg_eig(input: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues, in no order, and eigenvectors of length 1 of square matrices; always complex."""


# Eigenvalues come in no order, so only samples in which LAPACKs agree are compared.
@primitive(
    meta=lambda input: _eig_meta(input)[0],
    kernel=checked(_eig_meta, lambda xp, input: _eig_kernel(xp, input)[0]),
    vjp={"input": lambda g, input: _eig_gradient((g, None), None, linalg_eig(input)[1])},
    exact=True,
    onnx=no_operator("eigenvalues"),
)
def linalg_eigvals(input: Tensor) -> Tensor:
    """The eigenvalues, in no order, of square matrices; always complex."""

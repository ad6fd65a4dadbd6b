"""Linear algebra: determinants, inverses, systems of equations, and functions of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.dtypes import legacy_name
from ...core.errors import DtypeError, ShapeError
from ...core.families import broadcast_shapes
from ...core.named_results import make_named
from ..pointwise.arithmetic import conjugate
from .checks import check_same_dtype, check_square, checked, raise_for, real_type
from .functions_onnx import (
    determinant_form,
    exponential_form,
    inverse_form,
    looped,
    no_operator,
    signed_logarithm_form,
    solve_form,
    triangular_form,
)
from .kernels import exponential, invert_with_info, singular, solve_triangle, solve_with_info, symmetric
from .matmul import adjoint, matmul
from .norms import tolerance

Number = int | float | complex | bool
_INT32 = np.dtype(np.int32)


def identity_like(matrix: Any, size: int) -> Any:
    """The identity in the type (and on the device) of a matrix."""
    return table["eye"].call(size, dtype=matrix.dtype, device=matrix.device)


def _column(g: Any) -> Any:
    return g.unsqueeze(-1).unsqueeze(-1)


# -- determinants -------------------------------------------------------------------------------------------------


def _cofactors(xp: Any, A: Any) -> Any:
    """``det(A) * inverse(A).T``, from singular values where there is no inverse."""
    try:
        return (xp.linalg.det(A)[..., None, None] * xp.linalg.inv(A)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        u, s, vh = singular(xp, A, full=True)
        size = s.shape[-1]
        others = xp.where(np.eye(size, dtype=bool), 1, xp.broadcast_to(s[..., None, :], (*s.shape, size))).prod(axis=-1)
        phase = xp.linalg.det(u) * xp.linalg.det(vh)
        return phase[..., None, None] * ((u * others[..., None, :].astype(A.dtype)) @ vh).conj()


def _cofactor_gradient(g: Any, A: Any, result: Any) -> Any:
    inverse = adjoint(linalg_inv_ex(A)[0])
    scale = (g * conjugate(result)).sum((-2, -1), True)
    return inverse * scale - conjugate(matmul(matmul(result, adjoint(g)), conjugate(inverse)))


@primitive(
    meta=lambda A: Spec(A.shape, A.dtype),
    kernel=_cofactors,
    vjp={"A": _cofactor_gradient},
    exact=True,
    namespace=None,
    method=False,
    out=False,
)
def matrix_cofactors(A: Tensor) -> Tensor:
    """The cofactors of square matrices: the derivative of the determinant."""


def _det_meta(A: Any) -> Spec:
    check_square("linalg.det", A)
    return Spec(A.shape[:-2], A.dtype)


@primitive(
    meta=_det_meta,
    kernel=checked(_det_meta, lambda xp, A: xp.linalg.det(A)),
    vjp={"A": lambda g, A: _column(g) * conjugate(matrix_cofactors(A))},
    exact=True,
    onnx={9: determinant_form},
)
def linalg_det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""


@composite()
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return linalg_det(input)


def _slogdet_meta(A: Any) -> list[Spec]:
    check_square("linalg.slogdet", A)
    return [Spec(A.shape[:-2], A.dtype), Spec(A.shape[:-2], real_type(A.dtype))]


def _slogdet_gradient(g: Any, A: Any, sign: Any) -> Any:
    of_sign, of_logarithm = g
    factor = of_logarithm
    if of_sign is not None and sign._array.dtype.kind == "c":
        turn = (conjugate(of_sign) * sign).imag * -1j
        factor = turn if factor is None else factor + turn
    return None if factor is None else _column(factor) * adjoint(linalg_inv_ex(A)[0])


@primitive(
    meta=_slogdet_meta,
    kernel=checked(_slogdet_meta, lambda xp, A: tuple(xp.linalg.slogdet(A))),
    vjp={"A": _slogdet_gradient},
    returns=("sign", "logabsdet"),
    exact=True,
    onnx=looped(signed_logarithm_form),
)
def linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign (of complex matrices, the phase) of the determinant and the logarithm of its size."""


@composite()
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its size."""
    return linalg_slogdet(input)


@composite()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where a real determinant is negative."""
    sign, logabsdet = linalg_slogdet(input)
    if sign._array.dtype.kind == "c":
        return sign.log() + logabsdet
    return logabsdet.masked_fill(sign == -1, math.nan)


# -- inverses -----------------------------------------------------------------------------------------------------

_SINGULAR = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."


def _inv_meta(A: Any, check_errors: bool) -> list[Spec]:
    check_square("linalg.inv", A)
    return [Spec(A.shape, A.dtype), Spec(A.shape[:-2], _INT32)]


def _inv_kernel(xp: Any, A: Any, check_errors: bool) -> Any:
    inverse, info = invert_with_info(A)
    if check_errors:
        raise_for("linalg.inv", info, _SINGULAR)
    return inverse, info


@primitive(
    layout="column major",
    meta=_inv_meta,
    kernel=checked(_inv_meta, _inv_kernel),
    vjp={"A": lambda g, inverse: -matmul(adjoint(inverse), matmul(g, adjoint(inverse)))},
    returns=("inverse", "info"),
    nondifferentiable=("info",),
    exact=True,
    onnx=looped(inverse_form),
)
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The inverse of square matrices and, instead of an error, which of them are singular."""


@composite(out=True)
def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    return linalg_inv_ex(A, check_errors=True)[0]


@composite(out=True)
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices."""
    return linalg_inv_ex(input, check_errors=True)[0]


def _pinv_meta(input: Any, atol: Any, rtol: Any, hermitian: bool) -> Spec:
    if input.ndim < 2 or input.dtype.kind not in "fc" or input.dtype == np.float16:
        raise DtypeError(
            f"linalg.pinv({legacy_name(input.dtype)}{{{list(input.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.eigh", input)
    return Spec((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)


def _pinv_kernel(xp: Any, input: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    spec = _pinv_meta(input, atol, rtol, hermitian)
    if not input.size:
        return xp.zeros(spec.shape, spec.dtype)
    if hermitian:
        values, vectors = symmetric(xp, input)
        left, right, size = vectors, vectors.conj().swapaxes(-1, -2), xp.abs(values)
    else:
        u, values, vh = singular(xp, input)
        left, right, size = vh.conj().swapaxes(-1, -2), u.conj().swapaxes(-1, -2), values
    kept = size > tolerance(size, atol, rtol, input.shape)[..., None]
    scale = xp.where(kept, 1 / xp.where(kept, values, 1), 0).astype(input.dtype)
    return xp.where(kept.any(-1)[..., None, None], (left * scale[..., None, :]) @ right, 0).astype(input.dtype)


def pinv_gradient(g: Any, A: Any, P: Any) -> Any:
    """The gradient through a pseudo-inverse P of A (Golub and Pereyra, 1973)."""
    Ph, gh = adjoint(P), adjoint(g)
    direct = -matmul(Ph, matmul(g, Ph))
    left = matmul(matmul(gh, P), Ph)
    right = matmul(Ph, matmul(P, gh))
    return direct + left - matmul(A, matmul(P, left)) + right - matmul(matmul(right, P), A)


@primitive(
    meta=_pinv_meta,
    kernel=_pinv_kernel,
    vjp={"input": lambda g, input, result: pinv_gradient(g, input, result)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="LinalgPinvBackward0",
    onnx=no_operator("singular values"),
)
def pinv_within(input: Tensor, atol: Tensor | Number | None, rtol: Tensor | Number | None, hermitian: bool) -> Tensor:
    """The pseudo-inverse that takes singular values up to ``max(atol, rtol * largest)`` for 0."""


@composite(out=True)
def linalg_pinv(
    input: Tensor, rcond: Tensor | Number | None = None, hermitian: bool = False, *, atol: Tensor | Number | None = None,
    rtol: Tensor | Number | None = None,
) -> Tensor:  # fmt: skip
    """The Moore-Penrose pseudo-inverse of matrices."""
    return pinv_within(input, atol, rcond if rcond is not None else rtol, hermitian)


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose pseudo-inverse of matrices."""
    return pinv_within(input, None, rcond, False)


# -- systems of equations -----------------------------------------------------------------------------------------


def _check_system(name: str, A: Any, B: Any, left: bool) -> tuple[int, ...]:
    """The shape of the solution of ``A X = B`` (or ``X A = B``); batches broadcast."""
    check_square(name, A)
    if B.ndim < 2:
        raise ShapeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise ShapeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return (*broadcast_shapes([tuple(A.shape[:-2]), tuple(B.shape[:-2])]), *B.shape[-2:])


def _system_meta(A: Any, B: Any, check_errors: bool) -> list[Spec]:
    return [Spec(_check_system("linalg.solve", A, B, True), A.dtype), Spec(A.shape[:-2], _INT32)]


def _system_kernel(xp: Any, A: Any, B: Any, check_errors: bool) -> Any:
    result, info = solve_with_info(A, B)
    if check_errors:
        raise_for("torch.linalg.solve", info, "The solver failed because the input matrix is singular.")
    return result, info


def _system_gradient(g: Any, A: Any, solution: Any, needs: Any) -> Any:
    of_b = solve_system(adjoint(A), g, False)[0]
    return -matmul(of_b, adjoint(solution)) if needs[0] else None, of_b


@primitive(
    layout="column major",
    meta=_system_meta,
    kernel=checked(_system_meta, _system_kernel),
    vjp=joint("A", "B")(_system_gradient),
    returns=("solution", "info"),
    nondifferentiable=("info",),
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="LinalgSolveExBackward0",
    onnx=looped(solve_form),
)
def solve_system(A: Tensor, B: Tensor, check_errors: bool) -> tuple[Tensor, Tensor]:
    """The solution X of ``A X = B`` for matrices B, and which A are singular."""


_SolveResult = make_named("linalg_solve_ex", ("result", "info"))


def _is_vector(A: Any, B: Any) -> bool:
    """Whether the right-hand side is one vector for each matrix, not a matrix of columns."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


def _solve(A: Any, B: Any, left: bool, check_errors: bool) -> tuple[Any, Any]:
    check_same_dtype("linalg.solve", A._array, B._array)
    if left and _is_vector(A._array, B._array) and A._array.ndim >= 2:
        result, info = solve_system(A, B.unsqueeze(-1), check_errors)
        return result.squeeze(-1), info
    if left:
        return solve_system(A, B, check_errors)  # type: ignore[no-any-return]
    if B._array.ndim == 1:
        B = B.unsqueeze(-1)
    _check_system("linalg.solve", A._array, B._array, False)
    result, info = solve_system(A.transpose(-2, -1), B.transpose(-2, -1), check_errors)
    return result.transpose(-2, -1), info


@composite(out=True)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of ``A X = B`` (or ``X A = B``); B holds columns, or one vector for each matrix."""
    return _solve(A, B, left, True)[0]


@composite(out=True, returns=("result", "info"))
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The solution of ``A X = B`` and, instead of an error, which of the matrices are singular."""
    return _SolveResult(*_solve(A, B, left, check_errors))


def _triangular_meta(input: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Spec:
    name = "linalg.solve_triangular"
    shape = _check_system(name, input, B, left)
    check_same_dtype(name, input, B)
    return Spec(shape, input.dtype)


def _triangular_kernel(xp: Any, input: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if left:
        return solve_triangle(input, B, upper, unitriangular)
    return solve_triangle(input.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unitriangular).swapaxes(-1, -2)


def _triangular_gradient(g: Any, input: Any, result: Any, upper: bool, left: bool, unitriangular: bool, needs: Any) -> Any:
    of_b = linalg_solve_triangular(adjoint(input), g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, of_b
    full = -(matmul(of_b, adjoint(result)) if left else matmul(adjoint(result), of_b))
    return (full.triu(int(unitriangular)) if upper else full.tril(-int(unitriangular))), of_b


@primitive(
    layout="column major",
    meta=_triangular_meta,
    kernel=checked(_triangular_meta, _triangular_kernel),
    vjp=joint("input", "B")(_triangular_gradient),
    exact=True,
    onnx=looped(triangular_form),
)
def linalg_solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The solution X of ``A X = B`` (or ``X A = B``) for triangular A, of which only that triangle is read."""


_TriangularResult = make_named("triangular_solve", ("solution", "cloned_coefficient"))


@composite(out=True, returns=("solution", "cloned_coefficient"))
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """The solution X of ``A X = input`` for triangular A (or its transpose), and a copy of A."""
    if input._array.ndim < 2:
        raise ShapeError(
            f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {input._array.ndim} dimensions instead"
        )
    check_square("torch.triangular_solve", A._array)
    matrix = A.transpose(-2, -1) if transpose else A
    solution = linalg_solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    return _TriangularResult(solution, A.expand((*solution._array.shape[:-2], *A._array.shape[-2:])).clone())


# -- functions of matrices ----------------------------------------------------------------------------------------


def _exponential_meta(input: Any) -> Spec:
    check_square("linalg.matrix_exp", input)
    return Spec(input.shape, input.dtype)


def _exponential_gradient(g: Any, input: Any) -> Any:
    """The derivative of the exponential in a direction is a block of the exponential of a matrix twice the size."""
    size = input._array.shape[-1]
    if not size:
        return g
    A = adjoint(input)
    above = table["cat"].call([A, g], -1)
    below = table["cat"].call([A * 0, A], -1)
    return matrix_exp(table["cat"].call([above, below], -2)).narrow(-2, 0, size).narrow(-1, size, size)


@primitive(
    out=False,
    meta=_exponential_meta,
    kernel=checked(_exponential_meta, lambda xp, input: exponential(input)),
    vjp={"input": _exponential_gradient},
    aliases=("linalg.matrix_exp",),
    exact=True,
    onnx=looped(exponential_form),
)
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""


@composite(aliases=("linalg.matrix_power",), out=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix multiplied with itself n times; a negative n takes the inverse."""
    name = "linalg.matrix_power"
    shape = tuple(input._array.shape)
    if len(shape) < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise ShapeError(f"{name}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices")
    if n == 0:
        return identity_like(input, shape[-1]).expand(shape).clone()
    power = linalg_inv(input) if n < 0 else input
    result: Any = None
    count = abs(n)
    while True:  # the binary digits of n, lowest first
        if count & 1:
            result = power if result is None else matmul(result, power)
        count >>= 1
        if not count:
            return result.clone() if n == 1 else result
        power = matmul(power, power)


def _check_tensor_size(shape: tuple[int, ...], rows: int, label: str) -> None:
    left, right = math.prod(shape[rows:]), math.prod(shape[:rows])
    if left != right:
        raise ShapeError(
            f"Expected self to satisfy the requirement prod(self.shape[{label}:]) == prod(self.shape[:{label}]), but got {left} != {right}"
        )


@composite(out=True)
def linalg_tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor for ``tensordot`` over ``ind`` dimensions."""
    if ind <= 0:
        raise ShapeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(input._array.shape)
    _check_tensor_size(shape, ind, "ind")
    size = math.prod(shape[:ind])
    return linalg_inv(input.reshape(size, size)).reshape((*shape[ind:], *shape[:ind]))


@composite(out=True)
def linalg_tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """The solution X of ``tensordot(A, X, X.ndim) = B``."""
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(input._array.ndim - len(dims), input._array.ndim)))
    shape = tuple(input._array.shape)
    ndim = other._array.ndim
    _check_tensor_size(shape, ndim, "other.ndim")
    result = shape[ndim:]
    size = math.prod(result)
    return linalg_solve(input.reshape(size, size), other.reshape(size)).reshape(result)

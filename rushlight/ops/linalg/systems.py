"""LU factors, products of Householder reflections, and least squares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import legacy_name
from ...core.errors import DtypeError, LinAlgError, OperationError, ShapeError
from ...core.families import broadcast_shapes
from ...core.named_results import make_named
from ...core.symbolic import is_symbolic, smaller
from .checks import check_floating, check_matrix, check_same_dtype, checked, real_type
from .functions import identity_like, linalg_pinv, linalg_solve_triangular, pinv_gradient
from .functions_onnx import looped, lu_form, no_operator, order_form
from .kernels import factor_lu, permutation_of, singular, solve_triangle
from .matmul import adjoint, matmul
from .norms import tolerance

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)

# -- LU -----------------------------------------------------------------------------------------------------------


def _lu_meta(A: Any, pivot: bool, check_errors: bool) -> list[Spec]:
    check_matrix("torch.lu_factor", A)
    if not pivot:
        raise OperationError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    count = smaller(*A.shape[-2:])
    return [Spec(A.shape, A.dtype), Spec((*A.shape[:-2], count), _INT32), Spec(A.shape[:-2], _INT32)]


def _lu_kernel(xp: Any, A: Any, pivot: bool, check_errors: bool) -> Any:
    lu, pivots, info = factor_lu(A)
    if check_errors and info.any():
        first = int(info.reshape(-1)[np.flatnonzero(info)[0]])
        raise OperationError(
            f"torch.linalg.lu_factor: U[{first},{first}] is zero and using it on lu_solve would result in a division by zero. If you "
            "still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return lu, pivots, info


def _lower(LU: Any) -> Any:
    """The unit lower triangle L of packed factors."""
    rows, columns = LU._array.shape[-2:]
    count = smaller(rows, columns)
    return LU.narrow(-1, 0, count).tril(-1) + table["eye"].call(rows, count, dtype=LU.dtype, device=LU.device)


def _upper(LU: Any) -> Any:
    """The upper triangle U of packed factors."""
    return LU.narrow(-2, 0, smaller(*LU._array.shape[-2:])).triu()


def _lu_gradient(g: Any, LU: Any, pivots: Any) -> Any:
    """Through the square part of the factors; what is beside or below it follows by triangular solves."""
    rows, columns = LU._array.shape[-2:]
    count = min(rows, columns)
    L, U = _lower(LU), _upper(LU)
    of_l, of_u = g.narrow(-1, 0, count).tril(-1), g.narrow(-2, 0, count).triu()
    square_l, square_u = L.narrow(-2, 0, count), U.narrow(-1, 0, count)
    rest = None
    if rows > columns:
        below = of_l.narrow(-2, count, rows - count)
        rest = linalg_solve_triangular(adjoint(square_u), below, upper=False, left=False)
        of_u = of_u - matmul(adjoint(L.narrow(-2, count, rows - count)), rest).triu()
    elif rows < columns:
        beside = of_u.narrow(-1, count, columns - count)
        rest = linalg_solve_triangular(adjoint(square_l), beside, upper=True, unitriangular=True)
        of_l = of_l - matmul(rest, adjoint(U.narrow(-1, count, columns - count))).tril(-1)
    of_l, of_u = of_l.narrow(-2, 0, count), of_u.narrow(-1, 0, count)
    middle = matmul(adjoint(square_l), of_l).tril(-1) + matmul(of_u, adjoint(square_u)).triu()
    middle = linalg_solve_triangular(adjoint(square_u), middle, upper=False, left=False)
    result = linalg_solve_triangular(adjoint(square_l), middle, upper=True, unitriangular=True)
    if rest is not None:
        result = table["cat"].call([result, rest], -2 if rows > columns else -1)
    return _move_rows(result, lu_order(pivots, rows, True))


def _move_rows(matrix: Any, order: Any) -> Any:
    """The rows of matrices in another order, which is the last dimension of ``order``."""
    batch = broadcast_shapes([tuple(matrix._array.shape[:-2]), tuple(order._array.shape[:-1])])
    shape = (*batch, *matrix._array.shape[-2:])
    return matrix.expand(shape).gather(-2, order.unsqueeze(-1).expand(shape))


@primitive(
    meta=lambda pivots, rows, inverse: Spec((*pivots.shape[:-1], rows), _INT64),
    kernel=lambda xp, pivots, rows, inverse: (
        permutation_of(pivots, rows).argsort(axis=-1) if inverse else permutation_of(pivots, rows).astype(np.int64, copy=False)
    ),
    vjp={},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx=looped(order_form),
)
def lu_order(pivots: Tensor, rows: int, inverse: bool) -> Tensor:
    """The order of rows that pivots amount to, or the one that undoes it."""


@primitive(
    layout="column major",
    meta=_lu_meta,
    kernel=checked(_lu_meta, _lu_kernel),
    vjp={"A": _lu_gradient},
    returns=("LU", "pivots", "info"),
    nondifferentiable=("pivots", "info"),
    exact=True,
    onnx=looped(lu_form),
)
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The packed LU factors, the row exchanges and, instead of an error, the first zero on the diagonal of U."""


_Factored = make_named("linalg_lu_factor", ("LU", "pivots"))


@composite(returns=("LU", "pivots"), out=True)
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """The LU factors of matrices, packed into one matrix, and the row exchanges (counted from 1)."""
    return _Factored(*linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


@composite(method=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """The packed LU factors and the row exchanges; with ``get_infos`` also the first zero on the diagonal of U."""
    warnings.warn("torch.lu is deprecated in favor of torch.linalg.lu_factor and torch.linalg.lu_factor_ex.", stacklevel=4)
    factors, pivots, info = linalg_lu_factor_ex(A, pivot=pivot, check_errors=False)
    return (factors, pivots, info) if get_infos else (factors, pivots)


_Unpacked = make_named("lu_unpack", ("P", "L", "U"))
_Lu = make_named("linalg_lu", ("P", "L", "U"))


@composite(returns=("P", "L", "U"), out=True)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The permutation P and the factors L and U of packed LU factors, so that ``A = P @ L @ U``."""
    if LU_pivots._array.dtype != _INT32:
        raise DtypeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. "
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    nothing = table["zeros"].call(0, dtype=LU_data.dtype, device=LU_data.device)
    rows = LU_data._array.shape[-2]
    P = nothing
    if unpack_pivots:
        held = LU_pivots._array
        count = smaller(*LU_data._array.shape[-2:])
        short = held.ndim > 0 and not is_symbolic(held.shape[-1]) and held.shape[-1] < count
        if short or held.__class__ is np.ndarray and held.size and not 1 <= held.min() <= held.max() <= rows:
            raise OperationError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive. Did you properly pass the result of lu_factor?"
            )
        LU_pivots = LU_pivots[..., :count] if held.ndim else LU_pivots  # the rest says nothing
        unit = identity_like(LU_data, rows).expand((*LU_data._array.shape[:-2], rows, rows))
        P = _move_rows(unit, lu_order(LU_pivots, rows, True))
    return _Unpacked(P, _lower(LU_data) if unpack_data else nothing, _upper(LU_data) if unpack_data else nothing)


@composite(returns=("P", "L", "U"), out=True)
def linalg_lu(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """``A = P @ L @ U`` with a permutation, a unit lower and an upper triangle."""
    factors, pivots, _ = linalg_lu_factor_ex(A, pivot=pivot)
    return _Lu(*lu_unpack(factors, pivots))


@composite(out=True)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solution of ``A X = B`` (or ``X A = B``, or with the conjugate transpose of A) from the LU factors of A."""
    name = "linalg.lu_solve"
    if pivots._array.dtype != _INT32:
        raise DtypeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_matrix(name, B._array, "B")
    check_same_dtype(name, LU._array, B._array, ("LU", "B"))
    size = LU._array.shape[-1]
    if pivots._array.shape[-1] != size:
        raise ShapeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if tuple(pivots._array.shape) != tuple(LU._array.shape[:-1]):
        raise ShapeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots._array.shape)} instead"
        )
    if pivots._array.__class__ is np.ndarray and pivots._array.size:
        for wrong, what in (
            (pivots._array.min() < 1, "greater or equal to 1"),
            (pivots._array.max() > size, "smaller or equal to LU.size(-2)"),
        ):
            if wrong:
                raise OperationError(f"Pivots given to lu_solve must all be {what}. Did you properly pass the result of lu_factor?")
    if size != B._array.shape[-2 if left else -1]:
        raise ShapeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({size}x{size} and "
            f"{B._array.shape[-2]}x{B._array.shape[-1]})"
        )
    if not left:
        return _adjoint(_solve_factors(LU, pivots, _adjoint(B), not adjoint))
    return _solve_factors(LU, pivots, B, adjoint)


_adjoint = adjoint  # `adjoint` is also the name of a parameter


def _solve_factors(LU: Any, pivots: Any, B: Any, conjugated: bool) -> Any:
    size = LU._array.shape[-1]
    if not conjugated:
        moved = _move_rows(B, lu_order(pivots, size, False))
        return linalg_solve_triangular(LU, linalg_solve_triangular(LU, moved, upper=False, unitriangular=True), upper=True)
    factors = _adjoint(LU)
    middle = linalg_solve_triangular(factors, B, upper=False)
    return _move_rows(linalg_solve_triangular(factors, middle, upper=True, unitriangular=True), lu_order(pivots, size, True))


@composite(
    out=True,
)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of ``A X = input`` from the LU factors of A."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


# -- Householder reflections --------------------------------------------------------------------------------------


def _geqrf_meta(input: Any) -> list[Spec]:
    if input.ndim < 2:
        raise ShapeError("torch.geqrf: input must have at least 2 dimensions.")
    check_floating("torch.geqrf", input)
    return [Spec(input.shape, input.dtype), Spec((*input.shape[:-2], min(input.shape[-2:])), input.dtype)]


def _geqrf_kernel(xp: Any, input: Any) -> Any:
    if not input.size:
        return tuple(xp.zeros(each.shape, each.dtype) for each in _geqrf_meta(input))
    packed, tau = xp.linalg.qr(input, "raw")
    return packed.swapaxes(-1, -2).astype(input.dtype), tau.astype(input.dtype)


@primitive(
    layout="column major",
    meta=_geqrf_meta,
    kernel=checked(_geqrf_meta, _geqrf_kernel),
    returns=("a", "tau"),
    exact=True,
    notes="not differentiable, as in PyTorch: linalg.qr is",
    onnx=no_operator("Householder reflections"),
)
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The QR decomposition as LAPACK packs it: R above, Householder vectors below the diagonal, and their factors."""


def _check_reflections(name: str, input: Any, tau: Any) -> None:
    if input._array.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions.")
    check_floating(name, input._array)
    if input._array.dtype != tau._array.dtype:
        raise DtypeError(f"{name}: tau dtype {legacy_name(tau._array.dtype)} does not match input dtype {legacy_name(input._array.dtype)}")
    if tau._array.shape[-1] > input._array.shape[-1]:
        raise ShapeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tuple(tau._array.shape[:-1]) != tuple(input._array.shape[:-2]):
        raise ShapeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau._array.shape[:-1])}")


def _reflect(vectors: Any, tau: Any, target: Any, forwards: bool) -> Any:
    """Reflections ``I - tau v v^H`` applied to the columns of a matrix, first to last or last to first."""
    count = tau._array.shape[-1]
    for place in range(count) if forwards else range(count - 1, -1, -1):
        vector = vectors.narrow(-1, place, 1)
        target = target - tau.narrow(-1, place, 1).unsqueeze(-1) * matmul(vector, matmul(adjoint(vector), target))
    return target


def _reflectors(input: Any, count: int) -> Any:
    rows = input._array.shape[-2]
    return input.narrow(-1, 0, count).tril(-1) + table["eye"].call(rows, count, dtype=input.dtype, device=input.device)


@composite(out=True)
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections: Q from what ``geqrf`` gives."""
    name = "torch.linalg.householder_product"
    _check_reflections(name, input, tau)
    rows, columns = input._array.shape[-2:]
    if rows < columns:
        raise ShapeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    unit = table["eye"].call(rows, columns, dtype=input.dtype, device=input.device).expand(tuple(input._array.shape))
    return _reflect(_reflectors(input, tau._array.shape[-1]), tau, unit, False)


@composite(out=True)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first columns of Q, as ``geqrf`` packs it (``input2`` is tau)."""
    return linalg_householder_product(input, input2)


@composite(out=True)
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of Q (as ``geqrf`` packs it, with tau as ``input2``), or its adjoint, with a matrix ``input3``."""
    tau = input2
    _check_reflections("torch.ormqr", input, tau)
    place = -2 if left else -1
    if min(input3._array.shape[place], input._array.shape[-1]) != tau._array.shape[-1]:
        raise ShapeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{place}], input.shape[-1])")
    vectors = _reflectors(input, tau._array.shape[-1])
    target = input3 if left else adjoint(input3)
    backwards = transpose == left
    result = _reflect(vectors, tau.conj() if backwards else tau, target, backwards)
    return result if left else adjoint(result)


# -- least squares ------------------------------------------------------------------------------------------------

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_meta(input: Any, b: Any, rcond: Any, driver: str) -> list[Spec]:
    name = "torch.linalg.lstsq"
    if driver not in _DRIVERS:
        raise OperationError(f"{name}: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    if input.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions.")
    if not b.ndim:
        raise ShapeError(f"{name}: other must have at least 1 dimension.")
    check_floating(name, input)
    if input.dtype != b.dtype:
        raise DtypeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {legacy_name(input.dtype)} and other's "
            f"dtype {legacy_name(b.dtype)}"
        )
    if b.ndim < 2 or input.shape[-2] != b.shape[-2]:
        raise ShapeError(f"{name}: input.size(-2) should match other.size(-2)")
    batch = broadcast_shapes([tuple(input.shape[:-2]), tuple(b.shape[:-2])])
    count = min(input.shape[-2:])
    return [
        Spec((*batch, input.shape[-1], b.shape[-1]), input.dtype),
        Spec((0,) if driver == "gels" else input.shape[:-2], _INT64),
        Spec((*input.shape[:-2], count) if driver in ("gelsd", "gelss") else (0,), real_type(input.dtype)),
    ]


def _lstsq_kernel(xp: Any, input: Any, b: Any, rcond: Any, driver: str) -> Any:
    solution, rank, values = _lstsq_meta(input, b, rcond, driver)
    rows, columns = input.shape[-2:]
    if not input.size:
        return tuple(xp.zeros(each.shape, each.dtype) for each in (solution, rank, values))
    if driver == "gels":
        q, r = xp.linalg.qr(input if rows >= columns else input.conj().swapaxes(-1, -2))
        zero = np.diagonal(r, axis1=-2, axis2=-1) == 0
        if zero.any():
            code = int(np.argwhere(zero)[0][-1]) + 1
            raise LinAlgError(
                "torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not have full "
                f"rank (error code: {code})."
            )
        if rows >= columns:
            found = solve_triangle(r, q.conj().swapaxes(-1, -2) @ b, True, False)
        else:
            found = q @ solve_triangle(r.conj().swapaxes(-1, -2), b, False, False)
        return found.astype(input.dtype, copy=False), xp.zeros(0, np.int64), xp.zeros(0, values.dtype)
    u, s, vh = singular(xp, input)
    kept = s > tolerance(s, None, rcond, input.shape)[..., None]
    scale = (kept / xp.where(kept, s, 1)).astype(s.dtype)
    found = vh.conj().swapaxes(-1, -2) @ (scale[..., None] * (u.conj().swapaxes(-1, -2) @ b))
    return (
        found.astype(input.dtype, copy=False),
        kept.sum(axis=-1),
        s if driver in ("gelsd", "gelss") else xp.zeros(0, values.dtype),
    )


@primitive(
    meta=_lstsq_meta,
    kernel=_lstsq_kernel,
    vjp={
        "input": lambda g, input, b: pinv_gradient(matmul(g, adjoint(b)), input, linalg_pinv(input)),
        "b": lambda g, input: matmul(adjoint(linalg_pinv(input)), g),
    },
    returns=("solution", "rank", "singular_values"),
    nondifferentiable=("rank", "singular_values"),
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="LinalgLstsqBackward0",
    onnx=no_operator("least squares"),
)
def least_squares(input: Tensor, b: Tensor, rcond: float | None, driver: str) -> tuple[Tensor, Tensor, Tensor]:
    """The shortest X for which ``A X - B`` is shortest, the rank of A, and its singular values."""


_Lstsq = make_named("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


def _lstsq_form(g: Any, *values: Any) -> Any:
    raise g.unsupported(no_operator("least squares"))


@composite(
    onnx={9: _lstsq_form},
    returns=("solution", "residuals", "rank", "singular_values"),
    data_dependent=True,
    notes="data-dependent: residuals are given only for matrices of full rank",
)
def linalg_lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Least squares: the solution of ``A X = B`` with the smallest error, and of those the shortest.

    Drivers are "gels" (A has full rank), "gelsy" (the default), "gelsd" and "gelss" (which give the singular values).
    """
    driver = "gelsy" if driver is None else driver
    shape = tuple(input._array.shape)
    vector = len(shape) >= 2 and tuple(b._array.shape) == shape[:-1]
    if len(shape) - 1 == b._array.ndim >= 2 and not vector:
        raise ShapeError("torch.linalg.lstsq: a batch of vectors must have the shape of input without its last dimension")
    if len(shape) >= 2 and not b._array.ndim:
        raise ShapeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if len(shape) >= 2 and not 0 <= len(shape) - b._array.ndim <= 1:
        raise ShapeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    columns = b.unsqueeze(-1) if vector else b
    solution, rank, values = least_squares(input, columns, rcond, driver)
    residuals = table["zeros"].call(0, dtype=values.dtype, device=input.device)
    if shape[-2] > shape[-1] and driver != "gelsy" and (driver == "gels" or bool((rank == shape[-1]).all())):
        error = matmul(input, solution) - columns
        squares = error * error if error._array.dtype.kind == "f" else error.real**2 + error.imag**2
        residuals = squares.sum(-2) if driver != "gels" or shape[-1] else squares.new_zeros(squares.sum(-2).shape)
    return _Lstsq(solution.squeeze(-1) if vector else solution, residuals, rank, values)

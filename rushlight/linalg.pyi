"""Linear algebra: stub.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str, tuple as _tuple
from collections.abc import Sequence
from rushlight.core.errors import LinAlgError as LinAlgError
from rushlight.tensor import op_results as _results
from rushlight.tensor.op_results import Number as _Number
from rushlight.tensor.tensor import Tensor
from typing import Any

def cholesky(input: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular L with ``L @ L.mH == input`` (or U with ``U.mH @ U``) of positive-definite matrices."""
def cholesky_ex(input: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: Any = None) -> _results.linalg_cholesky_ex:
    """The Cholesky factor and, instead of an error, the first leading minor that is not positive-definite."""
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number of matrices in a norm; the default is the ratio of the extreme singular values."""
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of three along a dimension."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
def eig(input: Tensor, *, out: Any = None) -> _results.linalg_eig:
    """Eigenvalues, in no order, and eigenvectors of length 1 of square matrices; always complex."""
def eigh(input: Tensor, UPLO: _str = 'L', *, out: Any = None) -> _results.linalg_eigh:
    """Eigenvalues (rising) and orthonormal eigenvectors of symmetric or Hermitian matrices, read off one triangle."""
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, in no order, of square matrices; always complex."""
def eigvalsh(input: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, in rising order, of symmetric or Hermitian matrices."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder reflections: Q from what ``geqrf`` gives."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: Any = None) -> _results.linalg_inv_ex:
    """The inverse of square matrices and, instead of an error, which of them are singular."""
def ldl_factor(A: Tensor, *, hermitian: _bool = False, out: Any = None) -> _tuple[Tensor, Tensor]:
    """Factors of symmetric (or Hermitian) matrices, packed into one matrix, and the exchanges of rows as LAPACK tells them."""
def ldl_factor_ex(A: Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: Any = None) -> _results.linalg_ldl_factor_ex:
    """The packed factors L and D, the exchanges of rows and, instead of an error, the first zero on the diagonal of D."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A X = B`` from the factors that ``linalg.ldl_factor`` gave."""
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = None, *, driver: _str | None = None) -> _tuple[Tensor, Tensor, Tensor, Tensor]:
    """Least squares: the solution of ``A X = B`` with the smallest error, and of those the shortest."""
def lu(A: Tensor, *, pivot: _bool = True, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
    """``A = P @ L @ U`` with a permutation, a unit lower and an upper triangle."""
def lu_factor(A: Tensor, *, pivot: _bool = True, out: Any = None) -> _tuple[Tensor, Tensor]:
    """The LU factors of matrices, packed into one matrix, and the row exchanges (counted from 1)."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: Any = None) -> _results.linalg_lu_factor_ex:
    """The packed LU factors, the row exchanges and, instead of an error, the first zero on the diagonal of U."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``A X = B`` (or ``X A = B``, or with the conjugate transpose of A) from the LU factors of A."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; leading dimensions broadcast, and 1-dim operands are vectors."""
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: Any = ..., keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The norm of matrices: "fro" (Frobenius), "nuc" (sum of singular values), 1, -1, 2, -2, inf or -inf."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself n times; a negative n takes the inverse."""
def matrix_rank(input: Tensor, tol: Tensor | _Number | None = None, hermitian: _bool = False, *, atol: Tensor | _Number | None = None, rtol: Tensor | _Number | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values of a matrix are not (nearly) 0."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of a chain of matrices in the cheapest order; the first and the last may be vectors."""
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The norm of vectors or of matrices, by how many dimensions there are (or are named)."""
def pinv(input: Tensor, rcond: Tensor | _Number | None = None, hermitian: _bool = False, *, atol: Tensor | _Number | None = None, rtol: Tensor | _Number | None = None, out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse of matrices."""
def qr(A: Tensor, mode: _str = 'reduced', *, out: Any = None) -> _results.linalg_qr:
    """``A = Q @ R`` with orthonormal columns in Q and an upper triangle R; mode is "reduced", "complete" or "r" (only R)."""
def slogdet(A: Tensor, *, out: Any = None) -> _results.linalg_slogdet:
    """The sign (of complex matrices, the phase) of the determinant and the logarithm of its size."""
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A X = B`` (or ``X A = B``); B holds columns, or one vector for each matrix."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: Any = None) -> _tuple[Tensor, Tensor]:
    """The solution of ``A X = B`` and, instead of an error, which of the matrices are singular."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution X of ``A X = B`` (or ``X A = B``) for triangular A, of which only that triangle is read."""
def svd(A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: Any = None) -> _results.linalg_svd:
    """The singular value decomposition ``A = U @ diag(S) @ Vh``, singular values from the largest down."""
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices, from the largest down."""
def tensorinv(input: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor for ``tensordot`` over ``ind`` dimensions."""
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The solution X of ``tensordot(A, X, X.ndim) = B``."""
def vander(x: Tensor, *, N: _int | None = None) -> Tensor:
    """The powers of every element in rising order: the Vandermonde matrix."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, axis: _int = ..., out: Tensor | None = None) -> Tensor:
    """The dot products of vectors along a dimension, the first conjugated."""
def vector_norm(input: Tensor, ord: _Number = 2, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
    """The norm of the vectors along dimensions (or of all elements); ``ord`` is any number, or infinity."""

__all__: _list[_str]

"""Linear algebra: what decompositions have to satisfy, gradients that do not depend on signs, large sizes, errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck

L = torch.linalg
STREAM = np.random.default_rng(20)


def numbers(*shape: int, complex: bool = False) -> np.ndarray:
    real = STREAM.normal(size=shape)
    return real + 1j * STREAM.normal(size=shape) if complex else real


def tensor(array: Any, requires_grad: bool = False) -> Any:
    return torch.tensor(array, requires_grad=requires_grad)


def close(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a.detach().numpy(force=True), b.detach().numpy(force=True), rtol=tolerance, atol=tolerance)


def symmetric(x: Any) -> Any:
    return (x + x.mH) / 2


def positive(x: Any) -> Any:
    return x @ x.mH + x.shape[-1] * torch.eye(x.shape[-1], dtype=x.dtype)


SHAPES = [(3, 3), (2, 4, 3), (3, 5), (1, 1), (2, 2, 2, 4)]
BOTH = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])


# -- decompositions multiply back to what they came from ----------------------------------------------------------


@BOTH
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_multiplies_back(shape: tuple[int, ...], complex: bool) -> None:
    a = tensor(numbers(*shape, complex=complex))
    u, s, vh = L.svd(a, full_matrices=False)
    close(u * s.unsqueeze(-2) @ vh, a)
    close(u.mH @ u, torch.eye(s.shape[-1], dtype=a.dtype).expand(*shape[:-2], -1, -1))
    assert (s[..., :-1] >= s[..., 1:]).all()
    close(L.svdvals(a), s)
    full_u, _, full_vh = L.svd(a)
    assert full_u.shape[-2:] == (shape[-2],) * 2 and full_vh.shape[-2:] == (shape[-1],) * 2
    close(full_u.mH @ full_u, torch.eye(shape[-2], dtype=a.dtype).expand(*shape[:-2], -1, -1))
    old_u, old_s, old_v = torch.svd(a)
    close(old_u * old_s.unsqueeze(-2) @ old_v.mH, a)


@BOTH
@pytest.mark.parametrize("shape", SHAPES)
def test_qr_multiplies_back(shape: tuple[int, ...], complex: bool) -> None:
    a = tensor(numbers(*shape, complex=complex))
    for mode in ("reduced", "complete"):
        q, r = L.qr(a, mode)
        close(q @ r, a)
        close(r, r.triu())
        close(q.mH @ q, torch.eye(q.shape[-1], dtype=a.dtype).expand(*shape[:-2], -1, -1))
    close(L.qr(a, "r").R, L.qr(a).R)
    packed, tau = torch.geqrf(a)
    if shape[-2] >= shape[-1]:
        close(L.householder_product(packed, tau), L.qr(a).Q)
    other = tensor(numbers(*shape[:-2], shape[-2], 2, complex=complex))
    close(torch.ormqr(packed, tau, other), L.qr(a, "complete").Q @ other)
    close(torch.ormqr(packed, tau, other, transpose=True), L.qr(a, "complete").Q.mH @ other)
    close(torch.ormqr(packed, tau, other.mT, left=False), other.mT @ L.qr(a, "complete").Q)


@BOTH
@pytest.mark.parametrize("size", [1, 3, 40])
def test_eigh_multiplies_back(size: int, complex: bool) -> None:
    a = symmetric(tensor(numbers(2, size, size, complex=complex)))
    values, vectors = L.eigh(a)
    close(vectors * values.unsqueeze(-2) @ vectors.mH, a)
    close(L.eigvalsh(a), values)
    close(L.eigh(a.triu(), "U").eigenvalues, values)
    assert values.dtype == torch.float64


@BOTH
@pytest.mark.parametrize("size", [1, 3, 20])
def test_eig_multiplies_back(size: int, complex: bool) -> None:
    a = tensor(numbers(2, size, size, complex=complex))
    values, vectors = L.eig(a)
    assert values.dtype == vectors.dtype == torch.complex128
    close(a.to(torch.complex128) @ vectors, vectors * values.unsqueeze(-2))
    close(L.vector_norm(vectors, dim=-2), torch.ones(2, size, dtype=torch.float64))


@BOTH
@pytest.mark.parametrize("shape", [*SHAPES, (100, 100), (70, 45), (45, 70), (2, 33, 33)])
def test_lu_multiplies_back(shape: tuple[int, ...], complex: bool) -> None:
    a = tensor(numbers(*shape, complex=complex))
    p, lower, upper = L.lu(a)
    close(p @ lower @ upper, a)
    close(lower, lower.tril())
    close(upper, upper.triu())
    factors, pivots = L.lu_factor(a)
    again = torch.lu_unpack(factors, pivots)
    close(again.P @ again.L @ again.U, a)
    if shape[-1] == shape[-2]:
        b = tensor(numbers(shape[-1], 3, complex=complex))
        close(a @ L.lu_solve(factors, pivots, b), b.expand(*shape[:-2], -1, -1), 1e-7)
        close(a.mH @ L.lu_solve(factors, pivots, b, adjoint=True), b.expand(*shape[:-2], -1, -1), 1e-7)


@BOTH
@pytest.mark.parametrize("size", [1, 3, 50])
def test_cholesky_multiplies_back(size: int, complex: bool) -> None:
    a = positive(tensor(numbers(2, size, size, complex=complex)))
    lower, upper = L.cholesky(a), L.cholesky(a, upper=True)
    close(lower @ lower.mH, a)
    close(upper.mH @ upper, a)
    close(lower, upper.mH)
    b = tensor(numbers(size, 2, complex=complex))
    close(torch.cholesky_solve(b, lower), L.solve(a, b))
    close(torch.cholesky_solve(b, upper, upper=True), L.solve(a, b))
    close(torch.cholesky_inverse(lower), L.inv(a))


@BOTH
@pytest.mark.parametrize("size", [1, 5, 64, 65, 150])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems_of_all_sizes(size: int, upper: bool, complex: bool) -> None:
    a = tensor(numbers(2, size, size, complex=complex) / size + 2 * np.eye(size))
    b = tensor(numbers(size, 3, complex=complex))
    triangle = a.triu() if upper else a.tril()
    close(triangle @ L.solve_triangular(a, b, upper=upper), b.expand(2, -1, -1))
    close(L.solve_triangular(a, b.mT, upper=upper, left=False) @ triangle, b.mT.expand(2, -1, -1))
    unit = triangle - torch.diag_embed(triangle.diagonal(0, -2, -1)) + torch.eye(size, dtype=a.dtype)
    close(unit @ L.solve_triangular(a, b, upper=upper, unitriangular=True), b.expand(2, -1, -1))


@BOTH
def test_least_squares_drivers_agree(complex: bool) -> None:
    for rows, columns in ((5, 3), (3, 5), (4, 4)):
        a, b = tensor(numbers(2, rows, columns, complex=complex)), tensor(numbers(2, rows, 2, complex=complex))
        wanted = L.pinv(a) @ b
        for driver in ("gels", "gelsy", "gelsd", "gelss"):
            close(L.lstsq(a, b, driver=driver).solution, wanted)
    assert L.lstsq(a, b, driver="gelsd").singular_values.shape == (2, 4)
    assert L.lstsq(a, b).rank.tolist() == [4, 4]


@BOTH
def test_pseudo_inverse_of_deficient_matrix(complex: bool) -> None:
    a = tensor(numbers(4, 2, complex=complex)) @ tensor(numbers(2, 5, complex=complex))
    p = L.pinv(a)
    close(a @ p @ a, a)
    close(p @ a @ p, p)
    close((a @ p).mH, a @ p)
    assert L.matrix_rank(a).item() == 2


def test_low_rank_decompositions() -> None:
    torch.manual_seed(0)
    a = torch.rand(6, 4, dtype=torch.float64)
    torch.manual_seed(1)
    # What PyTorch 2.13 gives for these seeds.
    np.testing.assert_allclose(torch.svd_lowrank(a, q=2)[1].tolist(), [2.556571079419986, 0.677552030389861], rtol=1e-9)
    torch.manual_seed(1)
    np.testing.assert_allclose(torch.pca_lowrank(a, q=2)[1].tolist(), [0.7225108285662871, 0.6676964594643655], rtol=1e-9)
    exact = tensor(numbers(5, 2)) @ tensor(numbers(2, 7))
    u, s, v = torch.svd_lowrank(exact, q=3)
    close(u * s @ v.mT, exact)
    assert u.shape == (5, 3) and v.shape == (7, 3)


def test_matrix_exponential_of_large_and_nilpotent_matrices() -> None:
    a = tensor(numbers(4, 4))
    close(torch.matrix_exp(a * 2) @ torch.matrix_exp(a * -2), torch.eye(4, dtype=a.dtype), 1e-8)
    skew = a - a.mT
    rotation = torch.matrix_exp(30 * skew)
    close(rotation @ rotation.mT, torch.eye(4, dtype=a.dtype))
    nilpotent = tensor(np.array([[0.0, 3.0], [0.0, 0.0]]))
    close(torch.matrix_exp(nilpotent), torch.eye(2, dtype=a.dtype) + nilpotent)


# -- gradients ----------------------------------------------------------------------------------------------------


def assert_differentiable(function: Callable[..., Any], *arrays: np.ndarray) -> None:
    inputs = tuple(tensor(array, requires_grad=True) for array in arrays)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@BOTH
def test_gradient_of_cholesky(complex: bool) -> None:
    assert_differentiable(lambda x: L.cholesky(positive(x)), numbers(2, 3, 3, complex=complex))
    assert_differentiable(lambda x: L.cholesky(positive(x), upper=True), numbers(2, 2, complex=complex))


@BOTH
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 2, 3)])
def test_gradient_of_svd(shape: tuple[int, ...], complex: bool) -> None:
    weight = tensor(numbers(*shape, complex=complex))

    def polar(a: Any) -> Any:  # depends on both kinds of vectors, and on the values, but on no sign or phase
        u, s, vh = L.svd(a, full_matrices=False)
        return (u * (s**3).unsqueeze(-2) @ vh * weight.conj()).sum((-2, -1))

    def left(a: Any) -> Any:
        u = L.svd(a).U[..., :1]
        return u @ u.mH

    def right(a: Any) -> Any:
        vh = L.svd(a).Vh[..., :1, :]
        return vh.mH @ vh

    for function in (polar, left, right, L.svdvals, lambda a: L.svd(a).S):
        assert_differentiable(function, numbers(*shape, complex=complex))


@BOTH
def test_gradient_of_eigh(complex: bool) -> None:
    def projection(x: Any) -> Any:
        values, vectors = L.eigh(symmetric(x))
        return vectors[..., :2] * (values[..., :2] ** 2).unsqueeze(-2) @ vectors[..., :2].mH

    assert_differentiable(projection, numbers(2, 3, 3, complex=complex))
    assert_differentiable(lambda x: L.eigvalsh(symmetric(x)), numbers(3, 3, complex=complex))
    assert_differentiable(lambda x: L.eigh(symmetric(x), "U").eigenvalues, numbers(2, 2, complex=complex))


@BOTH
def test_gradient_of_eigh_is_hermitian(complex: bool) -> None:
    """Only a triangle is read, and still a step along the gradient leaves a symmetric parameter symmetric."""
    x = symmetric(tensor(numbers(3, 4, 4, complex=complex))).requires_grad_()
    values, vectors = L.eigh(x)
    weight = tensor(numbers(3, 4, 4, complex=complex))
    loss = (weight * (vectors[..., :1] @ vectors[..., :1].mH)).abs().sum() + values.exp().sum()
    (given,) = torch.autograd.grad(loss, x)
    close(given, given.mH)


@BOTH
def test_gradient_of_eig(complex: bool) -> None:
    def function(a: Any) -> Any:  # a function of the matrix, and sizes of the components of its eigenvectors
        values, vectors = L.eig(a)
        return vectors @ torch.diag_embed(values**2) @ L.inv(vectors), (vectors.abs() ** 2).sum(-1)

    array = np.diag([1.0, 3.0, 6.0]) + 0.4 * numbers(3, 3, complex=complex)
    assert_differentiable(function, array)
    assert_differentiable(lambda a: L.eigvals(a).abs().sum(-1), array)


@BOTH
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_gradient_of_qr(shape: tuple[int, ...], complex: bool) -> None:
    weight = tensor(numbers(*shape, complex=complex))

    def function(a: Any) -> Any:
        q, r = L.qr(a)
        signs = r.diagonal(0, -2, -1).sgn().unsqueeze(-2) if complex else 1  # of complex matrices the phase is a convention
        return q * signs @ (weight[..., : q.shape[-1], :1] if shape[-2] >= q.shape[-1] else weight), r.abs() if complex else r

    assert_differentiable(function, numbers(*shape, complex=complex))


@BOTH
def test_gradient_of_determinants_near_singular(complex: bool) -> None:
    assert_differentiable(L.det, numbers(2, 3, 3, complex=complex))
    assert_differentiable(lambda a: L.slogdet(a).logabsdet, numbers(3, 3, complex=complex))
    if complex:
        assert_differentiable(lambda a: L.slogdet(a).sign, numbers(3, 3, complex=True))
    singular = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]) + np.outer([0.0, 1.0, 1.0], [2.0, 0.0, 1.0])  # of rank 2
    a = tensor(singular, requires_grad=True)
    (gradient,) = torch.autograd.grad(L.det(a), [a])
    cofactors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(singular, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(np.asarray(gradient), cofactors, atol=1e-9)


def test_gradient_of_hermitian_pseudo_inverse() -> None:
    assert_differentiable(lambda x: L.pinv(positive(x), hermitian=True), numbers(3, 3))


def test_gradients_of_qr_that_do_not_exist() -> None:
    a = tensor(numbers(3, 2), requires_grad=True)
    with pytest.raises(RuntimeError, match="mode='complete'"):
        L.qr(a, "complete").Q.sum().backward()
    with pytest.raises(RuntimeError, match="depends on Q"):
        L.qr(a, "r").R.sum().backward()


# -- errors -------------------------------------------------------------------------------------------------------


def test_singular_matrices_raise_linalg_error() -> None:
    singular = torch.ones(2, 3, 3)
    assert issubclass(L.LinAlgError, RuntimeError)
    with pytest.raises(L.LinAlgError, match=r"linalg.inv: \(Batch element 0\): The diagonal element 2 is zero"):
        L.inv(singular)
    with pytest.raises(L.LinAlgError, match="The solver failed because the input matrix is singular"):
        L.solve(singular[0], torch.ones(3))
    with pytest.raises(L.LinAlgError, match=r"Batch element 1.*the leading minor of order 2 is not positive-definite"):
        L.cholesky(torch.stack([torch.eye(2), torch.tensor([[1.0, 2.0], [2.0, 1.0]])]))
    with pytest.raises(L.LinAlgError, match="non-finite"):
        L.svd(torch.full((2, 2), torch.nan))
    with pytest.raises(L.LinAlgError, match="full rank"):
        L.lstsq(torch.tensor([[1.0, 0.0]] * 3), torch.ones(3, 1), driver="gels")
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        L.lu_factor(torch.zeros(2, 2))


def test_ex_variants_tell_instead_of_raising() -> None:
    batch = torch.stack([torch.eye(2), torch.ones(2, 2)])
    inverse, info = L.inv_ex(batch)
    assert info.tolist() == [0, 2] and info.dtype == torch.int32
    close(inverse[0], torch.eye(2))
    result, info = L.solve_ex(batch, torch.ones(2, 1))
    assert info.tolist() == [0, 2]
    close(result[0], torch.ones(2, 1))
    factor, info = L.cholesky_ex(torch.stack([4 * torch.eye(2), -torch.eye(2)]))
    assert info.tolist() == [0, 1]
    close(factor[0], 2 * torch.eye(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.ones(2, 3) @ torch.ones(4, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"),
        (lambda: torch.ones(2, 2, 3) @ torch.ones(4, 5), r"mat1 and mat2 shapes cannot be multiplied \(4x3 and 4x5\)"),
        (lambda: torch.mm(torch.ones(2, 3), torch.ones(3)), "mat2 must be a matrix"),
        (lambda: torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 5)), r"\(2x3 and 5x4\)"),
        (lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 3, 3)), r"to be: \[2, 4\] but got: \[2, 3\]"),
        (lambda: torch.ones(2, 3) @ torch.ones(3, 2, dtype=torch.float64), "same dtype"),
        (lambda: L.inv(torch.ones(2, 3)), "A must be batches of square matrices, but they are 2 by 3 matrices"),
        (
            lambda: L.det(torch.ones(2, 2, dtype=torch.int64)),
            "Expected a floating point or complex tensor as input. Got Long",
        ),
        (lambda: L.inv(torch.ones(2, 2, dtype=torch.float16)), "Low precision dtypes not supported. Got Half"),
        (lambda: L.solve(torch.eye(3), torch.ones(4, 2)), r"for the equation AX = B \(3x3 and 4x2\)"),
    ],
)
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


# -- products -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8])
def test_integer_products_are_exact_however_large(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    small = STREAM.integers(-7 if limits.min else 0, 7, (2, 50, 60)).astype(dtype)
    large = STREAM.integers(limits.min, limits.max, (60, 50), dtype=dtype, endpoint=True)
    for other in (small[0].T, large):
        wanted = np.matmul(small, other)  # NumPy's own integer loops
        found = tensor(small) @ tensor(np.ascontiguousarray(other))
        assert np.array_equal(np.asarray(found), wanted)


def test_large_products_with_all_layouts() -> None:
    a, b = numbers(70, 90), numbers(90, 80)
    for left in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        for right in (b, np.asfortranarray(b)):
            np.testing.assert_allclose(np.asarray(torch.from_numpy(left) @ torch.from_numpy(right)), a @ b)
    ones = torch.ones(1, 1, dtype=torch.float64).expand(70, 90)
    np.testing.assert_allclose(np.asarray(ones @ torch.from_numpy(b)), np.ones((70, 90)) @ b)


def test_einsum_contracts_long_chains_pairwise() -> None:
    operands = [numbers(8, 9), numbers(9, 10), numbers(10, 11), numbers(11, 3)]
    found = torch.einsum("ab,bc,cd,de->ae", *map(tensor, operands))
    np.testing.assert_allclose(np.asarray(found), np.linalg.multi_dot(operands))
    close(L.multi_dot([tensor(each) for each in operands]), found)


def test_results_have_names() -> None:
    result = L.eigh(torch.eye(2))
    assert result._fields == ("eigenvalues", "eigenvectors") and result.eigenvalues is result[0]
    assert repr(result).startswith("torch.return_types.linalg_eigh(")
    assert torch.svd(torch.eye(2))._fields == ("U", "S", "V")
    assert L.svd(torch.eye(2))._fields == ("U", "S", "Vh")
    assert L.lstsq(torch.eye(2), torch.eye(2))._fields == ("solution", "residuals", "rank", "singular_values")


def test_euclidean_distances_by_product_and_one_by_one_agree() -> None:
    a, b = tensor(numbers(40, 3), requires_grad=True), tensor(numbers(30, 3))
    by_product = torch.cdist(a, b)
    one_by_one = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    close(by_product, one_by_one)
    weight = tensor(numbers(40, 30))
    close(
        torch.autograd.grad((by_product * weight).sum(), [a])[0],
        torch.autograd.grad((one_by_one * weight).sum(), [a])[0],
    )
    assert torch.autograd.grad(torch.cdist(a, a.detach(), compute_mode="use_mm_for_euclid_dist").sum(), [a])[0].isfinite().all()


# -- spectra ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [7, 8, 64, 101])
def test_transforms_undo_each_other(size: int) -> None:
    x = tensor(numbers(2, size))
    for norm in (None, "ortho", "forward", "backward"):
        close(torch.fft.irfft(torch.fft.rfft(x, norm=norm), n=size, norm=norm), x)
        close(torch.fft.ifft(torch.fft.fft(x, norm=norm), norm=norm).real, x)
        close(torch.fft.hfft(torch.fft.ihfft(x, norm=norm), n=size, norm=norm), x)
    assert torch.fft.fft(x.float()).dtype == torch.complex64
    assert torch.fft.irfft(torch.fft.rfft(x.float())).dtype == torch.float32


def test_short_time_transform_undone() -> None:
    x = tensor(numbers(3, 200))
    window = torch.hann_window(32, dtype=torch.float64)
    spectrum = torch.stft(x, 32, 8, window=window, return_complex=True)
    close(torch.istft(spectrum, 32, 8, window=window, length=200), x)


def test_a_solution_of_a_triangle_has_no_negative_strides() -> None:
    solution = torch.linalg.solve_triangular(torch.tensor([[2.0, 0.0], [1.0, 4.0]]), torch.eye(2), upper=False)
    assert min(solution.stride()) > 0
    assert torch.equal(copy.deepcopy(solution), solution)


def test_cholesky_solve_with_a_zero_on_the_diagonal_gives_infinite_solutions() -> None:
    right, factor = torch.tensor([[1.0], [-0.4]]), torch.tensor([[2.0, 0.0], [1.0, 0.0]])
    assert torch.cholesky_solve(right, factor).tolist() == [[np.inf], [-np.inf]]
    assert torch.cholesky_solve(right, factor.T, upper=True).tolist() == [[np.inf], [-np.inf]]
    assert torch.cholesky_solve(right, torch.zeros(2, 2)).isnan().all()


def test_tensordot_takes_a_tensor_of_dimensions():
    a, b = torch.arange(60.0).reshape(3, 4, 5), torch.arange(24.0).reshape(4, 3, 2)
    assert torch.equal(torch.tensordot(a, b, torch.tensor([[1, 0], [0, 1]])), torch.tensordot(a, b, ([1, 0], [0, 1])))
    c = torch.arange(40.0).reshape(4, 5, 2)
    for dims in (torch.tensor([2]), torch.tensor(2)):
        assert torch.equal(torch.tensordot(a, c, dims), torch.tensordot(a, c, 2))

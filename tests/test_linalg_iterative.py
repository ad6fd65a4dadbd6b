"""LDL factors and lobpcg: what the samples can't show."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import rushlight as torch

DATA = {name: torch.tensor(value) for name, value in np.load(pathlib.Path(__file__).parent / "data" / "lobpcg.npz").items()}
close = torch.testing.assert_close


def symmetric(n: int, kind: str, seed: int = 0) -> torch.Tensor:
    numbers = np.random.default_rng(seed)
    a = numbers.standard_normal((n, n))
    if kind == "real":
        return torch.tensor(a + a.T)
    a = a + 1j * numbers.standard_normal((n, n))
    return torch.tensor(a + (a.conj().T if kind == "hermitian" else a.T))


@pytest.mark.parametrize("kind", ["real", "complex", "hermitian"])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_factors_solve(kind, n):
    a = symmetric(n, kind, n)
    factors, pivots = torch.linalg.ldl_factor(a, hermitian=kind == "hermitian")
    x = torch.randn(n, 3, dtype=a.dtype)
    close(torch.linalg.ldl_solve(factors, pivots, a @ x, hermitian=kind == "hermitian"), x, rtol=1e-9, atol=1e-9)
    assert not factors.triu(1).any()
    if n == 40:
        assert (pivots < 0).any() and (pivots > 0).any()


def test_a_batch_is_solved_one_by_one():
    a = torch.stack([symmetric(4, "real", seed) for seed in range(6)]).view(3, 2, 4, 4)
    b = torch.randn(2, 4, 5, dtype=torch.float64)
    found = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b)
    close(found, torch.linalg.solve(a, b.expand(3, 2, 4, 5)))
    assert torch.linalg.ldl_factor(a)._fields == ("LD", "pivots")


def test_zero_pivots_are_reported():
    a = torch.zeros(2, 3, 3)
    a[1] = torch.eye(3)
    assert torch.linalg.ldl_factor_ex(a).info.tolist() == [1, 0]
    with pytest.raises(RuntimeError, match=r"D\[1,1\] is zero"):
        torch.linalg.ldl_factor(a)
    with pytest.raises(RuntimeError, match="pivots must be those"):
        torch.linalg.ldl_solve(torch.eye(2), torch.tensor([1, 5], dtype=torch.int32), torch.ones(2, 1))


def test_factors_have_no_gradient_and_say_so_when_asked():
    factors, _ = torch.linalg.ldl_factor(torch.eye(2, requires_grad=True))
    assert factors.requires_grad
    with pytest.raises(RuntimeError, match="linalg_ldl_factor_ex is not implemented"):
        factors.sum().backward()


# -- lobpcg ------------------------------------------------------------------------------------------------------


def test_values_are_pytorchs():
    torch.manual_seed(0)
    close(torch.lobpcg(DATA["A"], k=2, tol=1e-13)[0], DATA["largest"], rtol=1e-9, atol=1e-9)
    close(torch.lobpcg(DATA["A"], k=3, largest=False, tol=1e-13)[0], DATA["smallest"], rtol=1e-9, atol=1e-9)
    values, vectors = torch.lobpcg(DATA["A"][0], k=2, B=DATA["B"], tol=1e-13)
    close(values, DATA["general"], rtol=1e-9, atol=1e-9)
    close(vectors.T @ DATA["B"] @ vectors, torch.eye(2, dtype=torch.float64))
    close(DATA["A"][0] @ vectors, DATA["B"] @ vectors * values, rtol=1e-7, atol=1e-7)


def test_gradient_is_pytorchs():
    torch.manual_seed(0)
    a = DATA["A"].clone().requires_grad_()
    values, vectors = torch.lobpcg(a, k=2, tol=1e-13)
    ((vectors**2 * DATA["weights"]).sum() + (values * torch.tensor([1.0, 3.0])).sum()).backward()
    close(a.grad, DATA["gradient"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("largest", [True, False])
def test_gradient_against_differences(largest):
    a = torch.tensor(np.diag([1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0]) + 0.3, requires_grad=True)
    start = torch.randn(7, 2, dtype=torch.float64)

    def pairs(a):
        values, vectors = torch.lobpcg(a, k=2, X=start, tol=1e-14, largest=largest)
        return values, vectors**2

    assert torch.autograd.gradcheck(pairs, (a,), atol=1e-5)
    assert torch.autograd.gradgradcheck(pairs, (a,), atol=1e-4)
    with pytest.raises(RuntimeError, match="no gradient with B"):
        torch.lobpcg(a, k=1, B=torch.eye(7, dtype=torch.float64))[0].backward()


def test_how_the_search_begins_and_ends():
    a = DATA["A"][0]
    exact = torch.linalg.eigh(a)
    steps = []
    values, _ = torch.lobpcg(a, X=exact.eigenvectors[:, -3:], tracker=steps.append)
    assert values.shape == (3,) and not steps  # it began at the end
    found = []

    def stop(search):
        found.append((search.ivars["istep"], search.X.shape, search.E.shape, search.R.shape, search.tvars["rerr"].shape))
        search.bvars["force_stop"] = search.ivars["istep"] == 3

    torch.manual_seed(0)
    rough, _ = torch.lobpcg(a, k=2, tracker=stop)
    assert [each[0] for each in found] == [1, 2, 3] and found[0][1:] == ((12, 2), (2,), (12, 2), (2,))
    torch.manual_seed(0)
    close(torch.lobpcg(a, k=2, niter=3)[0], rough)
    inverse = torch.linalg.inv(a)
    counted: list[int] = []
    torch.lobpcg(a, k=1, largest=False, iK=inverse, tracker=lambda search: counted.append(search.ivars["istep"]))
    plain: list[int] = []
    torch.lobpcg(a, k=1, largest=False, tracker=lambda search: plain.append(search.ivars["istep"]))
    assert counted[-1] < plain[-1]  # an approximate inverse helps


def test_more_vectors_than_pairs_and_single_precision():
    torch.manual_seed(0)
    values, vectors = torch.lobpcg(DATA["A"].float(), k=2, n=4)
    assert values.dtype == torch.float32 and vectors.shape == (2, 12, 2)
    close(values, DATA["largest"].float(), rtol=1e-4, atol=1e-3)
    with pytest.raises(RuntimeError, match="depend on each other"):
        torch.lobpcg(DATA["A"][0], X=torch.ones(12, 2, dtype=torch.float64))

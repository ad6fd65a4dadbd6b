"""Gradients through samples of the gamma and Dirichlet distributions: exact, PyTorch's, and by what they must mean."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import rushlight as torch
from rushlight.ops.random.implicit_gradients import dirichlet_slope, gamma_slope

DATA = dict(np.load(pathlib.Path(__file__).parent / "data" / "implicit_gradients.npz"))


def columns(prefix: str, names: str) -> list[torch.Tensor]:
    return [torch.tensor(DATA[f"{prefix}_{name}"]) for name in names.split()]


def test_gamma_against_exact_values_and_pytorchs():
    a, x, exact, theirs = columns("gamma", "a x exact torch")
    found = torch._standard_gamma_grad(a, x)
    torch.testing.assert_close(found, exact, rtol=1e-11, atol=0)
    torch.testing.assert_close(found, theirs, rtol=2e-3, atol=0)  # PyTorch's own values are good to three digits
    torch.testing.assert_close(torch._standard_gamma_grad(a.float(), x.float()), exact.float(), rtol=2e-4, atol=1e-37)


def test_dirichlet_against_exact_values_and_pytorchs():
    a, b, x, exact, theirs = columns("beta", "a b x exact torch")
    found = torch._dirichlet_grad(x, a, a + b)
    torch.testing.assert_close(found, exact, rtol=1e-10, atol=0)
    torch.testing.assert_close(found, theirs, rtol=2e-3, atol=0)


def test_the_derivative_of_a_mean_is_the_mean_of_derivatives():
    torch.manual_seed(0)
    a = torch.full((40000,), 2.5, dtype=torch.float64, requires_grad=True)
    x = torch._standard_gamma(a)
    assert "StandardGamma" in type(x.grad_fn).__name__
    (x * x).sum().backward()  # the mean of x * x is a * (a + 1)
    assert abs(a.grad.mean().item() - 6.0) < 0.15
    c = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64).expand(40000, 3).clone().requires_grad_()
    p = torch._sample_dirichlet(c)
    p[:, 0].sum().backward()  # the mean of a probability is its concentration over the total
    wanted = torch.tensor([6 / 49, -1 / 49, -1 / 49], dtype=torch.float64)
    torch.testing.assert_close(c.grad.mean(0), wanted, rtol=0.03, atol=0.0)


def test_probabilities_that_always_add_up_move_nothing():
    torch.manual_seed(1)
    c = torch.rand(5, 4, dtype=torch.float64).add(0.3).requires_grad_()
    torch._sample_dirichlet(c).sum().backward()
    torch.testing.assert_close(c.grad, torch.zeros(5, 4, dtype=torch.float64), rtol=0, atol=1e-12)


def test_edges():
    found = gamma_slope(np.array([0.5, -1.0, np.nan, 2.0]), np.array([0.0, 1.0, 1.0, np.nan]))
    assert found[0] == 0 and np.isnan(found[1:]).all()
    assert dirichlet_slope(np.array([0.0]), np.array([0.5]), np.array([1.0])) == 0
    many = np.linspace(0.5, 30, 20001)  # more than one block
    np.testing.assert_allclose(gamma_slope(many, many)[::5000], gamma_slope(many[::5000], many[::5000]), rtol=1e-14)
    large = np.array([1e6, 1e9])
    np.testing.assert_allclose(gamma_slope(large, large), [1.0, 1.0], rtol=1e-5)


def test_what_has_no_gradient_says_so():
    prob = torch.full((2,), 0.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="binomial"):
        torch.binomial(torch.full((2,), 10.0), prob).sum().backward()
    a = torch.tensor([1.5, 2.0], requires_grad=True)
    (slope,) = torch.autograd.grad(torch._standard_gamma(a).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="_standard_gamma_grad"):
        slope.sum().backward()

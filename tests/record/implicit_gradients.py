"""Record derivatives of gamma and beta numbers: the exact ones (by mpmath) and PyTorch's. Run with PyTorch's Python."""

from __future__ import annotations

import pathlib

import mpmath as mp
import numpy as np
import torch

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "implicit_gradients.npz"
numbers = np.random.default_rng(1)


def exact(distribution, density, a: float, x: float) -> float:
    """Minus the derivative of the distribution by its first parameter, over the density."""
    a, x = mp.mpf(a), mp.mpf(x)
    step = mp.mpf(10) ** -25
    return float(-(distribution(a + step, x) - distribution(a - step, x)) / (2 * step) / density(a, x))


def gamma(a: float, x: float) -> float:
    return exact(lambda a, x: mp.gammainc(a, 0, x, regularized=True), lambda a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a), a, x)


def dirichlet(x: float, a: float, b: float) -> float:
    b = mp.mpf(b)
    found = exact(
        lambda a, x: mp.betainc(a, b, 0, x, regularized=True),
        lambda a, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
        a, x,
    )  # fmt: skip
    return found / (1 - x)


mp.mp.dps = 80
a = np.concatenate([10 ** numbers.uniform(-2, 2.5, 40), 10 ** numbers.uniform(-1, 1.5, 20)])
x = np.concatenate([np.maximum(numbers.gamma(a[:40]), 1e-100), a[40:] * 10 ** numbers.uniform(-1, 0.7, 20)])
data = {"gamma_a": a, "gamma_x": x, "gamma_exact": np.array([gamma(*each) for each in zip(a, x)])}
data["gamma_torch"] = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x)).numpy()
a, b = 10 ** numbers.uniform(-1.5, 2, 60), 10 ** numbers.uniform(-1.5, 2, 60)
x = np.clip(numbers.beta(a, b), 1e-100, 1 - 1e-3)
data |= {"beta_a": a, "beta_b": b, "beta_x": x, "beta_exact": np.array([dirichlet(*each) for each in zip(x, a, b)])}
data["beta_torch"] = torch._dirichlet_grad(torch.tensor(x), torch.tensor(a), torch.tensor(a + b)).numpy()
np.savez_compressed(FILE, **data)

"""Record eigenvalues, and gradients through eigenvectors, that PyTorch's lobpcg gives. Run with PyTorch's Python."""

from __future__ import annotations

import pathlib

import numpy as np
import torch

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "lobpcg.npz"
numbers = np.random.default_rng(3)
square = numbers.standard_normal((2, 12, 12))
A = square @ square.swapaxes(-1, -2)
B = np.eye(12) * 2 + 0.1 * (square[0] + square[0].T)
weights = numbers.standard_normal((2, 12, 2))
a = torch.tensor(A, requires_grad=True)
largest, vectors = torch.lobpcg(a, k=2, tol=1e-13)
((vectors**2 * torch.tensor(weights)).sum() + (largest * torch.tensor([1.0, 3.0], dtype=torch.float64)).sum()).backward()
np.savez_compressed(
    FILE, A=A, B=B, weights=weights, largest=largest.detach().numpy(), gradient=a.grad.numpy(),
    smallest=torch.lobpcg(torch.tensor(A), k=3, largest=False, tol=1e-13)[0].numpy(),
    general=torch.lobpcg(torch.tensor(A[0]), k=2, B=torch.tensor(B), tol=1e-13)[0].numpy(),
)  # fmt: skip

# ruff: noqa
"""Solvers and transforms: xitorch, torchkbnufft, torch-hd, roma, torchani."""

# libraries: xitorch torchkbnufft torch-hd roma torchani
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared.reporting import show

warnings.simplefilter("ignore")
torch.manual_seed(0)

import roma
import torchani
import torchhd
import torchkbnufft
import xitorch
import xitorch.linalg
import xitorch.optimize

matrix = torch.randn(4, 4, dtype=torch.double)
matrix = (matrix + matrix.T + 8 * torch.eye(4)).requires_grad_()
operator = xitorch.LinearOperator.m(matrix)
solution = xitorch.linalg.solve(operator, torch.randn(4, 2, dtype=torch.double))
solution.sum().backward()
values, _ = xitorch.linalg.symeig(operator, neig=2)
show("solve", solution, matrix.grad, values)
factor = torch.tensor(0.5, dtype=torch.double, requires_grad=True)
root = xitorch.optimize.rootfinder(lambda y, a: torch.tanh(a * y + 0.1) + y / 2, torch.zeros(3, dtype=torch.double), params=(factor,))
root.sum().backward()
show("root", root, factor.grad)
forward, adjoint = torchkbnufft.KbNufft(im_size=(16, 16)), torchkbnufft.KbNufftAdjoint(im_size=(16, 16))
image = torch.randn(1, 1, 16, 16, dtype=torch.complex64, requires_grad=True)
places = (torch.rand(2, 40) - 0.5) * 6
samples = forward(image, places)
samples.abs().sum().backward()
show("nufft", samples.abs(), adjoint(samples.detach(), places).abs(), image.grad.abs())
vectors = torchhd.random(3, 64)
show("hd", torchhd.cosine_similarity(torchhd.bind(vectors[0], vectors[1]), vectors), torchhd.ngrams(vectors, 2))
symmetric = torch.randn(5, 4, 4, dtype=torch.double)
symmetric = ((symmetric + symmetric.mT) / 2).requires_grad_()
point = roma.symmatrix_to_projective_point(symmetric)
(torch.randn(5, 4, 4, dtype=torch.double) * point[..., :, None] * point[..., None, :]).sum().backward()
show("roma", symmetric.grad, (symmetric.grad - symmetric.grad.mT).abs().max())
rotation = roma.special_procrustes(torch.randn(3, 3, 3, dtype=torch.double).requires_grad_())
show("procrustes", rotation, roma.rotmat_to_rotvec(rotation))
environment = torchani.aev.AEVComputer.like_2x(num_species=4)
energies = torch.randn(1, 5, 3, requires_grad=True)
vector = environment(torch.tensor([[1, 0, 0, 0, 0]]), energies)
vector.sum().backward()
show("ani", vector, energies.grad)

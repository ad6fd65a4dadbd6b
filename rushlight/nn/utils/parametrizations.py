"""Parametrizations that are ready for use: orthogonal weights, weight norm, spectral norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ...autograd import no_grad
from ...core.dtypes import finfo
from ...ops.create.factories import eye, zeros_like
from ...ops.linalg.functions import linalg_solve, matrix_exp
from ...ops.linalg.matmul import dot, mv
from ...ops.linalg.norms import norm_except_dim
from ...ops.linalg.systems import geqrf, linalg_householder_product
from ...ops.nn.normalization import normalize
from ...ops.shape.concat import cat
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, default_dim
from .weight_norm import normalized


def _check_name(module: Any, name: str) -> Any:
    weight = getattr(module, name, None)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# -- orthogonal --------------------------------------------------------------------------------------------------


def _is_orthogonal(Q: Any, eps: float | None = None) -> bool:
    k = Q.shape[-1]
    identity = eye(k, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * Q.shape[-2] * finfo(Q.dtype).eps if eps is None else eps
    return bool((Q.mH @ Q - identity).abs().max() < eps)


def _make_orthogonal(A: Any) -> Any:
    """An orthogonal matrix near a matrix: the Q of its QR decomposition, with signs so that R's diagonal is positive."""
    reflectors, tau = geqrf(A)
    Q = linalg_householder_product(reflectors, tau)
    return Q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """A matrix as an orthogonal one, through its lower triangle.

    With trivialisation the triangle moves away from ``base``, the matrix that was last assigned: near zero all maps are tame.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix."""
        n, k = X.shape[-2:]
        wide = n < k
        if wide:
            X, n, k = X.mT, k, n
        if self.orthogonal_map is _OrthMaps.householder:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = linalg_householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = cat([X, X.new_zeros((*X.shape[:-2], n, n - k))], dim=-1)
            A = X - X.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                Q = matrix_exp(A)
            else:
                identity = eye(n, dtype=A.dtype, device=A.device)
                Q = linalg_solve(identity - 0.5 * A, identity + 0.5 * A)
            Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        """What to keep so that forward gives a matrix, which is made orthogonal if it is not."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        n, k = Q.shape[-2:]
        wide = n < k
        given = Q
        if wide:
            Q, n, k = Q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            # The reflectors, and on the diagonal which way they are turned. Where LAPACK needs none (tau is 0), forward makes
            # one of a column of zeros, which turns the column round.
            A, tau = geqrf(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            signs = diagonal.sign().masked_fill_(diagonal == 0, 1.0)
            diagonal.copy_(signs * (1.0 - 2.0 * (tau == 0)))
            return A.mT if wide else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:  # complete it to a square matrix
            Q = _make_orthogonal(cat([Q, Q.new_empty((*Q.shape[:-2], n, n - k)).normal_()], dim=-1))
        self.base = Q
        # Forward of this is the base: a triangle of zeros, and reflectors that are not turned.
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """Keep a matrix orthogonal (or its columns, or rows, orthonormal) through all of training."""
    weight = _check_name(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        simple = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if simple else "householder"
    found = getattr(_OrthMaps, orthogonal_map, None)
    if found is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    register_parametrization(module, name, _Orthogonal(weight, found, use_trivialization=use_trivialization), unsafe=True)
    return module


# -- weight norm -------------------------------------------------------------------------------------------------


class _WeightNorm(Module):
    """A size and a direction as a weight."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """The weight."""
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """Size and direction of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Learn the direction of a weight apart from its size; one size for each index of ``dim``, or with None one for all."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def convert(
        state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any, error_msgs: Any
    ) -> None:
        """Files of the hook's form of weight norm name the parts differently."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(convert)
    return module


# -- spectral norm -----------------------------------------------------------------------------------------------


class _SpectralNorm(Module):
    """A weight over its largest singular value, which power iterations estimate from the last estimate on."""

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if dim >= weight.ndim or dim < -weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:  # a vector is divided by its norm
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            rows, columns = matrix.shape
            u = matrix.new_empty(rows).normal_(0, 1)
            v = matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix.detach(), 15)

    @no_grad()
    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(normalize(mv(weight_mat, self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(mv(weight_mat.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        """The weight over its norm; in training the estimate gets better with each call."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call writes to the buffers; this one's backward needs these
        return weight / dot(u, mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself: what has norm 1 already stays."""
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divide a weight by its largest singular value."""
    weight = _check_name(module, name)
    dim = default_dim(module) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight.detach(), n_power_iterations, dim, eps))
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

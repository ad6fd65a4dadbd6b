"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Batches of matrices by batches of vectors, which broadcast."""
    return rushlight.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """The squared Mahalanobis distance of vectors, for Cholesky factors of covariances whose batch broadcasts with theirs.

    Where vectors have more batch dimensions than factors, they are columns of one system: factors are not repeated.
    """
    batch = bL.dim() - 2
    more = bx.dim() - 1 - batch
    if more <= 0:
        return rushlight.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False).pow(2).sum(-2).squeeze(-1)
    shape = rushlight.broadcast_shapes(bx.shape[more:-1], bL.shape[:-2])
    bx = bx.expand(bx.shape[:more] + shape + bx.shape[-1:])
    columns = bx.reshape((-1,) + bx.shape[more:]).movedim(0, -1)
    distances = rushlight.linalg.solve_triangular(bL, columns, upper=False).pow(2).sum(-2)
    return distances.movedim(-1, 0).reshape(bx.shape[:-1])


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, by that of the matrix turned around: nothing is inverted but a triangle."""
    flipped = rushlight.linalg.cholesky(rushlight.flip(P, (-2, -1)))
    upper = rushlight.transpose(rushlight.flip(flipped, (-2, -1)), -2, -1)
    identity = rushlight.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return rushlight.linalg.solve_triangular(upper, identity, upper=False)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, given a mean and one of: covariance, precision (its inverse), or Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if (covariance_matrix is not None) + (scale_tril is not None) + (precision_matrix is not None) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        matrices = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        name, matrix = next((name, matrix) for name, matrix in matrices.items() if matrix is not None)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if scale_tril is not None else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = rushlight.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = rushlight.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        event, matrix = self.event_shape, self.event_shape + self.event_shape
        names = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
        return self._expanded(
            MultivariateNormal, batch_shape, _instance, *names, events=(event, matrix, matrix, matrix),
            _unbroadcasted_scale_tril=self._unbroadcasted_scale_tril,
        )  # fmt: skip

    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return rushlight.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return rushlight.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        eps = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)

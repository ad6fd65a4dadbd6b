"""The Wishart distribution of covariance matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from ..core.state import state
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import _Number, lazy_property

__all__ = ["Wishart"]


_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The multivariate digamma function."""
    assert x.gt((p - 1) / 2).all(), "Wrong domain for multivariate digamma function."
    return rushlight.digamma(x.unsqueeze(-1) - rushlight.arange(p, dtype=x.dtype, device=x.device).div(2).expand(x.shape + (-1,))).sum(-1)


def _clamp_above_eps(x: Tensor) -> Tensor:
    return x.clamp(min=rushlight.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """The distribution of scatter matrices of ``df`` normal vectors, given their covariance, its inverse, or its Cholesky factor."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The degrees of freedom are bounded by the size of the matrix."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        matrices = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        assert len(given) == 1, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = rushlight.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = rushlight.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = rushlight.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)
        self._dist_chi2 = self._chi2(self.df)

    def _chi2(self, df: Tensor) -> Chi2:
        """The distribution of the squares of the diagonal of Bartlett's factor."""
        less = rushlight.arange(self._event_shape[-1], dtype=df.dtype, device=df.device).expand(self._batch_shape + (-1,))
        return Chi2(df=df.unsqueeze(-1) - less)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        matrix = self.event_shape
        names = ("df", "covariance_matrix", "scale_tril", "precision_matrix")
        new = self._expanded(Wishart, batch_shape, _instance, *names, events=((), matrix, matrix, matrix))
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._dist_chi2 = new._chi2(new.df)
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the normal vectors."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.transpose(-2, -1)).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        identity = rushlight.eye(self._event_shape[-1], dtype=self._unbroadcasted_scale_tril.dtype, device=self.df.device)
        return rushlight.cholesky_solve(identity, self._unbroadcasted_scale_tril).expand(self._batch_shape + self._event_shape)

    def _df(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Tensor:
        return self._df() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = rushlight.where(factor <= 0, math.nan, factor)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        return self._df() * (self.covariance_matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = Size(())) -> Tensor:
        size = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(dim1=-2, dim2=-1)
        row, column = rushlight.tril_indices(size, size, offset=-1)
        noise[..., row, column] = rushlight.randn(
            Size(sample_shape) + self._batch_shape + (size * (size - 1) // 2,), dtype=noise.dtype, device=noise.device
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _is_singular(self, sample: Tensor) -> Tensor:
        singular = self.support.check(sample).logical_not()
        return singular.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else singular

    def rsample(self, sample_shape: Any = Size(()), max_try_correction: int | None = None) -> Tensor:
        """Samples by Bartlett's decomposition; singular ones are drawn anew, ``max_try_correction`` times in all (10).

        The first draw is never used.  PyTorch takes what is not singular for what is, and so draws all of it anew: this keeps in step.
        """
        capturing = state.capture is not None
        if max_try_correction is None:
            max_try_correction = 3 if capturing else 10
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        if max_try_correction == 0:
            return sample
        sample = self._bartlett_sampling(sample_shape)
        if capturing:  # a graph has no loop that depends on data
            return sample
        singular = self._is_singular(sample)
        for trial in range(max_try_correction):
            if not singular.any():
                break
            if trial == 0:
                warnings.warn("Singular sample detected.", stacklevel=2)
            sample = rushlight.where(
                singular.reshape(singular.shape + (1,) * (sample.dim() - singular.dim())), self._bartlett_sampling(sample_shape), sample
            )
            singular = self._is_singular(sample)
        return sample

    def _log_volume(self) -> Tensor:
        return self._event_shape[-1] * _log_2 / 2 + self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        trace = rushlight.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * self._log_volume()
            - rushlight.mvlgamma(nu / 2, p=size)
            + (nu - size - 1) / 2 * rushlight.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * self._log_volume()
            + rushlight.mvlgamma(nu / 2, p=size)
            - (nu - size - 1) / 2 * _mvdigamma(nu / 2, p=size)
            + nu * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (-rushlight.linalg.slogdet(-2 * x).logabsdet + _log_2 * size) + rushlight.mvlgamma(half, p=size)

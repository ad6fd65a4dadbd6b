"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution of ``df`` degrees of freedom, moved by ``loc`` and stretched by ``scale``."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=rushlight.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = self.df.clone(memory_format=rushlight.contiguous_format)
        finite = self.df > 2
        df[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        df[(self.df <= 2) & (self.df > 1)] = math.inf
        df[self.df <= 1] = math.nan
        return df

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(StudentT, batch_shape, _instance, "df", "loc", "scale", _chi2=self._chi2.expand(batch_shape))

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (normal * rushlight.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        log_normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + rushlight.lgamma(0.5 * self.df)
            - rushlight.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * rushlight.log1p(y**2.0 / self.df) - log_normalizer

    def entropy(self) -> Tensor:
        log_beta = rushlight.lgamma(0.5 * self.df) + math.lgamma(0.5) - rushlight.lgamma(0.5 * (self.df + 1))
        digammas = rushlight.digamma(0.5 * (self.df + 1)) - rushlight.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * digammas + 0.5 * self.df.log() + log_beta

"""The F-distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import _Number, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F-distribution: the ratio of two chi-squared numbers, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        batch_shape = Size() if isinstance(df1, _Number) and isinstance(df2, _Number) else self.df1.size()
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        gammas = {"_gamma1": self._gamma1.expand(batch_shape), "_gamma2": self._gamma2.expand(batch_shape)}
        return self._expanded(FisherSnedecor, batch_shape, _instance, "df1", "df2", **gammas)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.clone(memory_format=rushlight.contiguous_format)
        df2[df2 <= 2] = rushlight.nan
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = rushlight.nan
        return mode

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.clone(memory_format=rushlight.contiguous_format)
        df2[df2 <= 4] = rushlight.nan
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        shape = self._extended_shape(sample_shape)
        numerator = self._gamma1.rsample(sample_shape).view(shape)
        denominator = self._gamma2.rsample(sample_shape).view(shape)
        tiny = rushlight.finfo(denominator.dtype).tiny
        denominator.clamp_(min=tiny)
        ratio = numerator / denominator
        ratio.clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_beta = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        powers = half1 * ratio.log() + (half1 - 1) * rushlight.log(value)
        return log_beta + powers - (half1 + half2) * rushlight.log1p(ratio * value)

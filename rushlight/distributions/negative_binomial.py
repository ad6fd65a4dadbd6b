"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from ..nn.functional import logsigmoid
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import OddsParameters, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(OddsParameters, Distribution):
    """How many trials succeed before ``total_count`` of them have failed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _batched = ("total_count", "probs", "logits")

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (total_count,) = self._set_parameter(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * rushlight.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / rushlight.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # a Poisson number whose rate is a gamma number
        return Gamma(concentration=self.total_count, rate=rushlight.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        with rushlight.no_grad():
            return rushlight.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalizer = -rushlight.lgamma(self.total_count + value) + rushlight.lgamma(1.0 + value) + rushlight.lgamma(self.total_count)
        return unnormalized - normalizer.masked_fill(self.total_count + value == 0.0, 0.0)

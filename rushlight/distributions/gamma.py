"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .exp_family import ExponentialFamily
from .utils import _Number, broadcast_all

__all__ = ["Gamma"]


def _standard_gamma(concentration: Tensor) -> Tensor:
    return rushlight._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """The gamma distribution of a concentration (shape) and a rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    _batched = ("concentration", "rate")
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        batch_shape = Size() if isinstance(concentration, _Number) and isinstance(rate, _Number) else self.concentration.size()
        super().__init__(batch_shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=rushlight.finfo(value.dtype).tiny)  # never 0, of which there is no logarithm; no part of the gradient
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = rushlight.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            rushlight.xlogy(self.concentration, self.rate)
            + rushlight.xlogy(self.concentration - 1, value)
            - self.rate * value
            - rushlight.lgamma(self.concentration)
        )

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - rushlight.log(self.rate)
            + rushlight.lgamma(self.concentration)
            + (1.0 - self.concentration) * rushlight.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return rushlight.lgamma(x + 1) + (x + 1) * rushlight.log(-y.reciprocal())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return rushlight.special.gammainc(self.concentration, self.rate * value)

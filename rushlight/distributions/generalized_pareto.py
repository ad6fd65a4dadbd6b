"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .distribution import Distribution
from .utils import _Number, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: the excess over a high threshold ``loc``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        are_numbers = all(isinstance(each, _Number) for each in (loc, scale, concentration))
        super().__init__(Size() if are_numbers else self.loc.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        units = rushlight.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(units)

    def _is_zero(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and one that may be divided by."""
        is_zero = rushlight.isclose(self.concentration, rushlight.tensor(0.0, dtype=self.concentration.dtype))
        return is_zero, rushlight.where(is_zero, rushlight.ones_like(self.concentration), self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, safe = self._is_zero()
        y = 1 / safe + rushlight.ones_like(z)
        log_tail = rushlight.where(y == 0, y, y * rushlight.log1p(safe * z))
        return rushlight.where(is_zero, -z, -log_tail) - rushlight.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a greater sample."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, safe = self._is_zero()
        return rushlight.where(is_zero, -z, -rushlight.log1p(safe * z) / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of ``cdf``."""
        return rushlight.log1p(-rushlight.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return rushlight.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, safe = self._is_zero()
        log_rest = rushlight.log1p(-value)
        return rushlight.where(is_zero, self.loc - self.scale * log_rest, self.loc + self.scale * rushlight.expm1(-safe * log_rest) / safe)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        safe = rushlight.where(valid, self.concentration, 0.5)
        return rushlight.where(valid, self.loc + self.scale / (1 - safe), rushlight.full_like(self.loc, math.inf))

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        safe = rushlight.where(valid, self.concentration, 0.25)
        variance = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return rushlight.where(valid, variance, rushlight.full_like(self.loc, math.inf))

    def entropy(self) -> Tensor:
        return rushlight.broadcast_to(rushlight.log(self.scale) + self.concentration + 1, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """From ``loc`` on, up to where the density ends for a negative concentration."""
        upper = rushlight.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

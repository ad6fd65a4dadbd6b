"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform, Transform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution: powers of exponential numbers."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(rushlight.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._powers(self), validate_args=validate_args)

    @staticmethod
    def _powers(of: Any) -> list[Transform]:
        return [PowerTransform(exponent=of.concentration_reciprocal), AffineTransform(loc=0, scale=of.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        super(Weibull, new).__init__(base, self._powers(new), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * rushlight.exp(rushlight.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        second = rushlight.exp(rushlight.lgamma(1 + 2 * self.concentration_reciprocal))
        return self.scale.pow(2) * (second - rushlight.exp(2 * rushlight.lgamma(1 + self.concentration_reciprocal)))

    def entropy(self) -> Tensor:
        return euler_constant * (1 - self.concentration_reciprocal) + rushlight.log(self.scale * self.concentration_reciprocal) + 1

"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .exp_family import ExponentialFamily
from .utils import OddsParameters, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(OddsParameters, ExponentialFamily):
    """A number in [0, 1] whose density is that of a Bernoulli distribution, normalised (Loaiza-Ganem and Cunningham, 2019).

    Between ``lims``, where formulas cancel, Taylor polynomials are used.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _batched = ("probs", "logits")
    _kept = ("_lims",)

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        self._set_parameter(probs, logits)
        if probs is not None:
            # the check of the base class would come too late: probabilities are clamped first
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._batch_shape_of(probs, logits), validate_args=validate_args)

    def _outside_unstable_region(self) -> Tensor:
        return rushlight.max(rushlight.le(self.probs, self._lims[0]), rushlight.gt(self.probs, self._lims[1]))

    def _cut_probs(self) -> Tensor:
        return rushlight.where(self._outside_unstable_region(), self.probs, self._lims[0] * rushlight.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = rushlight.where(rushlight.le(cut, 0.5), cut, rushlight.zeros_like(cut))
        above = rushlight.where(rushlight.ge(cut, 0.5), cut, rushlight.ones_like(cut))
        log_norm = rushlight.log(rushlight.abs(rushlight.log1p(-cut) - rushlight.log(cut))) - rushlight.where(
            rushlight.le(cut, 0.5), rushlight.log1p(-2.0 * below), rushlight.log(2.0 * above - 1.0)
        )
        x = rushlight.pow(self.probs - 0.5, 2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return rushlight.where(self._outside_unstable_region(), log_norm, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (rushlight.log1p(-cut) - rushlight.log(cut))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * rushlight.pow(x, 2)) * x
        return rushlight.where(self._outside_unstable_region(), mean, taylor)

    @property
    def stddev(self) -> Tensor:
        return rushlight.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        variance = cut * (cut - 1.0) / rushlight.pow(1.0 - 2.0 * cut, 2)
        variance = variance + 1.0 / rushlight.pow(rushlight.log1p(-cut) - rushlight.log(cut), 2)
        x = rushlight.pow(self.probs - 0.5, 2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return rushlight.where(self._outside_unstable_region(), variance, taylor)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, kept away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        with rushlight.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        return self.icdf(rushlight.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        inside = (rushlight.pow(cut, value) * rushlight.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = rushlight.where(self._outside_unstable_region(), inside, value)
        above = rushlight.where(rushlight.ge(value, 1.0), rushlight.ones_like(value), inside)
        return rushlight.where(rushlight.le(value, 0.0), rushlight.zeros_like(value), above)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        log_odds = rushlight.log(cut) - rushlight.log1p(-cut)
        found = (rushlight.log1p(-cut + value * (2.0 * cut - 1.0)) - rushlight.log1p(-cut)) / log_odds
        return rushlight.where(self._outside_unstable_region(), found, value)

    def entropy(self) -> Tensor:
        log_rest, log_probs = rushlight.log1p(-self.probs), rushlight.log(self.probs)
        return self.mean * (log_rest - log_probs) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        outside = rushlight.max(rushlight.le(x, self._lims[0] - 0.5), rushlight.gt(x, self._lims[1] - 0.5))
        cut = rushlight.where(outside, x, (self._lims[0] - 0.5) * rushlight.ones_like(x))
        log_norm = rushlight.log(rushlight.abs(rushlight.special.expm1(cut))) - rushlight.log(rushlight.abs(cut))
        taylor = 0.5 * x + rushlight.pow(x, 2) / 24.0 - rushlight.pow(x, 4) / 2880.0
        return rushlight.where(outside, log_norm, taylor)

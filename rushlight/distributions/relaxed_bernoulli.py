"""The relaxed (concrete) Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import OddsParameters, _Number, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(OddsParameters, Distribution):
    """The log-odds of relaxed Bernoulli numbers (Maddison et al., 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        is_number = isinstance(logits if probs is None else probs, _Number)
        super().__init__(Size() if is_number else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, batch_shape, _instance, "probs", "logits", temperature=self.temperature)
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        units = clamp_probs(rushlight.rand(shape, dtype=probs.dtype, device=probs.device))
        return (units.log() - (-units).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that become Bernoulli numbers as the temperature falls to 0, and pass gradients on."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 samples are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds of 1."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of 1."""
        return self.base_dist.probs

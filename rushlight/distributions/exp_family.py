"""Exponential families: densities ``exp(<t(x), natural parameters> - log normalizer + k(x))``."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose entropy and KL divergence follow from its log normalizer, by differentiation."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, by the gradient of the log normalizer: a Bregman divergence."""
        result: Any = -self._mean_carrier_measure
        natural = [each.detach().requires_grad_() for each in self._natural_params]
        log_normalizer = self._log_normalizer(*natural)
        gradients = rushlight.autograd.grad(log_normalizer.sum(), natural, create_graph=True)
        result += log_normalizer
        for parameter, gradient in zip(natural, gradients, strict=True):
            result -= (parameter * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result

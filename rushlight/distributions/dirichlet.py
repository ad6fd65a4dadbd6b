"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient by the concentrations, of samples ``x`` with a gradient of their own."""
    total = concentration.sum(-1, True).expand_as(concentration)
    return rushlight._dirichlet_grad(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: probabilities of categories, which add up to 1."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, batch_shape, _instance, "concentration", events=(self.event_shape,))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return rushlight._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            rushlight.xlogy(self.concentration - 1.0, value).sum(-1)
            + rushlight.lgamma(self.concentration.sum(-1))
            - rushlight.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        weights = (self.concentration - 1).clamp(min=0.0)
        mode = weights / weights.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = rushlight.nn.functional.one_hot(mode[corner].argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (
            rushlight.lgamma(self.concentration).sum(-1)
            - rushlight.lgamma(total)
            - (count - total) * rushlight.digamma(total)
            - ((self.concentration - 1.0) * rushlight.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - rushlight.lgamma(x.sum(-1))

"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a categorical distribution chooses among the last batch dimension of a component distribution.

    >>> from rushlight.distributions import Normal
    >>> mixture = MixtureSameFamily(Categorical(rushlight.ones(2)), Normal(rushlight.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixtures, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(mixtures), reversed(components)):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                    f"`component_distribution.batch_shape`({components})"
                )
        weights, count = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != count:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal `component_distribution.batch_shape[-1]` ({count})"
            )
        self._num_component = weights
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch_shape = Size(batch_shape)
        parts = {
            "_component_distribution": self._component_distribution.expand(batch_shape + (self._num_component,)),
            "_mixture_distribution": self._mixture_distribution.expand(batch_shape),
            "_num_component": self._num_component,
            "_event_ndims": self._event_ndims,
        }
        return self._expanded(MixtureSameFamily, batch_shape, _instance, **parts)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """What is in the support of every component."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which chooses a component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return rushlight.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        probs, dim = self._pad_mixture_dimensions(self.mixture_distribution.probs), -1 - self._event_ndims
        within = rushlight.sum(probs * self.component_distribution.variance, dim=dim)
        between = rushlight.sum(probs * (self.component_distribution.mean - self._pad(self.mean)).pow(2.0), dim=dim)
        return within + between

    def cdf(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return rushlight.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:  # type: ignore[override]
        if self._validate_args:
            self._validate_sample(x)
        log_probs = self.component_distribution.log_prob(self._pad(x))
        return rushlight.logsumexp(log_probs + rushlight.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        with rushlight.no_grad():
            dim, event = len(sample_shape) + len(self.batch_shape), self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + Size([1] * (len(event) + 1)))
            index = index.repeat(Size([1] * len(chosen.shape)) + Size([1]) + event)
            return rushlight.gather(samples, dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        batch, mixtures = len(self.batch_shape), len(self.mixture_distribution.batch_shape)
        missing = 0 if mixtures == 1 else batch - mixtures
        return x.reshape(x.shape[:-1] + Size(missing * [1]) + x.shape[-1:] + Size(self._event_ndims * [1]))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

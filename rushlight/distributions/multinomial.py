"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, CategoricalParameters
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(CategoricalParameters, Distribution):
    """How often each category comes up in ``total_count`` trials."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        categorical = self._categorical.expand(Size(batch_shape))
        parts = {"total_count": self.total_count, "_categorical": categorical, "_binomial": self._binomial}
        return self._expanded(Multinomial, batch_shape, _instance, **parts)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """Counts whose sum is at most that of the trials."""
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        sample_shape = Size(sample_shape)
        samples = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = samples.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, samples, rushlight.ones_like(samples))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        count = rushlight.tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = rushlight.lgamma(support + 1)
        expected = (rushlight.exp(self._binomial.log_prob(support)) * weights).sum([0, -1])
        return count * self._categorical.entropy() - rushlight.lgamma(count + 1) + expected

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=rushlight.contiguous_format)
        logits[(value == 0) & (logits == -rushlight.inf)] = 0
        log_ways = rushlight.lgamma(value.sum(-1) + 1) - rushlight.lgamma(value + 1).sum(-1)
        return log_ways + (logits * value).sum(-1)

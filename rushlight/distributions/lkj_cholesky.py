"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices whose density goes with their determinant to the power ``concentration - 1``.

    Lewandowski, Kurowicka and Joe (2009); samples by their onion method, a row at a time.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        like: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        # the squared length of a row without its diagonal element is a beta number
        offset = rushlight.cat([rushlight.zeros((1,), **like), rushlight.arange(dim - 1, **like)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        beta = self._beta.expand(Size(batch_shape) + (self.dim,))
        return self._expanded(LKJCholesky, batch_shape, _instance, "concentration", dim=self.dim, _beta=beta)

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        lengths = self._beta.sample(sample_shape).unsqueeze(-1)
        like: dict[str, Any] = {"dtype": lengths.dtype, "device": lengths.device}
        directions = rushlight.randn(self._extended_shape(sample_shape), **like).tril(-1)
        directions = directions / directions.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)  # the first row has nothing beside its diagonal element
        rows = rushlight.sqrt(lengths) * directions
        left = rushlight.clamp(1 - rushlight.sum(rows**2, dim=-1), min=rushlight.finfo(rows.dtype).tiny).sqrt()
        return rows + rushlight.diag_embed(left)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = rushlight.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = rushlight.sum(order * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        log_gammas = rushlight.mvlgamma(alpha - 0.5, less) - rushlight.lgamma(alpha) * less
        # the multivariate gamma function has pi to the power less (less - 1) / 4 of its own
        return unnormalized - (0.5 * less * math.log(math.pi) + log_gammas)

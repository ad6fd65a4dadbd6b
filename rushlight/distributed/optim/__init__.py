"""Optimizers of several processes."""

from __future__ import annotations

from ...core.missing import absents
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

_PARTS = ("post_localSGD_optimizer", "zero_redundancy_optimizer")
absents(
    globals(),
    "calls of functions in other processes, and steps inside of backward, are not here",
    classes="DistributedOptimizer",
    functions="_apply_optimizer_in_backward _get_in_backward_optimizers as_functional_optim",
)

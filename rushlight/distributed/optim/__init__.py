"""Optimizers of several processes."""

from __future__ import annotations

from ...core.missing import absents
from .apply_optimizer_in_backward import _apply_optimizer_in_backward, _get_in_backward_optimizers
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

_PARTS = ("apply_optimizer_in_backward", "post_localSGD_optimizer", "zero_redundancy_optimizer")
absents(
    globals(),
    "calls of functions in other processes are not here",
    classes="DistributedOptimizer",
    functions="as_functional_optim",
)

"""Optimizers of several processes."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "it spreads work over several processes, and there is one",
    classes="DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    functions="_apply_optimizer_in_backward _get_in_backward_optimizers as_functional_optim",
)

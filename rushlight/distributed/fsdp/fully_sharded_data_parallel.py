"""A module whose parameters are spread over processes."""

from __future__ import annotations

from ...core.missing import absents
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
    classes="FullyShardedDataParallel",
)

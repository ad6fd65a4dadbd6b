"""Training with parameters that are spread over processes: its settings and policies; the wrappers say that they are not there."""

from __future__ import annotations

from ...core.missing import absents
from . import wrap
from .api import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .fully_sharded_data_parallel import FullyShardedDataParallel

_PARTS = ("api", "fully_sharded_data_parallel", "sharded_grad_scaler", "wrap", "_fully_shard")
absents(
    globals(),
    "parameters are sharded over several processes, and there is one: use the module as it is",
    classes="FSDPModule UnshardHandle FlatParameter",
    functions="fully_shard register_fsdp_forward_method",
)

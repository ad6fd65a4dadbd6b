"""Training with parameters, gradients and optimizer states sharded over processes.

In: a module.  Out: the module with its parameters in parts (``fully_shard``), or a wrapper around it (``FullyShardedDataParallel``).  Read
``_fully_shard/_fully_shard.py`` first.
"""

from __future__ import annotations

from ...core.missing import absents
from . import wrap
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
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

_PARTS = ("_common_utils", "api", "fully_sharded_data_parallel", "sharded_grad_scaler", "wrap", "_fully_shard")
absents(globals(), "parameters keep their own shapes here: none is made of several", classes="FlatParameter")

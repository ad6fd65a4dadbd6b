"""Distributed computing: process groups that exchange tensors, by MPI in host memory and by NCCL between GPUs.

In: processes that a launcher has started (``rushlight launch``, ``mpiexec``, ``srun``), and a call of ``init_process_group``.  Out: ranks, groups, collectives,
and the strategies over them: ``nn.parallel``, ``fsdp``, ``tensor.parallel``, ``pipelining``, ``optim``, ``checkpoint``.  Read ``groups.py`` first, then
``process_group.py``, which calls the engines (``engines/``); ``watch.py`` reports every fault, ``graph_ops.py`` has collectives as graph nodes.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from ..core.missing import missing
from ..core.process_group import world
from .collectives import (
    P2POp,
    _all_gather_base,
    _coalescing_manager,
    _CoalescingManager,
    _reduce_scatter_base,
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    monitored_barrier,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
    send,
)
from .constants import default_pg_timeout
from .debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .device_mesh import DeviceMesh, init_device_mesh
from .groups import (
    Backend,
    BackendConfig,
    GroupMember,
    ProcessGroupGloo,
    ProcessGroupMPI,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    record_comm,
    split_group,
)
from .objects import all_gather_object, broadcast_object_list, gather_object, recv_object_list, scatter_object_list, send_object_list
from .options import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    BuiltinCommHookType,
    GatherOptions,
    GradBucket,
    GroupName,
    Logger,
    RankType,
    ReduceOptions,
    Reducer,
    ReduceScatterOptions,
    ScatterOptions,
    breakpoint,
    remote_device,
    shrink_group,
)
from .process_group import ProcessGroup
from .reductions import ReduceOp, _make_nccl_premul_sum, reduce_op, supports_complex
from .rendezvous import register_rendezvous_handler, rendezvous
from .stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
)
from .tcp_store import TCPStore
from .work import Work

if not TYPE_CHECKING:
    __getattr__ = missing(
        __name__,
        lazy=(
            "_composable",
            "_composable_state",
            "_functional_collectives",
            "_local_tensor",
            "_shard",
            "_tensor",
            "_tools",
            "algorithms",
            "autograd",
            "checkpoint",
            "collectives",
            "constants",
            "device_mesh",
            "distributed_c10d",
            "elastic",
            "fsdp",
            "graph_ops",
            "launch",
            "launcher",
            "nn",
            "optim",
            "pipelining",
            "rpc",
            "run",
            "tensor",
            "utils",
        ),
    )

world.collectives = sys.modules[__name__]

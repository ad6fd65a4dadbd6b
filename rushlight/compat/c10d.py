"""Private names of `torch.distributed.distributed_c10d` and `torch.distributed`."""

from __future__ import annotations

import pickle
import warnings
from datetime import timedelta
from typing import Any

from ..core.devices import CPU
from ..core.process_group import default_group
from ..distributed import groups
from ..distributed.constants import default_pg_timeout
from ..distributed.registry import registry
from ..distributed.rendezvous import rendezvous
from ..distributed.work import Work

_GLOO_AVAILABLE, _NCCL_AVAILABLE, _MPI_AVAILABLE, _UCC_AVAILABLE = groups.is_gloo_available(), False, groups.is_mpi_available(), False
_pickler, _unpickler = pickle.Pickler, pickle.Unpickler
_resolve_process_group = groups.by_name
_Work = Work


def _get_global_rank(group: Any, rank: int) -> int:
    """The rank in the whole of a member of a group: the older name of ``get_global_rank``."""
    return rank if group is None or group is groups.group.WORLD else groups.get_global_rank(group, rank)


def _get_default_timeout(backend: Any) -> timedelta:
    """How long calls of a back-end wait."""
    return default_pg_timeout


def _get_process_group_name(pg: Any) -> str:
    """The name of a group."""
    return str(getattr(pg, "group_name", "None"))


def _get_process_group_store(pg: Any) -> Any:
    """The store of a group."""
    return pg._store


def _get_object_coll_device(group: Any = None) -> str:
    """The kind of device that objects travel from."""
    return CPU.type


def _warn_not_in_group(op_name: str) -> None:
    """Say that this process is no member of the group of a call."""
    warnings.warn(f"Running {op_name} on global rank {groups.get_rank()} which does not belong to the given group.", stacklevel=2)


class _Ranks:
    """The members of groups, by group: a mapping that is made when it is asked."""

    def __getitem__(self, group: Any) -> dict[int, int]:
        return {rank: place for place, rank in enumerate(groups.get_process_group_ranks(group))}

    def get(self, group: Any, default: Any = None) -> Any:
        """The members of a group."""
        return self[group] if group is not None else default


class _World:
    """What is known of the groups of this process."""

    _is_ours = True
    pg_group_ranks = _Ranks()

    @property
    def default_pg(self) -> Any:
        """The group of all, or None."""
        return default_group() if groups.is_initialized() else None

    @property
    def pg_map(self) -> dict[Any, Any]:
        """The groups, and the back-end of each."""
        return {each: (each._backend, each._store) for each in registry.groups.values()}

    @property
    def pg_names(self) -> dict[Any, str]:
        """The groups, and the name of each."""
        return {each: name for name, each in registry.groups.items()}

    group_count = property(lambda self: registry.count)


_world = _World()
_pg_map: dict[Any, Any] = {}  # of PyTorch before 2.0: groups are in `_world` since

__all__ = ["rendezvous"]

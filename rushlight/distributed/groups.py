"""Process groups: ``init_process_group`` makes the one of all processes, ``new_group`` others, and ranks are read from them."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ..core.errors import NotSupported
from ..core.process_group import default_group, world
from .adoption import adopt
from .calls import Call, user_line
from .constants import default_pg_timeout
from .debug import set_debug_level_from_env
from .engines import mpi, nccl
from .engines.shared import shared_segment
from .launcher_path import find_launcher
from .process_group import ProcessGroup
from .rendezvous import Place, communicator, deadline, find, local_rank
from .stores import DistBackendError, PrefixStore, Store
from .watch import Watch

NON_MEMBER = -100


class Backend(str):
    """The name of a way to communicate: ``mpi`` (``gloo`` means the same here) and ``nccl``."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    default_device_backend_map = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_capability = {"gloo": ["cpu", "cuda"], "nccl": ["cuda"], "xccl": ["xpu"], "ucc": ["cpu", "cuda"], "mpi": ["cpu", "cuda"]}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return getattr(cls, name.upper(), name.lower())

    @classmethod
    def register_backend(cls, name: str, func: Any, extended_api: bool = False, devices: Any = None) -> None:
        """Raise: the engines are MPI and NCCL."""
        raise NotSupported(
            f"Backend.register_backend({name!r}): tensors are exchanged by MPI and NCCL here, and by no engine of a program's own"
        )


class BackendConfig:
    """Which back-end is used for which kind of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map = (
            dict(part.split(":") for part in backend.split(","))
            if ":" in backend
            else {"cpu": backend or "gloo", "cuda": backend or "nccl"}
        )

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """By the name of the device."""
        return self.device_backend_map


ProcessGroupGloo = ProcessGroupMPI = ProcessGroup


class _Group(type):
    """``group.WORLD`` is the current default group."""

    @property
    def WORLD(cls) -> Any:
        """The default group, or None."""
        return world.default

    @WORLD.setter
    def WORLD(cls, value: Any) -> None:
        world.default = value


class group(metaclass=_Group):
    """The default group (``group.WORLD``), and what stands for a group this process is no member of."""

    NON_GROUP_MEMBER: Any = NON_MEMBER


GroupMember = group


class _Counter:
    """Names of groups, in order."""

    groups: dict[str, ProcessGroup] = {}
    count = 0
    watch: Any = None  # of the processes that MPI has started, kept when groups end and others are made


def is_available() -> bool:
    """True: groups of one process are there."""
    return True


def is_initialized() -> bool:
    """Whether there is a default group."""
    return world.default is not None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return mpi.is_installed()


def is_gloo_available() -> bool:
    """True: a group of one needs no library, and one of several exchanges by MPI."""
    return True


def is_nccl_available() -> bool:
    """Whether CuPy is installed with NCCL, and there is a GPU."""
    return nccl.is_available()


def is_ucc_available() -> bool:
    """False."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether groups may name this back-end."""
    known = {"gloo": is_gloo_available, "fake": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return known.get(backend.lower(), is_ucc_available)()


def is_torchelastic_launched() -> bool:
    """Whether a launcher has started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make the default group of all processes that the launcher has started, or of this one alone."""
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and (world_size < 1 or rank < 0):
        raise AssertionError("world_size must be positive if using store" if world_size < 1 else "rank must be non-negative if using store")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    name = "undefined" if backend is None else str(Backend(backend))
    named = set(BackendConfig(name).device_backend_map.values()) if name != "undefined" else set()
    for each in named:
        if not is_backend_available(each):
            raise RuntimeError(f"Distributed package doesn't have {each.upper()} built in")
    limit = timeout or default_pg_timeout
    set_debug_level_from_env()
    place = find(init_method or "env://", world_size, rank)
    if place.by_mpi:
        world.default = _connect(name, place, limit, store, device_id)
    else:
        world.default = ProcessGroup(name, "0", store, "default_pg", timeout=limit, device_id=device_id)
    world.used = True
    _Counter.groups = {world.default.group_name: world.default}
    _Counter.count += 1  # names are not reused: messages about an earlier group may be in flight
    if "gloo" in named and world.default.size() > 1 and world.default.rank() == 0:
        warnings.warn("backend 'gloo': tensors in host memory are exchanged by MPI here, which is what 'mpi' names", stacklevel=2)


def _connect(name: str, place: Place, limit: timedelta, store: Store | None, device_id: Any) -> ProcessGroup:
    """The group of all processes that MPI's launcher has started."""
    seconds = limit.total_seconds()
    if place.adopted is not None and not mpi.is_running():
        adopt(find_launcher(), place.size, place.rank, place.adopted, seconds)
    with deadline(seconds, f"init_process_group: MPI has not started on all processes within {seconds:g} seconds: has one of them ended?"):
        library = mpi.load()
        everyone = library.COMM_WORLD
    if place.size in (-1, everyone.Get_size()) and everyone.Get_size() > 1:
        absent = mpi.MpiEngine(library, everyone).roll_call(seconds)
        if absent:
            raise DistBackendError(
                f"init_process_group: rank {_listed(absent)} did not call it within {seconds:g} seconds (this is rank {place.rank})"
            )
    everyone = communicator(library, place)
    mpi.unlink_files()
    engine = mpi.MpiEngine(library, everyone, shared_segment(library, everyone))
    watch = _Counter.watch
    if watch is None:
        watch = _Counter.watch = Watch(library, engine.communicator, seconds)
    ranks = list(range(engine.size))
    made = ProcessGroup(
        name,
        str(_Counter.count),
        store or watch.store,
        "default_pg",
        engine=engine,
        ranks=ranks,
        timeout=limit,
        watch=watch,
        device_id=device_id,
    )
    watch.start(made)
    return made


def _listed(ranks: Any) -> str:
    return ", ".join(map(str, ranks))


def destroy_process_group(group: Any = None) -> None:
    """Forget a group, or all of them."""
    if group == NON_MEMBER:
        return
    if group is None or group is world.default:
        if world.default is None:
            raise AssertionError("Process group cannot be None")
        ended, world.default = world.default, None
        groups, _Counter.groups = _Counter.groups, {}
        if ended._watch is not None:
            ended._watch.close(groups.values())
    else:
        ended = member(group)
        _Counter.groups.pop(ended.group_name, None)
        if ended._watch is not None:
            ended._watch.forget(ended)


def member(group: Any) -> Any:
    """The group that an argument means: None is the default group."""
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        return group
    if group != NON_MEMBER:
        raise TypeError(f"a process group is needed, not {type(group).__name__}")
    return NON_MEMBER


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group, or -1 where it is no member."""
    found = member(group)
    return -1 if found == NON_MEMBER else found.rank()


def get_world_size(group: Any = None) -> int:
    """The size of a group, or -1 where this process is no member."""
    found = member(group)
    return -1 if found == NON_MEMBER else found.size()


def get_backend(group: Any = None) -> str:
    """The name of a group's back-end."""
    return str(member(group).name())


def get_backend_config(group: Any = None) -> str:
    """The back-ends of a group by device."""
    return repr(BackendConfig(get_backend(group)))


def get_default_backend_for_device(device: Any) -> str:
    """The back-end that a kind of device would use."""
    name = str(getattr(device, "type", device)).partition(":")[0]
    if name not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[name]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process on its machine: the launcher's LOCAL_RANK."""
    found = local_rank()
    if found is not None:
        return found
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work.")
    return int(fallback_rank)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The group rank of a process, given its global rank."""
    found = member(group)
    if found == NON_MEMBER or global_rank not in found._ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return int(found._ranks.index(global_rank))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The global rank of a process, given its group rank."""
    found = member(group)
    if found == NON_MEMBER or not 0 <= group_rank < len(found._ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(found._ranks[group_rank])


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The global ranks of a group's members."""
    return list(member(group)._ranks)


def by_name(name: str) -> Any:
    """The group of a name."""
    if name not in _Counter.groups:
        raise ValueError(f"Group {name} not found")
    return _Counter.groups[name]


def of_ranks(ranks: list[int]) -> Any:
    """A group of some ranks that was made before."""
    for each in _Counter.groups.values():
        if each._ranks == sorted(ranks):
            return each
    raise ValueError(f"there is no group of ranks {ranks}: make it with new_group in all processes")


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_Counter.groups)


def new_group(
    ranks: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: str | None = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A further group of some of the processes; all processes call it, in the same order, members or not.

    Ranks in the group follow those of the default group, or (``sort_ranks=False``) the order in which they are given.
    """
    default = default_group()
    size = default.size()
    chosen = list(range(size)) if ranks is None else [int(each) for each in ranks]
    chosen = sorted(chosen) if sort_ranks else chosen
    if len(chosen) > size:
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    if any(not 0 <= each < size for each in chosen):
        raise ValueError("The new group's rank should be within the world_size set by init_process_group")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"the new group has duplicate ranks: {chosen}")
    name = f"local_{_listed(chosen)}" if use_local_synchronization else str(_Counter.count)
    _Counter.count += 1
    if default.rank() not in chosen:
        return NON_MEMBER
    limit = timeout or default.timeout
    call = Call(0, "new_group", (chosen,), user_line(), name)
    made = ProcessGroup(
        str(Backend(backend)) if backend else default.name(), name, PrefixStore(name, default._store), group_desc or "undefined",
        engine=_part(default, chosen, limit.total_seconds(), call), ranks=chosen, timeout=limit, watch=default._watch if len(chosen) > 1 else None,
        device_id=device_id,
    )  # fmt: skip
    _Counter.groups[name] = made
    if made._watch is not None:
        made._watch.groups[name] = made
    return made


def _part(default: ProcessGroup, ranks: list[int], seconds: float, call: Call) -> Any:
    """The engine of some processes, all of which are there."""
    if len(ranks) == 1:
        return None
    absent = default._engine.roll_call(seconds, ranks)
    if absent:
        raise DistBackendError(f"{call} on rank {default.rank()}: rank {_listed(absent)} did not call it within {seconds:g} seconds")
    return default._engine.part(ranks)


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:  # fmt: skip
    """Groups of equal size, and the one this process is in."""
    size = get_world_size()
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    return new_subgroups_by_enumeration(
        [list(range(start, start + group_size)) for start in range(0, size, group_size)], timeout, backend, pg_options, group_desc
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any, timeout: Any = None, backend: str | None = None, pg_options: Any = None, group_desc: str | None = None
) -> Any:
    """A group for each list of ranks, and the one this process is in."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        for each in ranks:
            if each in seen:
                raise ValueError(f"Rank {each} has appeared in both subgroup")
            seen.add(each)
    made = [new_group(each, timeout, backend, pg_options, group_desc=group_desc) for each in ranks_per_subgroup_list]
    return next((each for each in made if each != NON_MEMBER), None), made


def split_group(
    parent_pg: Any = None,
    split_ranks: Any = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: Any = None,
) -> Any:
    """The group of this process among those that a group is split into, by lists of ranks in it; None where it is in none."""
    parent = member(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    lists = [[get_global_rank(parent, each) for each in ranks] for ranks in split_ranks]
    found = new_subgroups_by_enumeration(lists, timeout or parent.timeout, backend, pg_options, group_desc)[0]
    return found


@contextlib.contextmanager
def record_comm(name: str = "") -> Iterator[None]:
    """A span of communication; there is none to record."""
    yield

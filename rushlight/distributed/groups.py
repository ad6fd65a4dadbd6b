"""Process groups: ``init_process_group`` makes the one of all processes, ``new_group`` others, and ranks are read from them."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Iterable, Iterator
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
from .process_group import FakeProcessGroup, ProcessGroup
from .registry import DistributedBackendOptions, Plugin, check_devices, registry
from .rendezvous import Place, communicator, deadline, find, local_rank, rendezvous
from .stores import DistBackendError, DistStoreError, HashStore, PrefixStore, Store
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
    backend_capability = {
        "gloo": ["cpu", "cuda"],
        "nccl": ["cuda"],
        "xccl": ["xpu"],
        "ucc": ["cpu", "cuda"],
        "mpi": ["cpu", "cuda"],
        "fake": ["cpu", "cuda", "hpu", "xpu"],
    }

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return getattr(cls, name.upper(), name.lower())

    _plugins: dict[str, Plugin] = {}
    _BackendPlugin = Plugin

    @classmethod
    def register_backend(cls, name: str, func: Any, extended_api: bool = False, devices: Any = None) -> None:
        """Let a function make groups whose back-end has this name: a ``ProcessGroup`` whose collectives the program defines."""
        if not hasattr(cls, name.upper()):
            setattr(cls, name.upper(), name.lower())
        if name.lower() not in cls.backend_list:
            cls.backend_list.append(name.lower())
        kinds = check_devices(name, devices)
        for each in kinds if devices is not None else ():
            cls.default_device_backend_map.setdefault(each, name.lower())
        cls.backend_capability[name.lower()] = kinds
        cls._plugins[name.upper()] = Plugin(func, extended_api)


class BackendConfig:
    """Which back-end is used for which kind of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, str] = {}
        if backend in ("", Backend.UNDEFINED):
            self.device_backend_map["cpu"] = Backend.GLOO
        elif ":" in backend.lower():
            for pair in backend.lower().split(","):
                device, colon, name = pair.partition(":")
                if not colon:
                    raise ValueError(
                        f"Invalid device:backend pairing: {pair!r} in {backend!r}. The format is '<device>:<backend>,<device>:<backend>...'."
                    )
                if device in self.device_backend_map:
                    raise ValueError(f"Duplicate device type {device} in backend string: {backend}")
                self.device_backend_map[device] = Backend(name)
        else:
            name = Backend(backend)
            self.device_backend_map.update(dict.fromkeys(Backend.backend_capability.get(name, ["cpu", "cuda"]), name))

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """By the name of the device."""
        return self.device_backend_map


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
    if backend.upper() in Backend._plugins:
        return True
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
            hint = {
                "mpi": ": pip install 'rushlight[mpi]' brings it",
                "nccl": ": it needs an NVIDIA GPU, and pip install 'rushlight[cuda]'",
            }.get(each, "")
            raise RuntimeError(f"Distributed package doesn't have {each.upper()} built in{hint}")
    limit = timeout or default_pg_timeout
    set_debug_level_from_env()
    if any(_is_registered(each) for each in named):
        if store is None and "fake" not in named:
            store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=limit))
        number = str(registry.number())
        made = _registered(named, number, PrefixStore("default_pg", store or HashStore()), list(range(world_size)), rank, limit, pg_options)
        made.group_desc = "default_pg"
    else:
        place = find(init_method or "env://", world_size, rank)
        if place.by_mpi:
            made = _connect(name, place, limit, store, device_id)
        else:
            made = ProcessGroup(backend=name, store=store, description="default_pg", timeout=limit, device_id=device_id)
        registry.number()
    world.default = made
    world.used = True
    registry.add(made.group_name, made)
    if "gloo" in named and world.default.size() > 1 and world.default.rank() == 0:
        warnings.warn("backend 'gloo': tensors in host memory are exchanged by MPI here, which is what 'mpi' names", stacklevel=2)


def _connect(name: str, place: Place, limit: timedelta, store: Store | None, device_id: Any) -> ProcessGroup:
    """The group of all processes that MPI's launcher has started."""
    engine, watch = _all_processes(place, limit.total_seconds())
    made = ProcessGroup(
        backend=name, name=str(registry.count), store=store or watch.store, description="default_pg", engine=engine, timeout=limit, watch=watch,
        device_id=device_id,
    )  # fmt: skip
    watch.start(made)
    return made


def _all_processes(place: Place, seconds: float) -> tuple[Any, Watch]:
    """The engine of all processes that MPI's launcher has started, in which all of them take part, and the watch over them."""
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
    if registry.watch is None:
        registry.watch = Watch(library, engine.communicator, seconds)
    return engine, registry.watch


class ProcessGroupGloo(ProcessGroup, own=True):
    """A group of all processes that is made by hand, and is no default group: by MPI, whatever its name."""

    class _Options(ProcessGroup.Options):
        """How long calls may take; devices and threads are MPI's own business."""

        def __init__(self, timeout: timedelta = default_pg_timeout) -> None:
            super().__init__("gloo", timeout)
            self._devices: list[Any] = []
            self._threads, self.group_name = 2, ""
            self.global_ranks_in_group: list[int] = []

    Options = _Options  # type: ignore[assignment]

    def __init__(self, store: Store, rank: int, size: int, timeout: Any = default_pg_timeout) -> None:
        given = getattr(timeout, "_timeout", timeout)
        limit = given if isinstance(given, timedelta) else timedelta(seconds=float(given))
        place = find("env://", size, rank)
        engine, watch = _all_processes(place, limit.total_seconds()) if place.by_mpi else (None, None)
        super().__init__(backend="gloo", name=f"gloo {registry.number()}", store=store, engine=engine, timeout=limit, watch=watch)
        if watch is not None:
            watch.start(self)

    @staticmethod
    def create_device(hostname: str = "", interface: str = "", lazy_init: bool | None = None) -> Any:
        """A network device: MPI chooses its own, so that this only says what was asked for."""
        if hostname and interface:
            raise RuntimeError("ProcessGroupGloo::createDevice(): specify either hostname or interface")
        return hostname or interface

    create_default_device = create_device


class ProcessGroupMPI(ProcessGroupGloo, own=True):
    """A group of all processes that is made by hand, and is no default group."""


def _store_based_barrier(
    rank: int, store: Store, group_name: str, rendezvous_count: int, timeout: timedelta, logging_interval: timedelta = timedelta(seconds=10)
) -> None:
    """Wait until so many processes have called this with a store that they share."""
    key = f"store_based_barrier_key:{group_name}"
    store.add(key, 1)
    begun = time.monotonic()
    while (count := store.add(key, 0)) < rendezvous_count:
        if time.monotonic() - begun > timeout.total_seconds():
            raise DistStoreError(
                f"Timed out after {timeout.total_seconds():g} seconds waiting for clients. {count}/{rendezvous_count} clients joined: rank "
                f"{rank} waits in the barrier {key!r}"
            )
        time.sleep(0.01)


def _is_registered(backend: str) -> bool:
    """Whether groups of a back-end are made by a function of a program's; those of ``fake`` are made like these."""
    return backend == "fake" or backend.upper() in Backend._plugins


def _registered(
    backends: Iterable[str], name: str, store: Store, ranks: list[int], rank: int, limit: timedelta, pg_options: Any
) -> ProcessGroup:
    """A group of a registered back-end."""
    backend = next(each for each in backends if _is_registered(each))
    plugin = Backend._plugins.get(
        backend.upper(), Plugin(lambda given, options: FakeProcessGroup(given.group_rank, given.group_size), True)
    )
    own = ranks.index(rank)
    if plugin.extended_api:
        given = DistributedBackendOptions()
        given.store, given.group_rank, given.group_size, given.timeout = store, own, len(ranks), limit
        given.group_id, given.global_ranks_in_group = name, [] if name == "0" else ranks
        made = plugin.creator_fn(given, pg_options)
    else:
        made = plugin.creator_fn(store, own, len(ranks), limit)
    if not isinstance(made, ProcessGroup):
        raise NotSupported(f"a back-end whose function makes a {type(made).__name__}: {backend!r} must make a ProcessGroup")
    made._name, made._backend, made._ranks, made._store, made._seconds = name, backend, ranks, store, limit.total_seconds()
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
        groups = registry.clear()
        if ended._watch is not None:
            ended._watch.close(groups)
        ended.shutdown()
    else:
        ended = member(group)
        registry.remove(ended)
        ended.shutdown()
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
    found = registry.named().get(name)
    if found is None:
        raise ValueError(f"Group {name} not found")
    return found


def of_ranks(ranks: list[int]) -> Any:
    """A group of some ranks that was made before."""
    for each in registry.named().values():
        if each._ranks == sorted(ranks):
            return each
    raise ValueError(f"there is no group of ranks {ranks}: make it with new_group in all processes")


def get_pg_count() -> int:
    """How many groups there are."""
    return len(registry.named())


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
    if use_local_synchronization:  # only members call it: a number would differ from that of the others
        name = f"local_{_listed(chosen)}"
        while name in registry.named():
            name += "'"
    else:
        name = str(registry.number())
    if default.rank() not in chosen:
        return None if use_local_synchronization else NON_MEMBER
    limit = timeout or default.timeout
    named = set(BackendConfig(backend or default._backend).device_backend_map.values())
    if any(map(_is_registered, named)):
        made = _registered(named, name, PrefixStore(f"{name}/", default._store), chosen, default.rank(), limit, pg_options)
        made.group_desc = group_desc or "undefined"
        registry.add(name, made)
        return made
    call = Call(0, "new_group", (chosen,), user_line(), name)
    made = ProcessGroup(
        backend=str(Backend(backend)) if backend else default.name(), name=name, store=PrefixStore(name, default._store),
        description=group_desc or "undefined", engine=_part(default, chosen, limit.total_seconds(), call), ranks=chosen, timeout=limit, watch=default._watch if len(chosen) > 1 else None,
        device_id=device_id,
    )  # fmt: skip
    registry.add(name, made)
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
    """Groups of equal size, of all processes or of those of a group, and the one this process is in."""
    ranks = get_process_group_ranks(group)
    size = len(ranks)
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    return new_subgroups_by_enumeration(
        [ranks[start : start + group_size] for start in range(0, size, group_size)], timeout, backend, pg_options, group_desc
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

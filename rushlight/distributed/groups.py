"""Process groups: ``init_process_group`` makes one of a single member, and ranks are read from it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from typing import Any

from ..core.errors import NotSupported
from ..core.futures import Future, completed
from ..core.process_group import default_group, world
from .constants import default_pg_timeout
from .stores import HashStore, PrefixStore, Store

NON_MEMBER = -100


class Backend(str):
    """The name of a way to communicate; in a group of one there is nobody to communicate with, whatever the name."""

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
        """Raise: groups have one member, so that no back-end of a user's would ever be called."""
        raise NotSupported(f"Backend.register_backend({name!r}): groups have one process here, and communicate with nobody")


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


class ReduceOp:
    """How the values of several processes become one."""

    class RedOpType(Enum):
        """The kinds of reductions."""

        SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __new__(cls, kind: Any) -> Any:
        return kind if isinstance(kind, cls.RedOpType) else cls.RedOpType(kind)


class reduce_op:
    """The old name of :class:`ReduceOp`."""

    SUM, PRODUCT, MIN, MAX = ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX


class Work:
    """An operation that was started; here it has ended when it is returned."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """True: it has ended."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    def is_success(self) -> bool:
        """True."""
        return True

    def exception(self) -> None:
        """None: errors are raised where the operation is started."""

    def result(self) -> list[Any]:
        """The tensors it has written."""
        return self._result if isinstance(self._result, list) else [self._result]

    def source_rank(self) -> int:
        """0: the only process."""
        return 0

    def synchronize(self) -> None:
        """Nothing is left to be done."""

    def get_future(self) -> Future[Any]:
        """A future of the tensors it has written, completed."""
        return completed(self.result())


class ProcessGroup:
    """Processes that compute together: this one."""

    class Options:
        """Options of a group."""

        def __init__(self, backend: str = "gloo", timeout: timedelta = default_pg_timeout) -> None:
            self.backend = backend
            self._timeout = timeout

    def __init__(self, backend: str = "gloo", name: str = "0", store: Store | None = None, description: str = "undefined") -> None:
        self._backend, self._name, self.group_desc = backend, name, description
        self._store = store or HashStore()

    def rank(self) -> int:
        """The number of this process: 0."""
        return 0

    def size(self) -> int:
        """How many there are: 1."""
        return 1

    def name(self) -> str:
        """The name of the back-end."""
        return self._backend

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self._name

    @property
    def bound_device_id(self) -> None:
        """None: no device belongs to it."""
        return None

    def barrier(self, *args: Any, **kwargs: Any) -> Work:
        """Wait for nobody."""
        return Work([])

    def __repr__(self) -> str:
        return f"<ProcessGroup of 1 process, back-end {self._backend}>"


ProcessGroupGloo = ProcessGroup


class _Group(type):
    """``group.WORLD`` is the default group of the moment."""

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


def is_available() -> bool:
    """True: groups of one process are there."""
    return True


def is_initialized() -> bool:
    """Whether there is a default group."""
    return world.default is not None


def is_gloo_available() -> bool:
    """True: a group of one needs no library."""
    return True


def is_nccl_available() -> bool:
    """False."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether groups may name this back-end."""
    return backend.lower() in ("gloo", "fake")


def is_torchelastic_launched() -> bool:
    """Whether a launcher has started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make the default group, of this process alone."""
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and (world_size < 1 or rank < 0):
        raise AssertionError("world_size must be positive if using store" if world_size < 1 else "rank must be non-negative if using store")
    name = "undefined" if backend is None else str(Backend(backend))
    for each in set(BackendConfig(name).device_backend_map.values()) if name != "undefined" else ():
        if each in ("nccl", "mpi", "ucc", "xccl"):
            raise RuntimeError(f"Distributed package doesn't have {each.upper()} built in")
    if store is None:
        world_size, rank = _rendezvous(init_method or "env://", world_size, rank)
    check_single(world_size, rank)
    world.default = ProcessGroup(name, "0", store, "default_pg")
    _Counter.groups, _Counter.count = {"0": world.default}, 1


def _rendezvous(init_method: str, world_size: int, rank: int) -> tuple[int, int]:
    """World size and rank, from the arguments or where the address says."""
    kind, _, rest = init_method.partition("://")
    query = dict(part.partition("=")[::2] for part in rest.partition("?")[2].split("&") if "=" in part)
    found = {"world_size": world_size, "rank": rank}
    for key, value in query.items():
        if key in found:
            found[key] = int(value)
    if kind == "env":
        for key, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
            if found[key] == -1:
                if variable not in os.environ:
                    raise ValueError(
                        f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} expected, but not set"
                    )
                found[key] = int(os.environ[variable])
        for variable in ("MASTER_ADDR", "MASTER_PORT"):
            if variable not in os.environ:
                raise ValueError(
                    f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} expected, but not set"
                )
    elif kind not in ("tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {kind}://")
    elif found["rank"] == -1 or found["world_size"] == -1:
        which = "rank" if found["rank"] == -1 else "world size"
        raise ValueError(f"Error initializing torch.distributed using {kind}:// rendezvous: {which} parameter missing")
    return found["world_size"], found["rank"]


def check_single(world_size: int, rank: int) -> None:
    """Raise for groups of several processes."""
    if world_size != 1:
        raise NotSupported(
            f"a process group of {world_size} processes: rushlight.distributed has groups of one process so far. Run the program with "
            "world_size=1 (one process per machine, all cores are used)"
        )
    if rank != 0:
        raise ValueError(f"rank {rank} is not in a group of {world_size} process")


def destroy_process_group(group: Any = None) -> None:
    """Forget a group, or all of them."""
    if group == NON_MEMBER:
        return
    if group is None or group is world.default:
        if group is None and world.default is None:
            raise AssertionError("Process group cannot be None")
        world.default = None
        _Counter.groups = {}
    else:
        _Counter.groups.pop(member(group).group_name, None)


def member(group: Any) -> Any:
    """The group that an argument means: None is the default group."""
    if group is None:
        return default_group()
    if not isinstance(group, ProcessGroup) and group != NON_MEMBER:
        raise TypeError(f"a process group is needed, not {type(group).__name__}")
    return group


def get_rank(group: Any = None) -> int:
    """The number of this process in a group: 0, or -1 where it is no member."""
    return -1 if member(group) == NON_MEMBER else 0


def get_world_size(group: Any = None) -> int:
    """How many processes a group has: 1, or -1 where this is no member."""
    return -1 if member(group) == NON_MEMBER else 1


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
    """The number of this process on its machine: the launcher's LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work.")
    return int(fallback_rank)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of the process with a number in the default group."""
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the default group of the process with a number in a group."""
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_process_group_ranks(group: Any) -> list[int]:
    """The numbers of a group's members."""
    member(group)
    return [0]


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_Counter.groups)


def new_group(
    ranks: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: str | None = None, device_id: Any = None,
) -> Any:  # fmt: skip
    """A further group of some of the processes."""
    default = default_group()
    if ranks is not None:
        if len(ranks) > 1:
            raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
        if any(each != 0 for each in ranks):
            raise ValueError("The new group's rank should be within the world_size set by init_process_group")
        if not ranks:
            return NON_MEMBER
    name = str(_Counter.count)
    _Counter.count += 1
    made = ProcessGroup(backend or default.name(), name, PrefixStore(name, default._store), group_desc or "undefined")
    _Counter.groups[name] = made
    return made


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:  # fmt: skip
    """Groups of equal size, and the one this process is in."""
    if group_size not in (None, 1):
        raise ValueError("The arg 'group_size' must not exceed the world size")
    made = new_group([0], timeout, backend, pg_options, group_desc=group_desc)
    return made, [made]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any, timeout: Any = None, backend: str | None = None, pg_options: Any = None, group_desc: str | None = None
) -> Any:
    """A group for each list of ranks, and the one this process is in."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    made = [new_group(each, timeout, backend, pg_options, group_desc=group_desc) for each in ranks_per_subgroup_list]
    return next((each for each in made if each != NON_MEMBER), None), made


@contextlib.contextmanager
def record_comm(name: str = "") -> Iterator[None]:
    """A span of communication; there is none to record."""
    yield


class DebugLevel(Enum):
    """How much is checked: OFF, INFO, DETAIL."""

    OFF, INFO, DETAIL = range(3)


class _Debug:
    level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level that was set."""
    return _Debug.level


def set_debug_level(level: DebugLevel) -> None:
    """Set it: a group of one checks nothing more."""
    _Debug.level = level


def set_debug_level_from_env() -> None:
    """Set it from TORCH_DISTRIBUTED_DEBUG."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, not {name}")
    _Debug.level = DebugLevel[name]

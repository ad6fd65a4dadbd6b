"""The names of groups and collectives in one module, as PyTorch has them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..core.futures import Future
from ..core.missing import missing
from ..core.process_group import default_group as _get_default_group
from . import collectives, debug, groups, objects, options, process_group, reductions, stores, work
from .constants import default_pg_nccl_timeout, default_pg_timeout
from .registry import DistributedBackendOptions as _DistributedBackendOptions
from .registry import use_world as _use_world

_PARTS = (options, work, debug, reductions, process_group, groups, collectives, objects, stores)
for _part in _PARTS:
    globals().update({_name: _value for _name, _value in vars(_part).items() if not _name.startswith("__") and _name != "annotations"})


def _get_default_store() -> object:
    """The store of the default group."""
    return _get_default_group()._store


STORE_BASED_BARRIER_PREFIX = "store_based_barrier_key"


def _parse_backend_string(backend: str) -> dict[str, str]:
    """The back-end of each kind of device that a text names: ``"gloo"`` or ``"cpu:gloo,cuda:nccl"``."""
    text = backend.lower()
    if ":" not in text:
        found = {kind: each for kind, each in groups.Backend.default_device_backend_map.items() if each == text}
        if not found and text not in groups.Backend.backend_list:
            raise ValueError(f"Unknown backend: {backend!r}")
        return found or dict.fromkeys(groups.Backend.backend_capability.get(text, []), text)
    pairs: dict[str, str] = {}
    for each in text.split(","):
        parts = [part.strip() for part in each.split(":")]
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"Invalid device:backend pairing: {each!r} in {backend!r}")
        if parts[0] in pairs:
            raise ValueError(f"Duplicate device type {parts[0]} in backend string: {backend}")
        pairs[parts[0]] = parts[1]
    return pairs


def _canonicalize_group_rank(group: Any, global_rank: int | None = None, group_rank: int | None = None, return_global: bool = False) -> int:
    """A rank that is given in one of two ways, in the group or in the default group, as it is asked for."""
    if (group_rank is None) == (global_rank is None):
        raise ValueError("Must specify either global_rank or group_rank, and not both")
    if group_rank is not None:
        return int(groups.get_global_rank(group, group_rank)) if return_global else group_rank
    return global_rank if return_global else int(groups.get_group_rank(group, global_rank))  # type: ignore[return-value,arg-type]


def _abort_process_group(group: Any = None) -> None:
    """Forget a group whose exchanges can't end, or all of them; groups that programs define are told by ``abort``."""
    ended = groups.member(group)
    ended.abort()
    groups.destroy_process_group(group)


def _rank_not_in_group(group: object) -> bool:
    """Whether this process is no member of a group."""
    return group is not None and group == groups.NON_MEMBER


def _get_pg_default_device(group: object = None) -> object:
    """The device that a group communicates from."""
    return collectives.Tensor([]).device


class _FutureWork(work.Work):
    """The work of a future."""

    __slots__ = ("_made",)

    def __init__(self, future: Future[Any]) -> None:
        super().__init__([])
        self._made = future

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the future."""
        self._made.wait()
        return True

    def is_completed(self) -> bool:
        """Whether the future is there."""
        return self._made.done()

    is_success = is_completed

    def result(self) -> Any:
        """What the future holds."""
        return self._made.wait()

    def get_future(self) -> Future[Any]:
        """The future itself."""
        return self._made


def _create_work_from_future(future: Future[Any]) -> work.Work:
    """A work that ends when a future does: for process groups that programs define."""
    return _FutureWork(future)


def _set_thread_isolation_mode(enable: bool) -> None:
    """Accepted: where a program keeps groups in a world of each thread, they are looked up there."""


__getattr__ = missing(__name__)


class _Module(ModuleType):
    """This module: ``_world`` may be replaced by a world of a program's own, where groups are kept then."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_world":
            _use_world(None if getattr(value, "_is_ours", False) else value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Module

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

"""Python's ``multiprocessing``, where tensors go through queues and pipes in shared memory.

In: tensors that are put into queues or given to processes.  Out: tensors over the same memory in the other process.  Read ``reductions.py``
first; ``spawn.py`` starts a function in several processes.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import TYPE_CHECKING

from ..core.missing import missing as _missing
from .reductions import init_reductions
from .spawn import ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes

_STRATEGIES = {"file_descriptor"}

init_reductions()


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared: by the descriptors of files without a name, which leave nothing behind.

    ``file_system`` is accepted: it differs in the limit on open files alone.
    """
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"the sharing strategies are file_descriptor and file_system, and {new_strategy!r} is none")


def get_sharing_strategy() -> str:
    """How memory is shared."""
    return "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory."""
    return set(_STRATEGIES)


__all__ = [*_python.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "get_all_sharing_strategies", "get_sharing_strategy", "init_reductions", "set_sharing_strategy", "spawn", "start_processes"]  # fmt: skip

if not TYPE_CHECKING:
    _absent = _missing(__name__, lazy=("reductions",))

    def __getattr__(name: str) -> object:
        found = getattr(_python, name, _absent)
        return _absent(name) if found is _absent else found

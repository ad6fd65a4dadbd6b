"""The tensors of all ranks simulated in one process: there is no such mode here, so that functions run on this process's own values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

from ..core.missing import missing

_Function = TypeVar("_Function", bound=Callable[..., object])


def local_tensor_mode() -> None:
    """The mode that is on: none."""
    return None


def enabled_local_tensor_mode() -> None:
    """The mode that is on: none."""
    return None


def maybe_run_for_local_tensor(function: _Function) -> _Function:
    """The function itself: it would run for each rank in the mode."""
    return function


def maybe_disable_local_tensor_mode() -> contextlib.AbstractContextManager[None]:
    """A context outside of the mode."""
    return contextlib.nullcontext()


__getattr__ = missing(__name__)

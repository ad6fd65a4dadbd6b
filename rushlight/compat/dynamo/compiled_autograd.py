"""`torch._dynamo.compiled_autograd`: compiled functions have a compiled backward here, so that there is no second compiler to switch on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.compiled_autograd")
compiled_autograd_enabled = in_compiled_autograd_region = False


@contextlib.contextmanager
def _enable(compiler_fn: Any, dynamic: bool = True, ignore_active_disable_ctx: bool = True) -> Iterator[None]:
    """A context for the backward pass, which runs as it is."""
    yield


enable = _enable


@contextlib.contextmanager
def _disable() -> Iterator[None]:
    """A context in which backward passes are not compiled: they are not."""
    yield


def reset() -> None:
    """Nothing is kept."""

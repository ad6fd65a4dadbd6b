"""NVIDIA's profiler: which part of a program it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.devices import accelerator
from ..core.errors import NotSupported
from ..core.missing import absents


def _tell(name: str) -> None:
    kind = accelerator()
    if kind is None:
        raise NotSupported(f"torch.cuda.profiler.{name}() is not in rushlight: NVIDIA's profiler needs a GPU")
    getattr(kind.cupy.cuda.runtime, f"profiler{name.title()}")()  # type: ignore[attr-defined]


def start() -> None:
    """Have the profiler look from here on."""
    _tell("start")


def stop() -> None:
    """Have it look no more."""
    _tell("stop")


@contextmanager
def profile() -> Iterator[None]:
    """Have the profiler look at what runs in a block."""
    start()
    try:
        yield
    finally:
        stop()


absents(globals(), "NVIDIA's profiler takes its settings from its command line", functions="init")

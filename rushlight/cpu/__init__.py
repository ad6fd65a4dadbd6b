"""The CPU, under the names that other devices have."""

from __future__ import annotations

import platform
from typing import Any

from .. import streams
from ..core.missing import missing
from ..streams import StreamContext
from . import amp

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]  # fmt: skip


class Stream(streams.Stream):
    """The stream of the CPU."""


class Event(streams.Event):
    """A moment on the stream of the CPU."""


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Accepted: there is nothing to wait for."""


def current_stream(device: Any = None) -> Stream:
    """The stream of the CPU."""
    return Stream()


def stream(stream: Any) -> StreamContext:
    """A context in which work goes to a stream: there is one."""
    return StreamContext(stream)


def get_capabilities() -> dict[str, Any]:
    """What is known of the processor."""
    return {"architecture": platform.machine()}


__getattr__ = missing(__name__)

"""Streams and events: where work is queued on devices that have queues.  The CPU has none: work is done when it is called.

Without a device they are those of the accelerator, where there is one."""

from __future__ import annotations

import importlib
import time
from typing import Any

from .core.devices import CPU, accelerator, as_device, device
from .core.errors import AcceleratorError, DeviceError, OutOfMemoryError

__all__ = ["AcceleratorError", "Event", "OutOfMemoryError", "Stream", "StreamContext", "get_device_module"]


def _cpu(given: Any) -> device:
    found = CPU if given is None else as_device(given)
    if found.type != "cpu":
        raise DeviceError(f"a stream on device '{found}': rushlight has no accelerator here")
    return found


def _on_accelerator(given: Any) -> bool:
    """Whether a stream or an event of a device is the accelerator's."""
    return accelerator() is not None if given is None or isinstance(given, int) else as_device(given).type == "cuda"


class Stream:
    """The stream of the CPU, on which everything is done when it is called; of a GPU, a :class:`torch.cuda.Stream`."""

    device: Any
    stream_id: Any
    device_index: int
    device_type: int

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        own = cls is not Stream or not _on_accelerator(device)
        return object.__new__(cls if own else importlib.import_module(f"{__package__}.cuda.streams").Stream)

    def __init__(self, device: Any = None, *, priority: int = 0, **kwargs: Any) -> None:
        self.device = _cpu(device)
        self.stream_id, self.device_index, self.device_type = 0, -1, 1

    def query(self) -> bool:
        """True: nothing is left to be done."""
        return True

    def synchronize(self) -> None:
        """Nothing is left to be done."""

    def wait_event(self, event: Any) -> None:
        """What was recorded has happened."""

    def wait_stream(self, stream: Any) -> None:
        """What was queued is done."""

    def record_event(self, event: Any = None) -> Event:
        """An event of this moment."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: Any) -> None:
        """The CPU has one stream."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


class Event:
    """A moment on a stream; on the CPU, the time at which it was recorded; on a GPU, a :class:`torch.cuda.Event`."""

    device: Any

    def __new__(cls, device: Any = None, **kwargs: Any) -> Any:
        own = cls is not Event or not _on_accelerator(device)
        return object.__new__(cls if own else importlib.import_module(f"{__package__}.cuda.streams").GenericEvent)

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = _cpu(device)
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Note the moment."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """True: it has happened."""
        return True

    def synchronize(self) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1000.0

    def __repr__(self) -> str:
        return "torch.Event device_type=cpu, device_index=-1"


class StreamContext:
    """A context in which work goes to a stream; None, or the CPU's, changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        """Nothing was changed."""


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: ``torch.cuda`` for "cuda"; without an argument, that of the accelerator, or of the CPU."""
    name = "cpu" if device is None else as_device(device).type
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as error:
        raise RuntimeError(f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'.") from error

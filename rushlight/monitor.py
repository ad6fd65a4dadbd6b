"""Counters and events of a running program, which handlers receive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from .core.missing import missing as _missing

__all__ = [
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]


class Aggregation(Enum):
    """What is computed of the values that were added in an interval."""

    VALUE, MEAN, COUNT, SUM, MAX, MIN = range(1, 7)


class Event:
    """Something that happened: a name, a time and data."""

    def __init__(self, name: str, timestamp: datetime, data: dict[str, Any]) -> None:
        self.name, self.timestamp, self.data = name, timestamp, data


class EventHandlerHandle:
    """A handler that was registered."""

    def __init__(self, callback: Callable[[Event], None]) -> None:
        self._callback = callback


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call a function with every event."""
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call it no more."""
    _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Give an event to all handlers."""
    for handle in list(_handlers):
        handle._callback(event)


class Stat:
    """A statistic over intervals of time; at the end of each, an event with its aggregations is logged."""

    def __init__(self, name: str, aggregations: list[Aggregation], window_size: timedelta, max_samples: int = 2**63 - 1) -> None:
        self.name, self._aggregations, self._most = name, list(aggregations), max_samples
        self._window = window_size.total_seconds()
        self._lock = threading.Lock()
        self._values: list[float] = []
        self._last: list[float] = []  # of the interval before
        self._start = time.monotonic()
        self._full = False  # whether the interval has had as many values as it may

    @property
    def count(self) -> int:
        """How many values the interval has."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Add a value."""
        with self._lock:
            if time.monotonic() - self._start >= self._window:
                if not self._full:
                    self._log()
                self._start, self._full = time.monotonic(), False
            if not self._full:
                self._values.append(float(v))
                if len(self._values) == self._most:
                    self._log()
                    self._full = True

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the last interval that has ended."""
        values = self._last
        found = {
            Aggregation.VALUE: values[-1] if values else 0.0, Aggregation.MEAN: sum(values) / len(values) if values else 0.0,
            Aggregation.COUNT: float(len(values)), Aggregation.SUM: float(sum(values)), Aggregation.MAX: max(values, default=0.0),
            Aggregation.MIN: min(values, default=0.0),
        }  # fmt: skip
        return {each: found[each] for each in self._aggregations}

    def _log(self) -> None:
        self._values, self._last = [], self._values
        if self._last:
            log_event(
                Event(
                    "torch.monitor.Stat", datetime.now(), {f"{self.name}.{each.name.lower()}": value for each, value in self.get().items()}
                )
            )


class TensorboardEventHandler:
    """A handler that writes numbers of statistics for TensorBoard."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == "torch.monitor.Stat":
            for name, value in event.data.items():
                if isinstance(value, (int, float)):
                    self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())


__getattr__ = _missing(__name__)

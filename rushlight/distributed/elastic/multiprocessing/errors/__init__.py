"""Errors of processes that a launcher has started."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .error_handler import ErrorHandler
from .handlers import get_error_handler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_NONE = "<N/A>"


@dataclass
class ProcessFailure:
    """A process that has failed: its place, its process number, its exit status, and the file that its error was written to."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.message, self.timestamp = {}, "", int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf8") as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            about = self.message["extraInfo"] if isinstance(self.message, dict) else self.error_file_data
            self.timestamp = int(about.get("timestamp", 0))
        else:
            self.error_file = _NONE
        if not self.message and self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        elif not self.message:
            self.message = "without a traceback: decorate the main function with torch.distributed.elastic.multiprocessing.errors.record"

    def signal_name(self) -> str:
        """The signal that has ended it; ``<N/A>`` where none has."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else _NONE

    def timestamp_isoformat(self) -> str:
        """When it has failed."""
        return datetime.fromtimestamp(self.timestamp, tz=UTC).isoformat(sep="_")


class ChildFailedError(Exception):
    """A process that the launcher has started has failed."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        super().__init__("\n".join([f"{name} FAILED", *(_line(rank, failures[rank]) for rank in self._in_order())]))

    def _in_order(self) -> list[int]:
        return sorted(self.failures, key=lambda rank: self.failures[rank].timestamp)

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that has failed first, and its failure."""
        rank = self._in_order()[0]
        return rank, self.failures[rank]


def _line(rank: int, failure: ProcessFailure) -> str:
    message = failure.message
    if isinstance(message, dict):
        message = message.get("extraInfo", {}).get("py_callstack", message.get("message"))
    return (
        f"rank {rank} (local_rank {failure.local_rank}, pid {failure.pid}) at {failure.timestamp_isoformat()}: "
        f"exitcode {failure.exitcode}, error_file {failure.error_file}: {message}"
    )


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A function whose errors are written where the launcher looks for them, and raised; of a failed child, what it has written."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handler = error_handler or get_error_handler()
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as stop:
            if stop.code == 0:
                return None
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != _NONE:
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapper

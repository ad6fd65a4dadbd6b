"""Errors of processes that a launcher has started."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]


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
        self.error_file_data, self.message, self.timestamp = "<NONE>", "", int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf8") as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            if isinstance(self.message, dict):
                self.timestamp = int(self.message["extraInfo"]["timestamp"])


class ChildFailedError(Exception):
    """A process that the launcher has started has failed."""

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        super().__init__(f"{name} failed: {failures}")
        self.name, self.failures = name, failures

    def get_first_failure(self) -> tuple[int, Any]:
        """The rank that has failed first, and its failure."""
        return min(self.failures.items(), key=lambda each: each[1].timestamp)


class ErrorHandler:
    """Writes an error to the file that ``TORCHELASTIC_ERROR_FILE`` names, if it does."""

    def initialize(self) -> None:
        """Begin: nothing is needed."""

    def record_exception(self, e: BaseException) -> None:
        """Write an error as JSON."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if not path:
            return
        text = "".join(traceback.format_exception(e))
        about = {"message": f"{type(e).__name__}: {e}", "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time()))}}
        with open(path, "w", encoding="utf8") as file:
            json.dump({"message": about}, file)


def get_error_handler() -> ErrorHandler:
    """What writes errors."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A function whose errors are written where the launcher looks for them, and raised."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handler = error_handler or get_error_handler()
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as stop:
            if stop.code:
                handler.record_exception(stop)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapper

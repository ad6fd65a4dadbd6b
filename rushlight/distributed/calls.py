"""A call of a collective, as faults tell it: its number in its group, its name, what must be the same on all processes, and the user's line."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

_PACKAGE = __name__.partition(".")[0]


class Call(NamedTuple):
    """A call of a collective."""

    number: int
    name: str
    signature: tuple[Any, ...]
    line: str
    group: str
    when: float = 0.0

    def signature_text(self) -> str:
        """What was called, with the line."""
        return f"{self.name}({', '.join(map(str, self.signature))}) at {self.line}"

    def __str__(self) -> str:
        return f"{self.name} at {self.line}"


def user_line() -> str:
    """The line of the user's program that this call came from: ``train.py:12``."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return line_of(frame)


def line_of(frame: Any) -> str:
    """The file and line of a frame, without the folders."""
    return "the program's end" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def line_of_thread(identity: int | None) -> str:
    """The line of the user's program that a thread is at."""
    frame: Any = sys._current_frames().get(identity) if identity is not None else None  # type: ignore[arg-type]
    innermost = frame
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return line_of(frame or innermost)

"""The record of a collective call, for fault reports: its sequence number, its name, what must be the same on all processes, and the user's line."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

_PACKAGE = __name__.partition(".")[0]
_INSIDE = _PACKAGE + "."
_GENERATED = ("<segment of ", "<call of ", "<gradient of ", "<graph ")  # code of compiled programs, which calls what the user's lines say


class Call(NamedTuple):
    """A call of a collective; the user's line is kept as code and instruction, and formatted when a fault is reported."""

    number: int
    name: str
    signature: tuple[Any, ...]
    place: Any
    group: str
    when: float = 0.0

    @property
    def line(self) -> str:
        """The user's line: ``train.py:12``."""
        return line_at(self.place)

    def as_message(self) -> Call:
        """This call as other processes can read it: text and numbers."""
        return self._replace(signature=tuple(each if isinstance(each, int) else str(each) for each in self.signature), place=self.line)

    def signature_text(self) -> str:
        """What was called, with the line."""
        return f"{self.name}({', '.join(map(str, self.signature))}) at {self.line}"

    def __str__(self) -> str:
        return f"{self.name} at {self.line}"


def line_at(place: Any) -> str:
    """The file and number of a line, without the folders."""
    if isinstance(place, str):
        return place
    if place is None:
        return "the program's end"
    code, instruction = place
    number = next((line for start, end, line in code.co_lines() if start <= instruction < end), code.co_firstlineno)
    return f"{os.path.basename(code.co_filename)}:{number}"


def user_place(depth: int = 2) -> Any:
    """The code and the instruction of the user's program that this call came from; ``depth`` frames are known to be ours.

    The line number is computed when it is reported: in a long program that takes longer than a small collective.
    """
    frame: Any = sys._getframe(depth)
    while frame is not None and (
        frame.f_globals.get("__name__", "").startswith(_INSIDE) or frame.f_code.co_filename.startswith(_GENERATED)
    ):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_line() -> str:
    """The line of the user's program that this call came from: ``train.py:12``."""
    return line_at(user_place())


def line_of(frame: Any) -> str:
    """The file and line of a frame, without the folders."""
    return line_at(None if frame is None else (frame.f_code, frame.f_lasti))


def line_of_thread(identity: int | None) -> str:
    """The line of the user's program that a thread is at."""
    frame: Any = sys._current_frames().get(identity) if identity is not None else None  # type: ignore[arg-type]
    innermost = frame
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return line_of(frame or innermost)

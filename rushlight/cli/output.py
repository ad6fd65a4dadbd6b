"""What commands say: data on stdout, messages on stderr, progress on a terminal alone, one sentence for what went wrong."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import time
import traceback
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

DONE, WRONG, UNUSABLE, RAISED, MISSING, INTERRUPTED = 0, 1, 2, 3, 4, 130
STATUSES = """\
exit status:
  0  done, and all that was compared agrees
  1  done, but something is wrong: results differ, a check failed
  2  the command line, a file or a name can't be used
  3  the program itself raised an exception, or can't be exported
  4  a package is missing
  130  interrupted
"""


class Failure(Exception):
    """What ends a command: a message for the user, and the exit status."""

    def __init__(self, message: str, status: int = UNUSABLE) -> None:
        super().__init__(message)
        self.status = status


def use_utf8() -> None:
    """Write UTF-8, whatever the terminal says; what can't be encoded is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def say(text: str) -> None:
    """A message."""
    print(text, file=sys.stderr)


def give(text: str) -> None:
    """Data."""
    print(text)


def give_json(data: Any) -> None:
    """Data, for programs: one JSON object; numbers that JSON does not have are strings."""
    print(json.dumps(finite(data), indent=2, ensure_ascii=False))


def finite(data: Any) -> Any:
    """The same data with names for what is no finite number."""
    if isinstance(data, dict):
        return {str(key): finite(each) for key, each in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(each) for each in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


@contextlib.contextmanager
def users_code() -> Iterator[None]:
    """What a user's program prints is a message: stdout is for the command's data."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


class Progress:
    """Says on a terminal what is being done, in one line that disappears; nowhere else."""

    def __init__(self, quiet: bool = False) -> None:
        self.shown = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()
        self.steps = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.clear()

    def step(self, text: str) -> None:
        """Say what is being done now."""
        if self.shown:
            self.steps += 1
            width = shutil.get_terminal_size().columns - 1
            line = f"{'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'[self.steps % 10]} {text} ({time.monotonic() - self.started:.0f} s)"
            sys.stderr.write(f"\r\x1b[K{line[:width]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def where_raised(error: BaseException) -> str:
    """The user's line that raised an exception: the last that is not this package's."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((package, "<frozen", "<call of", "<gradient of", "<graph")) and not frame.filename.startswith(sys.base_prefix + os.sep)
    ]  # fmt: skip
    if isinstance(error, SyntaxError) and error.filename:
        return f'\n  File "{error.filename}", line {error.lineno}' + (f"\n    {error.text.strip()}" if error.text else "")
    if not frames:
        return ""
    last = frames[-1]
    return f'\n  File "{last.filename}", line {last.lineno}, in {last.name}' + (f"\n    {last.line}" if last.line else "")


def raised(what: str, error: BaseException) -> Failure:
    """The failure that an exception of the user's program is."""
    words = str(error).strip() or type(error).__name__
    place = "" if 'File "' in words else where_raised(error)
    failure = Failure(f"{what}: {type(error).__name__}: {words}{place}", RAISED)
    failure.__cause__ = error
    return failure


def width_of(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return sum(0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def table(rows: Sequence[Sequence[str]], head: Sequence[str] | None = None) -> str:
    """Columns of text, the last as wide as it likes."""
    lines = [list(row) for row in ([head] if head else [])] + [list(row) for row in rows]
    widths = [max(width_of(row[at]) for row in lines) for at in range(len(lines[0]))] if lines else []
    made = []
    for row in lines:
        cells = [text + " " * (width - width_of(text)) for text, width in zip(row[:-1], widths)]
        made.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(made)


def number(value: float) -> str:
    """A short form of an error."""
    return "0" if value == 0 else f"{value:.2g}"

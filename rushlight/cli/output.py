"""Output of commands: data on stdout, messages on stderr, progress on terminals, one message per error."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import threading
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


class Progress:
    """Shows on a terminal how far the work is, in one line that disappears; nowhere else."""

    def __init__(self, quiet: bool = False, steps: int = 0) -> None:
        self.shown = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.steps = steps  # how many there are likely to be
        self.done = 0
        self.text = ""
        self.held = False  # the user's program has begun a line of its own
        self.started = time.monotonic()
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.terminal = sys.stderr

    def __enter__(self) -> Progress:
        if self.shown:
            _shown.append(self)
            threading.Thread(target=self._keep_drawing, daemon=True).start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.shown:
            self.ended.set()
            self.clear()
            _shown.remove(self)

    def step(self, text: str) -> None:
        """Say what is being done now."""
        self.done += bool(self.text)
        self.text = text
        self._draw()

    def _keep_drawing(self) -> None:
        while not self.ended.wait(0.1):  # the clock runs also while a step takes long
            self._draw()

    def _draw(self) -> None:
        with self.lock:
            if self.shown and self.text and not self.held and not self.ended.is_set():
                seconds = time.monotonic() - self.started
                line = f"{bar(self.done, max(self.steps, self.done + 1))} {self.text} ({seconds:.0f} s)"
                self.terminal.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
                self.terminal.flush()

    def clear(self) -> None:
        """Take the line away."""
        with self.lock:
            if self.shown and not self.held:
                self.terminal.write("\r\x1b[K")
                self.terminal.flush()


_shown: list[Progress] = []  # the one that is on the terminal


def bar(done: int, steps: int, width: int = 20) -> str:
    """How far it is: ━━━━──── ."""
    filled = width * done // steps
    return "━" * filled + "─" * (width - filled)


class Beside:
    """A stream for what a user's program prints; the line of progress makes way for it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write to the stream."""
        for each in _shown:
            each.clear()
            each.held = bool(text) and not text.endswith("\n")
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def users_code() -> Iterator[None]:
    """What a user's program prints is a message: stdout is for the command's data."""
    messages: Any = sys.stderr if isinstance(sys.stderr, Beside) else Beside(sys.stderr)
    with contextlib.redirect_stdout(messages), contextlib.redirect_stderr(messages):
        yield


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

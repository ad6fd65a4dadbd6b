"""Errors of running scripts: what Python sees of them, with the lines of the program that led there."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..frontend.errors import Error, RaisedInScript, UnusedCallError

_HEAD = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):"


def explain(error: BaseException, place: Any) -> None:
    """Add to an exception the line of the user's program that a node comes from: file, number and function."""
    if place:
        known = error.__dict__.setdefault("_script_places", [])
        known.append(place)


_OTHER_WORDS = (
    (r"%c requires int or char.*", "%c requires an int or char for formatting, but got String"),
    (r"%([diouxX]) format: .*not str", r"%\1 requires a number for formatting, but got String"),
    (r"incomplete format", "Incomplete format specifier"),
    (r"not enough arguments for format string", "Too few arguments for format string"),
    (r"not all arguments converted during string formatting", "Too many arguments for format string"),
    (r"(.*) is not in list", r"'\1' is not in list"),
    (
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        r"\g<0> (index \1 out of range for tensor of size [\3] at dimension \2)",
    ),
)


def in_other_words(error: BaseException) -> str:
    """The text of an exception of Python's, as TorchScript has it."""
    text = str(error)
    for pattern, words in _OTHER_WORDS:
        if re.fullmatch(pattern, text):
            return re.sub(pattern, words, text)
    return text


def seen_from_python(error: Exception) -> Exception:
    """The exception that Python gets: an :class:`Error` for what the program raises, and a RuntimeError for what went wrong in it."""
    original: BaseException = error.original if isinstance(error, RaisedInScript) else error
    lines = [_HEAD]
    for file, number, name in reversed(getattr(error, "_script_places", ())):
        lines.append(f'  File "{file}", line {number}, in {name}')
        text = linecache.getline(file, number).rstrip("\r\n")
        if text.strip():
            start = len(text) - len(text.lstrip())
            lines += [text, " " * start + "~" * (len(text) - start) + " <--- HERE"]
    made: Exception
    if isinstance(error, UnusedCallError):
        made = UnusedCallError("\n".join([*lines, str(error)]))
    elif isinstance(error, RaisedInScript):
        kind = type(original)
        module = kind.__module__ + "." if kind.__module__ else ""
        made = Error("\n".join([*lines, f"{module}{kind.__name__}: {', '.join(map(str, original.args))}"]))
    else:
        shown = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
        text = "\n".join([*lines, f"{shown}: {in_other_words(original)}"])
        made = NotImplementedError(text) if isinstance(error, NotImplementedError) else RuntimeError(text)
    made.__cause__ = original
    if hasattr(original, "code") and not hasattr(made, "code"):
        made.code = original.code  # type: ignore[attr-defined,union-attr]
    return made


WARNED: set[Any] = set()  # the lines that have warned in the call that runs


def warner(place: tuple[str, int, str] | None) -> Callable[..., None]:
    """What warns for a line of a script: once in a call of the program, however often it comes there."""

    def warn(message: Any, category: Any = UserWarning, stacklevel: int = 1) -> None:
        if place not in WARNED:
            WARNED.add(place)
            file, line = place[:2] if place is not None else ("<script>", 0)
            warnings.warn_explicit(message, category, file, line)

    return warn

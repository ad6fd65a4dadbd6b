"""Exceptions as CPython keeps them: the one that is being handled, contexts, and tracebacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dis import opmap
from types import CodeType, FunctionType, TracebackType
from typing import Any

from .frame import Frame, Outcome, Raised

_COMPILE = __name__.removesuffix(".vm.exceptions")  # the package of interpreter and recorder


def while_handling(exception: BaseException, action: Callable[..., Any], *args: Any) -> Any:
    """Does something as it is done in an `except` block that handles an exception.

    So an error in it gets that exception as its context, and `sys.exception()` gives it, in native code too.
    """
    traceback, context = exception.__traceback__, exception.__context__
    try:
        raise exception
    except BaseException:
        exception.__traceback__, exception.__context__ = traceback, context
        return action(*args)


def chain(error: BaseException, handled: BaseException | None) -> None:
    """Gives an error the context it would have if it had been raised while another was handled."""
    if handled is None or handled is error:
        return
    traceback = error.__traceback__
    try:
        while_handling(handled, _raise, error)
    except BaseException as raised:
        raised.__traceback__ = traceback


def result_of(outcome: Outcome) -> Any:
    """The value that came out of the interpreter; or its error is raised, to continue in native code.

    It was raised before, so what is handled here does not become its context.
    """
    if not isinstance(outcome, Raised):
        return outcome.value
    error, context = outcome.error, outcome.error.__context__
    try:
        raise error
    finally:
        error.__context__ = context
        del outcome, error, context  # the error's traceback holds this frame, which must not hold the error


def _raise(error: BaseException) -> None:
    raise error


def clean_traceback(error: BaseException) -> None:
    """Takes the interpreter's own functions out of the traceback of an error that came up through them."""
    entries = []
    entry = error.__traceback__
    while entry is not None:
        if not _is_own(entry):
            entries.append(entry)
        entry = entry.tb_next
    below = None
    for entry in reversed(entries):
        if entry.tb_next is not below:
            entry.tb_next = below
        below = entry
    error.__traceback__ = below


def _is_own(entry: TracebackType) -> bool:
    return str(entry.tb_frame.f_globals.get("__name__")).startswith(_COMPILE)


def add_traceback_entry(error: BaseException, frame: Frame) -> None:
    """Puts the line at which an interpreted function stands on top of an error's traceback."""
    error.__traceback__ = _entry(error.__traceback__, (frame.code, frame.globals, frame.instruction.offset, frame.line), frame)


TracebackEntry = tuple[CodeType, dict[str, Any], int, int]  # code, globals, the place in the code, the line


# CPython writes an array of lines, as long as the code, by the line table, when a profiler or debugger is on: both must be of one length.
_NOP = bytes((opmap["NOP"], 0))
_NO_LINE = bytes((0x80 | 15 << 3,))  # of the line table: one instruction without a line


def _entry(below: TracebackType | None, entry: TracebackEntry, frame: Frame | None) -> TracebackType:
    code, scope, offset, line = entry
    # Only Python can make a real frame.  That of a generator which has not begun costs nothing, and with the names and
    # the line table of the interpreted code it looks the same in a printed traceback, to the column.  It holds the
    # interpreted frame as its variable, since a traceback keeps the variables of its functions alive.
    own = _stand_in.__code__
    missing = len(code.co_code) - len(own.co_code)
    stand_in = own.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_code=own.co_code + _NOP * (missing // 2),
        co_linetable=code.co_linetable + _NO_LINE * (-missing // 2),
    )
    real = FunctionType(stand_in, scope)(frame).gi_frame
    return TracebackType(below, real, offset, line)


def entries_of(traceback: TracebackType | None) -> tuple[TracebackEntry, ...]:
    """The entries of a traceback that are of interpreted functions."""
    found = []
    while traceback is not None:
        frame = traceback.tb_frame.f_locals.get("frame")
        if isinstance(frame, Frame) or traceback.tb_frame.f_code.co_code == _stand_in.__code__.co_code:
            code = frame.code if isinstance(frame, Frame) else traceback.tb_frame.f_code
            found.append((code, traceback.tb_frame.f_globals, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return tuple(found)


def traceback_of(entries: tuple[TracebackEntry, ...]) -> TracebackType | None:
    """A traceback of such entries; the variables of the functions are not known any more."""
    made: TracebackType | None = None
    for entry in reversed(entries):
        made = _entry(made, entry, None)
    return made


def _stand_in(frame: Frame | None) -> Iterator[None]:
    yield

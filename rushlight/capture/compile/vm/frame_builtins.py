"""The builtin functions that look at the frame of their caller, for an interpreted caller."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CellType
from typing import Any

from ..decode import NULL
from .frame import Frame


def frame_super(frame: Frame, *args: Any, **kwargs: Any) -> Any:
    """super(): the class is that in which the method was defined, the instance its first argument."""
    if args or kwargs:
        return super(*args, **kwargs)
    if not frame.code.co_argcount:
        raise RuntimeError("super(): no arguments")
    first = frame.slots[0]
    if isinstance(first, CellType):  # the argument is shared with an inner function
        first = cell_value(first)
    if first is NULL:
        raise RuntimeError("super(): arg[0] deleted")
    if "__class__" not in frame.code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    kind = cell_value(frame.slots[frame.bytecode.slot_of["__class__"]])
    if kind is NULL:
        raise RuntimeError("super(): empty __class__ cell")
    return super(kind, first)


def cell_value(cell: CellType) -> Any:
    """What is in a cell, or NULL."""
    try:
        return cell.cell_contents
    except ValueError:
        return NULL


def frame_globals(frame: Frame) -> Any:
    """globals()."""
    return frame.globals


def frame_locals(frame: Frame) -> Any:
    """locals()."""
    return frame.variables() if frame.namespace is None else frame.namespace


def frame_vars(frame: Frame, *args: Any) -> Any:
    """vars() without an argument is locals()."""
    return vars(*args) if args else frame_locals(frame)


def frame_dir(frame: Frame, *args: Any) -> Any:
    """dir() without an argument lists the names in locals()."""
    return dir(*args) if args else sorted(frame_locals(frame))


def frame_eval(frame: Frame, source: Any, /, *scopes: Any, **named: Any) -> Any:
    """eval() in the scope of the caller."""
    return builtins.eval(source, *scopes, **named) if scopes or named else _in_scope(builtins.eval, frame, source)


def frame_exec(frame: Frame, source: Any, /, *scopes: Any, **named: Any) -> Any:
    """exec() in the scope of the caller."""
    return builtins.exec(source, *scopes, **named) if scopes or named else _in_scope(builtins.exec, frame, source)


def _in_scope(run: Callable[..., Any], frame: Frame, source: Any) -> Any:
    return run(source, frame.globals, frame_locals(frame))


# By identity: not everything that is called can be hashed.
FRAME_BUILTINS: dict[int, Callable[..., Any]] = {
    id(super): frame_super,
    id(globals): frame_globals,
    id(locals): frame_locals,
    id(vars): frame_vars,
    id(dir): frame_dir,
    id(eval): frame_eval,
    id(exec): frame_exec,
}

"""Bytecode of the running version of Python as canonical instructions: `decode(code)` gives a `Bytecode`.

In: a code object of CPython.  Out: instructions of one set for all versions, with jumps and exception handlers resolved.  ``canonical.py`` defines the set: read it
first; ``py311.py`` to ``py313.py`` translate to it.
"""

from __future__ import annotations

import dis
import inspect
import sys
import weakref
from types import CodeType

from ....core.errors import NotSupported
from ....core.process_safety import removal_callback
from .canonical import JUMPS, NULL, OPERATIONS, Bytecode, BytecodeInstruction, ExceptionHandler, Position, Version, build, refusal

if sys.version_info >= (3, 13):
    from .py313 import VERSION
elif sys.version_info >= (3, 12):
    from .py312 import VERSION
else:
    from .py311 import VERSION

__all__ = [
    "JUMPS",
    "NULL",
    "OPERATIONS",
    "VERSION",
    "ExceptionHandler",
    "BytecodeInstruction",
    "Position",
    "Bytecode",
    "Version",
    "decode",
]

ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE

# By identity: equal code objects may come from different files.  An entry goes when its code object does.
_programs: dict[int, tuple[weakref.ref[CodeType], Bytecode | str]] = {}


def decode(code: CodeType) -> Bytecode:
    """The canonical program of a code object, made once; raises `NotSupported` if something in it is refused."""
    entry = _programs.get(id(code))
    if entry is not None and entry[0]() is code:
        program = entry[1]
    else:
        program = _decode(code)
        key = id(code)
        _programs[key] = (weakref.ref(code, removal_callback(_programs, key)), program)
    if isinstance(program, str):
        raise NotSupported(program)
    return program


def _decode(code: CodeType) -> Bytecode | str:
    """The program, or why there is none."""
    try:
        if code.co_flags & ASYNCHRONOUS:
            raise refusal(code, None, "async", "coroutines and asynchronous generators are not interpreted")
        return build(code, VERSION, dis.opname)
    except NotSupported as error:
        return str(error)

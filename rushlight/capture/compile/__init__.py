"""Capture by interpreting bytecode: what ``torch.compile`` runs.

In: a Python function and its arguments.  Out: its result, and cache entries (guards, a graph, side effects) for later calls.

``decode/`` turns a code object of any Python version into canonical instructions; ``vm/`` interprets them and asks a `Semantics` for each
operation on values; ``guards/`` are the conditions under which a capture holds; ``record/`` is the `Semantics` that captures; ``handlers/`` treat
particular callables; ``runtime/`` is the call of a compiled function.  Each imports only from those before it.  Read ``vm/interpreter.py`` first, then
``record/base.py``.  `interpret(function, *args)` runs a function on plain values.
"""

from .decode import decode
from .vm.frame import Frame, Inline, Raised, Resume, Returned, Stop, Yielded
from .vm.interpreter import BytecodeInterpreter, interpret
from .vm.semantics import Semantics

__all__ = [
    "Frame",
    "Inline",
    "BytecodeInterpreter",
    "Semantics",
    "Raised",
    "Resume",
    "Returned",
    "Stop",
    "Yielded",
    "decode",
    "interpret",
]

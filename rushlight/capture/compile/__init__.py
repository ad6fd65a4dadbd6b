"""Capture by interpreting bytecode.

`decode` turns a code object of any version into canonical instructions; `BytecodeInterpreter` runs them, and asks its `Semantics`
for each operation on values.  `interpret(function, *args)` runs a function on plain values.
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

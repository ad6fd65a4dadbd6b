"""A virtual machine for canonical bytecode: frames, instructions, generators, exceptions.

In: decoded instructions.  Out: what CPython would have done.  What an operation on values does is asked of ``semantics.py``, which a capture overrides.
Read ``interpreter.py`` first.
"""

from . import control_flow, instructions  # they fill the table of instructions

__all__ = ["control_flow", "instructions"]

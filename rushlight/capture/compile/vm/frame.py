"""Frames of interpreted functions, how calls bind their arguments, and the outcomes of a step."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Mapping, MutableMapping, Sequence
from types import CellType, CodeType
from typing import Any, NamedTuple, Protocol

from ..decode import NULL, Bytecode, BytecodeInstruction, decode


class GeneratorState(Protocol):
    """What the interpreter needs of the generator whose frame it runs."""

    def take_frame(self, value: Any) -> Frame | None:
        """The suspended frame, with a value sent to it."""

    def suspend(self, frame: Frame) -> None:
        """The frame has yielded."""

    def finish(self) -> None:
        """The frame was left."""


class Frame:
    """The state of an interpreted function: everything that is needed to continue it.

    `index` is that of the instruction to run next; while a function that this one called is running, that of the call.
    A frame that was stopped before an instruction can be copied, kept, and run later: no other state exists.
    """

    __slots__ = (
        "builtins",
        "caller",
        "code",
        "depth",
        "generator",
        "globals",
        "handled",
        "index",
        "inherited",
        "namespace",
        "bytecode",
        "slots",
        "stack",
    )

    def __init__(
        self,
        code: CodeType,
        slots: list[Any],
        globals: dict[str, Any],
        builtins: Mapping[str, Any],
        namespace: MutableMapping[str, Any] | None = None,
    ) -> None:
        self.code = code
        self.bytecode: Bytecode = decode(code)
        self.index = 0
        self.stack: list[Any] = []
        self.slots = slots  # variables; those that functions share are in cells here, as in CPython
        self.globals = globals
        self.builtins = builtins
        self.namespace = namespace  # where names are kept in the body of a class or a module
        self.caller: Frame | None = None  # the interpreted function that waits for this one
        self.generator: GeneratorState | None = None  # whose frame this is, while it runs
        self.handled: BaseException | None = None  # the exception whose `except` block runs in this frame
        self.inherited: BaseException | None = None  # the one that a caller is handling
        self.depth = 0

    @classmethod
    def of_module(cls, code: CodeType, globals: dict[str, Any]) -> Frame:
        """A frame for the code of a module, as `exec` would run it."""
        found = globals.setdefault("__builtins__", builtins)
        names = found if isinstance(found, dict) else vars(found)
        return cls(code, [NULL] * len(decode(code).slot_names), globals, names, namespace=globals)

    @classmethod
    def restored(
        cls,
        code: CodeType,
        bytecode: Bytecode,
        slots: list[Any],
        stack: list[Any],
        globals: dict[str, Any],
        builtins: Any,
        index: int,
        caller: Any,
        depth: int,
    ) -> Frame:
        """A frame in the midst of its function."""
        frame = object.__new__(cls)
        frame.code, frame.bytecode, frame.slots, frame.stack, frame.globals, frame.builtins = (
            code,
            bytecode,
            slots,
            stack,
            globals,
            builtins,
        )
        frame.index, frame.caller, frame.depth = index, caller, depth
        frame.namespace = frame.generator = frame.handled = frame.inherited = None
        return frame

    @property
    def instruction(self) -> BytecodeInstruction:
        """The instruction to run next."""
        return self.bytecode.instructions[self.index]

    @property
    def line(self) -> int:
        """The line of the source that is being run."""
        return self.instruction.position.line or self.code.co_firstlineno

    @property
    def handling(self) -> BaseException | None:
        """The exception that `raise` alone would raise again."""
        return self.inherited if self.handled is None else self.handled

    def called_by(self, caller: Frame) -> Frame:
        """Makes this the frame of a function that another one called."""
        self.caller = caller
        self.inherited = caller.handling
        self.depth = caller.depth + 1
        return self

    def variables(self) -> dict[str, Any]:
        """The variables that have a value, by name."""
        found = {}
        for name, value in zip(self.bytecode.slot_names, self.slots):
            if isinstance(value, CellType):
                try:
                    value = value.cell_contents
                except ValueError:  # an empty cell
                    continue
            if value is not NULL:
                found[name] = value
        return found

    def hand_over(self, other: Frame | None) -> None:
        """Another frame replaces this one: a traceback that holds this one sees the other's variables, and keeps nothing else alive."""
        self.slots = other.slots if other is not None and other.bytecode is self.bytecode else []
        self.stack = []
        self.caller = self.generator = self.handled = self.inherited = None

    def copy(self) -> Frame:
        """This state and that of all callers, to be run later.  Values, cells and generators are shared."""
        copied = bottom = self._copy_alone()
        while bottom.caller is not None:
            bottom.caller = bottom = bottom.caller._copy_alone()
        return copied

    def _copy_alone(self) -> Frame:
        copied = object.__new__(Frame)
        for name in Frame.__slots__:
            setattr(copied, name, getattr(self, name))
        copied.stack = list(self.stack)
        copied.slots = list(self.slots)
        return copied

    def __repr__(self) -> str:
        return f"<Frame of {self.code.co_qualname}, line {self.line}, before {self.index} {self.instruction.op}>"


class Returned(NamedTuple):
    """The outermost frame has returned."""

    value: Any


class Yielded(NamedTuple):
    """The outermost frame is a generator's and has yielded."""

    value: Any


class Raised(NamedTuple):
    """The outermost frame was left by an exception."""

    error: BaseException


Outcome = Returned | Yielded | Raised


class FrameRunner(Protocol):
    """What a generator needs of the interpreter that runs its frame."""

    def finish(self, state: Frame | Outcome) -> Outcome:
        """Run until the outermost frame returns, yields or is left by an exception."""

    def unwind(self, frame: Frame, error: BaseException) -> Frame | Outcome:
        """Raise an exception where a frame stands."""


class Inline(NamedTuple):
    """What a `Semantics` returns where the result is that of a Python function, which shall be interpreted too."""

    function: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class Resume(NamedTuple):
    """What a `Semantics` returns where the result is what an interpreted generator yields next."""

    generator: GeneratorState
    value: Any


class Stop(BaseException):
    """Raised by a `Semantics` to stop before the instruction that is being run.

    The frame is left as it was before that instruction, the program sees nothing of it, and `frame` says where.  So it
    must be raised before anything was done, and not in a generator that native code runs (`list(generator)`).
    """

    frame: Frame | None = None


def bind(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Frame | None:
    """The frame in which a call of a function begins, or None where the arguments do not fit its signature."""
    code = function.__code__
    slots: list[Any] = [NULL] * len(decode(code).slot_names)
    positional, total = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    place = total  # of *args, then of **kwargs
    slots[: min(len(args), positional)] = args[:positional]
    if code.co_flags & inspect.CO_VARARGS:
        slots[place] = tuple(args[positional:])
        place += 1
    elif len(args) > positional:
        return None

    names = code.co_varnames[code.co_posonlyargcount : total]
    rest: dict[str, Any] = {}
    for name, value in kwargs.items():
        if not isinstance(name, str):
            return None
        if name not in names:
            rest[name] = value
            continue
        slot = code.co_posonlyargcount + names.index(name)
        if slots[slot] is not NULL:
            return None
        slots[slot] = value
    if code.co_flags & inspect.CO_VARKEYWORDS:
        slots[place] = rest
    elif rest:
        return None

    defaults = function.__defaults__ or ()
    for slot, value in enumerate(defaults, positional - len(defaults)):
        if slots[slot] is NULL:
            slots[slot] = value
    for slot in range(positional, total):
        if slots[slot] is NULL:
            slots[slot] = (function.__kwdefaults__ or {}).get(code.co_varnames[slot], NULL)
    if any(value is NULL for value in slots[:total]):
        return None

    if function.__closure__:
        slots[len(slots) - len(function.__closure__) :] = function.__closure__
    return Frame(code, slots, function.__globals__, function.__builtins__)

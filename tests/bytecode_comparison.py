"""Running a function by Python and by the interpreter, and comparing all that can be seen."""

from __future__ import annotations

import copy
import re
import traceback
from collections.abc import Callable
from typing import Any

from bytecode_programs import LOG

from rushlight.capture.compile import BytecodeInterpreter, Frame, Raised, Semantics


class Alone(Semantics):
    """Only the outermost function is interpreted."""

    def should_inline(self, function: Any) -> bool:
        return False


def shown(value: Any) -> str:
    """A value as text, without addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def described(error: BaseException | None, files: set[str], depth: int = 0) -> Any:
    """All that is to be seen of an exception; of the traceback the lines in the given files."""
    if error is None or depth > 6:
        return None
    if isinstance(error, RecursionError):
        return RecursionError  # how deep the stack is, is another matter
    lines = [
        (entry.name, entry.lineno, entry.colno, entry.end_colno)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename in files
    ]
    if isinstance(error, UnboundLocalError):
        lines = lines[:-1]  # in 3.11 the line depends on how often the code has run: two instructions become one
    return (
        type(error).__qualname__,
        shown(error.args),
        lines,
        error.__suppress_context__,
        described(error.__cause__, files, depth + 1),
        described(error.__context__, files, depth + 1),
    )


def observed(call: Callable[..., Any], args: tuple, files: set[str], settle: Callable = int) -> dict[str, Any]:
    """What a call gives or raises, and what it notes on the way, before and while things settle."""
    args = copy.deepcopy(args)
    LOG.clear()
    try:
        end = ("returned", shown(call(*args)))
    except BaseException as error:  # SystemExit too
        end = ("raised", described(error, files))
    settle()
    return {"log": [re.sub(r"0x[0-9a-f]+", "0x", line) for line in LOG], "end": end, "args": shown(args)}


def by_interpreter(function: Callable[..., Any], semantics: Semantics | None = None) -> Callable[..., Any]:
    """A function that is interpreted when it is called."""

    def call(*args: Any) -> Any:
        interpreter = BytecodeInterpreter(semantics)
        return interpreter.run(interpreter.start(function, args))

    return call


def steps(function: Callable[..., Any], args: tuple) -> int:
    """How many instructions a call takes."""
    interpreter = BytecodeInterpreter()
    state: Any = interpreter.start(function, copy.deepcopy(args))
    count = 0
    while isinstance(state, Frame):
        state = interpreter.step(state)
        count += 1
    return count


def stopped_at(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    """A function that stops before its n-th instruction, and goes on from a copy of its state in another interpreter."""

    def call(*args: Any) -> Any:
        interpreter = BytecodeInterpreter()
        state: Any = interpreter.start(function, args)
        for _ in range(at):
            state = interpreter.step(state)
        if not isinstance(state, Frame):
            if isinstance(state, Raised):
                raise state.error
            return state.value
        saved = state.copy()
        while state is not None:  # what is kept does not depend on what it was copied from
            state.stack, state.slots, state.index, state = [], [], 0, state.caller
        return BytecodeInterpreter().run(saved)

    return call

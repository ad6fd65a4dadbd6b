"""The interpreter: one step, running to the end, calls, and what an exception does.

    from rushlight.capture.compile import interpret

    def mean(*values):
        return sum(values) / len(values)

    assert interpret(mean, 1, 2, 3) == 2.0

It runs canonical instructions (`decode`) on frames (`frame.py`); handlers (`instructions.py`, `control_flow.py`) do the instructions, and a
`Semantics` performs the operations on values.  There is no state but the frames: between two steps a frame can be copied and
kept, and run later.  A function that is called gets a frame on top of its caller's; Python's own stack does not grow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from ....core.errors import NotSupported
from .exceptions import add_traceback_entry, clean_traceback, result_of, while_handling
from .frame import Frame, Inline, Outcome, Raised, Resume, Returned, Stop, bind
from .generator import stop_iteration
from .semantics import Semantics

Next = Frame | Outcome | None
Operation = Callable[["BytecodeInterpreter", Frame, Any], Next]

HANDLERS: dict[str, Operation] = {}  # what each canonical instruction does: filled by `instructions.py` and `control_flow.py`
# Where a function that was called from one of these comes back, its result is not pushed.
WITHOUT_RESULT = {"store_attr", "delete_attr", "set_item", "delete_item"}
# Where one of these has asked a function for a truth value, it runs again, on that value.
ASKING_TRUTH = {"jump_if_true", "jump_if_false", "not", "truth"}  # the last two are arguments of "unary"


def operation(name: str) -> Callable[[Operation], Operation]:
    """Enters a handler into the table."""

    def enter(handler: Operation) -> Operation:
        HANDLERS[name] = handler
        return handler

    return enter


class BytecodeInterpreter:
    """Runs frames; a `Semantics` performs the operations on values."""

    def __init__(self, semantics: Semantics | None = None) -> None:
        self.semantics = Semantics() if semantics is None else semantics

    # Running.

    def step(self, frame: Frame) -> Frame | Outcome:
        """Runs one instruction; gives the frame that runs next, or how the outermost one ended."""
        instruction = frame.bytecode.instructions[frame.index]
        before = frame.stack[:]
        handled = frame.handling
        try:
            handler = HANDLERS[instruction.op]
            if handled is None:
                following = handler(self, frame, instruction.argument)
            else:
                following = while_handling(handled, handler, self, frame, instruction.argument)
        except Stop as stop:
            frame.stack = before
            stop.frame = frame
            raise
        except BaseException as error:
            before.clear()  # the error's traceback may hold this frame
            clean_traceback(error)
            return self.unwind(frame, error)
        if following is None:
            frame.index += 1
            return frame
        return following

    def finish(self, state: Frame | Outcome) -> Outcome:
        """Runs until the outermost frame returns, yields or is left by an exception."""
        while isinstance(state, Frame):
            state = self.step(state)
        return state

    def run(self, frame: Frame) -> Any:
        """Runs a frame and those that called it to the end, and gives the result or raises the error."""
        return result_of(self.finish(frame))

    def start(self, function: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Frame:
        """The frame in which a call of a Python function or method begins."""
        if isinstance(function, MethodType):
            function, args = function.__func__, (function.__self__, *args)
        if not isinstance(function, FunctionType):
            raise NotSupported(f"{function!r} is not a function written in Python: it can't be interpreted")
        kwargs = kwargs or {}
        frame = bind(function, args, kwargs)
        if frame is None:
            # The arguments do not fit: Python's own call says why, and runs nothing.
            function(*args, **kwargs)
            raise AssertionError(f"{function} took arguments that the interpreter does not bind")
        return frame

    def run_module(self, code: CodeType, globals: dict[str, Any]) -> None:
        """Runs the code of a module, as `exec` does."""
        self.run(Frame.of_module(code, globals))

    # Calls and returns.

    def enter(self, frame: Frame, call: Inline) -> Frame:
        """Begins a call: its frame runs next, and `frame` waits at the instruction that made the call."""
        callee = self.start(call.function, call.args, call.kwargs).called_by(frame)
        if callee.depth >= sys.getrecursionlimit():
            raise RecursionError("maximum recursion depth exceeded")
        return callee

    def resume(self, frame: Frame, request: Resume) -> Frame:
        """The frame of a generator runs next, up to its next `yield`, and `frame` waits."""
        resumed = request.generator.take_frame(request.value)
        if resumed is None:
            raise StopIteration
        return resumed.called_by(frame)

    def deliver(self, frame: Frame, value: Any) -> Frame:
        """A frame that has waited gets the value it waited for, and continues."""
        op, argument = frame.instruction.op, frame.instruction.argument
        if op not in WITHOUT_RESULT:
            frame.stack.append(value)
        if op not in ASKING_TRUTH and (op != "unary" or argument not in ASKING_TRUTH):
            frame.index += 1
        return frame

    def leave(self, frame: Frame, value: Any) -> Frame | Outcome:
        """A frame returns."""
        caller = frame.caller
        if frame.generator is not None:
            frame.generator.finish()
            if caller is not None:
                return self.unwind(caller, stop_iteration(value))
        if caller is None:
            return Returned(value)
        frame.slots, frame.caller = [], None  # whoever keeps the frame must not keep its variables
        return self.deliver(caller, value)

    # Exceptions.

    def unwind(self, frame: Frame, error: BaseException, again: bool = False) -> Frame | Outcome:
        """An exception at the instruction where a frame stands: goes to the frame and the place that handle it.

        An exception that is raised `again` has its entry for this frame in the traceback already.
        """
        while True:
            op, target = frame.instruction.op, frame.instruction.argument
            if op in ("for_iter", "send") and isinstance(error, StopIteration):
                # Not an error: the iterator, which is on top, has ended.
                frame.stack.pop()
                if op == "send":
                    frame.stack.append(error.value)
                frame.index = target
                return frame

            if not again:
                add_traceback_entry(error, frame)
            handler = frame.bytecode.handler_at[frame.index]
            if handler is not None:
                del frame.stack[handler.depth :]
                frame.stack += [frame.index, error] if handler.push_index else [error]
                frame.index = handler.target
                return frame

            if frame.generator is not None:
                frame.generator.finish()
                error = self._leaving_generator(error)
            # A traceback may keep this frame, with its variables but nothing else.
            caller, frame.caller, frame.generator = frame.caller, None, None
            frame.handled = frame.inherited = None
            frame.stack.clear()
            if caller is None:
                return Raised(error)
            frame, again = caller, False

    def _leaving_generator(self, error: BaseException) -> BaseException:
        """StopIteration would look like the end of the generator to whoever uses it."""
        if not isinstance(error, StopIteration):
            return error
        raised = RuntimeError("generator raised StopIteration")
        raised.__cause__ = raised.__context__ = error
        return raised


def interpret(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Calls a Python function or method, and interprets it instead of letting Python run it."""
    interpreter = BytecodeInterpreter()
    return interpreter.run(interpreter.start(function, args, kwargs))

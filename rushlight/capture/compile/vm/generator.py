"""The generator object of an interpreted function."""

from __future__ import annotations

from types import CodeType, FrameType, GeneratorType
from typing import Any

from ..decode import VERSION
from .exceptions import chain, clean_traceback, result_of
from .frame import Frame, FrameRunner, Raised, Returned


class InterpretedGenerator:
    """Runs interpreted from one `yield` to the next; for the rest as Python's own generators, by whoever it is used."""

    def __init__(self, interpreter: FrameRunner, frame: Frame) -> None:
        self._interpreter = interpreter
        # The frame while it is suspended; None while it runs and when it has finished.  A suspended frame does not know
        # its generator, so that an abandoned generator is closed as soon as the last reference to it goes.
        self.frame: Frame | None = frame
        self.gi_code: CodeType = frame.code
        self.gi_running = False
        self.__name__ = frame.code.co_name
        self.__qualname__ = frame.code.co_qualname

    @classmethod
    def restored(cls, interpreter: FrameRunner, code: CodeType, running: bool = False) -> InterpretedGenerator:
        """A generator whose frame, if it has one, is set afterwards."""
        made = object.__new__(cls)
        made._interpreter, made.frame, made.gi_code, made.gi_running = interpreter, None, code, running
        made.__name__, made.__qualname__ = code.co_name, code.co_qualname
        return made

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # so that isinstance() finds a generator
        return GeneratorType

    def take_frame(self, value: Any) -> Frame | None:
        """The frame, ready to continue with a value sent to it; None when there is no more."""
        if self.gi_running:
            raise ValueError("generator already executing")
        frame = self.frame
        if frame is None:
            return None
        if value is not None and frame.instruction.op == "return_generator":
            raise TypeError("can't send non-None value to a just-started generator")
        self._start(frame)
        frame.stack.append(value)
        frame.index += 1
        return frame

    def _start(self, frame: Frame) -> None:
        self.frame = None
        self.gi_running = True
        frame.generator = self

    def suspend(self, frame: Frame) -> None:
        """Called by the interpreter when the frame yields."""
        self.frame = frame
        self.gi_running = False
        frame.generator = frame.caller = frame.inherited = None

    def finish(self) -> None:
        """Called by the interpreter when the frame is left."""
        self.frame = None
        self.gi_running = False

    def __iter__(self) -> InterpretedGenerator:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Continues to the next `yield`; `value` is what the last one evaluates to."""
        frame = self.take_frame(value)
        if frame is None:
            raise StopIteration
        return self._run(frame)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        """Raises an exception at the `yield` where the generator stands."""
        error = _exception(kind, value, traceback)
        if self.gi_running:
            raise ValueError("generator already executing")
        frame = self.frame
        if frame is None:
            return result_of(Raised(error))
        receiver = self.gi_yieldfrom
        self._start(frame)
        if receiver is not None:
            # In a `yield from` the generator that this one waits for has the first say.
            exiting, answered = isinstance(error, GeneratorExit), False
            try:
                if exiting:
                    _close(receiver)
                elif (method := getattr(receiver, "throw", None)) is not None:
                    yielded = method(error) if value is None and traceback is None else method(kind, value, traceback)
                    self.suspend(frame)
                    return yielded
            except BaseException as raised:
                error, answered = raised, not exiting
            if answered and isinstance(error, StopIteration):
                frame.stack[-1] = error.value
                frame.index = frame.bytecode.instructions[frame.index - 1].argument  # where `send` goes at the end
                return self._run(frame)
        frame.stack.append(None)  # in the place of a value sent
        clean_traceback(error)
        chain(error, frame.handled)
        return self._run(self._interpreter.unwind(frame, error))

    def close(self) -> Any:
        """Ends the generator: `finally` blocks and `with` statements in it are left."""
        if self.gi_running:
            raise ValueError("generator already executing")
        if self.frame is None:
            return None
        if self.frame.instruction.op == "return_generator":
            self.frame = None
            return None
        try:
            self.throw(GeneratorExit())
        except GeneratorExit as error:
            error.__traceback__ = None  # it would keep the variables
            return None
        except StopIteration as stop:
            return stop.value if VERSION.close_returns_value else None
        raise RuntimeError("generator ignored GeneratorExit")

    watcher: Any = None  # a function that hears of it where the last reference to a suspended generator goes

    def __del__(self) -> None:
        if not self.gi_running:
            if self.watcher is not None and self.gi_suspended:
                self.watcher()
            self.close()

    def _run(self, state: Any) -> Any:
        outcomes = [self._interpreter.finish(state)]
        if isinstance(outcomes[0], Returned):
            raise stop_iteration(outcomes[0].value)
        return result_of(outcomes.pop())  # not kept here, where the traceback of an error would hold it

    @property
    def gi_yieldfrom(self) -> Any:
        """What a generator that stands in a `yield from` waits for, or None."""
        frame = self.frame
        if frame is None or frame.instruction.op != "yield_value" or frame.index == 0:
            return None
        return frame.stack[-1] if frame.bytecode.instructions[frame.index - 1].op == "send" else None

    @property
    def gi_suspended(self) -> bool:
        """Whether the generator has begun and waits at a `yield`."""
        return self.frame is not None and self.frame.instruction.op == "yield_value"

    @property
    def gi_frame(self) -> FrameType | None:
        """None: there is no frame of Python's own."""
        return None

    def __repr__(self) -> str:
        return f"<generator object {self.__qualname__} at {id(self):#x}>"


def stop_iteration(value: Any) -> StopIteration:
    """The exception that says that a generator has returned a value."""
    return StopIteration() if value is None else StopIteration(value)


def _close(receiver: Any) -> None:
    if (method := getattr(receiver, "close", None)) is not None:
        method()


def _exception(kind: Any, value: Any, traceback: Any) -> BaseException:
    """The exception that the arguments of `throw` mean."""
    if isinstance(kind, BaseException):
        if value is not None:
            raise TypeError("instance exception may not have a separate value")
        error = kind
    elif isinstance(kind, type) and issubclass(kind, BaseException):
        if isinstance(value, kind):
            error = value
        elif value is None:
            error = kind()
        else:
            error = kind(*value) if isinstance(value, tuple) else kind(value)
    else:
        raise TypeError(f"exceptions must be classes or instances deriving from BaseException, not {type(kind).__name__}")
    return error if traceback is None else error.with_traceback(traceback)

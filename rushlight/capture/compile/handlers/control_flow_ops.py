"""``cond`` and ``while_loop`` in a captured program: the functions they are given are interpreted, each under a tracer of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core.base import TensorBase
from ....core.errors import CaptureError
from ....core.state import state
from ..guards.modes import LeftModes
from ..record.graph_breaks import Break
from ..record.registry import marked
from ..vm.frame import Inline
from .custom_function import run_frames


def capture_control(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of ``cond`` or ``while_loop``; a graph break where a body has side effects."""
    name = function.__name__
    enabled = state.grad_enabled
    given = {key: body_of(recorder, each, name) for key, each in kwargs.items()}
    try:
        return function(*[body_of(recorder, each, name) for each in args], **given)
    except CaptureError as error:
        raise Break("control", name=name, reason=str(error).partition("\n")[0]) from None
    finally:
        state.grad_enabled = enabled


def body_of(recorder: Any, value: Any, name: str) -> Any:
    """A function as a body; what else is given is looked at."""
    if isinstance(value, TensorBase) or not callable(value):
        recorder.guard_contents(value)
        return value
    return InterpretedBody(recorder, value, name)


def capture_wrapped(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of ``wrap``: of the function that it is given."""
    return recorder.call(recorder.frame, args[0], tuple(args[1:]), dict(kwargs))


marked["control"] = capture_control
marked["wrap"] = capture_wrapped


class InterpretedBody:
    """Runs a function of the program as the body of a branch or a loop, without side effects on pre-existing objects."""

    def __init__(self, recorder: Any, function: Callable[..., Any], name: str) -> None:
        self.recorder = recorder
        self.function = function
        self.name = name

    def __call__(self, *args: Any) -> Any:
        recorder = self.recorder
        if state.capture is None:  # it was captured, and is run for its values
            return self.function(*args)
        outer, pure, frame, enabled = recorder.tracer, recorder.pure, recorder.frame, state.grad_enabled
        recorder.tracer, recorder.pure, modes = state.capture, True, LeftModes()
        try:
            answer = recorder.call(frame, self.function, args, {})
            if type(answer) is Inline:
                answer = run_frames(recorder, answer.function, answer.args, answer.kwargs)
            return answer
        except Break as stop:
            modes.restore()
            raise Break("control", name=self.name, reason=stop.message) from None
        finally:
            recorder.tracer, recorder.pure, recorder.frame = outer, pure, frame
            state.grad_enabled = enabled

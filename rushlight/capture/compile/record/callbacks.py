"""Callbacks: functions and generators of the program that native code calls during a capture, interpreted like the rest."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from ..guards.guards import PRIMITIVES
from ..vm.exceptions import result_of
from ..vm.frame import Frame, Inline, Outcome
from ..vm.interpreter import BytecodeInterpreter
from ..vm.semantics import Semantics
from .graph_breaks import Break


class NativeSemantics(Semantics):
    """Python's own semantics, calls included: runs an instruction that can't be captured."""

    def should_inline(self, function: Any) -> bool:
        return False


class RecordingInterpreter(BytecodeInterpreter):
    """The interpreter of a capture.  A graph break below native code can't stop the program: the instruction runs natively, and what was
    recorded is discarded."""

    def step(self, frame: Frame) -> Frame | Outcome:
        recorder: Any = self.semantics
        deferred = None if recorder.closed else recorder.tracer.deferred
        if deferred is None or not deferred.calls:
            return super().step(frame)
        if not deferred.allows(frame):
            deferred.compute()
        try:
            return super().step(frame)
        except Break:
            deferred.compute()
            raise

    def finish(self, state: Frame | Outcome) -> Outcome:
        recorder: Any = self.semantics
        return self.follow(state, lambda: recorder.in_body)  # a body runs again

    def follow(self, state: Frame | Outcome, may_break: Callable[[], bool]) -> Outcome:
        """Run to the end; a graph break is passed on where that is still possible."""
        recorder: Any = self.semantics
        if recorder.closed:  # a generator that has outlived the capture
            return native.finish(state)
        outer = recorder.frame
        try:
            while isinstance(state, Frame):
                recorder.frame = state
                try:
                    state = self.step(state)
                except Break as stop:
                    if may_break():
                        raise
                    recorder.discard(stop)
                    assert stop.frame is not None
                    state = native.step(stop.frame)
        finally:
            recorder.frame = outer
        return state


native = BytecodeInterpreter(NativeSemantics())


class InterpretedCallback:
    """A function of the program that native code may call: it is interpreted.

    ``decides``: native code chooses by what it returns, so symbolic numbers in that must be the same in later calls."""

    def __init__(self, recorder: Any, function: Any, decides: bool = False) -> None:
        self.recorder = recorder
        self.function = function
        self.decides = decides

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.interpreted(args, kwargs)
        if self.decides and not self.recorder.closed:
            self.recorder.specialize(result)
        return result

    def interpreted(self, args: Any, kwargs: Any) -> Any:
        """What the function returns."""
        recorder = self.recorder
        if recorder.closed:
            return self.function(*args, **kwargs)
        interpreter = RecordingInterpreter(recorder)
        try:
            answer = recorder.call(recorder.frame, self.function, args, kwargs)
        except Break as stop:
            if recorder.in_body:
                raise
            recorder.discard(stop)
            return self.function(*args, **kwargs)
        if type(answer) is not Inline:
            return answer
        return result_of(interpreter.finish(interpreter.start(answer.function, answer.args, answer.kwargs)))


class KeptResult:
    """Whether a function that keeps its results still gives the same one.

    If it had to forget it, it is called as the program would call it; ``late``: this would be too early, since the program has effects before its call."""

    __name__ = "the kept result"

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, late: bool) -> None:
        self.args, self.kwargs, self.result, self.late = args, kwargs, result, late

    def __call__(self, function: Any) -> bool:
        if self.late and not self.is_kept(function):
            return False
        found = function(*self.args, **self.kwargs)
        return found is self.result or isinstance(found, PRIMITIVES) and type(found) is type(self.result) and bool(found == self.result)

    def is_kept(self, function: Any) -> bool:
        """Whether the function has a result for the arguments.  Its keys are made as CPython makes them; its cache is found among what it refers to."""
        parts = gc.get_referents(function)
        key: Any = self.args
        if self.kwargs:
            key += (next((each for each in parts if type(each) is object), None), *(each for pair in self.kwargs.items() for each in pair))
        if function.cache_parameters()["typed"]:
            key += (*map(type, self.args), *map(type, self.kwargs.values()))
        elif len(key) == 1 and type(key[0]) in (int, str):
            key = key[0]
        return any(key in each for each in parts if type(each) is dict and each is not function.__dict__)

"""The profiler: which ops ran, inside which others, how long, on which shapes.

A :class:`EventRecorder` is told of each op by the dispatcher, of each node by the engine of backward, and of each call of a compiled function;
while there is none, nobody asks for one.  :mod:`rushlight.profiler` has the profiler with schedules; this is the simple one, and
``record_function``.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.dispatch import dispatch, dispatch_in_place
from ..core.dtypes import BY_NUMPY
from ..core.errors import NotSupported
from ..core.state import flags, state
from .profiler_util import EventList, FunctionEvent

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(__file__))
USER_SCOPE, BACKWARD_SCOPE, OP_SCOPE = 7, 1, 0


class EventRecorder:
    """Records what runs in the thread in which it is started."""

    def __init__(self, shapes: bool = False, memory: bool = False, stacks: bool = False) -> None:
        self.shapes, self.memory, self.stacks = shapes, memory, stacks
        self.events: list[FunctionEvent] = []
        self.open: list[FunctionEvent] = []
        self.began = perf_counter_ns()
        self.thread = threading.get_native_id()
        self.passing = False  # the next call that is offered is the one that is being recorded

    def start(self) -> None:
        """Begin to record."""
        if state.profiler is not None:
            raise RuntimeError("Profiler is already enabled on this thread")
        state.profiler = self
        flags.enter()

    def stop(self) -> None:
        """Record no more."""
        state.profiler = None
        flags.leave()
        while self.open:
            self.end(self.open[-1])

    def begin(self, name: str, scope: int, shapes: Any = None) -> FunctionEvent:
        """An event begins, inside the one that is open."""
        stack = call_stack() if self.stacks else None
        now = (perf_counter_ns() - self.began) / 1000
        event = FunctionEvent(
            len(self.events) + 1, name, self.thread, now, now, shapes, stack, scope, is_user_annotation=scope == USER_SCOPE
        )
        if self.open:
            self.open[-1].append_cpu_child(event)
        self.events.append(event)
        self.open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """An event is over, and with it what was left open inside it."""
        now = (perf_counter_ns() - self.began) / 1000
        while self.open:
            last = self.open.pop()
            last.time_range.end = now
            if self.memory and last.cpu_children and not last.name.startswith("aten::"):
                last.cpu_memory_usage = sum(each.cpu_memory_usage for each in last.cpu_children)
            if last is event:
                return

    def asynchronous(self, name: str, tensors: Any) -> Callable[[], None]:
        """An event begins that does not nest in the program, such as an exchange between processes; the result ends it, in any thread."""
        event = self.begin(name, OP_SCOPE, shapes_of(tensors) if self.shapes else None)
        event.is_async = True
        self.open.pop()
        if self.open:
            self.open[-1].cpu_children.remove(event)
            event.cpu_parent = None

        def end() -> None:
            event.time_range.end = (perf_counter_ns() - self.began) / 1000

        return end

    def record(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        """An op is called: time it, listening to the ops inside it."""
        if op.name.startswith("nn_functional_"):  # the public function of an op that takes more arguments
            return NotImplemented
        event = self.begin(f"aten::{op.name}", OP_SCOPE, shapes_of(args) if self.shapes else None)
        if self.shapes:
            event.input_dtypes = [str(BY_NUMPY[each._array.dtype]) if isinstance(each, TensorBase) else "" for each in args]
        self.passing = True
        try:
            result = dispatch_in_place(op, args) if op.functional is not None else dispatch(op, args, out)
        finally:
            self.passing = False
            self.end(event)
        if isinstance(result, TensorBase):
            node = result._grad_fn
            event.sequence_nr = -1 if node is None else abs(node.sequence)
            if self.memory and not op.view and op.functional is None and out is None:
                event.cpu_memory_usage = int(result._array.size) * int(result._array.itemsize)
        return result

    def node(self, current: Any, gradient: Any) -> Any:
        """A node of backward runs."""
        outer = self.begin(f"autograd::engine::evaluate_function: {current.name()}", OP_SCOPE)
        shapes = shapes_of(gradient if isinstance(gradient, (list, tuple)) else (gradient,)) if self.shapes else None
        inner = self.begin(current.name(), BACKWARD_SCOPE, shapes)
        outer.sequence_nr = inner.sequence_nr = abs(current.sequence)
        try:
            return current.backward(gradient)
        finally:
            self.end(outer)

    def compiled(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """A compiled function is called: one event, since the ops inside it are fused."""
        event = self.begin(f"Torch-Compiled Region: {name}", USER_SCOPE)
        state.profiler = None
        flags.leave()
        try:
            return function(*args, **kwargs)
        finally:
            flags.enter()
            state.profiler = self
            self.end(event)


def shapes_of(args: Any) -> list[Any]:
    """The shapes of tensors among arguments; of others an empty list."""
    return [
        list(each._array.shape) if isinstance(each, TensorBase)
        else [list(one._array.shape) for one in each if isinstance(one, TensorBase)] if isinstance(each, (list, tuple)) else []
        for each in args
    ]  # fmt: skip


def call_stack() -> list[str]:
    """The user's functions that are running, innermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((PACKAGE_FOLDER, "<call of ")):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return found


class profile:
    """A context that records the ops that run in it; ``key_averages().table()`` shows them.

    >>> import rushlight as torch
    >>> with torch.autograd.profiler.profile() as recorded:
    ...     y = torch.ones(3) + 1
    >>> [event.name for event in recorded.function_events]
    ['aten::ones', 'aten::add']
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = True, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops = with_flops
        self.entered = False
        self.function_events: EventList | None = None
        self.recorder: EventRecorder | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.recorder = EventRecorder(self.record_shapes, self.profile_memory, self.with_stack)
        self.recorder.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled and self.recorder is not None:
            self.recorder.stop()
            self.function_events = EventList(self.recorder.events, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def _check_finish(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as text."""
        return self._check_finish().table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in Chrome's trace format."""
        self._check_finish().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks with their times."""
        self._check_finish().export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of one name, summed."""
        return self._check_finish().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> Any:
        """The sum of all events."""
        return self._check_finish().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without those inside it."""
        return self._check_finish().self_cpu_time_total

    def __iter__(self) -> Any:
        return iter(self._check_finish())

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(list(self.function_events))

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)


class record_function:
    """A context, or a decorator, that names a range of the program for the profiler; without one it does nothing."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._event: Any = None

    def __enter__(self) -> record_function:
        recorder = state.profiler
        if recorder is not None:
            self._event = recorder.begin(self.name, USER_SCOPE)
        return self

    def __exit__(self, *error: object) -> None:
        recorder, event, self._event = state.profiler, self._event, None
        if recorder is not None and event is not None and event in recorder.open:
            recorder.end(event)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapped


def enter_range(name: str, args: str | None = None) -> record_function:
    """Begin a range, which :func:`exit_range` ends."""
    return record_function(name, args).__enter__()


def exit_range(record: record_function) -> None:
    """End a range."""
    record.__exit__()


RANGES = {"_record_function_enter": enter_range, "_record_function_enter_new": enter_range, "_record_function_exit": exit_range}


def packet(namespace: str, name: str) -> Any:
    """The op ``torch.ops.profiler.NAME``, or None."""
    return RANGES.get(name)


def names(namespace: str) -> set[str]:
    """The ops of ``torch.ops.profiler``."""
    return set(RANGES)


class emit_nvtx:
    """PyTorch's ranges for NVIDIA's profilers: refused unless it is not enabled."""

    _what = "NVIDIA's profilers"

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> Any:
        if self.enabled:
            raise NotSupported(f"{type(self).__name__}: ranges for {self._what} are not in rushlight; use torch.profiler.profile")
        return self

    def __exit__(self, *error: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """PyTorch's ranges for Intel's VTune: refused unless it is not enabled."""

    _what = "Intel's VTune"


def load_nvprof(path: str) -> Any:
    """Refused: there are no files of nvprof."""
    raise NotSupported("load_nvprof: traces of nvprof are not read by rushlight")


def _enabled() -> bool:
    """Whether a profiler is on in this thread."""
    return state.profiler is not None


class KinetoStepTracker:
    """Counts steps by the name of who counts; a step is over when the first of them says so."""

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for a name."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Stop counting for a name."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """One more step of a name; the step that all are in."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The step that all are in."""
        return cls._current_step


__all__ = [
    "EventList", "FunctionEvent", "KinetoStepTracker", "emit_itt", "emit_nvtx", "load_nvprof", "profile", "record_function",
]  # fmt: skip

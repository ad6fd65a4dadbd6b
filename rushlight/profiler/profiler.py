"""The profiler with a schedule: it waits, warms up, records some steps, hands the trace over, and begins again."""

from __future__ import annotations

import enum
import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.profiler import EventRecorder, KinetoStepTracker, record_function
from ..autograd.profiler_util import EventList, chrome_trace
from ..core.errors import NotSupported


class ProfilerActivity(enum.Enum):
    """What is recorded: of these, the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def kineto_available() -> bool:
    """True: traces can be recorded."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in each step: skip the first, then in turns wait, warm up and record; ``repeat`` times, 0 for ever."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError("step must be non-negative")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        turn = wait + warmup + active
        if repeat > 0 and step >= repeat * turn:
            return ProfilerAction.NONE
        place = step % turn
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < turn - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Record every step."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """A handler for ``on_trace_ready`` that writes each trace to a file in a folder, under the name that TensorBoard looks for."""

    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class ExecutionTraceObserver:
    """PyTorch's execution traces for replay: refused."""

    def __init__(self) -> None:
        raise NotSupported("execution traces for replay are not in rushlight; use torch.profiler.profile")


class _KinetoProfile:
    """A profiler that is started and stopped by hand."""

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
        execution_trace_observer: Any = None, acc_events: bool = False, custom_trace_id_callback: Any = None,
        **other: Any,
    ) -> None:  # fmt: skip
        self.activities = set(activities) if activities else supported_activities()
        if not all(isinstance(each, ProfilerActivity) for each in self.activities):
            raise TypeError("activities must be members of ProfilerActivity")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.execution_trace_observer = execution_trace_observer
        self.profiler: EventRecorder | None = None
        self.metadata: dict[str, Any] = {}
        self._base = 0
        self._kept: list[Any] = []

    def start(self) -> None:
        """Prepare and begin to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Record no more."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Make ready to record; what was recorded before is dropped."""
        self.profiler = EventRecorder(self.record_shapes, self.profile_memory, self.with_stack)

    def start_trace(self) -> None:
        """Begin to record."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before starting trace")
        self._base = time.time_ns()
        self.profiler.start()

    def stop_trace(self) -> None:
        """Record no more."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self.profiler.stop()
        if self.acc_events:
            self._kept += self.profiler.events

    def events(self) -> EventList:
        """The events, in the order in which they began."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        return EventList(self._kept if self.acc_events else self.profiler.events, profile_memory=self.profile_memory)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of one name, summed; if wanted also of one list of shapes, or of one place in the program."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in Chrome's trace format; compressed where the name ends in ``.gz``."""
        given = {"record_shapes": int(self.record_shapes), "profile_memory": int(self.profile_memory), "with_stack": int(self.with_stack)}
        text = json.dumps(
            chrome_trace(self.events(), {**given, **self.metadata, "traceName": str(path), "baseTimeNanoseconds": self._base})
        )
        if str(path).endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf8") as file:
                file.write(text)
        else:
            with open(path, "w", encoding="utf8") as plain:
                plain.write(text)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks with their times, as tools for flame graphs read them."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """A string for the trace file."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """A value for the trace file, as JSON."""
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Refused: allocations are not followed over time."""
        raise NotSupported("export_memory_timeline: allocations are not followed over time in rushlight; profile_memory sums them by op")


class profile(_KinetoProfile):
    """A context that records the ops that run in it.

    With a ``schedule``, the program calls ``step()`` after each step, some of which are recorded; ``on_trace_ready(profiler)`` is called
    whenever a recording is complete.
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
        execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None, **other: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            activities=activities, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, with_flops=with_flops,
            with_modules=with_modules, acc_events=acc_events, execution_trace_observer=execution_trace_observer,
        )  # fmt: skip
        self.schedule: Callable[[int], ProfilerAction] = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None
        self._recording = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with what the schedule says for the first step."""
        self._enter(self.current_action)

    def stop(self) -> None:
        """Stop; a recording that is under way is handed over."""
        self._leave_step()
        if self._recording:
            self._finish(self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE))

    def step(self) -> None:
        """A step of the program is over."""
        self._leave_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._finish(True)
        elif self._recording and self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            self._finish(False)
        self._enter(self.current_action)
        KinetoStepTracker.increment_step("Torch Profiler Step")

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Stop or go on recording within a step."""
        if self.profiler is None:
            return
        if enable and not self._recording:
            self.profiler.start()
            self._recording = True
        elif not enable and self._recording:
            self.profiler.stop()
            self._recording = False

    def set_custom_trace_id_callback(self, callback: Any) -> None:
        """Accepted: traces have no ids here."""

    def get_trace_id(self) -> str | None:
        """None: traces have no ids here."""
        return None

    def _enter(self, action: ProfilerAction) -> None:
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and not self._recording:
            self.prepare_trace()
            self.start_trace()
            self._recording = True
        if self.record_steps and self._recording:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _leave_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _finish(self, ready: bool) -> None:
        self.stop_trace()
        self._recording = False
        if ready and self.on_trace_ready is not None:
            self.on_trace_ready(self)

"""What a profiler has recorded: events, their sums by name, tables of them, and Chrome's trace format."""

from __future__ import annotations

import enum
import json
import os
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


class DeviceType(enum.Enum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1


class Interval:
    """Start and end of an event, in microseconds since profiling began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """The time between them."""
        return self.end - self.start


def format_time(microseconds: float) -> str:
    """A time as tables show it: ``1.250ms``."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


def format_time_share(part: float, total: float) -> str:
    """A share of a time in percent."""
    if total == 0:
        if part != 0:
            raise AssertionError(f"Expected time_us == 0 but got {part}")
        return "NaN"
    return f"{part * 100.0 / total:.2f}%"


def format_memory(count: float) -> str:
    """Bytes as tables show them: ``1.50 KB``."""
    for unit, size in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


class _Times:
    """What events and sums of events have in common; times are in microseconds."""

    cpu_time_total: Any
    self_cpu_time_total: Any
    count: int
    device_type = DeviceType.CPU
    use_device: str | None = None
    device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id = -1
    flops = 0
    overload_name = ""

    @property
    def cpu_time(self) -> float:
        """The mean time."""
        return 0.0 if not self.count else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The mean time on an accelerator: there is none."""
        return 0.0

    cuda_time = device_time

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` with its unit."""
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with its unit."""
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` with its unit."""
        return format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call: of an op, of a node of backward, of a compiled region, or a range that the program has named."""

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, input_shapes: Any = None, stack: Any = None,
        scope: int = 0, cpu_memory_usage: int = 0, sequence_nr: int = -1, is_user_annotation: bool = False,
    ) -> None:  # fmt: skip
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread = thread
        self.fwd_thread = thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.stack = [] if stack is None else stack
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.sequence_nr = sequence_nr
        self.is_user_annotation = is_user_annotation
        self.input_dtypes: list[str] = []
        self.kernels: list[Any] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def cpu_time_total(self) -> float:
        """From its start to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Without the events inside it."""
        return self.cpu_time_total - sum(each.cpu_time_total for each in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Memory that the events inside it do not account for."""
        return self.cpu_memory_usage - sum(each.cpu_memory_usage for each in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Put an event inside this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name= device_type={self.device_type} node_id={self.node_id} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[each.id for each in self.cpu_children]} {self.use_device}_time=0.000us name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} {self.use_device}_memory_usage=0 is_async={self.is_async} "
            f"is_remote=False seq_nr={self.sequence_nr} is_legacy=False>"
        )


class FunctionEventAvg(_Times):
    """The sum of the events of one name."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_parent: Any = None
        self.cpu_children: list[FunctionEvent] = []
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or another sum of the same name."""
        if self.key is None:
            self.key, self.input_shapes, self.stack, self.scope = other.key, other.input_shapes, other.stack, other.scope
            self.cpu_parent, self.is_user_annotation = other.cpu_parent, other.is_user_annotation
        if other.key != self.key:
            raise AssertionError(f"an event of {other.key} among those of {self.key}")
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.count += other.count
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
            f"self_cuda_time=0.000us cuda_time=0.000us input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            "cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """Events, or sums of events."""

    def __init__(
        self, events: Iterable[Any] = (), *, use_device: str | None = None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without those inside it."""
        return sum(each.self_cpu_time_total for each in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums of events of one name; if wanted also of one list of shapes, or of one place in the program."""
        groups: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            key += event.stack[:group_by_stack_n]
            groups[tuple(key)].add(event)
        found = EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory)
        for each in found:
            each.stack = each.stack[:group_by_stack_n] if group_by_stack_n else each.stack
            if not group_by_input_shapes:
                each.input_shapes = ""
        return found

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = None
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, the largest first by the attribute that ``sort_by`` names."""
        return build_table(
            self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
            self._profile_memory, top_level_events_only,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as Chrome's tracing page (``chrome://tracing``) and Perfetto read them."""
        with open(path, "w", encoding="utf8") as file:
            json.dump(chrome_trace(self), file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What ``export_stacks`` can sum."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write the stacks with their times, one to a line, as tools for flame graphs read them."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        with open(path, "w", encoding="utf8") as file:
            for event in self:
                value = int(getattr(event, metric.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")))
                if event.stack and value > 0:
                    places = ";".join(each.translate(str.maketrans(" ;\t\n", "____")) for each in reversed(event.stack))
                    file.write(f"{places} {value}\n")


_SORTED_BY = (
    "cpu_time", "cuda_time", "xpu_time", "cpu_time_total", "cuda_time_total", "xpu_time_total", "cpu_memory_usage", "cuda_memory_usage",
    "xpu_memory_usage", "self_cpu_memory_usage", "self_cuda_memory_usage", "self_xpu_memory_usage", "count", "self_cpu_time_total",
    "device_time", "device_time_total", "device_memory_usage", "self_device_time_total", "self_device_memory_usage", "self_cuda_time_total",
)  # fmt: skip


def build_table(
    events: EventList, sort_by: str | None, row_limit: int, source_width: int, name_width: int, shapes_width: int, header: str | None,
    memory: bool, top_level_only: bool,
) -> str:  # fmt: skip
    """The text of a table of events."""
    if not events:
        return ""
    rows: list[Any] = list(events)
    if sort_by is not None:
        if sort_by not in _SORTED_BY:
            raise AssertionError(f"sort_by should be one of {_SORTED_BY}, got {sort_by}")
        attribute = sort_by.replace("cuda", "device").replace("xpu", "device")
        rows.sort(key=lambda each: getattr(each, attribute), reverse=True)
    shapes = any(each.input_shapes not in (None, "", []) for each in rows)
    stacks = any(each.stack for each in rows)
    total = sum(each.self_cpu_time_total for each in events)
    titles: list[tuple[str, Callable[[Any], str], int]] = [
        ("Name", lambda e: _cut(e.key, name_width), max(len(each.key) for each in rows) + 4),
        ("Self CPU %", lambda e: format_time_share(e.self_cpu_time_total, total), 12),
        ("Self CPU", lambda e: e.self_cpu_time_total_str, 12),
        ("CPU total %", lambda e: format_time_share(e.cpu_time_total, total), 12),
        ("CPU total", lambda e: e.cpu_time_total_str, 12),
        ("CPU time avg", lambda e: e.cpu_time_str, 12),
    ]
    titles[0] = (titles[0][0], titles[0][1], min(titles[0][2], name_width))
    if memory:
        titles.append(("CPU Mem", lambda e: format_memory(e.cpu_memory_usage), 12))
        titles.append(("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage), 12))
    titles.append(("# of Calls", lambda e: str(e.count), 12))
    if shapes:
        width = min(max(len(str(each.input_shapes)) for each in rows) + 4, shapes_width)
        titles.append(("Input Shapes", lambda e: str(e.input_shapes)[:width], width))
    if stacks:
        width = min(max((len(line) for each in rows for line in each.stack or ()), default=0) + 4, source_width)
        titles.append(("Source Location", lambda e: _cut(e.stack[0], width) if e.stack else "", width))
    rule = "  ".join("-" * width for _, _, width in titles) + "  "

    def line(cells: Iterable[str]) -> str:
        return "  ".join(f"{cell:>{width}}" for cell, (_, _, width) in zip(cells, titles)) + "  "

    found = [] if header is None else ["=" * len(rule), header]
    found += [rule, line(title for title, _, _ in titles), rule]
    count = 0
    for each in rows:
        if count == row_limit:
            break
        if top_level_only and each.cpu_parent is not None:
            continue
        count += 1
        found.append(line(value(each) for _, value, _ in titles))
        for place in (each.stack or ())[1:] if stacks else ():
            found.append(line(["" for _ in titles[:-1]] + [_cut(place, titles[-1][2])]))
    found += [rule, f"Self CPU time total: {format_time(total)}", ""]
    return "\n".join(found)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def chrome_trace(events: Iterable[FunctionEvent], metadata: Any = None) -> dict[str, Any]:
    """The events in Chrome's trace format; times are in microseconds since profiling began, as numbers of today would lose digits."""
    process = os.getpid()
    events = list(events)
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "ts": 0, "pid": process, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "ts": 0, "pid": process, "tid": 0, "args": {"labels": "CPU"}},
    ]
    for thread in sorted({each.thread for each in events}):
        name = f"thread {thread} (python)"
        found.append({"ph": "M", "name": "thread_name", "ts": 0, "pid": process, "tid": thread, "args": {"name": name}})
    for event in events:
        args: dict[str, Any] = {"External id": event.id, "Ev Idx": event.id - 1}
        if event.sequence_nr >= 0:
            args["Sequence number"] = event.sequence_nr
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.input_dtypes:
            args["Input type"] = event.input_dtypes
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        found.append({
            "ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.name, "pid": process,
            "tid": event.thread, "ts": event.time_range.start, "dur": event.cpu_time_total, "args": args,
        })  # fmt: skip
    return {
        "schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "host_name": socket.gethostname(), **(metadata or {}),
        "traceEvents": found,
    }  # fmt: skip

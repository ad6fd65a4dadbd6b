"""A schedule as the source of one Python module: its kernels, and a function that launches them in order."""

from __future__ import annotations

import hashlib
import linecache
import math
import os
import re
from collections.abc import Mapping, Sequence
from itertools import count
from types import ModuleType
from typing import Any, NamedTuple

from ...graph.printer import source_of
from ...schedule.fusion import FusionGroup
from ...schedule.kernel_plan import KernelPlan
from ...schedule.plan_kernel import plan_kernel
from ...schedule.schedule import Schedule
from ...schedule.tensor_ir import Value
from .kernel import PROGRAMS, CombinedKernel, TritonKernel, identifier

_numbers = count()


PARTS = 32  # kernels that are combined at most
_COMMENTS = 12  # lines of the user's above a combined kernel
Region = tuple[str, int, int]  # the memory of a value: a byte range of the arena, or of a buffer


class Pending(NamedTuple):
    """A pending kernel, which may be combined with others."""

    plan: KernelPlan
    kernel: TritonKernel  # its launch if nothing is combined with it
    step: Any
    reads: set[Region]
    writes: set[Region]
    blocks: str | None  # of a reduction: its block sizes, which combined kernels must share


class LaunchRecord(NamedTuple):
    """One launch of ``run``: the kernel, the positions and dtypes of its buffers, the grid, and the constants."""

    name: str
    slots: list[int]
    dtypes: list[Any]
    grid: tuple[int]
    constants: dict[str, int]


class GeneratedModule:
    """The source of the kernels of a schedule; ``calls`` are the values of the ops that ``run`` calls between launches, by their numbers.

    Kernels without reductions, and small reductions, are pending until a step depends on them or overwrites what they read, and are launched combined.
    """

    def __init__(self, schedule: Schedule, programs: int = PROGRAMS) -> None:
        self.schedule, self.programs = schedule, programs
        self.kernels: list[TritonKernel | CombinedKernel] = []
        self.parts: dict[str, TritonKernel] = {}  # functions that combined kernels call, by name
        self.calls: list[Any] = []
        self.body: list[tuple[str, set[int]]] = []  # the lines of ``run``, each with the positions of the tensors that it uses
        self.known: dict[str, str] = {}  # the names of kernels by what they do
        self.waiting: list[Pending] = []
        self.records: list[LaunchRecord] = []
        for step in schedule.steps:
            self.add(step)
        self.flush()

    def add(self, step: Any) -> None:
        """The launch of a fused group, or the call of an op."""
        if not isinstance(step, FusionGroup):
            value = step.value
            self.settle({self.region(each.value) for each in value.inputs}, {self.region(each) for each in value.others})
            used = {self.schedule.slots[each.alias_of or each] for each in (*[one.value for one in value.inputs], *value.others)}
            self.body.append((f"call({len(self.calls)})  # {value.node.name if value.node is not None else value}", used))
            self.calls.append(value)
            return
        plan = plan_kernel(step, self.schedule.target)
        plan.check()
        kernel = TritonKernel(plan, "", sources([step]), self.programs)
        if kernel.empty:
            return
        reads, writes = {self.region(each) for each in plan.buffers}, {self.region(each) for each in (*kernel.written, *plan.partials)}
        reads -= writes - {self.region(each.buffer) for each in kernel.locations() if each.value not in step.members}
        self.settle(reads, writes)
        if kernel.combines:
            self.waiting.append(Pending(plan, kernel, step, reads, writes, None if kernel.flat else kernel.options))
        else:
            self.launch(kernel, [step])

    def region(self, value: Value) -> Region:
        """The memory of a value."""
        root = value.alias_of or value
        length = max(math.prod(root.shape), 1) * root.dtype.itemsize
        start = self.schedule.offsets.get(root)
        if start is not None:
            return "arena", start, start + length
        lender, start = self.schedule.lent.get(root, (root, 0))
        return f"buffer {self.schedule.slots[lender]}", start, start + length

    def settle(self, reads: set[Region], writes: set[Region]) -> None:
        """Launch pending kernels that a step depends on, or whose memory it writes to."""
        for each in self.waiting:
            if overlap(each.writes, reads) or overlap(each.writes, writes) or overlap(each.reads, writes):
                self.flush()
                return

    def flush(self) -> None:
        """Launch the pending kernels."""
        waiting, self.waiting = self.waiting, []
        for blocks in dict.fromkeys(each.blocks for each in waiting):
            alike = [each for each in waiting if each.blocks == blocks]
            for start in range(0, len(alike), PARTS):
                self.together(alike[start : start + PARTS])

    def together(self, kernels: list[Pending]) -> None:
        """Launch kernels as one combined kernel."""
        steps = [each.step for each in kernels]
        if len(kernels) == 1:
            self.launch(kernels[0].kernel, steps)
            return
        elements = sum(math.prod(each.plan.space) for each in kernels)
        size = 1024 if elements >= 1024 * self.programs else 256
        parts = [self.part(each.plan, size) for each in kernels]
        lines = sources(steps)
        more = [f"... and {len(lines) - _COMMENTS} lines more"] if len(lines) > _COMMENTS else []
        self.launch(CombinedKernel("", parts, [*lines[:_COMMENTS], *more]), steps)

    def part(self, plan: KernelPlan, size: int) -> tuple[TritonKernel, str]:
        """A function of a combined kernel, and its name; equal ones are deduplicated."""
        kernel = TritonKernel(plan, "", [], self.programs, size)
        kernel.name = f"part_{digest(kernel.canonical)}"
        self.parts.setdefault(kernel.name, kernel)
        return kernel, kernel.name

    def launch(self, kernel: TritonKernel | CombinedKernel, steps: list[Any]) -> None:
        """A line that launches a kernel; an equal kernel that exists is reused."""
        text = kernel.canonical
        name = self.known.get(text)
        if name is None:
            # The name depends on the kernel's code alone, so that Triton's cache hits whatever else the graph has.
            names = [identifier(each.node.name) for step in steps for each in step.members if each.node is not None] or ["copy"]
            words = dict.fromkeys(re.sub(r"_\d+$", "", each) for each in names)
            name = kernel.name = self.known[text] = f"fused_{'_'.join(list(words)[:4])}_{digest(text)}"
            self.kernels.append(kernel)
        buffers = kernel.buffers if isinstance(kernel, CombinedKernel) else kernel.plan.buffers
        slots = [self.schedule.slots[each] for each in buffers]
        self.records.append(LaunchRecord(name, slots, [each.dtype for each in buffers], kernel.grid, kernel.constants))
        given = ", ".join([*[f"memory[{slot}]" for slot in slots], kernel.options])
        self.body.append((f"{name}[{kernel.grid}]({given})", set(slots)))

    def lines(self) -> list[str]:
        """The lines of ``run``: results of ops are freed after their last use."""
        kept = {
            self.schedule.slots[each.value]
            for each in (*self.schedule.outputs, *(one for one, _ in self.schedule.copies))
            if each is not None
        }
        waiting = {self.schedule.slots[each] for value in self.calls for each in value.others} - kept
        lines: list[str] = []
        for line, used in reversed(self.body):
            done = sorted(used & waiting)
            waiting -= used
            lines += [f"{' = '.join(f'memory[{slot}]' for slot in done)} = None"] if done else []
            lines.append(line)
        return lines[::-1] or ["pass"]

    @property
    def text(self) -> str:
        """The source of the module."""
        return "\n".join([*self.head((*self.parts.values(), *self.kernels)), *self.run_lines()])

    def head(self, kernels: Sequence[TritonKernel | CombinedKernel], comments: bool = True) -> list[str]:
        """The lines of a module with some kernels."""
        functions = sorted({name for each in kernels if isinstance(each, TritonKernel) for name in each.used})
        lines = [
            '"""Kernels generated by rushlight.  `run` takes the tensors of a call by their positions, and a function that calls ops."""',
            "",
        ]
        lines += ["import triton", "import triton.language as tl", ""]
        if functions:
            lines += [f"from {__package__}.device_functions import {', '.join(functions)}", ""]
        for each in kernels:
            text = each.text if comments else "\n".join(line for line in each.text.splitlines() if not line.startswith("#"))
            lines += ["", text, ""]
        return lines

    def run_lines(self) -> list[str]:
        """The lines of the function that launches the kernels."""
        return ["", "def run(memory, call):", *[f"    {line}" for line in self.lines()], ""]

    def alone(self, kernel: TritonKernel | CombinedKernel) -> str:
        """The source of a module with one kernel, without the user's lines: what its code depends on."""
        parts = [self.parts[each] for each in kernel.functions] if isinstance(kernel, CombinedKernel) else []
        return "\n".join(self.head([*parts, kernel], comments=False))

    def load(self, kernels: Mapping[str, Any] | None = None) -> ModuleType:
        """The module, ready to run; its source is known to tracebacks and to Triton.  Where kernels are given, it is the function ``run`` that launches them."""
        text, name = self.text if kernels is None else "\n".join(self.run_lines()), f"<rushlight triton {next(_numbers)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        made = ModuleType(name.strip("<>").replace(" ", "_"))
        made.__file__ = name
        made.__dict__.update(kernels or {})
        exec(compile(text, name, "exec"), made.__dict__)
        return made


def digest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def overlap(some: set[Region], others: set[Region]) -> bool:
    """Whether two sets of regions overlap."""
    for kind, start, end in some:
        for other, first, last in others:
            if start < last and first < end and kind == other:
                return True
    return False


def sources(steps: list[Any]) -> list[str]:
    """The user's lines that steps come from."""
    found: dict[str, None] = {}
    for value in [each for step in steps for each in step.members]:
        if value.node is not None and source_of(value.node):
            file, line, _ = value.node.meta["source"]
            found[f"{os.path.basename(file)}:{line}: {linecache.getline(file, line).strip()}"] = None
    return list(found)


__all__ = ["GeneratedModule"]

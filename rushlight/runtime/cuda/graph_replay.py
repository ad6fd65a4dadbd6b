"""A compiled program replayed as one CUDA graph: no Python and no allocation between its kernels.

The first calls launch the kernels one by one.  Then the program is captured: inputs whose addresses repeat (parameters, buffers) are read in place, others
are copied to static buffers.  Results are in the graph's memory.  Where results of the last replay are still referenced, a second graph, with its own memory
for results alone, alternates with the first; where both are, the program runs uncaptured, as it does where inputs have moved.  A program that can't be
captured, because an op synchronizes, is never replayed.  ``RUSHLIGHT_CUDA_GRAPHS=0`` turns replaying off.
"""

from __future__ import annotations

import gc
import logging
import os
from collections import Counter
from itertools import compress
from operator import is_
from sys import getrefcount
from typing import Any

from ...core.base import make
from ...core.devices import device_types
from ...core.errors import RushlightError
from ...schedule.tensor_ir import Input
from ..cpu import python_code
from .captured_work import Allocations, CapturedWork, graph_memory
from .measured_convolutions import measure_convolutions
from .measured_products import measure_pending, measured_products
from .schedule_run import TritonSchedule

log = logging.getLogger("rushlight.triton")
WARM = 2  # calls before the capture: kernels are compiled and algorithms measured in them
_MOVES = 2  # moves of an input after which it is copied instead of read in place
_CAPTURES = 8  # captures of one program for other addresses, at most
_INSTANCES = 2  # graphs that alternate where results are referenced
_FAILURES = (RushlightError, RuntimeError, TypeError, ValueError, NotImplementedError, MemoryError)
_DEVICE_TO_DEVICE = 3


class GraphInstance:
    """One graph of a program: its work, its results, and the reference counts of those when unused."""

    def __init__(self, work: CapturedWork, results: list[Any], own: list[Any]) -> None:
        """``own`` are the result arrays that callers may reference; the list is emptied, as it references them."""
        self.work, self.results = work, results  # of results: None, the number of an input, or an array
        self.own = referenced_objects(own)
        own.clear()
        self.counts = list(map(getrefcount, self.own))

    def is_free(self) -> bool:
        """Whether no caller references a result."""
        return list(map(getrefcount, self.own)) == self.counts


def referenced_objects(arrays: list[Any]) -> list[Any]:
    """The objects that references to an array count on: the array (by tensors), its memory (by views)."""
    return [*arrays, *[each.data.mem for each in arrays]]


class ReplayedSchedule:
    """A :class:`TritonSchedule` that is captured once and replayed."""

    def __init__(self, program: TritonSchedule) -> None:
        self.program = program
        self.cupy: Any = device_types[program.place.type].cupy  # type: ignore[attr-defined]
        self.ran = self.captures = 0
        self.positions = [each.position for each in program.inputs]
        self.addresses: list[int] = []  # of the inputs, in the last call
        self.steady: list[bool] = []  # which of them have not moved since the call before
        self.moves = [0] * len(self.positions)  # how often each of them has moved since it was read in place
        self.instances: list[GraphInstance] = []
        self.allocations: Allocations | None = None
        self.gradients: tuple[int, ...] = ()  # the results that a launcher stores as gradients ...
        self.shared: dict[int, Any] = {}  # ... which all graphs have in the same memory
        self.counted = Counter[str]()  # how calls went: warm, unsteady, moved, held, replayed
        self.refused = "replaying is turned off" if os.environ.get("RUSHLIGHT_CUDA_GRAPHS") == "0" else ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def __call__(self, args: tuple[Any, ...]) -> list[Any]:
        """The outputs for inputs that the program accepts."""
        program = self.program
        if self.refused or self.cupy.cuda.get_current_stream().is_capturing():
            return program(args)
        with program.lock:
            given = [args[at]._array for at in self.positions]
            self.note(given)
            if self.ran <= WARM:
                return self.run(args, "warm")
            if self.gradients:  # referenced by their owners, which the launcher checks
                return self.run(args, "held" if self.instances else "moved")
            if not self.instances and not self.capture(args, given):
                return self.run(args, "unsteady")
            if not self.in_place(given):
                return self.run(args, "moved")
            instance = self.free(args, given)
            if instance is None:
                return self.run(args, "held")
            self.replay(instance, given)
            return [None if each is None else make(given[each]) if isinstance(each, int) else make(each) for each in instance.results]

    def describe(self) -> str:
        """The program's kernels, and counts of how its calls went."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.counted.items()) or "none yet"
        line = f"not replayed as a CUDA graph: {self.refused}" if self.refused else f"replayed as a CUDA graph (calls: {counts})"
        return f"{line}\n{self.program.describe()}"

    # -- the ways a call can go --------------------------------------------------------------------------------------

    def note(self, given: list[Any]) -> None:
        """Count a call, and see which inputs have moved."""
        addresses = [each.data.ptr for each in given]
        self.steady = [one == other for one, other in zip(addresses, self.addresses)] or [False] * len(given)
        self.addresses = addresses
        self.ran += 1

    def run(self, args: tuple[Any, ...], outcome: str) -> list[Any]:
        """Run the program uncaptured; the last run before the capture records the allocations."""
        self.counted[outcome] += 1
        if self.instances or self.ran != WARM:
            with measured_products():
                results = self.program.run(args)
            measure_pending(self.cupy)
            measure_convolutions(self.cupy)
            python_code.store()
            return results
        self.program.release_arena()
        noted = Allocations(self.cupy)
        with self.cupy.cuda.using_allocator(noted.note), measured_products():
            results = self.program.run(args)
        noted.found(self.made(results))
        self.allocations = noted
        return results

    def made(self, results: list[Any]) -> dict[int, Any]:
        """The indices of results that are in the program's memory; a view of an input is in the input's."""
        return {
            number: each._array for number, (each, reference) in enumerate(zip(results, self.program.outputs))
            if each is not None and reference is not None and not isinstance(reference.value, Input)
        }  # fmt: skip

    def in_place(self, given: list[Any]) -> bool:
        """Whether the inputs read in place have their captured addresses; if not, the next call captures the program again."""
        there = list(compress(given, self.bound))
        if all(map(is_, there, self.captured)):
            return True
        if any(
            one.shape != other.shape or one.strides != other.strides or one.dtype != other.dtype for one, other in zip(there, self.captured)
        ):
            return False  # inputs for another program
        moved = [one.data.ptr != other.data.ptr for one, other in zip(there, self.captured)]
        if not any(moved):
            return True
        for at in compress(compress(range(len(given)), self.bound), moved):
            self.moves[at] += 1
        self.instances = []
        return False

    def free(self, args: tuple[Any, ...], given: list[Any]) -> GraphInstance | None:
        """A graph whose results are not referenced; another one is captured where there is none."""
        for instance in self.instances:
            if instance.is_free():
                return instance
        if len(self.instances) < _INSTANCES and self.allocations is not None and self.capture(args, given):
            return self.instances[-1]
        return None

    def replay(self, instance: GraphInstance, given: list[Any]) -> None:
        """Copy inputs to their static buffers, and replay."""
        self.counted["replayed"] += 1
        stream = self.cupy.cuda.get_current_stream()
        self.memory.enter(stream)
        for at, own, size in self.copies:
            self.cupy.cuda.runtime.memcpyAsync(own.data.ptr, given[at].data.ptr, size, _DEVICE_TO_DEVICE, stream.ptr)
        instance.work.replay(stream)

    # -- capturing ---------------------------------------------------------------------------------------------------

    def capture(self, args: tuple[Any, ...], given: list[Any]) -> bool:
        """Capture the program, again where it has been; False where that fails."""
        program, cupy = self.program, self.cupy
        if not self.instances and not self.choose(given):
            return False
        inside = list(args)
        for at, own, _ in self.copies:
            inside[self.positions[at]] = make(own)
        memory, known = self.memory, self.allocations
        program.release_arena()
        work = CapturedWork(cupy)
        with memory.lock:
            cupy.cuda.Device().synchronize()
            if known is None:
                work.pool = cupy.cuda.MemoryPool()
                allocate = work.pool.malloc
            else:
                known.begin(memory.pool, self.shared if self.instances else {})
                allocate = known.allocate
            try:
                with measured_products():
                    made = work.capture(memory.stream, allocate, program.run, tuple(inside))
            except _FAILURES as error:
                self.refuse("; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]))
                return False
        own = self.made(made)
        if known is not None and not known.right(own.values()):
            log.info("the allocations of a program differ from run to run: %d, then %d", len(known.places), known.count)
            self.allocations = None  # it gets a pool of its own
            del made, own
            return not self.instances and self.capture(args, given)
        places = {id(inside[at]._array): number for number, at in enumerate(self.positions)}
        results: list[Any] = [None if each is None else places.get(id(each._array), each._array) for each in made]  # an input: its number
        for number in self.gradients:
            results[number] = None
            if not self.instances:
                self.shared[number] = own[number]
        free = [each for number, each in own.items() if number not in self.gradients]
        del made, inside, own
        gc.collect(1)  # references from garbage cycles would count as a caller's
        log.info("captured as a CUDA graph%s: %s", ", once more" if self.instances else "", program.outline())
        self.instances.append(GraphInstance(work, results, free))
        if known is not None:
            memory.users.add(work)
        return True

    def refuse(self, why: str) -> None:
        """Never replay the program; the memory of its graphs is freed."""
        self.refused, self.instances = why, []
        self.memory.release()
        log.info("a program is not replayed as a CUDA graph: %s", why, exc_info=log.isEnabledFor(logging.DEBUG))

    def choose(self, given: list[Any]) -> bool:
        """Choose what is read in place and what is copied; False where something that can't be copied has moved."""
        program = self.program
        written = {*program.writes, *(position for _, position in program.schedule.copies)}
        # An input that is written to, or of which a view is returned, is not copied; an input returned whole is returned itself.
        fixed = written | {
            each.value.position for each in program.outputs
            if each is not None and isinstance(each.value, Input) and (each.shape, each.strides, each.offset) != (each.value.shape, each.value.strides, 0)
        }  # fmt: skip
        if any(at in fixed and not steady for at, steady in zip(self.positions, self.steady)):
            return False  # its address may settle
        self.captures += 1
        if self.captures > _CAPTURES:
            self.refused = "its inputs move from call to call"
            return False
        self.memory = graph_memory(self.cupy)
        self.bound = [
            steady and (moves < _MOVES or at in fixed) for at, steady, moves in zip(self.positions, self.steady, self.moves)
        ]  # fmt: skip
        self.copies = [(at, *laid_out_like(self.cupy, each)) for at, (each, bound) in enumerate(zip(given, self.bound)) if not bound]
        self.captured = list(compress(given, self.bound))
        self.written = {each.data.mem.ptr for each, at in zip(given, self.positions) if at in written}
        return True


def laid_out_like(cupy: Any, array: Any) -> tuple[Any, int]:
    """A new array of the same strides, and how many bytes it spans."""
    size = array.itemsize
    span = 0 if not array.size else size + sum((count - 1) * step for count, step in zip(array.shape, array.strides))
    memory = cupy.empty(max(span // size, 1), array.dtype)
    return cupy.ndarray(array.shape, array.dtype, memory.data, array.strides), span


__all__ = ["WARM", "ReplayedSchedule", "GraphInstance", "referenced_objects"]

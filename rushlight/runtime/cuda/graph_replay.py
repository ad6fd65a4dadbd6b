"""A compiled program replayed as one CUDA graph: no Python and no allocation between its kernels.

The first calls run the program as it is.  Then it is captured: inputs whose addresses repeat (parameters, buffers) are read in place, others are copied to
memory of the graph's own.  Results are in the graph's memory, so a replay waits until nobody holds those of the one before; a call that comes earlier runs
the program as it is, and so does one whose inputs have moved.  A program that can't be captured, because an op waits for the GPU, is never replayed.
``RUSHLIGHT_CUDA_GRAPHS=0`` turns replaying off.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from typing import Any

from ...core.base import make
from ...core.devices import device_types
from ...core.errors import RushlightError
from ...schedule.tensor_ir import Input
from .schedule_run import TritonSchedule

log = logging.getLogger("rushlight.triton")
_WARM = 2  # calls before the capture: kernels are compiled and algorithms measured in them
_MOVES = 3  # calls with moved inputs after which the program is captured anew
_CAPTURES = 4  # captures of one program, at most


class ReplayedSchedule:
    """A :class:`TritonSchedule` that is captured once and replayed."""

    def __init__(self, program: TritonSchedule) -> None:
        self.program = program
        self.cupy: Any = device_types["cuda"].cupy  # type: ignore[attr-defined]
        self.calls = self.moves = self.captures = 0
        self.addresses: list[int] = []  # of the inputs, in the last call
        self.steady: list[bool] = []  # which of them have not moved since the call before
        self.graph: Any = None
        self.turns = Counter[str]()  # how calls went: warm, unsteady, moved, held, replayed
        self.refused = os.environ.get("RUSHLIGHT_CUDA_GRAPHS") == "0"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def __call__(self, args: tuple[Any, ...]) -> list[Any]:
        """The outputs for inputs that the program accepts."""
        program = self.program
        if self.refused or self.cupy.cuda.get_current_stream().is_capturing():
            return program(args)
        with program.lock:
            given = [args[each.position]._array for each in program.inputs]
            addresses = [each.data.ptr for each in given]
            self.steady = [one == other for one, other in zip(addresses, self.addresses)] or [False] * len(given)
            self.addresses = addresses
            self.calls += 1
            if self.calls <= _WARM:
                return self._run(args, "warm")
            if self.graph is None:
                self._capture(args, given)
                if self.graph is None:
                    return self._run(args, "unsteady")
            if any(own is None and address != there for own, address, there in zip(self.copies, addresses, self.captured)):
                self.moves += 1
                if self.moves >= _MOVES:
                    self.graph = None  # captured anew by the next call, with copies of what moves
                return self._run(args, "moved")
            if self._references() != self.counts:
                return self._run(args, "held")
            self.turns["replayed"] += 1
            return self._replay(given)

    def _run(self, args: tuple[Any, ...], turn: str) -> list[Any]:
        """Run the program as it is."""
        self.turns[turn] += 1
        return self.program.run(args)

    def _capture(self, args: tuple[Any, ...], given: list[Any]) -> None:
        """Capture the program; ``graph`` stays None where that can't be."""
        program, cupy = self.program, self.cupy
        self.moves = 0
        written = {*program.writes, *(position for _, position in program.schedule.copies)}
        # An input that is written to, or of which a view is handed out, is not copied; the whole of one is handed out as it came.
        bound = written | {
            each.value.position for each in program.outputs
            if each is not None and isinstance(each.value, Input) and (each.shape, each.strides, each.offset) != (each.value.shape, each.value.strides, 0)
        }  # fmt: skip
        self.copies = [
            None if steady or each.position in bound else cupy.empty_like(array)
            for each, steady, array in zip(program.inputs, self.steady, given)
        ]
        if any(own is None and not steady for own, steady in zip(self.copies, self.steady)):
            return  # it may come to rest
        self.captures += 1
        if self.captures > _CAPTURES:
            self.refused = True
            return
        inside = list(args)
        for each, own in zip(program.inputs, self.copies):
            if own is not None:
                inside[each.position] = make(own)
        self.captured = list(self.addresses)
        generators = device_types["cuda"].generators  # type: ignore[attr-defined]
        self.pool, stream = cupy.cuda.MemoryPool(), cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        bases = [each.begin_capture() for each in generators]
        made: Any = None
        try:
            with cupy.cuda.using_allocator(self.pool.malloc), stream:
                stream.begin_capture()
                try:
                    made = program.run(tuple(inside))
                finally:
                    graph = stream.end_capture()
        except (RushlightError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            log.info(
                "a program is not replayed as a CUDA graph: %s: %s", type(error).__name__, error, exc_info=log.isEnabledFor(logging.DEBUG)
            )
            self.refused, made = True, None
        words = [each.end_capture() for each in generators]
        if made is None:
            return
        self.draws = [row for row in zip(generators, bases, words) if row[2]]
        own_arrays = {id(inside[each.position]._array): at for at, each in enumerate(program.inputs)}
        self.results = [None if each is None else own_arrays.get(id(each._array), each._array) for each in made]  # an input: its number
        del made, inside
        # What is in the graph's memory; a view of an input is in the input's.
        self.arrays = [
            each for each, reference in zip(self.results, program.outputs)
            if each is not None and not isinstance(each, int) and reference is not None and not isinstance(reference.value, Input)
        ]  # fmt: skip
        self.graph = graph
        self.counts = self._references()

    def _references(self) -> list[int]:
        """How many refer to each result: more than after the capture where somebody holds one."""
        return [sys.getrefcount(each) for each in self.arrays]

    def _replay(self, given: list[Any]) -> list[Any]:
        """Copy what moves, replay, and hand out the graph's memory."""
        for own, array in zip(self.copies, given):
            if own is not None:
                own[...] = array
        for generator, base, words in self.draws:
            generator.advance_replay(base, words)
        self.graph.launch(self.cupy.cuda.get_current_stream())
        return [None if each is None else make(given[each]) if isinstance(each, int) else make(each) for each in self.results]

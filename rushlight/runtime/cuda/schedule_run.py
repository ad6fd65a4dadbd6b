"""The executable of a schedule of Triton kernels: the memory of its values on a device, and its calls.

On CUDA tensors the kernels are compiled; on CPU tensors Triton's interpreter runs them, which is how they are tested without a GPU.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ...codegen.triton.kernel import PROGRAMS
from ...codegen.triton.module import GeneratedModule
from ...core.base import TensorBase, contiguous_strides, make
from ...core.declare import table
from ...core.devices import device, device_of, device_type_of, device_types, on_device
from ...core.dtypes import BY_NUMPY, uint8
from ...core.errors import OperationError, RushlightError
from ...core.state import state
from ...graph.printer import source_of
from ...schedule.schedule import Schedule
from ...schedule.tensor_ir import Call, Reference, Value
from .kernel_store import COMPILES, GeneratedKernel
from .measured_convolutions import measure_convolutions
from .measured_products import measure_pending, measured_products

log = logging.getLogger("rushlight.triton")


class KernelFailed(Exception):
    """The error of a kernel that Triton or ptxas fails to compile, or that needs too many registers; the message has its source."""


class Quiet:
    """A stand-in for a kernel, whose launches do nothing."""

    def __getitem__(self, grid: Any) -> Any:
        return self

    def __call__(self, *args: Any, **constants: Any) -> None:
        pass


class TritonSchedule:
    """The executable of a graph: a function from tensors to tensors."""

    def __init__(self, schedule: Schedule, place: device) -> None:
        self.schedule, self.place = schedule, place
        self.inputs, self.outputs, self.writes = schedule.inputs, schedule.outputs, schedule.writes
        self.generated = GeneratedModule(schedule, PROGRAMS if place.type == "cuda" else 1)
        self.text = self.generated.text
        self.calls, self.records = self.generated.calls, self.generated.records
        self.launches = len(self.records)
        self.impure = any(each.node is None or each.node.is_impure() for each in self.calls)
        self.sources = {each.name: each.text for each in self.generated.kernels}
        self.lock = threading.Lock()  # calls share one arena, and their launches must be in stream order
        self.kernels: dict[str, GeneratedKernel] = {}  # on a GPU, by name
        if place.type == "cuda" and COMPILES:
            kind: Any = device_types["cuda"]
            about = {each.name: each for each in self.records}
            self.kernels = {
                each.name: GeneratedKernel(
                    kind.cupy, self.generated.alone(each), each.name, about[each.name].dtypes, about[each.name].constants
                )
                for each in self.generated.kernels
            }
        self.module = self.generated.load(self.kernels or None)
        self.steps = [str(each) for each in schedule.steps]
        self.notes = list(schedule.notes)
        self.fixed: list[Any] = []  # the inputs that are no tensors, which the code depends on
        self.size = max(schedule.slots.values(), default=-1) + 1
        self.constants: list[Any] = [None] * self.size
        for constant in schedule.constants:
            self.constants[schedule.slots[constant]] = make(on_device(constant.array, place))
        self.static: list[Any] | None = None  # constants and the arena ...
        self.keeps_arena = True  # ... where calls share it
        del self.generated
        schedule.release()

    def release_arena(self) -> None:
        """Give each later call its own arena: a captured call keeps its memory, and others are rare."""
        self.static, self.keeps_arena = None, False

    def laid_out(self, factory: Any = table["empty"]) -> list[Any]:
        """Constants, and values inside the program in a new arena."""
        schedule, made = self.schedule, list(self.constants)
        arena = factory.call((schedule.arena,), dtype=uint8, device=self.place) if schedule.arena else None
        for value, offset in schedule.offsets.items():
            made[schedule.slots[value]] = self.part(arena, value, offset)
        return made

    def part(self, memory: Any, value: Value, offset: int) -> Any:
        """The tensor of a value in a dense tensor of bytes."""
        kind, length = BY_NUMPY[value.dtype], math.prod(value.shape) * value.dtype.itemsize
        return (
            table["slice"].call(memory, 0, offset, offset + length, 1).view(kind).view(value.shape)
            if length
            else self.empty(value.shape, kind)
        )

    def make_results(self, memory: list[Any], factory: Any = table["empty"]) -> None:
        """Add the memory of results, and of the values that are in it before."""
        schedule, slots = self.schedule, self.schedule.slots
        for value in schedule.roots:
            memory[slots[value]] = factory.call(value.shape, dtype=BY_NUMPY[value.dtype], device=self.place)
        for value, (root, offset) in schedule.lent.items():
            memory[slots[value]] = self.part(memory[slots[root]].view(-1).view(uint8), value, offset)

    def empty(self, shape: tuple[int, ...], kind: Any) -> Any:
        return table["empty"].call(shape, dtype=kind, device=self.place)

    def accepts(self, args: tuple[Any, ...]) -> bool:
        """Whether inputs have the shapes, dtypes and strides that this was compiled for."""
        for value in self.inputs:
            array = args[value.position]._array
            size = array.dtype.itemsize
            if array.shape != value.shape or array.dtype != value.dtype:
                return False
            if any(have != want * size for have, want, count in zip(array.strides, value.strides, array.shape) if count > 1):
                return False
        return True

    def prepare(self, args: tuple[Any, ...]) -> None:
        """Compile all kernels in parallel before the first launch: where one fails, nothing has been written yet."""
        given = {self.schedule.slots[each]: args[each.position]._array.data.ptr for each in self.inputs} if self.kernels else {}
        waiting = []
        with device_types[self.place.type].active(self.place):
            for record in {each.name: each for each in self.records if self.kernels}.values():
                kernel = self.kernels[record.name]
                waiting.append((record.name, kernel.request([not given.get(slot, 0) % 16 for slot in record.slots])))
            if not all(made.done() for _, made in waiting):
                self.rehearse(args)
            for name, made in waiting:
                try:
                    made.result().load(self.kernels[name].cupy)
                except Exception as error:
                    raise KernelFailed(f"{name}: {type(error).__name__}: {error}\n{self.sources[name]}") from error

    def rehearse(self, args: tuple[Any, ...]) -> None:
        """Warm up: call the program's ops, with zeros for what kernels compute, while the kernels are compiled.

        The ops' own kernels and measured algorithms are then ready when the program runs.
        """
        if self.impure:
            return  # random numbers must not be drawn twice
        quiet: dict[str, Any] = dict.fromkeys(self.kernels, Quiet())
        run: Any = FunctionType(self.module.run.__code__, quiet)
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            memory = self.laid_out(table["zeros"])
            for given in self.inputs:
                memory[self.schedule.slots[given]] = args[given.position]
            self.make_results(memory, table["zeros"])
            with measured_products():
                run(memory, lambda number: self.call(self.calls[number], memory))
            kind: Any = device_types["cuda"]
            measure_pending(kind.cupy)
            measure_convolutions(kind.cupy)
        except (RushlightError, RuntimeError, TypeError, ValueError, NotImplementedError, MemoryError) as error:
            log.info("the ops of a program were not rehearsed: %s", error)  # the program's own run raises it again
        finally:
            state.grad_enabled = enabled

    def __call__(self, args: tuple[Any, ...]) -> list[Any]:
        """The outputs for inputs that it accepts."""
        with self.lock:
            return self.run(args)

    def run(self, args: tuple[Any, ...]) -> list[Any]:
        """The same, for the one call that is running."""
        schedule, slots = self.schedule, self.schedule.slots
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            memory = list(self.static) if self.static is not None else self.laid_out()
            if self.keeps_arena and self.static is None:
                self.static = list(memory)
            for given in self.inputs:
                memory[slots[given]] = args[given.position]
            self.make_results(memory)
            self.module.run(memory, lambda number: self.call(self.calls[number], memory))
            results = [None if each is None else self.resolve_reference(each, memory) for each in self.outputs]
            copied = [(self.resolve_reference(each, memory).clone(), position) for each, position in schedule.copies if each is not None]
            for new, position in copied:
                args[position].copy_(new)
        finally:
            state.grad_enabled = enabled
        return results

    def resolve_reference(self, reference: Reference, memory: list[Any]) -> Any:
        """The tensor of a reference."""
        value: Value = reference.value
        tensor = memory[self.schedule.slots[value]]
        if reference.shape == value.shape and reference.strides == value.strides and not reference.offset:
            return tensor
        if 0 in reference.shape:
            return self.empty(reference.shape, BY_NUMPY[value.dtype])
        strides = [step or 1 if size == 1 else step for step, size in zip(reference.strides, reference.shape)]
        return table["as_strided"].call(tensor, reference.shape, strides, tensor.storage_offset() + reference.offset)

    def arguments(self, argument: Any, memory: list[Any], given: list[Any]) -> Any:
        """An argument of an op, with references resolved to tensors; ``given`` collects them.  (Not a recursive closure: its cycle would keep memory alive.)"""
        if isinstance(argument, Reference):
            given.append(self.resolve_reference(argument, memory))
            return given[-1]
        if isinstance(argument, (tuple, list)):
            return type(argument)([self.arguments(each, memory, given) for each in argument])
        return argument

    def call(self, value: Call, memory: list[Any]) -> None:
        """Run an op as in eager mode."""
        given: list[Any] = []
        args = self.arguments(value.args, memory, given)
        options = {name: self.arguments(each, memory, given) for name, each in value.kwargs.items()}
        try:
            result = value.target(*args, **options)
        except Exception as error:
            error.add_note(f"in the op {value.node.name}{source_of(value.node, ', ')}" if value.node is not None else f"in {value}")
            raise
        if value.results is not None:
            self.hold(value, value.results, result if value.part is not None else (result,), memory)
            return
        for each, output in zip(value.others, result if value.part is not None else (result,)):
            if isinstance(output, TensorBase) and output._array.__class__ is not device_type_of(output._array).array_type:
                memory[self.schedule.slots[each]] = output  # what one op keeps for another, in a form of the device's own
                continue
            if not isinstance(output, TensorBase) or output._array.shape != each.shape or output._array.dtype != each.dtype:
                raise OperationError(f"{value.node}: expected {each!r}, but got {output!r:.80}")
            shares = any(device_type_of(output._array).shares_memory(output._array, one._array) for one in given)
            if shares or not output.is_contiguous():
                made = table["empty"].call(each.shape, dtype=output.dtype, device=device_of(output._array))
                output = made.copy_(output)
            memory[self.schedule.slots[each]] = output

    def hold(self, value: Call, results: list[Reference], outputs: Sequence[Any], memory: list[Any]) -> None:
        """Store the outputs of a call as its values: themselves where strides are as planned, else copied."""
        for each in value.others:
            parts: list[tuple[Any, Reference]] = [
                (output._array, reference) for output, reference in zip(outputs, results) if reference.value is each
            ]
            first, reference = parts[0]
            kind = device_type_of(first)
            if first.__class__ is not kind.array_type:
                memory[self.schedule.slots[each]] = next(output for output in outputs if output._array is first)
                continue
            if any(array.shape != own.shape or array.dtype != each.dtype for array, own in parts):
                raise OperationError(f"{value.node}: expected {each!r}, but got {outputs!r:.200}")
            size, start = each.dtype.itemsize, kind.address(first) - reference.offset * each.dtype.itemsize
            # Parts must share one allocation: those of allocations that happen to be adjacent have such addresses, too.
            there = all(
                kind.address(array) == start + own.offset * size
                and all(have == want * size for have, want, count in zip(array.strides, own.strides, own.shape) if count > 1)
                and (array is first or kind.shares_memory(array, first))
                for array, own in parts
            )
            if there and (each.shape, each.strides) == (reference.shape, reference.strides):
                memory[self.schedule.slots[each]] = make(first)
            elif there:
                memory[self.schedule.slots[each]] = make(
                    kind.strided(first, each.shape, contiguous_strides(each.shape), -reference.offset, each.dtype)
                )
            else:
                memory[self.schedule.slots[each]] = self.empty(each.shape, BY_NUMPY[each.dtype])
                for array, own in parts:
                    self.resolve_reference(own, memory).copy_(make(array))

    def outline(self) -> str:
        """A one-line summary."""
        return f"{self.launches} launches of Triton kernels, {len(self.calls)} calls of ops, {self.schedule.arena} bytes of memory inside"

    def describe(self) -> str:
        """The steps of the schedule and the source of the kernels, as text."""
        return "\n".join(
            [self.outline(), *(f"  {each}" for each in self.steps), *(f"  note: {each}" for each in self.notes), "", self.text]
        )


__all__ = ["KernelFailed", "TritonSchedule"]

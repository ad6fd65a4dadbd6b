"""A compiled graph: native code for most of it, calls of ops for the rest, and the memory they work in."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.base import Spec, TensorBase, make
from ...graph import Graph
from .code import Code, Module, Scalar
from .expanding import Declined, expand
from .groups import Group, Grouping
from .loops import Kernel
from .machine import blas, log, machine
from .products import Work
from .threads import Pool, pool
from .values import Builder, Call, Given, Reference, Value, address

ALIGNMENT = 64
WORTH_SPLITTING = 30_000  # nanoseconds of work
NUMBERS = ctypes.c_int64


def compile_graph(graph: Graph, examples: list[Any], attribute: Callable[[str], Any] | None = None) -> Program:
    """Compile a functional graph for inputs of the shapes and types of the examples (Specs; other values are held fixed).

    ``attribute`` gives what ``get_attr`` nodes name.  Inputs must lie in memory by the strides of their
    Specs.  Raises :class:`Declined` where the graph can't be taken.
    """
    started = time.perf_counter()
    expanded = expand(graph, examples, attribute or _none)
    layouts = [each.element_strides if isinstance(each, Spec) else None for each in examples]
    library = blas()
    builder = Builder(expanded, layouts, bool(library.addresses))
    grouping = Grouping(builder.values, [each for each in builder.outputs if each is not None])
    program = Program(builder, grouping)
    program.seconds = time.perf_counter() - started
    log.info("%s", program.describe())
    log.debug("%s", program.text)
    return program


def _none(name: str) -> Any:
    raise Declined(f"the graph refers to '{name}', which was not given")


class Piece(NamedTuple):
    """A step as a native function: what it works on, into how many parts it can be cut, and about how long it takes."""

    name: str
    buffers: list[Value]
    extent: int
    nanoseconds: float


class Program:
    """What runs in the place of a graph."""

    def __init__(self, builder: Builder, grouping: Grouping) -> None:
        self.notes = builder.notes
        self.outputs = builder.outputs
        self.steps = grouping.steps
        self.seconds = 0.0
        self.inputs = [each for each in builder.values if isinstance(each, Given) and each.array is None]
        self.constants = [each for each in builder.values if isinstance(each, Given) and each.array is not None]
        self.accepted: list[Any] = [None] * len(self.inputs)  # arrays that were found to be right
        self.roots = list(dict.fromkeys(each.value for each in self.outputs if each is not None and not isinstance(each.value, (Given, Call))))
        self.slots: dict[Value, int] = {}  # places in the table of addresses
        for value in [*self.inputs, *self.constants, *self.roots]:
            self.slots[value] = len(self.slots)
        self.offsets = self.plan()
        for value in self.offsets:
            self.slots[value] = len(self.slots)
        for step in self.steps:
            if not isinstance(step, Group) and isinstance(step.value, Call):
                for value in step.value.others:
                    self.slots[value] = len(self.slots)
        self.kernels: list[Kernel] = []
        self.workers = pool() if pool().compiled is not None else None
        self.text = ""  # for whoever wants to read it
        self.fixed: list[Any] = []  # the inputs that are no arrays
        self.parts = self.compile()
        self.spaces: list[Workspace] = []

    # -- memory --------------------------------------------------------------------------------------------------

    def plan(self) -> dict[Value, int]:
        """Where in the arena each value lies that is made and used inside; memory is used again when its value is dead."""
        born: dict[Value, int] = {}
        dies: dict[Value, int] = {}
        for at, step in enumerate(self.steps):
            members = step.members if isinstance(step, Group) else [step.value]
            for value in members:
                if value.stored and not isinstance(value, Call):
                    born[value] = at
                for each in value.inputs():
                    for source in self.sources(each.value):
                        dies[source] = at
        free: list[tuple[int, int]] = []  # pieces of the arena: offset and size
        offsets: dict[Value, int] = {}
        sizes: dict[Value, int] = {}
        self.arena = 0
        for at in range(len(self.steps)):
            for value in [each for each, when in born.items() if when == at and each not in self.roots]:
                size = -(-max(value.size, 1) * value.dtype.itemsize // ALIGNMENT) * ALIGNMENT
                offsets[value], sizes[value] = self.take(free, size), size
            for value in [each for each in offsets if dies.get(each, born[each]) == at]:
                free.append((offsets[value], sizes[value]))
            free = merged(free)
        return offsets

    def sources(self, value: Value) -> list[Value]:
        """What is read where a value is used: itself, or what it is computed from in that place."""
        if value.stored or isinstance(value, Given):
            return [value]
        return [source for each in value.inputs() for source in self.sources(each.value)]

    def take(self, free: list[tuple[int, int]], size: int) -> int:
        """A piece of the arena: the smallest free one that does, or new."""
        fitting = [each for each in free if each[1] >= size]
        if fitting:
            offset, length = min(fitting, key=lambda each: each[1])
            free.remove((offset, length))
            if length > size:
                free.append((offset + size, length - size))
            return offset
        offset = self.arena
        self.arena += size
        return offset

    # -- code ----------------------------------------------------------------------------------------------------

    def compile(self) -> list[Any]:
        """Native functions and calls, in the order in which they run."""
        module = Module()
        parts: list[Any] = []
        native: list[Any] = []
        for step in [*self.steps, None]:
            if step is not None and (isinstance(step, Group) or not isinstance(step.value, Call)):
                native.append(step)
                continue
            if native:
                self.segment(module, f"segment{len(parts)}", native)
                parts.append(f"segment{len(parts)}")
                native = []
            if step is not None:
                parts.append(step.value)
        if any(isinstance(each, str) for each in parts):
            self.text = str(module)
            self.compiled = machine().compile(self.text)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        return [kind(self.compiled.address(each)) if isinstance(each, str) else each for each in parts]

    def segment(self, module: Module, name: str, steps: list[Any]) -> None:
        """A function that runs several steps, given the table of addresses."""
        c = Code(module)
        workers = self.workers
        quiet = workers is not None and blas().threads is not None and any(not isinstance(each, Group) for each in steps)
        if workers is not None and quiet:
            self.tell_blas(c, workers, workers.quiet)
        for step in steps:
            piece = self.kernel(module, step) if isinstance(step, Group) else self.product(module, step.value)
            splits = piece.extent > 1 and piece.nanoseconds > WORTH_SPLITTING and (quiet or isinstance(step, Group))
            if workers is not None and splits:
                function, state = (c.let("ptr", f"inttoptr i64 {each} to ptr").name for each in (workers.parallel, workers.address))
                c.do(f"call void {function}(ptr {state}, ptr @{self.task(module, piece)}, ptr %table, i64 {piece.extent})")
            else:
                given = [f"ptr {self.pointer(c, each)}" for each in piece.buffers]
                c.do(f"call void @{piece.name}({', '.join([*given, 'i64 0', f'i64 {piece.extent}'])})")
        if workers is not None and quiet:
            self.tell_blas(c, workers, workers.restore)
        module.functions.append(c.function(name, "ptr %table"))

    def kernel(self, module: Module, group: Group) -> Piece:
        """The function for a group."""
        kernel = Kernel(module, group, f"kernel{len(self.kernels)}")
        self.kernels.append(kernel)
        return Piece(kernel.name, list(kernel.buffers), kernel.extent, kernel.nanoseconds)

    def product(self, module: Module, value: Any) -> Piece:
        """The function for a product."""
        work, c = Work(blas(), value), Code(module)
        work.emit(c, "%b0", "%b1", "%b2", Scalar("%first", "i64"), Scalar("%last", "i64"))
        name = module.add(f"product{value.index}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"))
        return Piece(name, [value.left.value, value.right.value, value], work.extent, work.nanoseconds)

    def pointer(self, c: Code, value: Value) -> str:
        """The address of a value, from the table."""
        at = c.address("%table", c.integer(self.slots[value]), "ptr")
        return c.let("ptr", f"load ptr, ptr {at}").name

    def task(self, module: Module, piece: Piece) -> str:
        """A function as what the pool calls: on the table of addresses, for a part of its work."""
        c = Code(module)
        given = [f"ptr {self.pointer(c, each)}" for each in piece.buffers]
        c.do(f"call void @{piece.name}({', '.join([*given, 'i64 %first', 'i64 %last'])})")
        return module.add(f"task{len(module.names)}", c.function("NAME", "ptr %table, i64 %first, i64 %last"))

    def tell_blas(self, c: Code, workers: Pool, function: int) -> None:
        """Have BLAS use one thread, or as many as before."""
        get, set_ = blas().threads or (0, 0)
        target, *given = (c.let("ptr", f"inttoptr i64 {each} to ptr").name for each in (function, workers.address, get, set_))
        c.do(f"call void {target}({', '.join(f'ptr {each}' for each in given)})")

    # -- running -------------------------------------------------------------------------------------------------

    def accepts(self, arrays: list[Any]) -> bool:
        """Whether the inputs lie in memory as those that this was compiled for."""
        last = self.accepted
        for at, value in enumerate(self.inputs):
            array = arrays[value.position]
            if array is last[at]:
                continue
            last[at] = None
            if array.shape != value.shape or array.dtype is not value.dtype or not same_layout(array, value.strides):
                return False
            last[at] = array
        return True

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The outputs for some inputs, which it must accept."""
        if self.workers is not None:
            self.workers.prepare()
        space = self.spaces.pop() if self.spaces else Workspace(self)
        made = space.run(arrays)
        self.spaces.append(space)
        return made

    def describe(self) -> str:
        """What became of the graph, in words."""
        lines = [f"compiled in {self.seconds * 1e3:.0f} ms: {len(self.kernels)} kernels, {self.arena} bytes of memory inside"]
        for step in self.steps:
            lines.append(f"  {step}" if isinstance(step, Group) else f"  {'call' if isinstance(step.value, Call) else 'BLAS'}: {step.value.node.name}")
        return "\n".join([*lines, *(f"  note: {each}" for each in self.notes)])


def merged(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Free pieces with neighbours joined."""
    result: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if result and sum(result[-1]) == offset:
            result[-1] = (result[-1][0], result[-1][1] + size)
        else:
            result.append((offset, size))
    return result


def same_layout(array: Any, strides: tuple[int, ...]) -> bool:
    """Whether an array has strides (in elements), where it matters."""
    size = array.itemsize
    return all(have == want * size for have, want, count in zip(array.strides, strides, array.shape) if count > 1) and array.flags.aligned


class Workspace:
    """The table of addresses and the arena of one call at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.table = (NUMBERS * max(1, len(program.slots)))()
        self.memory = np.empty(program.arena + ALIGNMENT, np.uint8)
        start = -(-address(self.memory) // ALIGNMENT) * ALIGNMENT
        for value, offset in program.offsets.items():
            self.table[program.slots[value]] = start + offset
        for value in program.constants:
            self.table[program.slots[value]] = address(value.array)
        self.place = ctypes.addressof(self.table)
        self.seen: list[Any] = [None] * len(program.inputs)

    def run(self, arrays: list[Any]) -> list[Any]:
        program, table, seen = self.program, self.table, self.seen
        for at, value in enumerate(program.inputs):
            array = arrays[value.position]
            if array is not seen[at]:
                seen[at] = array
                table[at] = array.ctypes.data
        made: dict[Value, Any] = {}
        for root in program.roots:
            array = made[root] = np.empty(root.shape, root.dtype)
            table[program.slots[root]] = array.ctypes.data
        for part in program.parts:
            if isinstance(part, Call):
                self.call(part, arrays, made)
            else:
                part(self.place)
        return [None if each is None else self.seen_through(each, arrays, made) for each in program.outputs]

    def array_of(self, value: Any, arrays: list[Any], made: dict[Value, Any]) -> Any:
        """The array of a value that has one of its own, or None."""
        if isinstance(value, Given):
            return arrays[value.position] if value.array is None else value.array
        return made.get(value)

    def seen_through(self, reference: Reference, arrays: list[Any], made: dict[Value, Any]) -> Any:
        """The array of a reference."""
        value = reference.value
        array = self.array_of(value, arrays, made)
        if array is not None and reference.shape == value.shape and reference.strides == value.strides and not reference.offset:
            return array
        if 0 in reference.shape:
            return np.empty(reference.shape, value.dtype)
        size = value.dtype.itemsize
        steps = [each * size for each in reference.strides]
        if array is not None:
            flat = np.lib.stride_tricks.as_strided(array, (max_index(reference) + 1,), (size,)) if reference.offset else array
            return np.lib.stride_tricks.as_strided(flat[reference.offset :] if reference.offset else flat, reference.shape, steps)
        low = sum(min(0, step * (count - 1)) for step, count in zip(steps, reference.shape))
        length = sum(abs(step) * (count - 1) for step, count in zip(steps, reference.shape)) + size
        start = self.table[self.program.slots[value]] + reference.offset * size + low
        memory: Any = (ctypes.c_char * length).from_address(start)
        return np.ndarray(reference.shape, value.dtype, memory, -low, steps)

    def call(self, value: Call, arrays: list[Any], made: dict[Value, Any]) -> None:
        """Run an op on tensors over the arrays of its operands."""
        given: list[Any] = []

        def tensor(argument: Any) -> Any:
            if isinstance(argument, Reference):
                given.append(self.seen_through(argument, arrays, made))
                return make(given[-1])
            if isinstance(argument, (tuple, list)):
                return type(argument)([tensor(each) for each in argument])
            return argument

        result = value.target(*tensor(value.args), **{name: tensor(each) for name, each in value.kwargs.items()})
        for each, output in zip(value.others, result if value.part is not None else (result,)):
            array = output._array if isinstance(output, TensorBase) else np.asarray(output)
            if array.shape != each.shape or array.dtype != each.dtype:
                raise RuntimeError(f"{value.node}: {array.shape} {array.dtype} came out where {each!r} was expected")
            if not array.flags.c_contiguous or (array.base is not None and any(np.may_share_memory(array, one) for one in given)):
                array = np.array(array, order="C")
            made[each] = array
            self.table[self.program.slots[each]] = array.ctypes.data


def max_index(reference: Reference) -> int:
    """The last element of the value that a reference reaches."""
    return reference.offset + sum(max(0, stride * (size - 1)) for size, stride in zip(reference.shape, reference.strides))


"""A compiled graph: native code for most of it, calls of ops for the rest, and the memory they work in."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.base import Spec, TensorBase, make
from ...graph import Graph
from . import calling
from .code import Code, Module, Scalar
from .expanding import Declined, expand
from .groups import Group, Grouping
from .joining import join
from .loops import Kernel
from .machine import blas, log, machine
from .placing import may_refuse, place, writes_inside
from .products import Work
from .threads import Pool, pool
from .values import STATUS, Builder, Call, Given, Reference, Routine, Value, address

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
    while True:
        builder = Builder(expanded, layouts, bool(library.addresses))
        grouping = Grouping(builder.values, [each for each in builder.outputs if each is not None])
        try:
            program = Program(builder, grouping)
            break
        except Failed as error:
            if not error.nodes:
                raise
            log.warning("native code failed, and its ops are called instead: %s", error)
            expanded.notes.append(f"{error}: its ops are called")
            for node in error.nodes:
                node.meta["opaque"] = True
    program.seconds = time.perf_counter() - started
    log.info("%s", program.describe())
    log.debug("%s", program.text)
    return program


def _none(name: str) -> Any:
    raise Declined(f"the graph refers to '{name}', which was not given")


class Failed(Exception):
    """A group or step that no native code could be made for."""

    def __init__(self, step: Any, error: Exception) -> None:
        super().__init__(f"{'the program' if step is None else step}: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}")
        members = [] if step is None else step.members
        self.nodes = {each.node for each in members if each.node is not None and not each.node.meta.get("opaque")}


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
        self.steps = join(grouping.steps, builder.outputs)
        self.seconds = 0.0
        self.inputs = [each for each in builder.values if isinstance(each, Given) and each.array is None]
        self.constants = [each for each in builder.values if isinstance(each, Given) and each.array is not None]
        self.accepted: list[Any] = [None] * len(self.inputs)  # arrays that were found to be right
        self.writes = builder.writes  # the positions of inputs that are written to
        self.copies = [(builder.outputs[number], at) for number, at in place(self.steps, builder.outputs, self.writes, self.inputs)]
        self.outputs = builder.outputs[: len(builder.outputs) - len(self.writes)]
        made = [each.value for each in (*self.outputs, *(each for each, _ in self.copies)) if each is not None]
        self.roots = list(dict.fromkeys(each for each in made if not isinstance(each, (Given, Call))))
        self.slots: dict[Value, int] = {}  # places in the table of addresses
        for value in [*self.inputs, *self.constants, *self.roots]:
            self.slots[value] = len(self.slots)
        self.offsets = self.plan()
        for value in self.offsets:
            self.slots[value] = len(self.slots)
        for value in [each for step in self.steps for each in step.members if each.place is not None]:
            self.slots[value] = self.slots[value.place]
        for step in self.steps:
            if not isinstance(step, Group) and isinstance(step.value, Call):
                for value in step.value.others:
                    self.slots[value] = len(self.slots)
        self.kernels: list[Kernel] = []
        self.workers = pool() if pool().compiled is not None else None
        self.text = ""  # for whoever wants to read it
        self.written: list[tuple[Any, list[str]]] = []  # for each step, the functions that it was the first to need
        self.fixed: list[Any] = []  # the inputs that are no arrays
        self.spaces: list[Workspace] = []
        self.parts = self.compile()

    # -- memory --------------------------------------------------------------------------------------------------

    def plan(self) -> dict[Value, int]:
        """Where in the arena each value lies that is made and used inside; memory is used again when its value is dead."""
        born: dict[Value, int] = {}
        dies: dict[Value, int] = {}
        for at, step in enumerate(self.steps):
            for value in step.members:
                if value.stored and not isinstance(value, Call) and value.place is None:
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
            writes = step is not None and writes_inside(step) and any(may_refuse(each) for each in native)  # not before it is known that all is well
            if step is not None and not writes and (isinstance(step, Group) or not isinstance(step.value, Call)):
                native.append(step)
                continue
            if native:
                self.segment(module, f"segment{len(parts)}", native)
                parts.append(f"segment{len(parts)}")
                native = []
            if writes:
                native = [step]
            elif step is not None:
                parts.append(step.value)
        alone = bool(parts) and all(isinstance(each, str) for each in parts) and calling.DATA is not None
        if alone:
            module.functions.append(calling.entry(self, parts))
        if any(isinstance(each, str) for each in parts):
            self.text = str(module)
            try:
                main, *apart = module.parts()
                self.compiled = machine().compile(main, module.bindings, apart)
            except RuntimeError as error:
                raise Failed(self.culprit(module), error) from error
        # Native code for the whole program: takes the table, with arrays themselves at its end.
        self.enter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.compiled.address("entry")) if alone else None
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        return [kind(self.compiled.address(each)) if isinstance(each, str) else each for each in parts]

    def culprit(self, module: Module) -> Any:
        """The step whose functions LLVM does not take, or None."""
        so_far: list[str] = []  # functions may call those before them
        for step, functions in self.written:
            so_far += functions
            try:
                machine().emit(str(module.with_only(so_far)))
            except RuntimeError:
                return step
        return None

    def segment(self, module: Module, name: str, steps: list[Any]) -> None:
        """A function that runs several steps, given the table of addresses."""
        c = Code(module)
        workers = self.workers
        quiet = workers is not None and blas().threads is not None and any(not isinstance(each, Group) for each in steps)
        if workers is not None and quiet:
            self.tell_blas(c, workers, "quiet")
        for step in steps:
            before = len(module.functions)
            try:
                pieces = self.pieces(module, step)
            except Exception as error:  # a mistake of ours: the rest of the graph can do without this step
                raise Failed(step, error) from error
            self.written.append((step, module.functions[before:]))
            for piece in pieces:
                splits = piece.extent > 1 and piece.nanoseconds > WORTH_SPLITTING and (quiet or isinstance(step, Group))
                if workers is not None and splits:
                    function, state = c.bound("parallel", workers.parallel), c.bound("pool", workers.address)
                    c.do(f"call void {function}(ptr {state}, ptr @{self.task(module, piece)}, ptr {self.pointers(c, piece)}, i64 {c.number(piece.extent).name})")
                else:
                    given = [f"ptr {self.pointer(c, each)}" for each in piece.buffers]
                    c.do(f"call void @{piece.name}({', '.join([*given, 'i64 0', f'i64 {c.number(piece.extent).name}'])})")
                if STATUS in piece.buffers:  # what follows would compute with, and perhaps write, what is no result
                    found = c.let("i64", f"load i64, ptr {self.pointer(c, STATUS)}")
                    go_on = c.fresh("good")
                    c.do(f"br i1 {c.compare('eq', found, c.integer(0)).name}, label %{go_on}, label %finish")
                    c.label(go_on)
        c.do("br label %finish")
        c.label("finish")
        if workers is not None and quiet:
            self.tell_blas(c, workers, "restore")
        module.functions.append(c.function(name, "ptr %table"))

    def pieces(self, module: Module, step: Any) -> list[Piece]:
        """The functions of a step, which run one after the other."""
        if isinstance(step, Group):
            return [self.kernel(module, step)]
        value = step.value
        return list(value.write(self, module, value)) if isinstance(value, Routine) else [self.product(module, value)]

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
        if value is STATUS:
            return c.address("%table", c.integer(calling.status_of(self)), "i64")
        at = c.address("%table", c.integer(self.slots[value]), "ptr")
        return c.let("ptr", f"load ptr, ptr {at}").name

    def pointers(self, c: Code, piece: Piece) -> str:
        """The addresses that a piece works on, one after the other on the stack."""
        count = len(piece.buffers)
        place = c.shared_slot("ptr", count)
        for at, each in enumerate(piece.buffers):
            c.do(f"store ptr {self.pointer(c, each)}, ptr {c.address(place, c.integer(at), 'ptr')}")
        return place

    def task(self, module: Module, piece: Piece) -> str:
        """A function as what the pool calls: on addresses one after the other, for a part of its work."""
        c = Code(module)
        places = [c.address("%pointers", c.integer(at), "ptr") for at in range(len(piece.buffers))]
        given = [f"ptr {c.let('ptr', f'load ptr, ptr {each}').name}" for each in places]
        c.do(f"call void @{piece.name}({', '.join([*given, 'i64 %first', 'i64 %last'])})")
        return module.add(f"task{len(module.names)}", c.function("NAME", "ptr %pointers, i64 %first, i64 %last"))

    def tell_blas(self, c: Code, workers: Pool, name: str) -> None:
        """Have BLAS use one thread, or as many as before."""
        get, set_ = blas().threads or (0, 0)
        given = [c.bound("pool", workers.address), c.bound("blas_get", get), c.bound("blas_set", set_)]
        c.do(f"call void {c.bound(name, getattr(workers, name))}({', '.join(f'ptr {each}' for each in given)})")

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
        space = self.spaces.pop() if self.spaces else self.space()
        made = space.run(arrays)
        self.spaces.append(space)
        return made

    def space(self) -> Workspace:
        """Memory for one more call at the same time."""
        return Workspace(self)

    def describe(self) -> str:
        """What became of the graph, in words."""
        lines = [f"compiled in {self.seconds * 1e3:.0f} ms: {len(self.kernels)} kernels, {self.arena} bytes of memory inside"]
        for step in self.steps:
            lines.append(f"  {step}")
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
        self.table = (NUMBERS * (len(program.slots) + len(calling.objects_of(program)) + 1))()
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
                if table[calling.status_of(program)]:
                    table[calling.status_of(program)] = 0
                    raise calling.Refused
        results = [None if each is None else self.seen_through(each, arrays, made) for each in program.outputs]
        if program.copies:
            copied = [np.array(self.seen_through(each, arrays, made)) for each, _ in program.copies if each is not None]
            for array, (_, position) in zip(copied, program.copies, strict=True):
                arrays[position][...] = array
        return results

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
                raise calling.Refused(f"{value.node}: {array.shape} {array.dtype} came out where {each!r} was expected")
            if not array.flags.c_contiguous or (array.base is not None and any(np.may_share_memory(array, one) for one in given)):
                array = np.array(array, order="C")
            made[each] = array
            self.table[self.program.slots[each]] = array.ctypes.data


def max_index(reference: Reference) -> int:
    """The last element of the value that a reference reaches."""
    return reference.offset + sum(max(0, stride * (size - 1)) for size, stride in zip(reference.shape, reference.strides))


"""A compiled graph: native code for most of it, calls of ops for the rest, and the memory they work in."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.base import Spec
from ...graph import Graph
from . import calling, entering
from .code import Code, Module, Part, Scalar, alone
from .expanding import Declined, expand
from .groups import Group, Grouping
from .joining import join
from .loops import Kernel
from .machine import blas, log, machine
from .placing import may_refuse, place, writes_inside
from .products import Work
from .threads import Pool, pool
from .timing import clocks_for
from .values import STATUS, Builder, Call, Given, Routine, Value
from .workspace import ALIGNMENT, Workspace

WORTH_SPLITTING = 30_000  # nanoseconds of work: a thread that sleeps takes some to wake up
MUCH, WORTH_WHILE_AWAKE = 500_000, 5_000  # in a program that has so much work, threads are awake; what one has computed, it has in its cache


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
        self.clocks = clocks_for(self.steps)
        self.workers = pool() if pool().compiled is not None else None
        self.module: Module | None = None  # the text of native code
        self.written: list[tuple[Any, list[str]]] = []  # for each step, the functions that it was the first to need
        self.fixed: list[Any] = []  # the inputs that are no arrays
        self.nanoseconds = 0.0  # about how long native code takes on one thread
        self.splits = False  # whether the pool takes part
        self.spaces: list[Workspace] = []  # for calls that find somebody inside
        self.direct: Any = None  # its call written out, for any tensors that lie in memory as those it was made for; None: not yet
        self.exact: Any = None  # the same for tensors of the same classes, which need gradients or do not
        self.parts = self.compile()

    # -- memory --------------------------------------------------------------------------------------------------

    def plan(self) -> dict[Value, int]:
        """Where in the arena each value lies that is made and used inside; memory is used again when its value is dead."""
        born: list[list[Value]] = [[] for _ in self.steps]
        dies: dict[Value, int] = {}
        outside = set(self.roots)
        for at, step in enumerate(self.steps):
            for value in step.members:
                if value.stored and not isinstance(value, Call) and value.place is None and value not in outside:
                    born[at].append(value)
                    dies[value] = at
                for each in value.inputs():
                    for source in self.sources(each.value):
                        dies[source] = at
        free: list[tuple[int, int]] = []  # pieces of the arena: offset and size
        offsets: dict[Value, int] = {}
        sizes: dict[Value, int] = {}
        self.arena = 0
        dead: list[list[Value]] = [[] for _ in self.steps]
        for values in born:
            for value in values:
                dead[dies[value]].append(value)
        for at in range(len(self.steps)):
            for value in born[at]:
                size = -(-max(value.size, 1) * value.dtype.itemsize // ALIGNMENT) * ALIGNMENT
                offsets[value], sizes[value] = self.take(free, size), size
            free += [(offsets[value], sizes[value]) for value in dead[at]]
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
        alone = bool(parts) and all(isinstance(each, str) for each in parts) and entering.OFFSETS is not None
        if alone:
            module.put("entry", calling.entry(self, parts), quick=True)
        if any(isinstance(each, str) for each in parts):
            self.module = module
            try:
                self.compiled = machine().compile(module.parts(), module.bindings)
            except RuntimeError as error:
                raise Failed(self.culprit(module), error) from error
        self.entry = self.compiled.address("entry") if alone else None  # native code for the whole program: takes the table
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        return [kind(self.compiled.address(each)) if isinstance(each, str) else each for each in parts]

    def culprit(self, module: Module) -> Any:
        """The step whose functions LLVM does not take, or None."""
        known = module.known()
        for step, functions in self.written:
            try:
                machine().emit(Part(alone(functions, known)))
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
        planned: list[tuple[Any, list[Piece]]] = []
        for step in steps:
            before = len(module.functions)
            try:
                planned.append((step, self.pieces(module, step)))
            except Exception as error:  # a mistake of ours: the rest of the graph can do without this step
                raise Failed(step, error) from error
            self.written.append((step, module.functions[before:]))
        work = sum(piece.nanoseconds for _, pieces in planned for piece in pieces)
        self.nanoseconds += work
        worthwhile = WORTH_SPLITTING if work < MUCH else WORTH_WHILE_AWAKE
        for step, pieces in planned:
            begin = None if self.clocks is None else self.clocks.now(c)
            for piece in pieces:
                splits = piece.extent > 1 and piece.nanoseconds > worthwhile and (quiet or isinstance(step, Group))
                if workers is not None and splits:
                    self.splits = True
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
            if self.clocks is not None and begin is not None:
                self.clocks.add(c, step, begin)
        c.do("br label %finish")
        c.label("finish")
        if workers is not None and quiet:
            self.tell_blas(c, workers, "restore")
        module.put(name, c.function(name, "ptr %table"), quick=True)

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
        return module.add(f"task{len(module.names)}", c.function("NAME", "ptr %pointers, i64 %first, i64 %last"), quick=True)

    def tell_blas(self, c: Code, workers: Pool, name: str) -> None:
        """Have BLAS use one thread, or as many as before."""
        get, set_ = blas().threads or (0, 0)
        given = [c.bound("pool", workers.address), c.bound("blas_get", get), c.bound("blas_set", set_)]
        c.do(f"call void {c.bound(name, getattr(workers, name))}({', '.join(f'ptr {each}' for each in given)})")

    @property
    def text(self) -> str:
        """All native code as text."""
        return "" if self.module is None else str(self.module)

    # -- running -------------------------------------------------------------------------------------------------

    def accepts(self, arrays: list[Any]) -> bool:
        """Whether the inputs lie in memory as those that this was compiled for."""
        for value in self.inputs:
            array = arrays[value.position]
            if array.shape != value.shape or array.dtype is not value.dtype or not same_layout(array, value.strides):
                return False
        return True

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The outputs for some inputs, which it must accept."""
        if self.workers is not None:
            self.workers.prepare()
        if self.workspace.arena.take():
            try:
                return self.workspace.run(arrays)
            finally:
                self.workspace.arena.flag.value = 0
        space = self.spaces.pop() if self.spaces else Workspace(self, alone=True)  # for one more call at the same time
        try:
            return space.run(arrays)
        finally:
            self.spaces.append(space)

    @functools.cached_property
    def workspace(self) -> Workspace:
        """The memory of calls that come one at a time."""
        return Workspace(self, alone=False)

    def describe(self) -> str:
        """What became of the graph, in words."""
        lines = [f"compiled in {self.seconds * 1e3:.0f} ms: {len(self.kernels)} kernels, {self.arena} bytes of memory inside"]
        for step in self.steps:
            lines.append(f"  {'' if self.clocks is None else self.clocks.text(step)}{step}")
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

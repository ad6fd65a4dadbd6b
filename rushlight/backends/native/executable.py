"""A compiled schedule: native functions and calls of ops in execution order, and their memory."""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Callable
from typing import Any

from ...codegen.llvm.gemm.blas import BlasProduct
from ...codegen.llvm.ir import IRBuilder, Module, Part, Scalar, alone
from ...codegen.llvm.kernel import KernelEmitter
from ...codegen.llvm.module import PrintedModule
from ...codegen.llvm.native_call import NativeCall, SizesFrom
from ...codegen.llvm.target import processor
from ...core.base import Spec
from ...core.blas import blas
from ...core.devices import CPU
from ...core.process_safety import cached_property, paused_collection
from ...graph import Graph
from ...passes.decompose import Declined, decompose
from ...runtime.call import launcher
from ...runtime.cpu.arena import CallArena
from ...runtime.cpu.jit import jit, log
from ...runtime.cpu.step_timer import clocks_for
from ...runtime.cpu.thread_pool import ThreadPool, pool
from ...schedule.fusion import FusionGroup
from ...schedule.in_place import may_refuse, writes_inside
from ...schedule.kernel_plan import KernelPlan
from ...schedule.plan_kernel import plan_kernel
from ...schedule.schedule import Schedule
from ...schedule.symbolic_shape import SymbolicNumber, written
from ...schedule.tensor_ir import SIZES, STATUS, Call, Routine, Value

WORTH_SPLITTING = 30_000  # nanoseconds of work from which on a function is split among threads: a sleeping thread takes time to wake up
MUCH, WORTH_WHILE_AWAKE = 500_000, 5_000  # of a schedule whose workers stay awake, with warm caches; its threshold for splitting

# Calls a task with symbolic sizes whole, or has the thread pool split it, as a flag in the table of sizes says.
EITHER = """define void @NAME(ptr %parallel, ptr %pool, ptr %task, ptr %pointers, i64 %extent, i64 %split) #0 {
entry:
  %alone = icmp eq i64 %split, 0
  br i1 %alone, label %one, label %many
one:
  call void %task(ptr %pointers, i64 0, i64 %extent)
  ret void
many:
  call void %parallel(ptr %pool, ptr %task, ptr %pointers, i64 %extent)
  ret void
}"""


@paused_collection()
def compile_graph(graph: Graph, examples: list[Any], attribute: Callable[[str], Any] | None = None) -> CompiledSchedule:
    """Compile a functional graph for inputs with the shapes, dtypes and strides of the examples (Specs; other values are constants).

    Examples that name no device are on the CPU.  ``attribute`` looks up what ``get_attr`` nodes name.  Raises :class:`Declined` where the graph can't be compiled.
    """
    started = time.perf_counter()
    examples = [
        Spec(each.shape, each.dtype, each.element_strides, CPU) if isinstance(each, Spec) and each.device is None else each
        for each in examples
    ]
    decomposed = decompose(graph, examples, attribute or no_attribute)
    layouts = [each.element_strides if isinstance(each, Spec) else None for each in examples]
    while True:
        try:
            program = CompiledSchedule(Schedule(decomposed, layouts, processor().target))
            break
        except Failed as error:
            if not error.nodes:
                raise
            log.warning("native code failed, and its ops are called instead: %s", error)
            decomposed.notes.append(f"{error}: its ops are called")
            for node in error.nodes:
                node.meta["opaque"] = True
    decomposed.graph.dissolve()
    program.seconds = time.perf_counter() - started
    if log.isEnabledFor(logging.INFO):
        log.info("%s", program.describe())
        log.debug("%s", program.text)
    return program


def no_attribute(name: str) -> Any:
    """The lookup of attributes for a graph that has none."""
    raise Declined(f"the graph refers to '{name}', which was not given")


class Failed(Exception):
    """A step for which code generation failed."""

    def __init__(self, step: Any, error: Exception) -> None:
        super().__init__(
            f"{'the program' if step is None else step}: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        )
        members = [] if step is None else step.members
        self.nodes = {each.node for each in members if each.node is not None and not each.node.meta.get("opaque")}


class CompiledSchedule:
    """The executable of a graph: a function from arrays to arrays."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.inputs, self.constants, self.outputs = schedule.inputs, schedule.constants, schedule.outputs
        self.writes, self.copies, self.roots = schedule.writes, schedule.copies, schedule.roots
        self.slots = schedule.slots  # positions in the table of addresses
        self.offsets, self.arena = schedule.offsets, schedule.arena
        self.seconds = 0.0
        self.sizes = schedule.sizes  # symbolic ones, which are in a table
        self.order: list[int] = []  # the symbolic sizes that the code reads, in the order of the table
        self.numbers: Any = None  # the table of sizes, as an array
        self.filled = False  # whether it is an instance of a template for symbolic sizes
        self.flags: list[str] = []  # expressions of the sizes that say whether functions are split
        self.kernels: list[str] = []  # their functions' names, one for each fused group
        self.latest: KernelPlan | None = None
        self.clocks = clocks_for(self.schedule.steps)
        self.workers = pool() if pool().compiled is not None else None
        self.packed = b""  # the LLVM text, compressed
        self.written: list[tuple[Any, slice]] = []  # for each step, the functions that were emitted for it
        self.fixed: list[Any] = []  # the inputs that are no arrays, which the code depends on
        self.nanoseconds = 0.0  # estimated time of native code on one thread
        self.splits = False  # whether the thread pool is used
        self.spaces: list[CallArena] = []  # for calls while another call runs
        self.separate: frozenset[int] = frozenset()  # the outputs that are tensors of their own, over memory that has one
        self.launchers: dict[Any, Any] = {}  # generated calls, by what is checked of the tensors
        self.enter: Any = None  # a trampoline for arrays
        self.calls, self.launched_from = 0, 1  # how often it has run; the call from which on it has launchers
        self.parts = self.compile()
        self.latest = None
        schedule.release()

    # -- code ----------------------------------------------------------------------------------------------------

    def compile(self) -> list[Any]:
        """Native functions and calls, in execution order."""
        module = Module()
        parts: list[Any] = []
        native: list[Any] = []
        refuses = False  # whether one of those may refuse to run
        for step in [*self.schedule.steps, None]:
            writes = refuses and step is not None and writes_inside(step)  # inputs are written to after all that may refuse to run
            if step is not None and not writes and (isinstance(step, FusionGroup) or not isinstance(step.value, Call)):
                native.append(step)
                refuses = refuses or may_refuse(step)
                continue
            if native:
                self.segment(module, f"segment{len(parts)}", native)
                parts.append(f"segment{len(parts)}")
            native, refuses = [], False
            if writes:
                native = [step]
            elif step is not None:
                parts.append(step.value)
        alone = bool(parts) and all(isinstance(each, str) for each in parts)
        if alone:
            module.put("entry", launcher.entry(self, module, parts), quick=True)
        if any(isinstance(each, str) for each in parts):
            try:
                self.compiled = jit().compile(module.parts(), module.bindings)
            except RuntimeError as error:
                raise Failed(self.failing_step(module), error) from error
            self.packed = module.packed()
            self.order = module.sizes
        self.entry = self.compiled.address("entry") if alone else None  # native code for the whole schedule: takes the table of addresses
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        return [kind(self.compiled.address(each)) if isinstance(each, str) else each for each in parts]

    def failing_step(self, module: Module) -> Any:
        """The step whose functions LLVM rejects, or None."""
        known = module.known()
        for step, functions in self.written:
            try:
                jit().emit(Part(alone(module.functions[functions], known)))
            except RuntimeError:
                return step
        return None

    def segment(self, module: Module, name: str, steps: list[Any]) -> None:
        """A function that runs several steps, given the table of addresses."""
        c = IRBuilder(module)
        workers = self.workers
        quiet = workers is not None and blas().threads is not None and any(not isinstance(each, FusionGroup) for each in steps)
        if workers is not None and quiet:
            self.set_blas_threads(c, workers, "quiet")
        planned: list[tuple[Any, list[NativeCall]]] = []
        for step in steps:
            before = len(module.functions)
            try:
                planned.append((step, self.native_calls(module, step)))
            except Exception as error:  # an error of the code generator: the ops of this step can be called instead
                raise Failed(step, error) from error
            self.written.append((step, slice(before, len(module.functions))))
        work = sum(native_call.nanoseconds for _, native_calls in planned for native_call in native_calls)
        self.nanoseconds += work
        if self.sizes is not None and isinstance(work, SymbolicNumber):
            worthwhile: Any = self.sizes.name(f"{WORTH_SPLITTING} if {written(work)} < {MUCH} else {WORTH_WHILE_AWAKE}")
        else:
            worthwhile = WORTH_SPLITTING if work < MUCH else WORTH_WHILE_AWAKE
        for step, native_calls in planned:
            begin = None if self.clocks is None else self.clocks.now(c)
            for native_call in native_calls:
                if native_call.name in module.sized:
                    native_call = native_call._replace(
                        name=module.same.get(native_call.name, native_call.name),
                        buffers=[SizesFrom(module.sized[native_call.name]), *native_call.buffers],
                    )
                if native_call.times is not None:
                    self.call_times(c, module, workers, native_call)
                elif workers is None or not (quiet or isinstance(step, FusionGroup)):
                    self.call_serial(c, native_call)
                elif isinstance(native_call.nanoseconds, SymbolicNumber) or isinstance(work, SymbolicNumber):
                    self.call_by_size(c, module, workers, native_call, worthwhile)
                elif native_call.extent > 1 and native_call.nanoseconds > worthwhile:
                    self.splits = True
                    self.call_parallel(c, module, workers, native_call)
                else:
                    self.call_serial(c, native_call)
                if STATUS in native_call.buffers:  # what follows would use, and perhaps store, an invalid result
                    status = c.let("i64", f"load i64, ptr {self.pointer(c, STATUS)}")
                    go_on = c.fresh("good")
                    c.do(f"br i1 {c.compare('eq', status, c.integer(0)).name}, label %{go_on}, label %finish")
                    c.label(go_on)
            if self.clocks is not None and begin is not None:
                self.clocks.add(c, step, begin)
        c.do("br label %finish")
        c.label("finish")
        if workers is not None and quiet:
            self.set_blas_threads(c, workers, "restore")
        numbers = [
            f"  %numbers.p = getelementptr ptr, ptr %table, i64 {self.slots.get(SIZES)}",
            "  %numbers.all = load ptr, ptr %numbers.p",
        ]
        numbers.append(f"  %numbers = getelementptr i64, ptr %numbers.all, i64 {len(module.sizes)}")
        module.put(name, c.function(name, "ptr %table", numbers=numbers), quick=True)

    def call_serial(self, c: IRBuilder, native_call: NativeCall) -> None:
        """Call a function for its whole range."""
        arguments = [f"ptr {self.pointer(c, each)}" for each in native_call.buffers]
        c.do(f"call void @{native_call.name}({', '.join([*arguments, 'i64 0', f'i64 {c.number(native_call.extent).name}'])})")

    def call_times(self, c: IRBuilder, module: Module, workers: ThreadPool | None, native_call: NativeCall) -> None:
        """Call a function for its whole range several times, each time split over the thread pool."""
        pointers = self.pointers(c, native_call)
        with c.loop(c.number(native_call.times)) as time:
            if workers is None:
                arguments = [f"ptr {self.pointer(c, each)}" for each in native_call.buffers]
                c.do(
                    f"call void @{native_call.name}({', '.join([*arguments, 'i64 0', f'i64 {c.number(native_call.extent).name}', f'i64 {time.name}'])})"
                )
            else:
                self.splits = True
                c.store(time, pointers, len(native_call.buffers))
                function, state = c.bound("parallel", workers.parallel), c.bound("pool", workers.address)
                c.do(
                    f"call void {function}(ptr {state}, ptr @{self.task(module, native_call)}, ptr {pointers}, i64 {c.number(native_call.extent).name})"
                )

    def call_parallel(self, c: IRBuilder, module: Module, workers: ThreadPool, native_call: NativeCall) -> None:
        """Have the thread pool call a function for parts of its range."""
        function, state = c.bound("parallel", workers.parallel), c.bound("pool", workers.address)
        c.do(
            f"call void {function}(ptr {state}, ptr @{self.task(module, native_call)}, ptr {self.pointers(c, native_call)}, i64 {c.number(native_call.extent).name})"
        )

    def call_by_size(self, c: IRBuilder, module: Module, workers: ThreadPool, native_call: NativeCall, worthwhile: Any) -> None:
        """Call a function with symbolic sizes, which say whether it is split."""
        assert self.sizes is not None
        self.flags.append(f"int({written(native_call.extent)} > 1 and {written(native_call.nanoseconds)} > {worthwhile})")
        arguments = [
            f"ptr {c.bound('parallel', workers.parallel)}",
            f"ptr {c.bound('pool', workers.address)}",
            f"ptr @{self.task(module, native_call)}",
        ]
        arguments += [
            f"ptr {self.pointers(c, native_call)}",
            f"i64 {c.number(native_call.extent).name}",
            f"i64 %size.{self.sizes.slot(self.flags[-1])}",
        ]
        c.do(f"call void @{module.add('either', EITHER, quick=True)}({', '.join(arguments)})")

    def native_calls(self, module: Module, step: Any) -> list[NativeCall]:
        """The functions of a step, in execution order."""
        if isinstance(step, FusionGroup):
            return [self.kernel(module, step)]
        value = step.value
        return list(value.write(self, module, value)) if isinstance(value, Routine) else [self.product(module, value)]

    def kernel(self, module: Module, group: FusionGroup, whole: bool = True) -> NativeCall:
        """Plan, check and emit the kernel of a fused group; where it is not ``whole``, it is called for ranges of elements."""
        plan = self.latest = plan_kernel(group, self.schedule.target, whole)
        plan.check()
        self.kernels.append(KernelEmitter(module, plan, f"kernel{len(self.kernels)}").name)
        return NativeCall(self.kernels[-1], list(plan.buffers), plan.extent, plan.nanoseconds)

    def product(self, module: Module, value: Any) -> NativeCall:
        """The function of a matrix product by BLAS."""
        work, c = BlasProduct(blas(), value), IRBuilder(module)
        work.emit(c, "%b0", "%b1", "%b2", Scalar("%first", "i64"), Scalar("%last", "i64"))
        name = module.add(f"product{value.index}", c.function("NAME", "ptr %b0, ptr %b1, ptr %b2, i64 %first, i64 %last"))
        return NativeCall(name, [value.left.value, value.right.value, value], work.extent, work.nanoseconds)

    def pointer(self, c: IRBuilder, value: Value | SizesFrom) -> str:
        """The address of a value, loaded from the table."""
        if isinstance(value, SizesFrom):
            return c.address(self.pointer(c, SIZES), value.offset, "i64")
        if value is STATUS:
            return c.address("%table", launcher.status_of(self), "i64")
        at = c.address("%table", self.slots[value], "ptr")
        return c.let("ptr", f"load ptr, ptr {at}").name

    def pointers(self, c: IRBuilder, native_call: NativeCall) -> str:
        """The addresses of a function's buffers, in an array on the stack."""
        array = c.shared_slot("ptr", len(native_call.buffers) + (native_call.times is not None))
        for at, each in enumerate(native_call.buffers):
            c.do(f"store ptr {self.pointer(c, each)}, ptr {c.address(array, at, 'ptr')}")
        return array

    def task(self, module: Module, native_call: NativeCall) -> str:
        """A function in the form that the thread pool calls: an array of addresses and a range."""
        c = IRBuilder(module)
        slots = [c.address("%pointers", at, "ptr") for at in range(len(native_call.buffers))]
        arguments = [f"ptr {c.let('ptr', f'load ptr, ptr {each}').name}" for each in slots]
        if native_call.times is not None:
            time = c.let("i64", f"load i64, ptr {c.address('%pointers', c.integer(len(arguments)), 'ptr')}")
        more = [] if native_call.times is None else [f"i64 {time.name}"]
        c.do(f"call void @{native_call.name}({', '.join([*arguments, 'i64 %first', 'i64 %last', *more])})")
        return module.add(f"task{len(module.names)}", c.function("NAME", "ptr %pointers, i64 %first, i64 %last"), quick=True)

    def set_blas_threads(self, c: IRBuilder, workers: ThreadPool, name: str) -> None:
        """Have BLAS use one thread, or restore its number of threads."""
        get, set_ = blas().threads or (0, 0)
        given = [c.bound("pool", workers.address), c.bound("blas_get", get), c.bound("blas_set", set_)]
        c.do(f"call void {c.bound(name, getattr(workers, name))}({', '.join(f'ptr {each}' for each in given)})")

    @property
    def module(self) -> PrintedModule | None:
        """The LLVM module that was compiled; None where there is none."""
        return Module.unpacked(self.packed) if self.packed else None

    @property
    def text(self) -> str:
        """The LLVM text."""
        return str(self.module or "")

    # -- running -------------------------------------------------------------------------------------------------

    def accepts(self, arrays: list[Any]) -> bool:
        """Whether inputs have the shapes, dtypes and strides that this was compiled for."""
        for value in self.inputs:
            array = arrays[value.position]
            if array.shape != value.shape or array.dtype is not value.dtype or not same_layout(array, value.strides):
                return False
        return True

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The outputs for inputs that it accepts."""
        if self.workers is not None:
            self.workers.prepare()
        if self.call_arena.arena.take():
            try:
                return self.call_arena.run(arrays)
            finally:
                self.call_arena.arena.flag.value = 0
        space = self.spaces.pop() if self.spaces else CallArena(self, alone=True)  # for a concurrent call
        try:
            return space.run(arrays)
        finally:
            self.spaces.append(space)

    def launch(self, arrays: list[Any]) -> Any:
        """The same by a trampoline, where there can be one: for single ops, of which Python's share would be longer than native code takes."""
        if self.enter is None:
            self.enter = launcher.make_array_launcher(self, len(arrays)) or self.declined
        if self.splits and self.workers is not None:
            self.workers.prepare()
        made = self.enter(*arrays)
        return self(arrays) if made is NotImplemented else made

    @staticmethod
    def declined(*arrays: Any) -> Any:
        """What stands for a trampoline where there can be none."""
        return NotImplemented

    @cached_property
    def call_arena(self) -> CallArena:
        """The memory of calls that do not overlap."""
        return CallArena(self, alone=False)

    def describe(self) -> str:
        """The steps of the schedule, as text."""
        lines = [
            f"compiled {'for any sizes ' if self.filled else ''}in {self.seconds * 1e3:.0f} ms: {len(self.kernels)} kernels, {self.arena} bytes of memory inside"
        ]
        for step in self.schedule.steps:
            lines.append(f"  {'' if self.clocks is None else self.clocks.text(step)}{step}")
        return "\n".join([*lines, *(f"  note: {each}" for each in self.schedule.notes)])


def same_layout(array: Any, strides: tuple[int, ...]) -> bool:
    """Whether an array has these strides (in elements) in dimensions of more than one element, and is aligned."""
    size = array.itemsize
    return all(have == want * size for have, want, count in zip(array.strides, strides, array.shape) if count > 1) and array.flags.aligned

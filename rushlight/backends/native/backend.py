"""The native back-end and its executables: one program for each layout of the inputs, or for any size where sizes are symbolic."""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from ...codegen.llvm import lowerings as lowerings  # says which file lowers which ops
from ...core.base import Spec, TensorBase, alias, make, storage_of
from ...core.declare import table
from ...core.devices import CPU, device_of, device_types
from ...core.state import state
from ...graph import Node
from ...passes.decompose import Declined
from ...runtime.call import trampoline
from ...runtime.call.guard_compiler import compile_guards
from ...runtime.call.launcher import Refused, make_launcher, may_write
from ...runtime.cpu import thread_pool
from ...runtime.cpu.jit import jit, log
from ...schedule.tensor_ir import Input, elements
from ..aot import AheadOfTime, AotPlan, aot_eager
from ..protocol import NO_LAUNCHER, Backend, Executable, GraphCompiler, GraphExecutable, Launcher
from ..registry import find, register_backend
from ..scalar_inputs import with_numbers
from .autograd_launcher import make_autograd_launcher, programs
from .dynamic_shapes import SymbolicPlans, TemplateCache
from .executable import CompiledSchedule, compile_graph
from .printer import describe

LIMIT = 16  # programs for different layouts of the inputs, before new ones run as in eager mode
_said: list[str] = []

if importlib.util.find_spec("llvmlite") is not None:
    # LLVM is loaded with this back-end, and code that all programs need is compiled while the first one is captured.
    jit().ahead([*thread_pool.code(), *trampoline.code()])

if "native" in os.environ.get("RUSHLIGHT_LOGS", "").split(","):
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.DEBUG)


def available() -> bool:
    """Whether llvmlite is installed; says once how to install it."""
    if importlib.util.find_spec("llvmlite") is not None:
        return True
    if not _said:
        _said.append("said")
        warnings.warn("native code needs llvmlite: pip install llvmlite. Until then compile() uses the back-end aot_eager", stacklevel=3)
    return False


class NativeGraph(GraphExecutable):
    """A functional graph that runs as native code, one program for each layout of its inputs; what native code declines runs op by op."""

    launches = True

    def __init__(
        self, module: Any, programs: TemplateCache | None = None, values: Any = None, separate: frozenset[int] = frozenset()
    ) -> None:
        self.module = module
        self.separate = separate  # the outputs that are tensors of their own, over memory that has one
        self.for_any = programs  # programs for symbolic sizes ...
        self.values = values  # ... which have these values, if they are known
        self.programs: list[CompiledSchedule] = []
        self.declined = ""  # why the graph runs op by op
        self.last: Any = None

    def __call__(self, *args: Any) -> Any:
        made = self.relaunch(*args)
        return made if made is not NotImplemented else self.general(args)

    def relaunch(self, *args: Any) -> Any:
        """A call of the last program, where the arguments have the layout that it was compiled for."""
        last = self.last
        return NotImplemented if last is None or None not in last.launchers else last.launchers[None](*args)

    def general(self, args: tuple[Any, ...]) -> Any:
        """A call with any inputs."""
        arrays: list[Any] = []
        for each in args:
            if isinstance(each, TensorBase):
                array = each._array
                if array.__class__ is not np.ndarray or (each._requires_grad and state.grad_enabled):
                    return self.module.forward(*args)
                arrays.append(array)
            else:
                arrays.append(each)
        if self.declined or state.capture is not None:
            return self.module.forward(*args)
        program = self.last
        if program is None or not program.accepts(arrays) or program.fixed != fixed(arrays):
            program = self.find(arrays)
            if program is None:
                return self.module.forward(*args)
        program.calls += 1
        program.separate = self.separate
        if program.calls >= program.launched_from and None not in program.launchers:
            program.launchers[None] = (make_launcher(program, args) or NO_LAUNCHER)[0]
        if program.writes and not may_write(program, args, arrays):
            return self.module.forward(*args)
        made: list[Any] = []
        first: dict[int, Any] = {}  # by value: the tensor whose storage views share
        try:
            results = program(arrays)
        except Refused as error:
            self.declined = str(error)  # empty where eager mode will refuse the call, too
            return self.module.forward(*args)
        for reference, array in zip(program.outputs, results):
            if reference is None:
                made.append(None)
                continue
            value = reference.value
            if isinstance(value, Input):
                base = args[value.position]
                same = array is base._array and len(made) not in self.separate
                made.append(base if same else alias(base, array))
                continue
            base = first.get(id(value))
            if base is None:
                made.append(make(array))
            else:
                made.append(base if base._array is array and len(made) not in self.separate else alias(base, array))
            first.setdefault(id(value), made[-1])
        for at in program.writes:
            storage_of(args[at]).version += 1
        return tuple(made)

    def find(self, arrays: list[Any]) -> CompiledSchedule | None:
        """The program for inputs with these sizes and strides, compiled on a cache miss."""
        kept = fixed(arrays)
        for program in self.programs:
            if not program.filled and program.fixed == kept and program.accepts(arrays):
                self.last = program
                return program
        found = None if self.for_any is None or kept else self.for_any.program(arrays, self.values)
        if found is not None:  # it was looked for by the layouts of the inputs
            if found in self.programs:
                self.last = found
                return found
            filled = [each for each in self.programs if each.filled]
            self.programs = [*[each for each in self.programs if not each.filled], *filled[1 - LIMIT :], found]
            self.last = found
            return found
        if sum(not each.filled for each in self.programs) >= LIMIT:
            return None
        try:
            program = compile_module(self.module, arrays)
        except Declined as error:
            self.declined = str(error)
            log.info("a graph runs as in eager mode: %s", error)
            return None
        except Exception as error:  # a bug of ours, or of LLVM: the graph itself is fine, and runs without native code
            self.declined = f"{type(error).__name__}: {error}"
            log.warning("native code failed, and a graph runs as in eager mode: %s", self.declined, exc_info=True)
            return None
        program.fixed = kept
        self.programs.append(program)
        self.last = program
        return program


def separate_outputs(graph: Any) -> frozenset[int]:
    """The outputs of a graph that are tensors of their own, though their elements are those of an input or of an output before: detached, or viewed."""
    found: set[int] = set()
    before: dict[Any, Any] = {}
    given = graph.output_node().args[0]
    for number, node in enumerate(given if isinstance(given, (tuple, list)) else (given,)):
        if not isinstance(node, Node):
            continue
        root: Any = node
        while root.op == "call_function" and root.table_op is not None and (root.table_op is table["detach"] or root.table_op.view):
            root = root.args[0]
        if before.setdefault(root, node) is not node or (root is not node and root.op == "placeholder"):
            found.add(number)
    return frozenset(found)


def graph_compiler(kind: type[NativeGraph] = NativeGraph) -> GraphCompiler:
    """Native code for the forward and the backward graph."""
    return GraphCompiler(kind, takes_writes=True, fuses=True, dynamic_plans=SymbolicPlans)


class NativeExecutable(Executable):
    """A captured graph as native code: itself, or differentiated ahead of time where gradients are recorded."""

    launches = True
    guard_compiler = staticmethod(compile_guards)

    def __init__(self, module: Any) -> None:
        self.plain = NativeGraph(module, TemplateCache.of(module), separate=separate_outputs(module.graph))
        self.differentiated = AheadOfTime(module, graph_compiler())
        self.used: Any = None  # the graph or plan of the last call

    def __call__(self, *args: Any) -> Any:
        if state.grad_enabled or self.differentiated.enables:
            for each in args:
                if isinstance(each, TensorBase) and each._requires_grad:
                    made = self.differentiated(*args)
                    self.used = self.differentiated.used
                    return made
        made = self.plain(*args)
        self.used = self.plain
        return made

    def launcher(self, args: tuple[Any, ...], gradients: Mapping[int, int]) -> Launcher:
        """The launcher for calls like the last one."""
        used = self.used
        if isinstance(used, AotPlan) and not used.enabled:
            return NO_LAUNCHER
        if isinstance(used, AotPlan) and used.differentiable:
            if used.launcher is None and None not in programs(used):  # both have run
                call = make_autograd_launcher(used, args)
                used.launcher = NO_LAUNCHER if call is None else Launcher(call)
            return used.launcher or NO_LAUNCHER
        # A plan whose outputs are those of its forward, which computes all gradients and does its writes, is launched as a graph is.
        graph = used.forward if isinstance(used, AotPlan) and used.simple else used
        program = graph.last if isinstance(graph, NativeGraph) else None
        if program is None:
            return NO_LAUNCHER
        needs = tuple([isinstance(each, TensorBase) and each._requires_grad for each in args])
        key = (needs, tuple(map(type, args)))
        if program.calls < program.launched_from:
            return NO_LAUNCHER
        if key not in program.launchers:
            program.launchers[key] = Launcher(*(make_launcher(program, args, needs, gradients) or NO_LAUNCHER))
        return program.launchers[key]  # type: ignore[no-any-return]

    def describe(self) -> str:
        """A description of how the graph was compiled."""
        return describe(self)


def fixed(arrays: list[Any]) -> list[Any]:
    """The non-array inputs, which programs are specialized to."""
    return [each for each in arrays if each.__class__ is not np.ndarray]


def compile_module(module: Any, arrays: list[Any]) -> CompiledSchedule:
    """A program for a graph module and inputs with the sizes and strides of these arrays."""
    examples = [Spec(each.shape, each.dtype, elements(each), CPU) if each.__class__ is np.ndarray else each for each in arrays]
    if not all(each.flags.aligned for each in arrays if each.__class__ is np.ndarray):
        raise Declined("an input whose elements are not aligned")

    return compile_graph(module.graph, examples, lambda name: attrgetter(name)(module))


class NativeBackend(Backend):
    """Native code for the graph or, where gradients are recorded, for its forward and its backward graph."""

    name = "native"
    defers_first_call = True

    def begin(self, code: Any) -> None:
        """Prepare to compile graphs of some code: with the Triton back-end, where CUDA is in use."""
        if "cuda" in device_types:
            find("triton").begin(code)

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph; without llvmlite its forward and backward graphs run op by op.  Graphs on a GPU become Triton code."""
        if any(isinstance(each, TensorBase) and device_of(each._array).type == "cuda" for each in example_inputs):
            return find("triton").compile(gm, example_inputs)
        return with_numbers(gm, NativeExecutable) if available() else aot_eager.compile(gm, example_inputs)


native = register_backend(NativeBackend())
register_backend(native, name="inductor")  # an alias under PyTorch's name


def explain(module: Any, *inputs: Any) -> str:
    """What native code does with a graph module: the groups it forms, what it calls, and why."""
    arrays = [each._array if isinstance(each, TensorBase) else each for each in inputs]
    try:
        return compile_module(module, arrays).describe()
    except Declined as error:
        return f"runs as in eager mode: {error}"


__all__ = ["NativeBackend", "NativeExecutable", "NativeGraph", "available", "compile_module", "explain", "graph_compiler", "native"]

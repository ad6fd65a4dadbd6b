"""Native code: a graph becomes machine code, made by LLVM in memory.  Needs ``llvmlite``; without it graphs run as in eager mode.

>>> import rushlight
>>> step = rushlight.compile(lambda x: (x * 2).tanh().sum(), backend="native")
>>> with rushlight.no_grad():
...     print(step(rushlight.zeros(3)))
tensor(0.)
"""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from typing import Any

import numpy as np

from ...codegen.llvm import attention, gather_scatter, pooling, rnn
from ...codegen.llvm.conv import convolution
from ...codegen.llvm.gemm import matmul
from ...core.base import Spec, TensorBase, alias, make, storage_of
from ...core.devices import CPU
from ...core.state import state
from ...passes.decompose import Declined
from ...runtime.call import trampoline
from ...runtime.call.guard_compiler import watch
from ...runtime.call.launcher import Refused, direct_call, may_write
from ...runtime.cpu import thread_pool
from ...runtime.cpu.jit import log, machine
from ...runtime.cpu.step_timer import timed
from ...schedule.tensor_ir import Given, elements
from ..aot import AheadOfTime, aot_eager
from ..registry import register_backend
from ..scalar_inputs import with_numbers
from .autograd_launcher import programs, recorded_call
from .dynamic_shapes import General, Plans
from .executable import Program, compile_graph
from .printer import describe, dump

ROUTINES_OF = (attention, convolution, gather_scatter, pooling, rnn, matmul)  # files that bring native code for ops of their own
LIMIT = 16  # programs for different layouts of the inputs, before new ones run as in eager mode
_said: list[str] = []

if importlib.util.find_spec("llvmlite") is not None:
    # LLVM is loaded together with this back-end, and what all programs need is compiled while the first one is captured.
    machine().ahead([*thread_pool.code(), *trampoline.code()])

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


def not_yet(*args: Any) -> Any:
    """What is called in short before it is known how."""
    return NotImplemented


class Native:
    """A graph module that runs native code where no gradient is recorded."""

    writes = True  # whether graphs may write to their inputs
    fuses = True  # whether what is computed from one place in memory is computed in one pass

    for_any_size = Plans  # makes plans for sizes that may differ

    def __init__(self, module: Any, programs: General | None = None, values: Any = None) -> None:
        self.module = module
        self.for_any = programs  # programs for sizes that may differ ...
        self.values = values  # ... which are these, if they are known
        self.programs: list[Program] = []
        self.declined = ""  # why the graph runs as in eager mode
        self.last: Any = None
        self.direct: Any = not_yet  # the last program's call, written out

    def __call__(self, *args: Any) -> Any:
        made = self.direct(*args)
        return made if made is not NotImplemented else self.general(args)

    def general(self, args: tuple[Any, ...]) -> Any:
        """A call whatever the inputs are."""
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
            if program.direct is None:
                program.direct = direct_call(program, args) or not_yet
            self.direct = program.direct
        if program.writes and not may_write(program, args, arrays):
            return self.module.forward(*args)
        made: list[Any] = []
        first: dict[int, Any] = {}  # of a value: the tensor that others are views of
        try:
            results = program(arrays)
        except Refused as error:
            self.declined = str(error)  # nothing where eager mode will refuse the call, too
            return self.module.forward(*args)
        for reference, array in zip(program.outputs, results):
            if reference is None:
                made.append(None)
                continue
            value = reference.value
            if isinstance(value, Given) and value.array is None:
                base = args[value.position]
                made.append(base if array is base._array else alias(base, array))
                continue
            base = first.get(id(value))
            made.append(make(array) if base is None else base if base._array is array else alias(base, array))
            first.setdefault(id(value), made[-1])
        for at in program.writes:
            storage_of(args[at]).version += 1
        return tuple(made)

    def find(self, arrays: list[Any]) -> Program | None:
        """The program for inputs that lie as these do, compiled where there is none yet."""
        kept = fixed(arrays)
        for program in self.programs:
            if program.fixed == kept and program.accepts(arrays):
                self.last = program
                return program
        found = None if self.for_any is None or kept else self.for_any.program(arrays, self.values)
        if found is not None and found.accepts(arrays):
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
        except Exception as error:  # a mistake of ours, or of LLVM: the graph itself is fine, and runs without native code
            self.declined = f"{type(error).__name__}: {error}"
            log.warning("native code failed, and a graph runs as in eager mode: %s", self.declined, exc_info=True)
            return None
        program.fixed = kept
        self.programs.append(program)
        self.last = program
        return program


class Entry:
    """What a compiled program calls: the graph as it is, or differentiated ahead of time."""

    def __init__(self, module: Any) -> None:
        self.plain = Native(module, General.of(module))
        self.differentiated = AheadOfTime(module, Native)
        # A call in short: NotImplemented unless all tensors are just as in an earlier call (their classes, types, sizes and need for gradients).
        # It does not look at modes, which must be as they were, too.  And whether it is left to the caller to give tensors their gradients.
        self.quick: tuple[Any, bool] = not_yet, True
        self.watch = watch  # makes a function that asks what guards ask
        self.replaces: dict[int, int] = {}  # of outputs: the argument whose gradient they will be, in the place of the one that it has

    def __call__(self, *args: Any) -> Any:
        if state.grad_enabled or self.differentiated.enables:
            for each in args:
                if isinstance(each, TensorBase) and each._requires_grad:
                    made = self.differentiated(*args)
                    self.shorten(self.differentiated.used, args)
                    return made
        made = self.plain(*args)
        self.shorten(self.plain, args)
        return made

    def shorten(self, used: Any, args: tuple[Any, ...]) -> None:
        """Have calls like this one made in short from now on, where that is possible."""
        if used is None or (used is not self.plain and not used.enabled):
            return
        if used is not self.plain and used.differentiable:
            if used.shorter is None and None not in programs(used):  # both have run
                used.shorter = recorded_call(used, args) or not_yet
            self.quick = used.shorter or not_yet, True
            return
        program = used.last if used is self.plain else used.simple and used.forward.last  # it computes all gradients, and does its writes
        if program:
            if program.exact is None:
                needs = [isinstance(each, TensorBase) and each._requires_grad for each in args]
                program.exact = direct_call(program, args, needs, self.replaces) or not_yet
            self.quick = program.exact, program.leaves

    def describe(self) -> str:
        """What became of the graph, in words."""
        return describe(self)


def fixed(arrays: list[Any]) -> list[Any]:
    """The inputs that are no arrays."""
    return [each for each in arrays if each.__class__ is not np.ndarray]


def compile_module(module: Any, arrays: list[Any]) -> Program:
    """A program for a graph module and inputs that lie in memory as these arrays do."""
    examples = [Spec(each.shape, each.dtype, elements(each), CPU) if each.__class__ is np.ndarray else each for each in arrays]
    if not all(each.flags.aligned for each in arrays if each.__class__ is np.ndarray):
        raise Declined("an input whose elements lie askew")

    def attribute(name: str) -> Any:
        found = module
        for part in name.split("."):
            found = getattr(found, part)
        return found

    return compile_graph(module.graph, examples, attribute)


@register_backend
def native(gm: Any, example_inputs: list[Any]) -> Any:
    """The back-end: native code for the graph or, where gradients are recorded, for its forward and its backward graph."""
    return with_numbers(gm, Entry) if available() else aot_eager(gm, example_inputs)


native.computes_first = True  # type: ignore[attr-defined]  # ops of a first call on large tensors are left to what it compiles
register_backend(native, name="inductor")  # programs that ask for PyTorch's own mean this one


def explain(module: Any, *inputs: Any) -> str:
    """What native code does with a graph module: the groups it forms, what it calls, and why."""
    arrays = [each._array if isinstance(each, TensorBase) else each for each in inputs]
    try:
        return compile_module(module, arrays).describe()
    except Declined as error:
        return f"runs as in eager mode: {error}"


__all__ = ["Native", "Entry", "available", "compile_graph", "compile_module", "describe", "dump", "explain", "native", "timed"]

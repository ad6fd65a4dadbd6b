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

from ...core.base import Spec, TensorBase, alias, make
from ...core.state import state
from ..aot import AheadOfTime
from ..registry import register_backend
from .expanding import Declined
from .machine import log
from .program import Program, compile_graph
from .values import Given, elements

LIMIT = 16  # programs for different layouts of the inputs, before new ones run as in eager mode
_said: list[str] = []

if "native" in os.environ.get("RUSHLIGHT_LOGS", "").split(","):
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.DEBUG)


def available() -> bool:
    """Whether llvmlite is installed; says once how to install it."""
    if importlib.util.find_spec("llvmlite") is not None:
        return True
    if not _said:
        _said.append("said")
        warnings.warn("the native back-end needs llvmlite: pip install llvmlite. Graphs run op by op until then", stacklevel=3)
    return False


class Native:
    """A graph module that runs native code where no gradient is recorded."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.programs: list[Program] = []
        self.declined = ""  # why the graph runs as in eager mode
        self.last: Any = None

    def __call__(self, *args: Any) -> Any:
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
        made: list[Any] = []
        first: dict[int, Any] = {}  # of a value: the tensor that others are views of
        for reference, array in zip(program.outputs, program(arrays)):
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
        return tuple(made)

    def find(self, arrays: list[Any]) -> Program | None:
        """The program for inputs that lie as these do, compiled where there is none yet."""
        kept = fixed(arrays)
        for program in self.programs:
            if program.fixed == kept and program.accepts(arrays):
                self.last = program
                return program
        if len(self.programs) >= LIMIT:
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
        self.plain = Native(module)
        self.differentiated = AheadOfTime(module, Native)

    def __call__(self, *args: Any) -> Any:
        if state.grad_enabled:
            for each in args:
                if isinstance(each, TensorBase) and each._requires_grad:
                    return self.differentiated(*args)
        return self.plain(*args)


def fixed(arrays: list[Any]) -> list[Any]:
    """The inputs that are no arrays."""
    return [each for each in arrays if each.__class__ is not np.ndarray]


def compile_module(module: Any, arrays: list[Any]) -> Program:
    """A program for a graph module and inputs that lie in memory as these arrays do."""
    examples = [Spec(each.shape, each.dtype, elements(each)) if each.__class__ is np.ndarray else each for each in arrays]
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
    return Entry(gm) if available() else gm.forward


def explain(module: Any, *inputs: Any) -> str:
    """What native code does with a graph module: the groups it forms, what it calls, and why."""
    arrays = [each._array if isinstance(each, TensorBase) else each for each in inputs]
    try:
        return compile_module(module, arrays).describe()
    except Declined as error:
        return f"runs as in eager mode: {error}"

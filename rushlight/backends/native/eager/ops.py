"""Native code for single ops of eager mode: a graph of one node, compiled when its shapes first come.

It could wait for a second time; but then the same call would give other last digits the first time than it gives from there on.  Where shapes come again
and again with other first sizes, as batches may, a program is compiled for any such size (``general.py``), and filled in for those that follow.
"""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from ....core.base import Spec
from ....core.declare import table
from ....core.devices import CPU
from ....core.symbolic import Expression, SymbolicInt
from ....graph import Graph
from ....runtime.cpu.jit import log
from ....schedule.tensor_ir import Call, elements
from ..dynamic_shapes import General
from ..executable import CompiledSchedule, compile_graph, no_attribute
from ..shape_templates import Inputs

LIMIT = 128  # programs that are kept: those that came last
SEVERAL = 3  # sizes that are compiled for by themselves: many programs have no more, of batches, last batches and tests
BROKEN = "broken"

_programs: OrderedDict[Any, Any] = OrderedDict()  # by what they are for: a program, or that there is none
_sizes: OrderedDict[Any, list[tuple[int, ...]]] = OrderedDict()  # by the same without first sizes: which these were
_general: OrderedDict[Any, General] = OrderedDict()  # by the same, and by which sizes have differed: the programs for any of them
_lock = threading.Lock()


def run(name: str, args: tuple[Any, ...]) -> Any:
    """The result (or results) of an op on arrays by native code; None where there is none (yet)."""
    arrays = [each for each in args if each.__class__ is np.ndarray]
    key = (name, *[(each.shape, each.dtype.char, each.strides) if each.__class__ is np.ndarray else each for each in args])
    try:
        program = _programs[key]
    except TypeError:  # an option that can't be part of a key
        return None
    except KeyError:
        program = prepare(key, name, args)
    if program is BROKEN:
        return None
    made = program(arrays)
    return made if len(made) > 1 else made[0]


def prepare(key: Any, name: str, args: tuple[Any, ...]) -> Any:
    """Compile the program of an op, or find out that there is none."""
    program: Any = BROKEN
    with _lock:
        try:
            program = filled_in(name, args) or program_for(name, args)
            if any(isinstance(each, Call) for each in program.parts):
                program = BROKEN
        except Exception as error:  # nothing is lost: the op has a kernel
            log.info("no native code for %s: %s: %s", name, type(error).__name__, error)
        _programs[key] = program
        for kept in (_programs, _sizes, _general):
            while len(kept) > LIMIT:
                kept.popitem(last=False)  # type: ignore[attr-defined]
    return program


def filled_in(name: str, args: tuple[Any, ...]) -> CompiledSchedule | None:
    """A program from one for any first sizes, where several have come before; else None."""
    arrays = [each for each in args if each.__class__ is np.ndarray]
    if not all(each.ndim for each in arrays):
        return None
    kind = (name, *[(each.shape[1:], each.dtype.char) if each.__class__ is np.ndarray else each for each in args])
    seen, sizes = _sizes.setdefault(kind, []), tuple([each.shape[0] for each in arrays])
    if len(seen) < SEVERAL:
        seen.append(sizes)
        return None
    columns = list(zip(*seen, sizes))
    changed = sorted({each for each in columns if len(set(each)) > 1})  # those that were always equal are one size
    if not changed:
        return None
    symbols = [changed.index(each) if each in changed else None for each in columns]
    known = (kind, *symbols)
    if known not in _general:
        graph, specs = graph_for(name, args)
        given = [
            spec if at is None else spec.sized((SymbolicInt(spec.shape[0], Expression.symbol(f"s{at}")), *spec.shape[1:]))
            for spec, at in zip(specs, symbols)
        ]
        _general[known] = General(graph, Inputs(given), no_attribute)
    found = _general[known].program(arrays, None)
    return found if found is not None and found.accepts(arrays) else None


def program_for(name: str, args: tuple[Any, ...]) -> CompiledSchedule:
    """A program of one op for arrays with the strides of these, and other arguments held fixed."""
    return compile_graph(*graph_for(name, args))


def graph_for(name: str, args: tuple[Any, ...]) -> tuple[Graph, list[Spec]]:
    """The graph of one op, and its inputs without data."""
    graph, op = Graph(), table[name]
    inputs, examples = [], []
    for position, each in enumerate(args):
        if each.__class__ is np.ndarray:
            if not each.flags.aligned:
                raise ValueError("an array whose elements are not aligned")
            inputs.append(graph.placeholder(f"input_{position}"))
            examples.append(Spec(each.shape, each.dtype, elements(each), CPU))
        else:
            inputs.append(each)
    node = graph.call_function(op.call, tuple(inputs))
    if op.returns is None:
        graph.output((node,))
    else:
        graph.output(tuple([graph.call_function(operator.getitem, (node, at)) for at in range(len(op.returns))]))
    return graph, examples

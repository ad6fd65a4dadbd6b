"""Native code for single ops of eager mode: a graph of one node, compiled when its shapes first come.

It could wait for a second time; but then the same call would give other last digits the first time than it gives from there on.
"""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.declare import table
from ...graph import Graph
from .machine import log
from .program import Program, compile_graph
from .values import Call, elements

LIMIT = 128  # programs that are kept: those that came last
BROKEN = "broken"

_programs: OrderedDict[Any, Any] = OrderedDict()  # by what they are for: a program, or that there is none
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
            program = program_for(name, args)
            if any(isinstance(each, Call) for each in program.parts):
                program = BROKEN
        except Exception as error:  # nothing is lost: the op has a kernel
            log.info("no native code for %s: %s: %s", name, type(error).__name__, error)
        _programs[key] = program
        while len(_programs) > LIMIT:
            _programs.popitem(last=False)
    return program


def program_for(name: str, args: tuple[Any, ...]) -> Program:
    """A program of one op for arrays that lie as these do, and other arguments as they are."""
    graph, op = Graph(), table[name]
    inputs, examples = [], []
    for position, each in enumerate(args):
        if each.__class__ is np.ndarray:
            if not each.flags.aligned:
                raise ValueError("an array whose elements lie askew")
            inputs.append(graph.placeholder(f"input_{position}"))
            examples.append(Spec(each.shape, each.dtype, elements(each)))
        else:
            inputs.append(each)
    node = graph.call_function(op.call, tuple(inputs))
    if op.returns is None:
        graph.output((node,))
    else:
        graph.output(tuple([graph.call_function(operator.getitem, (node, at)) for at in range(len(op.returns))]))
    return compile_graph(graph, examples)

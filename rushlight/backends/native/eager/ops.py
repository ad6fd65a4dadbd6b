"""Native code for single ops of eager mode: a graph of one node, compiled for its shapes.

Ops that NumPy is slow at are compiled at the first use of their shapes (``run``).  Compiling at the second use would make the first call differ in the last
digits from later ones.  Where shapes repeat with other leading sizes, as batches may, a program is compiled
for symbolic leading sizes (``dynamic_shapes.py``), and instantiated for those that follow.

Other ops are compiled on a background thread once their shapes have repeated several times (``begin``), and used some calls later (``again``).
"""

from __future__ import annotations

import operator
import os
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ....codegen.llvm.gemm.half_products import how
from ....core.base import Spec
from ....core.declare import table
from ....core.devices import CPU
from ....core.process_safety import free_after_fork
from ....core.symbolic import Expression, SymbolicInt
from ....graph import Graph
from ....runtime.call.launcher import Refused
from ....runtime.cpu.jit import log
from ....schedule.tensor_ir import Call, Constant, Input, Product, elements, strides_of
from ..dynamic_shapes import TemplateCache
from ..executable import CompiledSchedule, compile_graph, no_attribute
from ..shape_templates import Inputs

LARGE = 1 << 28  # multiplications of a matrix product from which on BLAS is as fast as generated code
LIMIT = 1024  # cached programs, the newest ones: more than a convolutional network has in a step
SEVERAL = 3  # leading sizes that get specialized programs: many models have no more (batches, last batches, tests)
BROKEN = "broken"

_programs: OrderedDict[Any, Any] = OrderedDict()  # by what they are for: a program, or that there is none
_sizes: OrderedDict[Any, list[tuple[int, ...]]] = OrderedDict()  # by the same without first sizes: which these were
_general: OrderedDict[Any, TemplateCache] = OrderedDict()  # by the same, and by which sizes have differed: the programs for any of them
_coming: dict[Any, Future[Any]] = {}  # programs being compiled in the background
_compiler: list[ThreadPoolExecutor] = []  # the background thread, started on first use
_lock = free_after_fork(threading.Lock())


def begin(key: Any, name: str, args: tuple[Any, ...]) -> None:
    """Compile a program on the background thread, to be looked up by its key."""
    if name in ("matmul", "linear") and args[0].size * args[1].size // args[0].shape[-1] >= LARGE and how() != "tiles":
        _programs[key] = BROKEN  # BLAS is as fast
        return
    try:
        graph, examples = graph_for(name, args)
        if not _compiler:
            _compiler.append(ThreadPoolExecutor(1, "rushlight compiler"))
        _coming[key] = _compiler[0].submit(checked_program, graph, examples)
    except Exception as error:  # falls back to the op's kernel
        log.info("no native code for %s: %s: %s", name, type(error).__name__, error)
        _programs[key] = BROKEN


def checked_program(graph: Graph, examples: list[Spec]) -> CompiledSchedule | None:
    """A program whose results are new row-major arrays, as kernels give them; None where there is none."""
    try:
        program = compile_graph(graph, examples)
    except Exception as error:
        log.info("no native code for %s: %s: %s", graph, type(error).__name__, error)
        return None
    made = [each for each in program.outputs if each is not None]
    own = len({each.value for each in made}) == len(program.outputs) and not any(isinstance(each.value, (Input, Constant)) for each in made)
    plain = all(not each.offset and all(have == want for have, want in zip(each.strides, strides_of(each.shape)) if want) for each in made)
    own = own and any(not isinstance(getattr(each, "value", None), Product) for each in program.schedule.steps)  # NumPy has BLAS, too
    return program if own and plain and not any(isinstance(each, Call) for each in program.parts) else None


def again(key: Any, args: tuple[Any, ...]) -> Any:
    """The result of a program that was begun; None where there is none, NotImplemented where it was evicted."""
    program = _programs.get(key)
    if program is None:
        with _lock:
            coming = _coming.pop(key, None)
            if coming is not None:
                _programs[key] = coming.result() or BROKEN
                bound()
            program = _programs.get(key)
            if program is None:
                return NotImplemented
    if program is BROKEN:
        return None
    try:
        made = program.launch([each for each in args if each.__class__ is np.ndarray])
    except Refused:  # the kernel says why
        return None
    return made if len(made) > 1 else made[0]


def bound() -> None:
    """Evict the oldest programs where there are too many."""
    for kept in (_programs, _sizes, _general):
        while len(kept) > LIMIT:
            kept.popitem(last=False)  # type: ignore[attr-defined]


def before_fork() -> None:
    """Before a fork: wait for the background thread, which a child would not have."""
    for each in list(_coming.values()):
        each.exception()


def after_fork() -> None:
    """In a forked child: start over without the thread, and without what it had not finished."""
    global _lock
    _lock = threading.Lock()
    _compiler.clear()
    for key in [key for key, each in _coming.items() if not each.done()]:
        del _coming[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_child=after_fork)


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
    made = program.launch(arrays)
    return made if len(made) > 1 else made[0]


def prepare(key: Any, name: str, args: tuple[Any, ...]) -> Any:
    """Compile the program of an op, or find out that there is none."""
    program: Any = BROKEN
    with _lock:
        try:
            program = filled_in(name, args) or program_for(name, args)
            if any(isinstance(each, Call) for each in program.parts):
                program = BROKEN
        except Exception as error:  # falls back to the op's kernel
            log.info("no native code for %s: %s: %s", name, type(error).__name__, error)
        _programs[key] = program
        bound()
    return program


def filled_in(name: str, args: tuple[Any, ...]) -> CompiledSchedule | None:
    """An instance of a program with symbolic leading sizes, where several sizes were seen before; else None."""
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
        _general[known] = TemplateCache(graph, Inputs(given), no_attribute)
    found = _general[known].program(arrays, None)
    return found if found is not None and found.accepts(arrays) else None


def program_for(name: str, args: tuple[Any, ...]) -> CompiledSchedule:
    """A program of one op for arrays with the strides of these, and other arguments held fixed."""
    return compile_graph(*graph_for(name, args))


def graph_for(name: str, args: tuple[Any, ...]) -> tuple[Graph, list[Spec]]:
    """The graph of one op, and its inputs without data; a name as ``attention.output`` asks for one of the op's results."""
    name, _, result = name.partition(".")
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
        graph.output(
            tuple([graph.call_function(operator.getitem, (node, at)) for at, each in enumerate(op.returns) if result in ("", each)])
        )
    return graph, examples

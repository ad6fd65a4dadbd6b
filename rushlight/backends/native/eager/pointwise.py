"""Native loops for single pointwise ops of eager mode: arrays of any length, so that a loop is compiled once for an op and its types.

The kernel of an op is traced to its expression, as when whole graphs are compiled; the loop computes it for each
element.  Scalar operands are read from memory, so that code does not depend on their values.
"""

from __future__ import annotations

import functools
import math
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ....codegen.llvm.instructions import FunctionParameter
from ....codegen.llvm.ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ....codegen.llvm.scalar_code import Emission
from ....codegen.llvm.target import processor
from ....core.declare import Op
from ....core.kernel_providers import runs_once
from ....core.process_safety import free_after_fork
from ....ops.pointwise.unary import ThroughDouble
from ....runtime.cpu.arena import address
from ....runtime.cpu.jit import log
from ....runtime.cpu.parallel_task import Task
from ....schedule.scalar_ir import Array, Functions, ScalarExpression, cast, check_target, scalar_kernel

QUICK = frozenset(("tanh", "power"))  # kernels that NumPy has made as fast
SHORT, FEW, DIMENSIONS = (
    16,
    64,
    4,
)  # of broadcast arrays: the shortest rows, rows enough for all threads (fewer are cut), and the most dimensions
VARIANTS = 32  # of one op; a program that keeps giving other options is better served by NumPy

BROKEN: Any = object()

_lock = free_after_fork(threading.Lock())
_loops: dict[Any, PointwiseLoop | None] = {}
_variants: Counter[str] = Counter()


class PointwiseLoop:
    """A compiled loop over contiguous arrays and numbers; it is called with them in the order of its operands.

    Operands are dtypes with, of a number, False; of an array, True; and of an array that is broadcast, whether it varies along the rows
    of the result (``"row"``) or has one element for each (``"column"``).  Then the rows have ``outer`` dimensions.
    """

    def __init__(self, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], Any]], outer: int) -> None:
        module = Module()
        self.dtype = expression.dtype
        self.operands = operands
        if outer:
            arrays = sum([bool(each) for _, each in operands])
            self.task = Task(module, rows(module, expression, operands, outer), len(operands) + 1 + outer + arrays * outer)
        else:
            self.task = Task(module, body(module, expression, operands), len(operands) + 1)

    def __call__(self, values: list[Any], shape: tuple[int, ...], layout: Layout | None = None) -> Any:
        made = np.empty(shape, self.dtype)
        arrays = [each if is_array else np.asarray(each, dtype) for each, (dtype, is_array) in zip(values, self.operands)]
        addresses = [address(each) for each in arrays] + [address(made)]
        if layout is None:
            self.task(addresses, made.size)
        elif made.size:
            self.task([*addresses, *layout.words], layout.rows)
        return made


class Layout:
    """The broadcast of arrays: rows of a length, over outer dimensions with a stride per array."""

    __slots__ = ("inner", "outer", "rows", "words")

    def __init__(self, sizes: list[int], steps: list[list[int]]) -> None:
        self.inner = [each[-1] for each in steps]
        self.outer = len(sizes) - 1
        self.rows = math.prod(sizes[:-1])
        self.words = [sizes[-1], *sizes[1:-1], *[step for each in steps for step in each[:-1]]]


@functools.lru_cache(1024)
def broadcast_layout(shapes: tuple[tuple[int, ...], ...]) -> Layout | None:
    """The layout of contiguous arrays of these shapes, of which one has the shape of the result; None where rows would be short."""
    full = max(shapes, key=lambda each: (math.prod(each), len(each)))
    padded = [(1,) * (len(full) - len(each)) + each for each in shapes]
    if any(len(each) > len(full) for each in shapes) or any(have not in (1, size) for each in padded for have, size in zip(each, full)):
        return None
    steps = [[0 if have == 1 else math.prod(each[at + 1 :]) for at, have in enumerate(each)] for each in padded]
    sizes = list(full)
    for at in range(len(sizes) - 1, -1, -1):  # dimensions of size 1 are dropped, and those that are collapsible in all arrays are collapsed
        if sizes[at] == 1 and len(sizes) > 1:
            joined = at
        elif at + 1 < len(sizes) and all(each[at] == each[at + 1] * sizes[at + 1] for each in steps):
            sizes[at + 1] *= sizes[at]
            joined = at
        else:
            continue
        del sizes[joined]
        for each in steps:
            del each[joined]
    while (
        len(sizes) > 1 and math.prod(sizes[:-1]) < FEW and sizes[-1] >= 2 * SHORT and sizes[-1] % 2 == 0
    ):  # so that threads can share them
        part = next(each for each in (16, 8, 4, 2) if sizes[-1] % each == 0 and sizes[-1] // each >= SHORT)
        sizes[-1:] = [part, sizes[-1] // part]
        for each in steps:
            each[-1:] = [each[-1] * sizes[-1], each[-1]]
    return Layout(sizes, steps) if 2 <= len(sizes) <= DIMENSIONS and sizes[-1] >= SHORT else None


def body(module: Module, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], Any]]) -> str:
    """The loop as a function of the addresses of its operands and its result, and of the range that it works on.  Its name."""
    c = IRBuilder(module)
    numbers = {at: c.load(f"%a{at}", 0, TYPES[dtype]) for at, (dtype, is_array) in enumerate(operands) if not is_array}
    with c.loop(FIRST, LAST) as index:
        emission = Emission(c, lambda at: numbers[at] if at in numbers else c.load(f"%a{at}", index, TYPES[operands[at][0]]))
        c.store(emission.value(expression), f"%a{len(operands)}", index)
    return module.add("loop", c.function("", pointers([f"%a{at}" for at in range(len(operands) + 1)], noalias=True)))


def rows(module: Module, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], Any]], outer: int) -> str:
    """The same for arrays that are broadcast: a function of a range of rows, and of the sizes and steps of :class:`Layout`.  Its name."""
    c = IRBuilder(module)
    count = len(operands) + 1
    arrays = [at for at, (_, kind) in enumerate(operands) if kind]
    total = count + outer * (1 + len(arrays))
    length, *words = [c.convert("ptrtoint", Scalar(f"%a{at}", "ptr"), "i64") for at in range(count, total)]
    sizes, steps = words[: outer - 1], words[outer - 1 :]
    numbers = {at: c.load(f"%a{at}", 0, TYPES[dtype]) for at, (dtype, kind) in enumerate(operands) if not kind}
    with c.loop(FIRST, LAST) as row:
        places, left = [], row
        for size in reversed(sizes):
            places.append(c.rem(left, size))
            left = c.div(left, size)
        places = [left, *reversed(places)]
        starts = {}
        for number, at in enumerate(arrays):
            starts[at] = c.integer(0)
            for place, step in zip(places, steps[number * outer : (number + 1) * outer]):
                starts[at] = c.add(starts[at], c.mul(place, step))
        columns = {at: c.load(f"%a{at}", starts[at], TYPES[operands[at][0]]) for at in arrays if operands[at][1] == "column"}
        start = c.mul(row, length)
        with c.loop(length) as index:

            def element(at: int) -> Scalar:
                known = numbers.get(at) or columns.get(at)
                return c.load(f"%a{at}", c.add(starts[at], index), TYPES[operands[at][0]]) if known is None else known

            c.store(Emission(c, element).value(expression), f"%a{count - 1}", c.add(start, index))
    given = [FunctionParameter("ptr", f"%a{at}", at < count) for at in range(total)]
    return module.add("rows", c.function("", [*given, *pointers([])]))


def arranged(given: list[Any]) -> tuple[list[tuple[np.dtype[Any], Any]], list[Any], tuple[int, ...], Layout | None] | None:
    """The operands of a loop for arrays and numbers (NumPy's): their kinds, values, the shape of the result, and how they are broadcast; None where no loop takes them."""
    shape: tuple[int, ...] | None = None
    kinds: list[tuple[np.dtype[Any], Any]] = []
    values, spread = [], []
    differ = False
    for value in given:
        is_array = value.__class__ is np.ndarray and value.ndim > 0
        if is_array:
            flags = value.flags
            if not flags.aligned:
                return None
            if flags.c_contiguous and any(value.strides):
                differ = differ or (shape is not None and value.shape != shape)
                shape = value.shape
            elif any(value.strides):
                return None
            else:  # one number, broadcast
                spread.append(value.shape)
                value, is_array = value[(0,) * value.ndim], False
        kinds.append((value.dtype, is_array))
        values.append(value)
    layout = None
    if differ:
        arrays = [each for each, (_, is_array) in zip(values, kinds) if is_array]
        layout = broadcast_layout(tuple([each.shape for each in arrays]))
        if layout is None:
            return None
        inner = iter(layout.inner)
        kinds = [(kind, is_array and ("row" if next(inner) else "column")) for kind, is_array in kinds]
        shape = np.broadcast_shapes(*[each.shape for each in arrays])
    elif shape is None and spread:
        shape = spread[0]
    if shape is None or any(each != shape for each in spread):
        return None
    return kinds, values, shape, layout


def run(op: Op, arguments: list[Any], positions: list[int], compute: np.dtype[Any], dtype: np.dtype[Any]) -> Any:
    """The result of a pointwise op on contiguous arrays that broadcast to the shape of one (and numbers), or None where there is no native loop for it.

    ``arguments`` are those of the kernel, of which ``positions`` take part element by element; they are computed with as ``compute``.
    """
    if op.kernel in QUICK:
        return None
    found = arranged([arguments[position] for position in positions])
    if found is None:
        return None
    kinds, values, shape, layout = found
    taken = set(positions)
    options = tuple([each for at, each in enumerate(arguments) if at not in taken])
    key = (op.name, tuple(kinds), 0 if layout is None else layout.outer, tuple(map(type, options)), options, compute, dtype)
    try:
        loop = _loops[key]
    except TypeError:  # an option that can't be part of a key
        return None
    except KeyError:
        if runs_once():
            return None
        loop = prepare(key, lambda: expression_of(op, arguments, positions, compute, dtype))
    return None if loop is None else loop(values, shape, layout)


def run_ufunc(ufunc: Any, a: Any, b: Any) -> Any:
    """The result of a binary ufunc of single arithmetic instructions, which round as NumPy's do, on an array of floats and another or a number; or None."""
    dtype = a.dtype
    found = arranged([a, b if b.__class__ is np.ndarray else dtype.type(b)])
    if found is None:
        return None
    kinds, values, shape, layout = found
    key = (ufunc.__name__, tuple(kinds), 0 if layout is None else layout.outer)
    loop = _loops.get(key, BROKEN)
    if loop is BROKEN:
        if runs_once():
            return None
        arrays = [Array(ScalarExpression("operand", (), dtype, at), np.shape(each)) for at, each in enumerate((a, b))]
        loop = prepare(key, lambda: getattr(Functions(), ufunc.__name__)(*arrays).expression)
    return None if loop is None else loop(values, shape, layout)


def prepare(key: Any, expression: Callable[[], ScalarExpression]) -> PointwiseLoop | None:
    """Compile a loop (its key begins with the name of what it computes, its operands and the dimensions of rows), or find out that there is none."""
    with _lock:
        if key in _loops:
            return _loops[key]
        loop = None
        if _variants[key[0]] < VARIANTS:
            _variants[key[0]] += 1
            try:
                loop = PointwiseLoop(expression(), list(key[1]), key[2])
            except Exception as error:  # falls back to the op's kernel
                log.info("no native loop for %s: %s: %s", key[0], type(error).__name__, error)
        _loops[key] = loop
        return loop


def expression_of(op: Op, arguments: list[Any], positions: list[int], compute: np.dtype[Any], dtype: np.dtype[Any]) -> ScalarExpression:
    """The scalar expression of an op."""
    given = list(arguments)
    for at, position in enumerate(positions):
        value = arguments[position]
        given[position] = Array(cast(ScalarExpression("operand", (), value.dtype, at), compute), value.shape)
    kernel: Callable[..., Any]
    written = scalar_kernel.of(op)
    if written is not None:
        kernel = written
    elif isinstance(op.ufunc, ThroughDouble):
        kernel = lambda operand: getattr(Functions(), op.ufunc.ufunc.__name__)(operand.astype(np.float64))  # noqa: E731
    elif op.kernel.__class__ is str:
        kernel = getattr(Functions(), op.kernel)
    else:
        kernel = lambda *operands: op.kernel(Functions(), *operands)  # noqa: E731
    made = kernel(*given)
    if not isinstance(made, Array):
        raise TypeError("the kernel gives no expression")
    expression = cast(made.expression, dtype)
    check_target(expression, processor().target)
    return expression

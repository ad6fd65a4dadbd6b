"""Native loops for single pointwise ops of eager mode: arrays of any length, so that a loop is compiled once for an op and its types.

The kernel of an op is run for its expression, as it is when whole graphs are compiled; the loop computes that for one element after the
other.  Numbers that take part like tensors are read from memory, so that another number needs no other code.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ....codegen.llvm.ir import FIRST, LAST, TYPES, IRBuilder, Module, pointers
from ....codegen.llvm.scalar_code import Emission
from ....codegen.llvm.target import processor
from ....core.declare import Op
from ....core.kernel_providers import runs_once
from ....core.process_safety import free_after_fork
from ....ops.pointwise.unary import ThroughDouble
from ....runtime.cpu.jit import log
from ....runtime.cpu.parallel_task import Task
from ....schedule.scalar_ir import Array, Functions, ScalarExpression, cast, check_target, scalar_kernel

QUICK = frozenset(("tanh", "power"))  # kernels that NumPy has made as fast
VARIANTS = 16  # of one op; a program that keeps giving other options is better served by NumPy

_lock = free_after_fork(threading.Lock())
_loops: dict[Any, PointwiseLoop | None] = {}
_variants: Counter[str] = Counter()


class PointwiseLoop:
    """A compiled loop over contiguous arrays; it is called with arrays and numbers in the order of its operands."""

    def __init__(self, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], bool]]) -> None:
        module = Module()
        self.dtype = expression.dtype
        self.operands = operands
        self.task = Task(module, body(module, expression, operands), len(operands) + 1)

    def __call__(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        made = np.empty(shape, self.dtype)
        arrays = [each if is_array else np.asarray(each, dtype) for each, (dtype, is_array) in zip(values, self.operands)]
        self.task([each.ctypes.data for each in arrays] + [made.ctypes.data], made.size)
        return made


def body(module: Module, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], bool]]) -> str:
    """The loop as a function of the addresses of its operands and its result, and of the range that it works on.  Its name."""
    c = IRBuilder(module)
    numbers = {at: c.load(f"%a{at}", 0, TYPES[dtype]) for at, (dtype, is_array) in enumerate(operands) if not is_array}
    with c.loop(FIRST, LAST) as index:
        emission = Emission(c, lambda at: numbers[at] if at in numbers else c.load(f"%a{at}", index, TYPES[operands[at][0]]))
        c.store(emission.value(expression), f"%a{len(operands)}", index)
    return module.add("loop", c.function("", pointers([f"%a{at}" for at in range(len(operands) + 1)], noalias=True)))


def run(op: Op, arguments: list[Any], positions: list[int], compute: np.dtype[Any], dtype: np.dtype[Any]) -> Any:
    """The result of a pointwise op on contiguous arrays of one shape (and numbers), or None where there is no native loop for it.

    ``arguments`` are those of the kernel, of which ``positions`` take part element by element; they are computed with as ``compute``.
    """
    if op.kernel in QUICK:
        return None
    shape: tuple[int, ...] | None = None
    kinds = []
    values = []
    for position in positions:
        value = arguments[position]
        if value.__class__ is np.ndarray and value.ndim:
            if not value.flags.aligned or (shape is not None and value.shape != shape):
                return None
            shape = value.shape
            if not any(value.strides):  # one number, broadcast
                value = value[(0,) * value.ndim]
            elif not value.flags.c_contiguous:
                return None
        kinds.append((value.dtype, value.__class__ is np.ndarray and value.ndim > 0))
        values.append(value)
    if shape is None:
        return None
    taken = set(positions)
    options = tuple([each for at, each in enumerate(arguments) if at not in taken])
    key = (op.name, tuple(kinds), tuple(map(type, options)), options, compute, dtype)
    try:
        loop = _loops[key]
    except TypeError:  # an option that can't be part of a key
        return None
    except KeyError:
        if runs_once():
            return None
        loop = prepare(key, op, arguments, positions, compute, dtype)
    return None if loop is None else loop(values, shape)


def prepare(
    key: Any, op: Op, arguments: list[Any], positions: list[int], compute: np.dtype[Any], dtype: np.dtype[Any]
) -> PointwiseLoop | None:
    """Compile the loop of an op, or find out that there is none."""
    with _lock:
        if key in _loops:
            return _loops[key]
        loop = None
        if _variants[op.name] < VARIANTS:
            _variants[op.name] += 1
            try:
                loop = PointwiseLoop(expression_of(op, arguments, positions, compute, dtype), list(key[1]))
            except Exception as error:  # nothing is lost: the op has a kernel
                log.info("no native loop for %s: %s: %s", op.name, type(error).__name__, error)
        _loops[key] = loop
        return loop


def expression_of(op: Op, arguments: list[Any], positions: list[int], compute: np.dtype[Any], dtype: np.dtype[Any]) -> ScalarExpression:
    """What an op does to one element of each operand."""
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

"""The NumPy emitter of kernel plans: runs a plan on arrays, each statement for all rows at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...ops.special.kernels import erf
from ...schedule.kernel_plan import (
    Accumulate,
    BlockElement,
    Element,
    KernelPlan,
    Location,
    Pass,
    RowElement,
    RowStage,
    ScratchElement,
    identity,
)
from ...schedule.scalar_ir import ScalarExpression
from ...schedule.symbolic_shape import hint
from ...schedule.tensor_ir import Value

# The operations of scalar IR; those that are missing here have the name of a NumPy function.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "max": np.maximum, "min": np.minimum,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "not": np.logical_not,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "erf": lambda x: erf(np, x), "exp_nonpositive": np.exp, "scaled_exp": np.exp,  # the power of two that LLVM's has cancels in a quotient
}  # fmt: skip
REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.logical_and, "or": np.logical_or}


def run_kernel(plan: KernelPlan, memory: Mapping[Value, np.ndarray[Any, Any]]) -> None:
    """Run a kernel on the memory of its buffers: arrays of their shapes and strides, which results are written to."""
    with np.errstate(all="ignore"):
        KernelRun(plan, memory).run()


class KernelRun:
    """The state of one run.  Arrays have one dimension per axis of the plan; in row values, reduced axes have size 1."""

    def __init__(self, plan: KernelPlan, memory: Mapping[Value, np.ndarray[Any, Any]]) -> None:
        self.plan = plan
        self.memory = {value: flat(memory[value]) for value in plan.buffers}
        self.shape = tuple([hint(axis.size) for axis in plan.axes])
        self.row_shape = tuple([1 if axis.reduced else hint(axis.size) for axis in plan.axes])
        self.rows: dict[Value, Any] = {}
        self.scratch: dict[Value, Any] = {}

    def run(self) -> None:
        for value in self.plan.partials:
            self.memory[value][...] = 0
        for part in self.plan.body:
            if isinstance(part, Pass):
                self.run_pass(part)
            else:
                self.run_rows(part)

    def run_pass(self, part: Pass) -> None:
        evaluate = Evaluation(self, self.shape)
        results = []
        for store in part.stores:
            results.append((store.to, evaluate(store.expression)))
            if part.eager_stores:
                self.store(*results.pop())
        elements = [evaluate(each.expression) for each in part.reductions]
        for to, made in results:
            self.store(to, made)
        for each, element in zip(part.reductions, elements):
            self.rows[each.value] = self.reduce(each, element)

    def run_rows(self, stage: RowStage) -> None:
        evaluate = Evaluation(self, self.row_shape)
        for each in stage.values:
            if each.expression is not None:
                self.rows[each.value] = evaluate(each.expression)
            if each.to is not None:
                self.store(each.to, self.rows[each.value], self.row_shape)

    def reduce(self, each: Accumulate, element: Any) -> Any:
        axes = tuple([at for at, axis in enumerate(self.plan.axes) if axis.reduced])
        dtype = np.dtype(np.float64) if each.chunked else each.value.dtype
        found = REDUCTIONS[each.value.how].reduce(
            np.broadcast_to(element, self.shape).astype(dtype), axes, keepdims=True, initial=identity(each.value)
        )
        return found.astype(each.value.dtype)

    def view(self, at: Element, shape: tuple[int, ...]) -> Any:
        """The elements of a location as an array over the axes."""
        memory, size = self.memory[at.buffer], at.value.dtype.itemsize
        strides = [hint(at.strides[axis.dims[-1]]) * size if axis.dims and count > 1 else 0 for axis, count in zip(self.plan.axes, shape)]
        return as_strided(memory[hint(at.offset) :], shape, strides)

    def load(self, at: Location, shape: tuple[int, ...]) -> Any:
        if isinstance(at, Element):
            return self.view(at, shape).copy()  # results may be stored to the same memory
        return self.rows[at.value] if isinstance(at, RowElement) else self.scratch[at.value]

    def store(self, at: Location, made: Any, shape: tuple[int, ...] | None = None) -> None:
        shape = shape or self.shape
        if isinstance(at, Element):
            self.view(at, shape)[...] = made
        elif isinstance(at, ScratchElement):
            self.scratch[at.value] = made
        else:
            assert isinstance(at, BlockElement)
            rows = np.broadcast_to(made, shape).reshape(math.prod([hint(each.size) for each in self.plan.outer]), -1)
            step = hint(self.plan.partials[0].rows)
            sums = [rows[first : first + step].sum(0, dtype=np.float32) for first in range(0, len(rows), step)]
            self.memory[at.value][...] += np.concatenate(sums).astype(at.value.dtype)


class Evaluation:
    """The values of expressions in one pass, each computed once."""

    def __init__(self, kernel: KernelRun, shape: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.shape = shape
        self.known: dict[int, Any] = {}

    def __call__(self, expression: ScalarExpression) -> Any:
        if id(expression) not in self.known:
            self.known[id(expression)] = self.compute(expression)
        return self.known[id(expression)]

    def compute(self, expression: ScalarExpression) -> Any:
        op, dtype = expression.op, expression.dtype
        if op == "constant":
            return np.asarray(hint(expression.data)).astype(dtype)
        if op == "operand":
            return self.kernel.load(expression.data, self.shape)
        args = [self(each) for each in expression.args]
        if op == "cast":
            return args[0].astype(dtype)
        if op == "one_plus_exp":
            return (1 + np.exp(args[0] * args[0].dtype.type(-2.0 if expression.data is None else expression.data))).astype(dtype)
        found = OPERATIONS.get(op) or getattr(np, op)
        return np.asarray(found(*args)).astype(dtype, copy=False)


def flat(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The memory of an array from its first element to its last, as one dimension."""
    steps = [step // array.itemsize for step in array.strides]
    span = 1 + sum((size - 1) * step for size, step in zip(array.shape, steps)) if array.size else 0
    return as_strided(array, (span,), (array.itemsize,))

"""One direction of one layer of an LSTM, GRU or plain recurrent network as a loop over time inside native code.

Sequences are independent, so threads run blocks of them through all times, each with its own part of the hidden states; the weights are packed into panels
once before.  Where there are more threads than such blocks, each has some columns of the hidden states instead, with its part of the weights in its own
cache, and a barrier after every time step.  What only the gradient needs is stored only where it is used.
"""

from __future__ import annotations

from typing import Any

from ...core.base import Spec
from ...schedule.lowering import lowering
from ...schedule.routines.recurrent import GruGradient, GruLayer, LstmGradient, LstmLayer, RnnGradient, RnnLayer
from ...schedule.tensor_ir import Product, Reference, Routine, TensorIRBuilder, Value
from . import vector_math
from .gemm.panels import Panels
from .ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from .native_call import Lowering, NativeCall
from .time_loop import TimeLoop, are_columns_split

llvm = lowering("llvm")
COLUMNS = 128  # per unit of work


def sigmoid(c: IRBuilder, x: Scalar) -> Scalar:
    """``1 / (1 + exp(-x))``."""
    return c.binary("fdiv", c.like(x, 1.0), vector_math.one_plus_exp(c, x, -1.0))


class Arithmetic:
    """A scalar with arithmetic operators, for readable formulas."""

    def __init__(self, loop: TimeLoop) -> None:
        self.loop = loop

    @property
    def c(self) -> IRBuilder:
        return self.loop.c

    def product(self, first: Scalar, *others: Scalar) -> Scalar:
        for each in others:
            first = self.c.binary("fmul", first, each)
        return first

    def sum(self, a: Scalar, b: Scalar) -> Scalar:
        return self.c.binary("fadd", a, b)

    def difference(self, a: Scalar, b: Scalar) -> Scalar:
        return self.c.binary("fsub", a, b)

    def rest(self, a: Scalar) -> Scalar:
        """``1 - a``."""
        return self.c.binary("fsub", self.c.like(a, 1.0), a)


def weight_gradient(program: Lowering, module: Module, left: Value, right: Reference, result: Value) -> list[NativeCall]:
    """The gradient of a weight: one matrix, transposed, times another."""
    if result not in program.slots:
        return []
    (height, width), rows = result.shape, right.shape[0]
    product = Product(result.index, result.shape, result.dtype, None)
    product.left = Reference(left, (height, rows), (1, height))
    product.right = Reference(right.value, (rows, width), right.strides, right.offset)
    native_call = program.product(module, product)
    return [native_call._replace(buffers=[left, right.value, result])]


def packed_spec(type: str, dtype: Any, depth: int, width: int) -> Spec:
    """The memory of a packed weight."""
    return Spec((Panels(Module(), type, depth, width).size,), dtype)


# -- LSTM --------------------------------------------------------------------------------------------------------


@llvm.register("lstm_layer")
def lstm(builder: TensorIRBuilder, op: LstmLayer, specs: Any, node: Any) -> Any:
    gates, hidden, cell, weight, projection = op.gates, op.hidden, op.cell, op.weight, op.projection
    (batch, size), outside, dtype, type = cell.shape, hidden.shape[1], op.dtype, TYPES[op.dtype]
    across = are_columns_split(op, batch, size, projection is not None)
    scratch = [
        Spec((2 * batch if across else batch, outside), dtype),
        Spec((batch, size), dtype),
        Spec((batch, 4 * size), dtype),
        packed_spec(type, dtype, outside, 4 * size),
    ]
    if projection is not None:
        scratch += [packed_spec(type, dtype, size, outside), Spec((batch, size), dtype)]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, gates.value, hidden, op.reverse, across)
        loop.doubled |= {"h"} if across else set()
        output, last_hidden, last_cell, activated, cells, before, h, old, now, packed, *rest = routine.others
        loop.name(
            gates=gates.value, hidden=hidden.value, cell=cell.value, output=output, last_hidden=last_hidden, last_cell=last_cell,
            activated=activated, cells=cells, before=before, h=h, c=old, now=now,
        )  # fmt: skip
        panels = Panels(module, type, outside, 4 * size)
        loop.packed("weight", weight, True, panels, packed)
        if projection is not None:
            narrow = Panels(module, type, size, outside)
            loop.packed("projection", projection, True, narrow, rest[0])
            loop.name(wide=rest[1])
        m = Arithmetic(loop)
        with loop.blocks():
            loop.copy("hidden", "h", outside)
            loop.copy("cell", "c", size)
            with loop.times() as (base, rows):
                loop.multiply(
                    panels, "weight", ("h", loop.row0, outside), ("now", loop.row0, 4 * size), rows, ("gates", base, 4 * size), "matrix"
                )
                if loop.has("before"):
                    with loop.elements(rows, base, outside) as (row, own, column):
                        loop.store(loop.load("h", own, outside, column), "before", row, outside, column)
                with loop.elements(rows, base, size) as (row, own, column):
                    parts = [loop.load("now", own, 4 * size, column, part, size) for part in range(4)]
                    i, f, g, o = (vector_math.tanh(loop.c, each) if at == 2 else sigmoid(loop.c, each) for at, each in enumerate(parts))
                    previous = loop.load("c", own, size, column)
                    fresh = m.sum(m.product(previous, f), m.product(i, g))
                    result = m.product(vector_math.tanh(loop.c, fresh), o)
                    for part, each in enumerate((i, f, g, o)):
                        loop.store(each, "activated", row, 4 * size, column, part, size)
                    loop.store(previous, "cells", row, size, column)
                    loop.store(fresh, "c", own, size, column)
                    if projection is not None:
                        loop.store(result, "wide", own, size, column)
                    else:
                        loop.store(result, "h", own, size, column)
                        loop.store(result, "output", row, size, column)
                if projection is not None:
                    loop.multiply(narrow, "projection", ("wide", loop.row0, size), ("h", loop.row0, outside), rows)
                    with loop.elements(rows, base, outside) as (row, own, column):
                        loop.store(loop.load("h", own, outside, column), "output", row, outside, column)
            loop.copy("h", "last_hidden", outside)
            loop.copy("c", "last_cell", size)
        return loop.finish("lstm")

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))


@llvm.register("lstm_backward")
def lstm_backward(builder: TensorIRBuilder, op: LstmGradient, specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, grad_cell, weight, projection = op.grad_output, op.grad_hidden, op.grad_cell, op.weight, op.projection
    activated, cells, before = op.activated, op.cells, op.before
    (batch, outside), size, dtype, type = grad_hidden.shape, cells.shape[1], op.dtype, TYPES[op.dtype]
    across = are_columns_split(op, batch, size, projection is not None)
    scratch = [Spec((batch, outside), dtype), Spec((batch, size), dtype), packed_spec(type, dtype, 4 * size, outside)]
    if projection is not None:
        scratch += [
            packed_spec(type, dtype, outside, size),
            Spec(cells.shape, dtype),
            Spec(before.shape, dtype),
            Spec((batch, size), dtype),
        ]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, activated.value, grad_hidden, not op.reverse, across)
        to, first_hidden, first_cell, of_weight, of_projection, h, old, packed, *rest = routine.others
        loop.name(
            grad_output=grad_output.value, grad_hidden=grad_hidden.value, grad_cell=grad_cell.value, activated=activated.value, cells=cells.value,
            to=to, first_hidden=first_hidden, first_cell=first_cell, h=h, c=old,
        )  # fmt: skip
        panels = Panels(module, type, 4 * size, outside)
        loop.packed("weight", weight, False, panels, packed)
        if projection is not None:
            wide = Panels(module, type, outside, size)
            loop.packed("projection", projection, False, wide, rest[0])
            loop.name(unprojected=rest[1], projected=rest[2], narrow=rest[3])
        m = Arithmetic(loop)

        def product(base: Scalar, rows: Scalar) -> None:
            loop.multiply(panels, "weight", ("to", base, 4 * size), ("h", loop.row0, outside), rows)

        with loop.blocks():
            loop.copy("grad_hidden", "h", outside)
            loop.copy("grad_cell", "c", size)
            with loop.times(product) as (base, rows):
                if projection is not None:
                    with loop.elements(rows, base, outside) as (row, own, column):
                        grad = m.sum(loop.load("h", own, outside, column), loop.load("grad_output", row, outside, column))
                        loop.store(grad, "projected", row, outside, column)
                    loop.multiply(wide, "projection", ("projected", base, outside), ("narrow", loop.row0, size), rows)
                with loop.elements(rows, base, size) as (row, own, column):
                    i, f, g, o = (loop.load("activated", row, 4 * size, column, part, size) for part in range(4))
                    previous = loop.load("cells", row, size, column)
                    squashed = vector_math.tanh(loop.c, m.sum(m.product(f, previous), m.product(i, g)))
                    if projection is not None:
                        grad = loop.load("narrow", own, size, column)
                        loop.store(m.product(o, squashed), "unprojected", row, size, column)
                    else:
                        grad = m.sum(loop.load("h", own, size, column), loop.load("grad_output", row, size, column))
                    carried = m.sum(loop.load("c", own, size, column), m.product(grad, o, m.rest(m.product(squashed, squashed))))
                    made = (
                        m.product(carried, g, i, m.rest(i)), m.product(carried, previous, f, m.rest(f)), m.product(carried, i, m.rest(m.product(g, g))),
                        m.product(grad, squashed, o, m.rest(o)),
                    )  # fmt: skip
                    for part, each in enumerate(made):
                        loop.store(each, "to", row, 4 * size, column, part, size)
                    loop.store(m.product(carried, f), "c", own, size, column)
            loop.copy("h", "first_hidden", outside)
            loop.copy("c", "first_cell", size)
        native_calls = loop.finish("lstm_backward") + weight_gradient(program, module, to, before, of_weight)
        if projection is not None:
            unprojected = Reference(rest[1], rest[1].shape, rest[1].strides)
            native_calls += weight_gradient(program, module, rest[2], unprojected, of_projection)
        return native_calls

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))


# -- GRU ---------------------------------------------------------------------------------------------------------


@llvm.register("gru_layer")
def gru(builder: TensorIRBuilder, op: GruLayer, specs: Any, node: Any) -> Any:
    gates, hidden, weight, bias = op.gates, op.hidden, op.weight, op.bias
    (batch, size), dtype, type = hidden.shape, op.dtype, TYPES[op.dtype]
    across = are_columns_split(op, batch, size)
    scratch = [
        Spec((2 * batch if across else batch, size), dtype),
        Spec((batch, 3 * size), dtype),
        packed_spec(type, dtype, size, 3 * size),
    ]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, gates.value, hidden, op.reverse, across)
        loop.doubled |= {"h"} if across else set()
        output, last_hidden, activated, before, h, now, packed = routine.others
        loop.name(
            gates=gates.value, hidden=hidden.value, bias=None if bias is None else bias.value, output=output, last_hidden=last_hidden,
            activated=activated, before=before, h=h, now=now,
        )  # fmt: skip
        panels = Panels(module, type, size, 3 * size)
        loop.packed("weight", weight, True, panels, packed)
        m = Arithmetic(loop)
        with loop.blocks():
            loop.copy("hidden", "h", size)
            with loop.times() as (base, rows):
                start = None if bias is None else ("bias", base, 0)
                loop.multiply(
                    panels, "weight", ("h", loop.row0, size), ("now", loop.row0, 3 * size), rows, start, "zero" if bias is None else "row"
                )
                with loop.elements(rows, base, size) as (row, own, column):
                    own_r, own_z, own_n = (loop.load("now", own, 3 * size, column, part, size) for part in range(3))
                    given_r, given_z, given_n = (loop.load("gates", row, 3 * size, column, part, size) for part in range(3))
                    reset, update = sigmoid(loop.c, m.sum(given_r, own_r)), sigmoid(loop.c, m.sum(given_z, own_z))
                    candidate = vector_math.tanh(loop.c, m.sum(given_n, m.product(reset, own_n)))
                    previous = loop.load("h", own, size, column)
                    result = m.sum(m.product(candidate, m.rest(update)), m.product(update, previous))
                    for part, each in enumerate((reset, update, candidate, own_n)):
                        loop.store(each, "activated", row, 4 * size, column, part, size)
                    loop.store(previous, "before", row, size, column)
                    loop.store(result, "h", own, size, column)
                    loop.store(result, "output", row, size, column)
            loop.copy("h", "last_hidden", size)
        return loop.finish("gru")

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))


@llvm.register("gru_backward")
def gru_backward(builder: TensorIRBuilder, op: GruGradient, specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, weight, activated, before = op.grad_output, op.grad_hidden, op.weight, op.activated, op.before
    (batch, size), dtype, type = grad_hidden.shape, op.dtype, TYPES[op.dtype]
    rows_of_all, across = before.shape[0], are_columns_split(op, batch, size)
    scratch = [
        Spec((batch, size), dtype),
        Spec((batch, size), dtype),
        packed_spec(type, dtype, 3 * size, size),
        Spec((rows_of_all, 3 * size), dtype),
    ]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, activated.value, grad_hidden, not op.reverse, across)
        to, first_hidden, of_weight, of_bias, h, part_of_grad, packed, own_gates = routine.others
        loop.name(
            grad_output=grad_output.value, grad_hidden=grad_hidden.value, activated=activated.value, before=before.value,
            to=to, first_hidden=first_hidden, h=h, direct=part_of_grad, own=own_gates,
        )  # fmt: skip
        panels = Panels(module, type, 3 * size, size)
        loop.packed("weight", weight, False, panels, packed)
        m = Arithmetic(loop)

        def product(base: Scalar, rows: Scalar) -> None:
            loop.multiply(panels, "weight", ("own", base, 3 * size), ("h", loop.row0, size), rows, ("direct", loop.row0, size), "matrix")

        with loop.blocks():
            loop.copy("grad_hidden", "h", size)
            with loop.times(product) as (base, rows), loop.elements(rows, base, size) as (row, own, column):
                reset, update, candidate, own_n = (loop.load("activated", row, 4 * size, column, part, size) for part in range(4))
                grad = m.sum(loop.load("h", own, size, column), loop.load("grad_output", row, size, column))
                to_candidate = m.product(grad, m.rest(update), m.rest(m.product(candidate, candidate)))
                to_reset = m.product(to_candidate, own_n, reset, m.rest(reset))
                change = m.difference(loop.load("before", row, size, column), candidate)
                to_update = m.product(grad, change, update, m.rest(update))
                for name, last in (("to", to_candidate), ("own", m.product(to_candidate, reset))):
                    for part, each in enumerate((to_reset, to_update, last)):
                        loop.store(each, name, row, 3 * size, column, part, size)
                loop.store(m.product(grad, update), "direct", own, size, column)
            loop.copy("h", "first_hidden", size)
        native_calls = loop.finish("gru_backward") + weight_gradient(program, module, own_gates, before, of_weight)
        return native_calls + column_sums(program, module, own_gates, of_bias)

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))


def column_sums(program: Lowering, module: Module, source: Value, result: Value) -> list[NativeCall]:
    """The sums of the columns of a matrix, added in double precision; a piece of work is some columns."""
    if result not in program.slots:
        return []
    c, type, (rows, width) = IRBuilder(module), TYPES[source.dtype], source.shape
    wide = "double"
    sums = c.slot(wide, COLUMNS)
    with c.loop(FIRST, LAST) as block:
        begin = c.scale(block, COLUMNS)
        count = c.min(COLUMNS, c.sub(c.number(width), begin))
        with c.loop(count) as column:
            c.store(c.constant(wide, 0.0), sums, column)
        with c.loop(c.number(rows)) as row, c.loop(count) as column:
            each = c.load("%b0", c.add(c.scale(row, width), c.add(begin, column)), type)
            each = each if type == wide else c.convert("fpext", each, wide)
            c.store(c.binary("fadd", c.load(sums, column, wide), each), sums, column)
        with c.loop(count) as column:
            total = c.load(sums, column, wide)
            c.store(total if type == wide else c.convert("fptrunc", total, type), "%b1", c.add(begin, column))
    name = module.add("column_sums", c.function("", pointers(("%b0", "%b1"), noalias=True)))
    return [NativeCall(name, [source, result], -(-width // COLUMNS), rows * width * 0.3)]


# -- plain recurrence --------------------------------------------------------------------------------------------


@llvm.register("rnn_layer")
def rnn(builder: TensorIRBuilder, op: RnnLayer, specs: Any, node: Any) -> Any:
    gates, hidden, weight = op.gates, op.hidden, op.weight
    (batch, size), dtype, type = hidden.shape, op.dtype, TYPES[op.dtype]
    across = are_columns_split(op, batch, size)
    scratch = [Spec((2 * batch if across else batch, size), dtype), Spec((batch, size), dtype), packed_spec(type, dtype, size, size)]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, gates.value, hidden, op.reverse, across)
        loop.doubled |= {"h"} if across else set()
        output, last_hidden, before, h, now, packed = routine.others
        loop.name(gates=gates.value, hidden=hidden.value, output=output, last_hidden=last_hidden, before=before, h=h, now=now)
        panels = Panels(module, type, size, size)
        loop.packed("weight", weight, True, panels, packed)
        with loop.blocks():
            loop.copy("hidden", "h", size)
            with loop.times() as (base, rows):
                loop.multiply(panels, "weight", ("h", loop.row0, size), ("now", loop.row0, size), rows, ("gates", base, size), "matrix")
                with loop.elements(rows, base, size) as (row, own, column):
                    loop.store(loop.load("h", own, size, column), "before", row, size, column)
                    now_value = loop.load("now", own, size, column)
                    result = (
                        loop.c.intrinsic("maximum", now_value, loop.c.like(now_value, 0.0))
                        if op.relu
                        else vector_math.tanh(loop.c, now_value)
                    )
                    loop.store(result, "h", own, size, column)
                    loop.store(result, "output", row, size, column)
            loop.copy("h", "last_hidden", size)
        return loop.finish("rnn")

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))


@llvm.register("rnn_backward")
def rnn_backward(builder: TensorIRBuilder, op: RnnGradient, specs: Any, node: Any) -> Any:
    grad_output, grad_hidden, weight, output, before = op.grad_output, op.grad_hidden, op.weight, op.output, op.before
    (batch, size), dtype, type = grad_hidden.shape, op.dtype, TYPES[op.dtype]
    across = are_columns_split(op, batch, size)
    scratch = [Spec((batch, size), dtype), packed_spec(type, dtype, size, size)]

    def write(program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        loop = TimeLoop(program, module, op, output.value, grad_hidden, not op.reverse, across)
        to, first_hidden, of_weight, h, packed = routine.others
        loop.name(grad_output=grad_output.value, grad_hidden=grad_hidden.value, output=output.value, to=to, first_hidden=first_hidden, h=h)
        panels = Panels(module, type, size, size)
        loop.packed("weight", weight, False, panels, packed)
        m = Arithmetic(loop)

        def product(base: Scalar, rows: Scalar) -> None:
            loop.multiply(panels, "weight", ("to", base, size), ("h", loop.row0, size), rows)

        with loop.blocks():
            loop.copy("grad_hidden", "h", size)
            with loop.times(product) as (base, rows), loop.elements(rows, base, size) as (row, own, column):
                now = loop.load("output", row, size, column)
                grad = m.sum(loop.load("h", own, size, column), loop.load("grad_output", row, size, column))
                zero, one = loop.c.like(now, 0.0), loop.c.like(now, 1.0)
                slope = loop.c.select(loop.c.compare("ogt", now, zero), one, zero) if op.relu else m.rest(m.product(now, now))
                loop.store(m.product(grad, slope), "to", row, size, column)
            loop.copy("h", "first_hidden", size)
        return loop.finish("rnn_backward") + weight_gradient(program, module, to, before, of_weight)

    return tuple(builder.routine(op.sources, list(specs), node, write, scratch))

"""Tensor IR: the values of a decomposed graph, each pointwise, a reduction, a matrix product, the routine of an op, or a call.

The tensor of a node is a :class:`Reference`: a value with strides and an offset.  Views make references and compute nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.base import Spec
from ..core.declare import Op, table
from ..core.devices import CPU, available, on_device
from ..core.dtypes import HALF_PRECISION
from ..core.families import Elementwise, Reduction
from ..graph import Node
from ..graph.calls import bind
from ..passes.decompose import Declined, Decomposed
from .lowering import call_layout, lower, tensor_form
from .reductions import reduction_form
from .scalar_ir import (
    BOOL,
    FLOAT32,
    Array,
    Functions,
    NotExpressible,
    ScalarExpression,
    cast,
    check_target,
    in_single_precision,
    scalar_kernel,
    subexpressions,
    typed,
)
from .scalar_ir import make as operation
from .simplify import axes_summed_first, exp_below_maximum, simplify
from .symbolic_shape import SymbolicNumber, SymbolicSize, present, same
from .target import Target
from .view_strides import IncompatibleStrides, elements, has_sizes, reshape_strides, view_of


class Origin(NamedTuple):
    """The name and source line of a node, which outlive the graph for descriptions."""

    name: str
    meta: dict[str, Any]

    def __str__(self) -> str:
        return self.name


class Value:
    """A tensor of the graph."""

    def __init__(self, index: int, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> None:
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.node: Any = node  # the node that it comes from; an Origin after compilation
        self.strides = strides_of(shape)  # in elements; 0 where a dimension has one element
        self.stored = False  # whether it is needed in memory
        self.alias_of: Value | None = None  # the value whose memory it uses instead of its own: in-place update or reuse
        self.after: Value | None = None  # a value that is computed before, though it is no operand
        self.inputs: list[Reference] = []  # its operands

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()} {self.index} {list(self.shape)} {self.dtype}"


class Leaf(Value):
    """A value that is there before the first step runs."""


class Input(Leaf):
    """An input of the graph."""

    position: int


class Constant(Leaf):
    """A tensor that is the same in every call."""

    array: Any
    made_by: Any = None  # the op and its arguments, where they depend on symbolic sizes


class Computed(Value):
    """A value whose elements are computed by an expression of elements of other values."""

    expression: ScalarExpression

    def define(self, expression: ScalarExpression) -> None:
        """Compute it by this expression, whose operands are its inputs from here on."""
        self.expression, self.inputs = expression, operands(expression)


class Pointwise(Computed):
    """An expression of elements of other values."""


class Reduce(Computed):
    """A reduction of the expression along some dimensions, which stay with size 1."""

    how: str  # "add", "mul", "max", "min", "and", "or"
    source: tuple[int, ...]  # the shape before the reduction
    axes: tuple[int, ...]


class PartialReduce(Computed):
    """Partial sums of the expression over blocks of the rows of a group; the first dimension counts blocks."""

    rows: int  # of a block


class Product(Value):
    """A matrix product, batched or not, by a library."""

    left: Reference
    right: Reference


class Call(Value):
    """Results of an op that runs as it does in eager mode; the values that follow are its other results."""

    target: Any
    args: Any
    kwargs: Any
    part: int | None = None  # which of several results
    first: Call | None = None  # the first result, of another than the first
    others: list[Call]
    results: list[Reference] | None = None  # of the first: where the results are in these values, if they are not the values themselves


class Routine(Value):
    """A result of a lowering of a whole op; the values that follow are its other results, and scratch memory.

    ``write(lowering, module, routine)`` gives its functions, which run one after the other.  Results without users have no memory
    (``lowering.slots``), and need not be computed.
    """

    write: Callable[[Any, Any, Routine], list[Any]]
    first: Routine | None = None  # the first result, of another than the first
    others: list[Routine]  # all of them, the first included
    scratch = False  # whether it is scratch memory
    takes_epilogue = False  # whether it can run a group on its result
    epilogue: Any = None  # that group
    kept = True  # whether the result has other users
    updates: Value | None = None  # the value that it replaces a part of: where that ends here, its memory can be used


class Reference:
    """A value with strides (in elements) and an offset."""

    __slots__ = ("dtype", "offset", "shape", "strides", "value")

    def __init__(self, value: Value, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.value = value
        self.dtype = value.dtype
        self.shape = shape
        self.strides = tuple([0 if size.__class__ is not SymbolicSize and size == 1 else stride for size, stride in zip(shape, strides)])
        self.offset = offset

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def broadcast(self, shape: tuple[int, ...]) -> Reference:
        """The reference, broadcast to a shape."""
        extra = len(shape) - len(self.shape)
        return Reference(self.value, shape, (0,) * extra + self.strides, self.offset)

    def aligned(self) -> bool:
        """Whether it is the whole value, at most broadcast: its element at an index is the value's at that index."""
        extra = len(self.shape) - len(self.value.shape)
        if extra < 0 or self.offset:
            return False
        strides = (0,) * extra + self.value.strides
        return self.strides == strides if {int}.issuperset(map(type, (*self.strides, *strides))) else same(self.strides, strides)

    def __repr__(self) -> str:
        return f"{self.value!r} as {list(self.shape)} by {list(self.strides)} from {self.offset}"


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements, 0 where there is one element."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(0 if size.__class__ is not SymbolicSize and size == 1 else step)
        step *= size if size.__class__ is SymbolicSize else max(size, 1)  # as PyTorch counts it
    return tuple(reversed(strides))


def operands(expression: ScalarExpression) -> list[Reference]:
    """The operands of an expression, each once."""
    if expression.known_operands is None:
        expression.known_operands = list(
            {id(each.data): each.data for each in subexpressions([expression]) if each.op == "operand"}.values()
        )
    return expression.known_operands


def collect(value: Any, found: list[Reference]) -> None:
    """The references in nested arguments."""
    if isinstance(value, Reference):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            collect(each, found)
    elif isinstance(value, dict):
        collect(tuple(value.values()), found)


# A buffer of one number in every program: not zero where native code found what eager mode would refuse (an index out of range).
STATUS = Value(-1, (), np.dtype(np.int64), None)
SIZES = Value(-2, (), np.dtype(np.int64), None)  # the table of symbolic sizes


class TensorIRBuilder:
    """Makes the values of a decomposed graph."""

    def __init__(self, decomposed: Decomposed, layouts: list[Any], target: Target) -> None:
        self.target = target
        self.values: list[Value] = []
        self.notes = list(decomposed.notes)
        self.writes = decomposed.writes
        self.references: dict[Node, Any] = {}
        self.last_effect: Call | None = None
        self.reshaped: set[Value] = set()  # results of routines that are reshaped without the copy that eager mode makes
        self.last = set(decomposed.outputs)
        for position, (node, layout) in enumerate(zip(decomposed.inputs, layouts)):
            if node is not None:
                self.leaf(Input, node, layout).position = position
        for node in list(decomposed.graph.nodes):
            if node in self.references or node.op == "output":
                continue
            if node.op == "placeholder":
                array = decomposed.constants[node.name]._array
                self.leaf(Constant, node, elements(array)).array = array
                continue
            self.references[node] = self.node(node)
        self.outputs: list[Reference | None] = []
        for node in decomposed.outputs:
            self.outputs.append(None if node is None else self.output(node, self.outputs))
        simplify(
            self.values, {each for each in self.values if isinstance(each, Pointwise)}, [each for each in self.outputs if each is not None]
        )
        for each in self.outputs:
            if each is not None:
                each.value.stored = True

    def output(self, node: Node, before: list[Any]) -> Any:
        """The output for a node: a copy, where eager mode has one and the original is an output too."""
        reference = self.references[node]
        shared = (
            isinstance(reference, Reference)
            and reference.value in self.reshaped
            and any(each is not None and each.value is reference.value for each in before)
        )
        return self.copy(reference, None) if shared else reference

    def is_output(self, node: Node, part: int) -> bool:
        """Whether one of a node's results, or a view of it, is an output, and so must have the strides of eager mode."""
        worklist = [each for each in node.users if each.target is operator.getitem and each.args[1] == part]
        visited = set(worklist)
        while worklist:
            each = worklist.pop()
            if each in self.last:
                return True
            for user in each.users:
                if user.table_op is not None and user.table_op.view and user not in visited:
                    visited.add(user)
                    worklist.append(user)
        return False

    def add(self, value: Any) -> Reference:
        """Add a value; gives a reference to it."""
        self.values.append(value)
        return Reference(value, value.shape, value.strides)

    def make(self, kind: Any, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> Any:
        return kind(len(self.values), tuple(shape), dtype, node)

    def leaf(self, kind: Any, node: Node, strides: tuple[int, ...]) -> Any:
        """An input or a constant with such strides."""
        spec = node.meta["val"]
        value = self.make(kind, spec.shape, spec.dtype, node)
        value.strides = tuple([0 if size == 1 else stride for size, stride in zip(spec.shape, strides)])
        self.references[node] = self.add(value)
        return value

    # -- nodes ---------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> Any:
        """The reference, or references, of a node."""
        if node.target is operator.getitem:
            return self.argument(node.args[0])[node.args[1]]
        op = node.table_op
        if op is None:
            raise Declined(f"a call of {node.target}")
        if node.meta.get("opaque"):
            return self.call(node, op)
        args = tuple([self.argument(each) for each in bind(op, node.args, dict(node.kwargs))])
        spec = node.meta["val"]
        try:
            made = self.native(op, args, spec, node)
        except (NotExpressible, TypeError, AttributeError, ValueError) as error:
            self.notes.append(f"{node.name} ({op.name}) is called: {error}")
            made = NotImplemented
        return self.call(node, op) if made is NotImplemented else made

    def argument(self, value: Any) -> Any:
        """An argument with references in place of nodes."""
        if isinstance(value, Node):
            return self.references[value]
        if isinstance(value, (tuple, list)):
            made = [self.argument(each) for each in value]
            return made if isinstance(value, list) else tuple(made)
        return value

    def native(self, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        """The op as values of this IR, or NotImplemented."""
        form = tensor_form.of(op)
        if form is not None:
            return form(self, op, args, spec, node)
        if op.view:
            return self.view(op, args, spec)
        if isinstance(op.family, Elementwise):
            return self.elementwise(op, args, spec, node)
        if isinstance(op.family, Reduction):
            return self.reduction(op, args, node)
        return lower(self, op, args, spec, node)

    def pointwise(self, expression: ScalarExpression, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> Reference:
        value = self.make(Pointwise, shape, dtype, node)
        value.define(cast(expression, dtype))
        check_target(value.expression, self.target)
        return self.add(value)

    def elementwise(self, op: Op, args: tuple[Any, ...], spec: Spec, node: Node) -> Reference:
        """A pointwise kernel, traced to an expression."""
        arrays = [
            Array(ScalarExpression("operand", (), each.dtype, each.broadcast(spec.shape)), each.shape)
            if isinstance(each, Reference)
            else each
            for each in args
        ]
        arrays = typed(op, arrays) if any(isinstance(each, SymbolicNumber) for each in arrays) else arrays
        own_kernel = scalar_kernel.of(op)
        if (op.exact or own_kernel is not None) and isinstance(op.family, Elementwise):  # other kernels widen by themselves
            arrays = in_single_precision(op, arrays)
        if own_kernel is not None:
            result: Any = own_kernel(*arrays)
        elif isinstance(op.family, Elementwise):
            result = op.family.execute(op, Functions(), arrays)
        else:
            result = op.kernel(Functions(), *arrays)
        if not isinstance(result, Array):
            raise NotExpressible("the kernel returns no expression")
        return self.pointwise(exp_below_maximum(result.expression), spec.shape, spec.dtype, node)

    def copy(self, source: Reference, node: Node | None) -> Reference:
        """A copy in row-major order."""
        return self.pointwise(ScalarExpression("operand", (), source.dtype, source), source.shape, source.dtype, node)

    # -- views ---------------------------------------------------------------------------------------------------

    def view(self, op: Op, args: tuple[Any, ...], spec: Any) -> Any:
        """A view: the value with other strides."""
        source = args[0]
        try:
            made = view_of(op, args, spec)
        except IncompatibleStrides:
            if isinstance(source.value, Routine):  # whose strides may differ from those of eager mode
                return self.view(op, (self.copy(source, None), *args[1:]), spec)
            raise
        results = tuple([Reference(source.value, *each) for each in made])
        return results if isinstance(spec, (tuple, list)) else results[0]

    def reshape(self, source: Reference, spec: Spec) -> Reference:
        """A reshape: a view where strides allow it, else a copy."""
        strides = reshape_strides(source, spec.shape)
        if strides is None:
            source = self.copy(source, None)
            strides = strides_of(spec.shape)
        return Reference(source.value, tuple(spec.shape), strides, source.offset)

    # -- reductions and products ---------------------------------------------------------------------------------

    def reduce(
        self, how: str, expression: ScalarExpression, source: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any], node: Node
    ) -> Reference:
        """A reduction of an expression along some axes, which stay with size 1."""
        check_target(expression, self.target)
        value = self.make(Reduce, tuple([1 if at in axes else size for at, size in enumerate(source)]), dtype, node)
        value.define(expression)
        value.how, value.source, value.axes = how, source, axes
        return self.add(value)

    def reduction(self, op: Op, args: tuple[Any, ...], node: Node) -> Any:
        """A reduction by one associative operation."""
        source, axes, keepdim, others, compute, dtype = op.family.resolve(op, args)
        form = reduction_form.of(op)
        if form is None or others or not source.shape or not math.prod(source.shape):
            return NotImplemented
        how = form.how
        compute = FLOAT32 if compute in HALF_PRECISION else compute
        prepared = form.prepare(Array(ScalarExpression("operand", (), source.dtype, source), source.shape), compute)
        if prepared.dtype == BOOL and how not in ("and", "or"):
            how = "or" if how == "max" else "and"
        rest = axes_summed_first(source.shape, axes, self.target) if how == "add" and prepared.dtype.kind == "f" else ()
        if rest:
            part = self.reduce(how, prepared.expression, source.shape, rest, prepared.dtype, node)
            last = tuple([axis for axis in sorted(axes) if axis not in rest])
            reduced = self.reduce(how, ScalarExpression("operand", (), part.dtype, part), part.shape, last, part.dtype, node)
        else:
            reduced = self.reduce(how, prepared.expression, source.shape, tuple(sorted(axes)), prepared.dtype, node)
        if form.mean:
            count = math.prod([source.shape[axis] for axis in axes])
            total = Array(ScalarExpression("operand", (), reduced.dtype, reduced), reduced.shape)
            reduced = self.pointwise(operation("div", reduced.dtype, total, count).expression, reduced.shape, reduced.dtype, node)
        if reduced.dtype != dtype:
            reduced = self.pointwise(ScalarExpression("operand", (), reduced.dtype, reduced), reduced.shape, dtype, node)
        if keepdim:
            return reduced
        kept = [at for at in range(len(source.shape)) if at not in axes]
        return Reference(reduced.value, tuple([reduced.shape[at] for at in kept]), tuple([reduced.strides[at] for at in kept]))

    def product(self, left: Reference, right: Reference, spec: Spec, node: Node) -> Any:
        """A matrix product by a lowering, or by BLAS."""
        if left.dtype in HALF_PRECISION and left.dtype == right.dtype:
            left, right = (
                self.pointwise(ScalarExpression("operand", (), each.dtype, each), each.shape, FLOAT32, None) for each in (left, right)
            )
            wide = self.product(left, right, Spec(spec.shape, FLOAT32), node)
            return (
                wide
                if wide is NotImplemented
                else self.pointwise(ScalarExpression("operand", (), FLOAT32, wide), spec.shape, spec.dtype, node)
            )
        if not self.target.matrix_products or left.dtype.char not in "fd" or left.dtype != right.dtype or not spec.size or 0 in left.shape:
            return NotImplemented
        shape = spec.shape
        if len(left.shape) == 1:
            left = Reference(left.value, (1, *left.shape), (0, *left.strides), left.offset)
            shape = (*shape[:-1], 1, *shape[-1:]) if len(right.shape) > 1 else (1, *shape)
        if len(right.shape) == 1:
            right = Reference(right.value, (*right.shape, 1), (*right.strides, 0), right.offset)
            shape = (*shape, 1)
        batch = shape[:-2]
        left, right = (self.as_matrices(each.broadcast((*batch, *each.shape[-2:]))) for each in (left, right))
        made = lower(self, table["matmul"], (left, right), Spec(shape, left.dtype), node)
        if made is NotImplemented:
            value = self.make(Product, shape, left.dtype, node)
            value.left, value.right, value.inputs, value.stored = left, right, [left, right], True
            made = self.add(value)
            for each in (left, right):
                each.value.stored = True
        return Reference(made.value, tuple(spec.shape), strides_of(tuple(spec.shape))) if made.shape != tuple(spec.shape) else made

    def as_matrices(self, source: Reference) -> Reference:
        """The reference, or a copy where BLAS does not take the strides of its last two dimensions."""
        rows, columns = source.strides[-2:]
        height, width = source.shape[-2:]
        plain = (columns == 1 or width == 1) and (rows >= width or height == 1)
        transposed = (rows == 1 or height == 1) and (columns >= height or width == 1)
        return source if plain or transposed else self.copy(source, None)

    def routine(
        self, sources: list[Reference], specs: list[Any], node: Node | None, write: Any, scratch: Sequence[Spec] = ()
    ) -> list[Reference]:
        """The results of a lowering of a whole op; ``scratch`` is memory that it works in."""
        results: list[Routine] = []
        for at, each in enumerate([*specs, *scratch]):
            value = self.make(Routine, each.shape, each.dtype, node)
            value.inputs, value.write, value.others, value.stored = [] if results else sources, write, results, True
            value.first, value.scratch = results[0] if results else None, at >= len(specs)
            results.append(value)
            self.values.append(value)
        for source in sources:
            source.value.stored = True
        return [Reference(value, value.shape, value.strides) for value in results[: len(specs)]]

    def final_values(self) -> dict[Value, Input]:
        """The final values of inputs that are written to, with the inputs."""
        input_at = {each.position: each for each in self.values if isinstance(each, Input)}
        final = self.outputs[len(self.outputs) - len(self.writes) :]
        return {each.value: input_at[at] for each, at in zip(final, self.writes) if each is not None}

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: Node, op: Op) -> Any:
        """An op that runs as it does in eager mode."""
        spec: Any = node.meta["val"]
        args, kwargs = self.argument(tuple(node.args)), {name: self.argument(each) for name, each in node.kwargs.items()}
        several = isinstance(spec, (tuple, list))
        specs = list(spec) if several else [spec]
        if not all(isinstance(each, Spec) for each in specs):
            raise Declined(f"{node.name} returns something that is no tensor")
        if op.factory and not node.is_impure() and not node.all_input_nodes:
            return self.constant_of(node, op, args, kwargs)
        layout = call_layout.of(op) if self.target.keeps_layouts else None
        result_layout = (
            None if layout is None else layout(tuple([self.argument(each) for each in bind(op, node.args, dict(node.kwargs))]), specs)
        )
        shapes = [each.shape for each in specs] if result_layout is None else result_layout[0]
        values: list[Call] = []
        for part, shape in enumerate(shapes):
            value = self.make(Call, shape, specs[part].dtype, node)
            value.target, value.part, value.others = op.call, part if several else None, values
            value.args, value.kwargs = (args, kwargs) if part == 0 else ((), {})
            value.first = values[0] if values else None
            value.stored = True
            values.append(value)
            self.values.append(value)
        collect((args, kwargs), values[0].inputs)
        if node.is_impure():
            values[0].after, self.last_effect = self.last_effect, values[0]
        for source in values[0].inputs:
            source.value.stored = True
        if result_layout is None:
            references = [Reference(value, value.shape, value.strides) for value in values]
        else:
            references = [
                Reference(values[at], tuple(each.shape), strides, offset) for (at, strides, offset), each in zip(result_layout[1], specs)
            ]
            values[0].results = references
        return tuple(references) if several else references[0]

    def constant_of(self, node: Node, op: Op, args: Any, kwargs: Any) -> Reference:
        """The result of a factory function, computed now; on the host, so that no kernel is loaded that runs but once."""
        sized = has_sizes((args, list(kwargs.values())))
        given = present(kwargs)
        place = given.get("device")
        made: Any = table[op.name].call(*present(args), **(given if place is None else {**given, "device": CPU}))
        array = made._array.copy(order="C")
        if place is not None:
            array = on_device(array, available(place))
        value = self.make(Constant, node.meta["val"].shape if sized else array.shape, array.dtype, node)
        value.array, value.made_by = array, (op.name, args, kwargs) if sized else None
        return self.add(value)

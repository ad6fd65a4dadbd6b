"""An expanded graph as values: what is computed element by element, what is folded, what is multiplied, what is called.

A node's tensor is a :class:`Reference`: a value seen through strides.  Views make references and compute nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.base import Spec, contiguous_strides
from ..core.declare import Op, table
from ..core.dtypes import HALF_PRECISION
from ..core.families import Elementwise, Reduction
from ..graph import Node
from ..graph.calls import bind
from ..passes.decompose import Declined, Expanded
from .lowering import lowering, routine
from .scalar_ir import BOOL, EXPRESSIONS, FLOAT32, Array, Expression, Functions, NotExpressible, cast, check_target, constant, typed
from .scalar_ir import make as operation
from .simplify import falling, first_axes, shorten
from .symbolic_shape import Size, differs, present, same
from .target import Target
from .view_strides import LiesOtherwise, elements, has_sizes, reshaped, seen

# Ops outside the family of pointwise ones whose kernels are pointwise all the same.
_POINTWISE = frozenset(("cast", "clone", "masked_fill", "fill", "zero", "copy"))
_FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}
_OF_THE_TYPE = ("nan_to_num", "nextafter")  # kernels that look at the limits of their type
_INT64 = np.dtype(np.int64)


class Origin(NamedTuple):
    """What is remembered of a node when a program is compiled, for describing it."""

    name: str
    meta: dict[str, Any]

    def __str__(self) -> str:
        return self.name


class Value:
    """A tensor of the program."""

    def __init__(self, index: int, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> None:
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.node: Any = node  # where it comes from; of a compiled program, an Origin
        self.strides = strides_of(shape)  # in elements; 0 where a dimension has one element
        self.stored = False  # whether it is needed in memory
        self.place: Value | None = None  # an input in whose memory it lies, since it is what that is in the end
        self.after: Value | None = None  # what comes first though it is not computed from it

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def inputs(self) -> list[Reference]:
        """What it is computed from."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()} {self.index} {list(self.shape)} {self.dtype}"


class Given(Value):
    """An input of the program, or a tensor that is always the same."""

    array: Any = None  # of the latter
    made_by: Any = None  # the op and its arguments, where that depends on sizes that may differ
    position = -1  # of the former


class Pointwise(Value):
    """An expression of elements of other values."""

    expression: Expression

    def inputs(self) -> list[Reference]:
        return operands(self.expression)


class Fold(Value):
    """All elements along some dimensions, which stay with size 1, folded into one."""

    how: str  # "add", "mul", "max", "min", "and", "or"
    expression: Expression  # of an element of what is folded
    source: tuple[int, ...]  # the shape of that
    axes: tuple[int, ...]

    def inputs(self) -> list[Reference]:
        return operands(self.expression)


class Partial(Value):
    """Sums along the dimensions that a group does not fold, for blocks of so many of its rows: the first dimension counts blocks."""

    expression: Expression  # of an element of what is added up
    rows: int  # of a block

    def inputs(self) -> list[Reference]:
        return operands(self.expression)


class Product(Value):
    """A product of matrices, or of batches of them."""

    left: Reference
    right: Reference

    def inputs(self) -> list[Reference]:
        return [self.left, self.right]


class Call(Value):
    """Results of an op that runs as it does in eager mode; the values that follow are its other results."""

    target: Any
    args: Any
    kwargs: Any
    part: int | None = None  # which of several results
    first: Call | None = None  # of another than the first: that
    others: list[Call]

    def inputs(self) -> list[Reference]:
        found: list[Reference] = []
        collect((self.args, self.kwargs), found)
        return found


class Routine(Value):
    """Results of native code that is written for one op; the values that follow are its other results, and memory it works in.

    ``write(program, module, routine)`` gives the pieces, which run one after the other.  Results that nobody uses have no memory
    then (``program.slots``), and need not be computed.
    """

    sources: list[Reference]
    write: Callable[[Any, Any, Routine], list[Any]]
    first: Routine | None = None  # of another than the first: that
    others: list[Routine]  # all of them, the first included
    scratch = False  # whether it is memory to work in
    joins = False  # whether it can take a group that is computed from its result
    epilogue: Any = None  # that group
    kept = True  # whether others use the result as well

    def inputs(self) -> list[Reference]:
        return self.sources


class Reference:
    """A value seen through strides (in elements), from an offset on."""

    __slots__ = ("offset", "shape", "strides", "value")

    def __init__(self, value: Value, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.value = value
        self.shape = shape
        self.strides = tuple([0 if size.__class__ is not Size and size == 1 else stride for size, stride in zip(shape, strides)])
        self.offset = offset

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def broadcast(self, shape: tuple[int, ...]) -> Reference:
        """The reference, broadcast to a shape."""
        extra = len(shape) - len(self.shape)
        return Reference(self.value, shape, (0,) * extra + self.strides, self.offset)

    def aligned(self) -> bool:
        """Whether it is the value itself, at most broadcast: element by element where the user's are."""
        extra = len(self.shape) - len(self.value.shape)
        if extra < 0 or self.offset:
            return False
        strides = (0,) * extra + self.value.strides
        if {int}.issuperset(map(type, (*self.strides, *strides))):
            return self.strides == strides
        return same(self.strides, strides)

    def __repr__(self) -> str:
        return f"{self.value!r} as {list(self.shape)} by {list(self.strides)} from {self.offset}"


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements, 0 where there is one element."""
    return tuple([0 if size.__class__ is not Size and size == 1 else stride for size, stride in zip(shape, contiguous_strides(shape))])


def operands(expression: Expression) -> list[Reference]:
    """The operands of an expression, each once."""
    if expression.known_operands is not None:
        return expression.known_operands
    found: dict[int, Reference] = {}
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.op == "operand":
            found[id(each.data)] = each.data
        waiting.extend(each.args)
    expression.known_operands = list(found.values())
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
SIZES = Value(-2, (), np.dtype(np.int64), None)  # the table of sizes that may differ, in a program for any of them


class Builder:
    """Makes the values of an expanded graph."""

    def __init__(self, expanded: Expanded, layouts: list[Any], target: Target) -> None:
        self.target = target
        self.values: list[Value] = []
        self.notes = list(expanded.notes)
        self.writes = expanded.writes
        self.references: dict[Node, Any] = {}
        self.last_effect: Call | None = None
        self.reshaped: set[Value] = set()  # results of routines that are seen in another shape where eager mode has a copy
        self.last = set(expanded.outputs)
        for position, (node, layout) in enumerate(zip(expanded.inputs, layouts)):
            if node is not None:
                self.given(node, layout).position = position
        for node in expanded.graph.nodes:
            if node in self.references or node.op == "output":
                continue
            if node.op == "placeholder":
                array = expanded.constants[node.name]._array
                self.given(node, elements(array)).array = array
                continue
            self.references[node] = self.node(node)
        self.outputs: list[Reference | None] = []
        for node in expanded.outputs:
            self.outputs.append(None if node is None else self.output(node, self.outputs))
        shorten(
            self.values, {each for each in self.values if isinstance(each, Pointwise)}, [each for each in self.outputs if each is not None]
        )
        for each in self.outputs:
            if each is not None:
                each.value.stored = True

    def output(self, node: Node, before: list[Any]) -> Any:
        """What is given out for a node, after others: a copy, where eager mode has one, and the one that it is of is given out as well."""
        found = self.references[node]
        shared = (
            isinstance(found, Reference)
            and found.value in self.reshaped
            and any(each is not None and each.value is found.value for each in before)
        )
        return self.copy(found, None) if shared else found

    def is_given_out(self, node: Node, part: int) -> bool:
        """Whether one of a node's results, or a view of it, is an output, and so has to lie as it does in eager mode."""
        waiting = [each for each in node.users if each.target is operator.getitem and each.args[1] == part]
        seen = set(waiting)
        while waiting:
            each = waiting.pop()
            if each in self.last:
                return True
            for user in each.users:
                if user.table_op is not None and user.table_op.view and user not in seen:
                    seen.add(user)
                    waiting.append(user)
        return False

    def add(self, value: Any) -> Reference:
        """A reference to a value that was just made."""
        self.values.append(value)
        return Reference(value, value.shape, value.strides)

    def make(self, kind: Any, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> Any:
        return kind(len(self.values), tuple(shape), dtype, node)

    def given(self, node: Node, strides: tuple[int, ...]) -> Any:
        """An input that lies in memory as it does."""
        spec = node.meta["val"]
        value = self.make(Given, spec.shape, spec.dtype, node)
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
        """The op as values that are computed here, or NotImplemented."""
        if op.name == "reshape":
            return self.reshape(args[0], spec)
        if op.name == "reshape_copy":
            if isinstance(args[0].value, Routine):  # which may have laid out its result so that nothing needs to be copied
                made = self.reshape(args[0], spec)
                self.reshaped.add(made.value)
                return made
            copied = self.copy(args[0], node)
            return Reference(copied.value, tuple(spec.shape), strides_of(tuple(spec.shape)))
        if op.name == "after":
            made = self.copy(args[0], node)
            made.value.after = args[1].value
            return made
        if op.name == "lay_out":
            wanted = contiguous_strides(spec.shape)
            return self.copy(args[0], node) if tuple(args[1]) == wanted else NotImplemented
        if op.view:
            return self.view(op, args, spec)
        if op.name in _FILLED or op.name in ("full", "full_like"):
            number = _FILLED.get(op.name, args[1])
            return self.pointwise(constant(number, spec.dtype), spec.shape, spec.dtype, node)
        if isinstance(op.family, Elementwise) or op.name in _POINTWISE:
            return self.elementwise(op, args, spec, node)
        if isinstance(op.family, Reduction):
            return self.reduction(op, args, node)
        if op.name == "matmul":
            return self.product(args[0], args[1], spec, node)
        return self.lowered(op, args, spec, node)

    def lowered(self, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
        """The op by the target's own lowering of it, or NotImplemented."""
        describe, emit = routine.of(op), lowering(self.target.lowerings).of(op)
        if describe is None:
            return NotImplemented
        description = describe(self, args, spec, node)
        if description is NotImplemented or isinstance(description, Reference):
            return description
        return NotImplemented if emit is None else emit(self, description, spec, node)

    def pointwise(self, expression: Expression, shape: tuple[int, ...], dtype: np.dtype[Any], node: Node | None) -> Reference:
        value = self.make(Pointwise, shape, dtype, node)
        value.expression = cast(expression, dtype)
        check_target(value.expression, self.target)
        return self.add(value)

    def elementwise(self, op: Op, args: tuple[Any, ...], spec: Spec, node: Node) -> Reference:
        """A pointwise kernel, run for its expression."""
        arrays = [
            Array(Expression("operand", (), each.dtype, each.broadcast(spec.shape)), each.shape) if isinstance(each, Reference) else each
            for each in args
        ]
        arrays = typed(op, arrays) if any(map(differs, arrays)) else arrays
        if (op.exact or op.name in EXPRESSIONS) and isinstance(op.family, Elementwise):  # other kernels widen by themselves
            arrays = in_single_precision(op, arrays)
        if op.name in EXPRESSIONS:
            made = EXPRESSIONS[op.name](*arrays)
        elif isinstance(op.family, Elementwise):
            made = op.family.execute(op, Functions(), arrays)
        else:
            made = op.kernel(Functions(), *arrays)
        if not isinstance(made, Array):
            raise NotExpressible("the kernel gives no expression")
        return self.pointwise(falling(made.expression), spec.shape, spec.dtype, node)

    def copy(self, source: Reference, node: Node | None) -> Reference:
        """A copy in row-major order."""
        return self.pointwise(Expression("operand", (), source.dtype, source), source.shape, source.dtype, node)

    # -- views ---------------------------------------------------------------------------------------------------

    def view(self, op: Op, args: tuple[Any, ...], spec: Any) -> Any:
        """A view computes nothing: it is the value, seen through other strides."""
        source = args[0]
        if op.name == "strided_view" and not (isinstance(source.value, Given) and source.aligned()):
            raise Declined("it looks at how a tensor lies in memory")
        try:
            made = seen(op, args, spec)
        except LiesOtherwise:
            if isinstance(source.value, Routine):  # which may have laid it out otherwise than eager mode does
                return self.view(op, (self.copy(source, None), *args[1:]), spec)
            raise
        results = tuple([Reference(source.value, *each) for each in made])
        return results if isinstance(spec, (tuple, list)) else results[0]

    def reshape(self, source: Reference, spec: Spec) -> Reference:
        """Other sizes: seen through other strides where that is possible, else a copy."""
        strides = reshaped(source, spec.shape)
        if strides is None:
            source = self.copy(source, None)
            strides = strides_of(spec.shape)
        return Reference(source.value, tuple(spec.shape), strides, source.offset)

    # -- folds and products --------------------------------------------------------------------------------------

    def fold(
        self, how: str, expression: Expression, source: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any], node: Node
    ) -> Reference:
        """A fold of an expression along some axes, which stay with size 1."""
        check_target(expression, self.target)
        value = self.make(Fold, tuple([1 if at in axes else size for at, size in enumerate(source)]), dtype, node)
        value.how, value.expression, value.source, value.axes = how, expression, source, axes
        return self.add(value)

    def reduction(self, op: Op, args: tuple[Any, ...], node: Node) -> Any:
        """A reduction that folds elements by one operation."""
        source, axes, keepdim, others, compute, dtype = op.family.resolve(op, args)
        if op.name not in _FOLDS or others or not source.shape or not math.prod(source.shape):
            return NotImplemented
        how, prepare = _FOLDS[op.name]
        compute = FLOAT32 if compute in HALF_PRECISION else compute
        element = Array(Expression("operand", (), source.dtype, source), source.shape)
        prepared = prepare(element if op.name == "count_nonzero" else element.astype(compute))
        if prepared.dtype == BOOL and how not in ("and", "or"):
            how = "or" if how == "max" else "and"
        rest = first_axes(source.shape, axes) if how == "add" and prepared.dtype.kind == "f" else ()
        if rest:
            part = self.fold(how, prepared.expression, source.shape, rest, prepared.dtype, node)
            last = tuple([axis for axis in sorted(axes) if axis not in rest])
            folded = self.fold(how, Expression("operand", (), part.dtype, part), part.shape, last, part.dtype, node)
        else:
            folded = self.fold(how, prepared.expression, source.shape, tuple(sorted(axes)), prepared.dtype, node)
        if op.name == "mean":
            count = math.prod([source.shape[axis] for axis in axes])
            total = Array(Expression("operand", (), folded.dtype, folded), folded.shape)
            folded = self.pointwise(operation("div", folded.dtype, total, count).expression, folded.shape, folded.dtype, node)
        if folded.dtype != dtype:
            folded = self.pointwise(Expression("operand", (), folded.dtype, folded), folded.shape, dtype, node)
        if keepdim:
            return folded
        kept = [at for at in range(len(source.shape)) if at not in axes]
        return Reference(folded.value, tuple([folded.shape[at] for at in kept]), tuple([folded.strides[at] for at in kept]))

    def product(self, left: Reference, right: Reference, spec: Spec, node: Node) -> Any:
        """A product of matrices by BLAS."""
        if left.dtype in HALF_PRECISION and left.dtype == right.dtype:
            left, right = (self.pointwise(Expression("operand", (), each.dtype, each), each.shape, FLOAT32, None) for each in (left, right))
            wide = self.product(left, right, Spec(spec.shape, FLOAT32), node)
            return (
                wide if wide is NotImplemented else self.pointwise(Expression("operand", (), FLOAT32, wide), spec.shape, spec.dtype, node)
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
        made = self.lowered(table["matmul"], (left, right), Spec(shape, left.dtype), node)
        if made is NotImplemented:
            value = self.make(Product, shape, left.dtype, node)
            value.left, value.right, value.stored = left, right, True
            made = self.add(value)
            for each in (left, right):
                each.value.stored = True
        return Reference(made.value, tuple(spec.shape), strides_of(tuple(spec.shape))) if made.shape != tuple(spec.shape) else made

    def as_matrices(self, source: Reference) -> Reference:
        """The reference, or a copy where its last two dimensions do not lie as BLAS wants them."""
        rows, columns = source.strides[-2:]
        height, width = source.shape[-2:]
        plain = (columns == 1 or width == 1) and (rows >= width or height == 1)
        turned = (rows == 1 or height == 1) and (columns >= height or width == 1)
        return source if plain or turned else self.copy(source, None)

    def routine(
        self, sources: list[Reference], specs: list[Any], node: Node | None, write: Any, scratch: Sequence[Spec] = ()
    ) -> list[Reference]:
        """Results of native code that is written for one op, from what it reads; ``scratch`` is memory that it works in."""
        made: list[Routine] = []
        for at, each in enumerate([*specs, *scratch]):
            value = self.make(Routine, each.shape, each.dtype, node)
            value.sources, value.write, value.others, value.stored = [] if made else sources, write, made, True
            value.first, value.scratch = made[0] if made else None, at >= len(specs)
            made.append(value)
            self.values.append(value)
        for source in sources:
            source.value.stored = True
        return [Reference(value, value.shape, value.strides) for value in made[: len(specs)]]

    def ends(self) -> dict[Value, Given]:
        """Of what inputs that are written to are in the end: which input."""
        given = {each.position: each for each in self.values if isinstance(each, Given) and each.array is None}
        last = self.outputs[len(self.outputs) - len(self.writes) :]
        return {each.value: given[at] for each, at in zip(last, self.writes) if each is not None}

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: Node, op: Op) -> Any:
        """An op that runs as it does in eager mode."""
        spec: Any = node.meta["val"]
        args, kwargs = self.argument(tuple(node.args)), {name: self.argument(each) for name, each in node.kwargs.items()}
        several = isinstance(spec, (tuple, list))
        specs = list(spec) if several else [spec]
        if not all(isinstance(each, Spec) for each in specs):
            raise Declined(f"{node.name} gives what is no tensor")
        if op.factory and not node.is_impure() and not node.all_input_nodes:
            return self.constant_of(node, op, args, kwargs)
        made: list[Call] = []
        for part, each in enumerate(specs):
            value = self.make(Call, each.shape, each.dtype, node)
            value.target, value.part, value.others = op.call, part if several else None, made
            value.args, value.kwargs = (args, kwargs) if part == 0 else ((), {})
            value.first = made[0] if made else None
            value.stored = True
            made.append(value)
            self.values.append(value)
        if node.is_impure():
            made[0].after, self.last_effect = self.last_effect, made[0]
        for source in made[0].inputs():
            source.value.stored = True
        references = [Reference(value, value.shape, value.strides) for value in made]
        return tuple(references) if several else references[0]

    def constant_of(self, node: Node, op: Op, args: Any, kwargs: Any) -> Reference:
        """What is always the same is computed now."""
        sized = has_sizes((args, list(kwargs.values())))
        made: Any = table[op.name].call(*present(args), **present(kwargs))
        array = made._array.copy(order="C")
        value = self.make(Given, node.meta["val"].shape if sized else array.shape, array.dtype, node)
        value.array, value.made_by = array, (op.name, args, kwargs) if sized else None
        return self.add(value)


def in_single_precision(op: Op, values: list[Any]) -> list[Any]:
    """Arguments with operands of less than single precision widened; numbers are first rounded, as beside tensors of less."""
    common, _ = op.family.dtypes(op, op.family.operands(op, values))
    if common not in HALF_PRECISION:
        return values
    if op.name in _OF_THE_TYPE:
        raise NotExpressible("it depends on the type")
    made = list(values)
    for position, _ in op.tensor_positions:
        value = values[position]
        if isinstance(value, Array):
            made[position] = value if value.dtype == BOOL else value.astype(common).astype(FLOAT32)
        elif value is not None and not op.family.wide_numbers:
            made[position] = np.float32(np.asarray(value).astype(common))
    return made


def _wide(element: Array) -> Array:
    return element.astype(_INT64)


_FOLDS: dict[str, Any] = {
    "sum": ("add", lambda a: a), "mean": ("add", lambda a: a), "amax": ("max", lambda a: a), "amin": ("min", lambda a: a),
    "prod": ("mul", lambda a: a), "all": ("and", lambda a: a.astype(BOOL)), "any": ("or", lambda a: a.astype(BOOL)),
    "nansum": ("add", lambda a: Functions().where(a != a, a.dtype.type(0), a) if a.dtype.kind == "f" else a),
    "count_nonzero": ("add", lambda a: _wide(a.astype(BOOL))),
}  # fmt: skip

"""Symbolic sizes in a capture: sizes and numbers that differ between runs, the nodes that compute them, and shapes of results by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import symbolic
from ...core.base import Spec, TensorBase, make
from ...core.declare import Op
from ...core.devices import device_of
from ...core.dispatch import dispatch
from ...core.errors import CaptureError
from ...core.facets import Facet
from ...core.state import fake_mode, state
from ...core.symbolic import OPERATIONS, Expression, SymbolicFloat, SymbolicInt, as_size, float_symbol, is_symbolic, larger, smaller
from ...graph import Graph, Node
from .alias_tracking import AliasTracker, TracedTensor
from .fake_tensors import holds, quietly
from .slice_bounds import Symbol, assumed_length, known_slice

_MULTIPLIERS = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)


counted: Facet[bool] = Facet("counted", "how many results there are follows from a size")
counted.set(
    True, "unbind", "split", "chunk", "tensor_split", "split_with_sizes", "split_evenly", "hsplit", "vsplit", "dsplit", "unsafe_split", "unsafe_chunk",
    "unsafe_split_with_sizes",
)  # fmt: skip
data_sized: Facet[Callable[[tuple[Any, ...]], bool]] = Facet(
    "data sized", "whether arguments make the shape of the result follow from elements"
)
uncertain_dim: Facet[Callable[[Any, tuple[Any, ...]], int | None]] = Facet(
    "uncertain dimension", "the dimension whose size no formula gives, for these arguments"
)


@data_sized.register("index")
def _has_mask(args: tuple[Any, ...]) -> bool:
    return any(each is not None and each._array.dtype.kind == "b" for each in args[1])


@uncertain_dim.register("slice")
def _beyond_bounds(sizes: SymbolicSizes, args: tuple[Any, ...]) -> int | None:
    """A slice whose bounds may exceed the dimension."""
    shape = sizes.shape_of(args[0])
    return None if known_slice(args, shape[args[1]], sizes.symbols) else args[1] % len(shape)


assumed_size: Facet[Callable[[Any, tuple[Any, ...]], tuple[int, int] | None]] = Facet(
    "assumed size", "a dimension and its size, where the arguments are taken to be in range in all runs as they are in this one"
)


@assumed_size.register("slice")
def _within_bounds(sizes: SymbolicSizes, args: tuple[Any, ...]) -> tuple[int, int] | None:
    """A slice by sizes of inputs that is inside of its dimension, be it all of it in this run."""
    shape = sizes.shape_of(args[0])
    length = assumed_length(args, shape[args[1]])
    return None if length is None else (args[1] % len(shape), length)


class SymbolicSizes:
    """The part of a tracer that follows symbolic sizes: a symbol for each, formulas of symbols for what is computed from them."""

    graph: Graph
    entries: dict[int, TracedTensor]
    depends: set[Node]
    aliases: AliasTracker
    without_values: bool
    argument: Callable[[Any], Any]
    where: Callable[[], tuple[Any, str]]
    shape_of: Callable[[Any], tuple[int, ...]]
    part: Callable[[Node, int, bool], Node]

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.size_nodes: dict[Any, Node] = {}

    def new_symbol(self, source: Node, dim: int | None, size: int, name: str | None = None) -> SymbolicInt:
        """A symbolic size, read from a dimension of a node's value."""
        if name is None:
            name = f"u{len(self.symbols)}"
        if name not in self.symbols:
            multiplier = _MULTIPLIERS[len(self.symbols) % len(_MULTIPLIERS)]
            generic = size * multiplier if size > 1 else multiplier + 2 * len(self.symbols) + 2
            self.symbols[name] = Symbol(source, dim, size, generic)
        return SymbolicInt(size, Expression.symbol(name))

    def new_number(self, source: Node, value: int | float) -> Any:
        """A symbolic number: the value of a node, which an input gives."""
        size = self.new_symbol(source, None, int(value))
        (name,) = size.expression.symbols()
        self.symbols[name].number = True
        return size if isinstance(value, int) else float_symbol(name, value)

    def size_from(self, tensor: Any) -> int:
        """A size that is the integer a tensor holds: symbolic where that depends on the inputs."""
        entry = self.entries.get(id(tensor))
        if entry is None or entry.node not in self.depends:
            return int(tensor)
        if tensor._array.__class__ is Spec:
            raise CaptureError("a size that is the value of a tensor is not known where only shapes are")
        known = (name for name, each in self.symbols.items() if each.dim is None and self.aliases.is_same_value(each.source, entry.node))
        return self.new_symbol(entry.node, None, tensor._array.item(), next(known, None))

    def sized(self, value: Any) -> Any:
        """An argument that is no tensor, with sizes for integers that tensors hold."""
        if isinstance(value, TensorBase) and not value._array.ndim and value._array.dtype.kind in "iu":
            return self.size_from(value)
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            values = [self.sized(each) for each in value]
            return values if isinstance(value, list) else tuple(values)
        return value

    def number_node(self, value: Any) -> Node:
        """The node that computes a number from the sizes of values."""
        if isinstance(value, SymbolicFloat):
            arguments = tuple(self.argument(each) for each in value.arguments)
            return self.make_number(value.function, arguments, value)
        expression = value.expression

        def compute(function: Any) -> Callable[[Any, Any], Any]:
            def run(a: Any, b: Any) -> Any:
                left, right = (each.meta["val"] if isinstance(each, Node) else each for each in (a, b))
                found = {min: smaller, max: larger}.get(function, function)(left, right)
                return self.make_number(function, (a, b), found)

            return run

        functions = {name: compute(function) for name, function in OPERATIONS.items()}
        values = {name: self.symbol_node(name) for name in expression.symbols()}
        node = self.size_nodes.get(expression)
        if node is None:
            node = self.size_nodes[expression] = expression.evaluate(values, functions)
        return node

    def symbol_node(self, name: str) -> Node:
        """The node that reads a symbol's value off a shape."""
        expression = Expression.symbol(name)
        node = self.size_nodes.get(expression)
        if node is None:
            symbol = self.symbols[name]
            if symbol.source.graph is self.graph and symbol.dim is None:
                node = self.graph.call_function(as_size, (symbol.source,))
            elif symbol.source.graph is self.graph:
                node = self.graph.call_method("size", (symbol.source, symbol.dim))
            else:  # of the graph that this one is a part of
                node = self.graph.placeholder(name)
            node.meta["source"], node.meta["module"] = self.where()
            node.meta["val"] = SymbolicInt(symbol.concrete, expression)
            self.depends.add(node)
            self.size_nodes[expression] = node
        return node

    def make_number(self, function: Any, arguments: tuple[Any, ...], value: Any) -> Node:
        """A node of arithmetic on sizes, made once for each formula."""
        key = (function, arguments)
        node = self.size_nodes.get(key)
        if node is None:
            node = self.graph.call_function(function, arguments)
            node.meta["source"], node.meta["module"] = self.where()
            node.meta["val"] = value
            self.depends.add(node)
            self.size_nodes[key] = node
        return node

    def is_dynamic(self, value: Any) -> bool:
        """Whether an argument has a symbolic size."""
        if isinstance(value, TensorBase):
            entry = self.entries.get(id(value))
            return entry is not None and any(each.__class__ is SymbolicInt for each in entry.shape)
        if isinstance(value, (tuple, list)):
            return any(self.is_dynamic(each) for each in value)
        return is_symbolic(value)

    def shapes(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> Any:
        """The shape of a result (or of each of several) by formulas; None where all sizes are fixed."""
        if getattr(result, "_array", None).__class__ is Spec and not self.without_values:
            return None  # its sizes are formulas already
        by_elements = data_sized.of(op)
        by_value = op.factory and any(isinstance(value, TensorBase) for value in args)  # arange(tensor): its value is a size
        data_dependent = (op.data_dependent or by_value or by_elements is not None and by_elements(args)) and node in self.depends
        if not data_dependent and not any(self.is_dynamic(value) for value in args):
            return None
        several = isinstance(result, (tuple, list))
        actual = [getattr(each, "_array", None) for each in (result if several else (result,))]
        found = self.try_shapes(op, args, generic=True)
        if not data_dependent and (found is None or [len(each or ()) for each in found] != [getattr(each, "ndim", 0) for each in actual]):
            found = self.try_shapes(op, args, generic=False)  # a size that is 1 in this run may decide on the dimensions
        uncertain = uncertain_dim.of(op)
        if uncertain is not None and found and found[0]:
            unknown = uncertain(self, args)
            found[0] = tuple([None if dim == unknown else size for dim, size in enumerate(found[0])])
        assume = assumed_size.of(op)
        assumed = assume(self, args) if assume is not None and uncertain is not None and uncertain(self, args) is None else None
        if assumed is not None and found and found[0]:
            found[0] = tuple([assumed[1] if dim == assumed[0] else size for dim, size in enumerate(found[0])])
        now = {name: each.concrete for name, each in self.symbols.items()}
        results: list[tuple[int, ...]] = []
        for index, array in enumerate(actual):
            if array is None:
                results.append(())
                continue
            guess = found[index] if found is not None and index < len(found) else None
            if guess is not None and len(guess) == array.ndim:
                sized = []
                for dim, (size, known) in enumerate(zip(array.shape, guess)):
                    if isinstance(known, SymbolicInt) and holds(known.expression, now, size):
                        sized.append(SymbolicInt(size, known.expression))
                    elif not isinstance(known, SymbolicInt) and known == size:
                        sized.append(size)
                    else:
                        sized.append(self.new_symbol(self.part(node, index, several), dim, size))
                results.append(tuple(sized))
            elif data_dependent:
                source = self.part(node, index, several)
                results.append(tuple([self.new_symbol(source, dim, size) for dim, size in enumerate(array.shape)]))
            else:
                results.append(array.shape)
        return results if several else results[0]

    def try_shapes(self, op: Op, args: tuple[Any, ...], generic: bool) -> list[Any] | None:
        """Shapes of an op's results from fake tensors, for generic sizes (or those of this run)."""
        values = {name: each.generic if generic else each.concrete for name, each in self.symbols.items()}

        def fake(value: Any) -> Any:
            if isinstance(value, TensorBase):
                shape = self.shape_of(value)
                return make(Spec(tuple([fake(each) for each in shape]), value._array.dtype, device=device_of(value._array)))
            if isinstance(value, SymbolicInt):
                return SymbolicInt(value.expression.evaluate(values), value.expression)
            if isinstance(value, SymbolicFloat):
                return value.function(*[fake(each) for each in value.arguments])
            if isinstance(value, (tuple, list)):
                made = [fake(each) for each in value]
                return made if isinstance(value, list) else tuple(made)
            return value

        notice, symbolic.escape.notice = symbolic.escape.notice, lambda kind, size: None
        symbolic.escape.inferring += 1
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            given = tuple([fake(value) for value in args])
            with fake_mode():
                result = quietly(dispatch, op.functional or op, given)
        except Exception:
            return None  # sizes that do not fit together, or a result that depends on data: the caller knows what then
        finally:
            state.grad_enabled = enabled
            symbolic.escape.inferring -= 1
            symbolic.escape.notice = notice
        return [
            getattr(getattr(each, "_array", None), "shape", None) for each in (result if isinstance(result, (tuple, list)) else (result,))
        ]

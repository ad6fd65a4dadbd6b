"""Programs for sizes that may differ: planned and compiled once, and filled with numbers for each size that comes.

The graph is made on sizes with formulas (``core/sizes.py``), everything after it on sizes that are no numbers at all (``sizes.py``); every comparison on the way
becomes a guard.  The graph is then made again for other sizes, as plain numbers, and must come out the same.  What does not hold for a size, or can't be made for
any size, is compiled for the size that is there.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...core.base import Spec, contiguous_strides
from ...core.declare import table
from ...core.sizes import OPERATIONS, Expression, SymbolicFloat, SymbolicInt, escape, size_of
from ...graph import Graph, Node, map_aggregate
from .expanding import expand
from .groups import Grouping
from .machine import blas
from .planning import arrange
from .program import Program
from .sizes import LEAST, Fixed, Sizes, differs, written
from .values import Builder, Call, Reference, Value

# Other sizes that a graph is made for, given one (and how many there are before it): small ones and large ones first.
_OTHERS: tuple[Callable[[int, int], int], ...] = (
    lambda size, at: LEAST + 1 + at, lambda size, at: 64 * size + 1 + at, lambda size, at: 2 * size + 1, lambda size, at: size + 1, lambda size, at: size + 8,
    lambda size, at: max(size - 1, LEAST), lambda size, at: 2 * size, lambda size, at: size + 64,
)  # fmt: skip
CHECKS = 2  # for how many of them


def _on_formulas(name: str) -> Callable[[Any, Any], Expression]:
    """An operation on formulas and numbers."""

    def run(a: Any, b: Any) -> Expression:
        first, second = (each if isinstance(each, Expression) else Expression({(): each}) for each in (a, b))
        return Expression({((name, first, second),): 1}) if name in ("max", "min") else OPERATIONS[name](first, second)

    return run


_FORMULAS = {name: _on_formulas(name) for name in OPERATIONS}


class Laid(NamedTuple):
    """An input as a program takes it: its sizes, some with formulas, and how it lies in memory.

    Where sizes may differ, elements lie one after the other, but for dimensions of stride 0 (``spread``); else it has strides in elements.
    """

    shape: tuple[Any, ...]
    dtype: Any
    spread: tuple[bool, ...] | None
    strides: tuple[int, ...]

    def spec(self, shape: tuple[Any, ...]) -> Spec:
        """A tensor without data that lies so, in such a shape."""
        return Spec(shape, self.dtype, self.strides_for(shape))

    def strides_for(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """Its strides in such a shape."""
        if self.spread is None:
            return self.strides
        steps = contiguous_strides([1 if spread else size for spread, size in zip(self.spread, shape)])
        return tuple([0 if spread else step for spread, step in zip(self.spread, steps)])


class Inputs:
    """The inputs of a graph with formulas, and which of their sizes may differ."""

    def __init__(self, specs: list[Any]) -> None:
        self.specs = specs
        self.places: dict[str, tuple[int, int]] = {}  # of a symbol: the input and the dimension that it is read from
        for position, spec in enumerate(specs):
            for dim, size in enumerate(spec.shape) if isinstance(spec, Spec) else ():
                name = size.expression.as_symbol if isinstance(size, SymbolicInt) else None
                if name is not None:
                    self.places.setdefault(name, (position, dim))

    @staticmethod
    def of(graph: Graph) -> Inputs | None:
        """Those of a graph that was captured; None where no size may differ."""
        found = Inputs([node.meta.get("val") for node in graph.nodes if node.op == "placeholder"])
        return found if found.places else None

    def pinned(self, names: set[str], values: Mapping[str, int]) -> Inputs:
        """The same with some sizes as they are now."""
        known = {name: values[name] if name in names else Expression.symbol(name) for name in values}

        def one(size: Any) -> Any:
            if not isinstance(size, SymbolicInt):
                return size
            made = size.expression.evaluate(known, _FORMULAS)
            return size_of(size.expression.evaluate(values), made) if isinstance(made, Expression) else made

        return Inputs([Spec(tuple([one(size) for size in spec.shape]), spec.dtype) if isinstance(spec, Spec) else spec for spec in self.specs])

    def values(self, arrays: list[Any]) -> dict[str, int] | None:
        """The sizes in a call; None where it is not one of those that a program for any size takes."""
        try:
            found = {name: arrays[position].shape[dim] for name, (position, dim) in self.places.items()}
        except (AttributeError, IndexError):
            return None
        return found if found and min(found.values()) >= LEAST else None

    def laid(self, arrays: list[Any], values: Mapping[str, int]) -> tuple[Laid, ...] | None:
        """How the inputs lie in a call; None where a program for any size does not take it."""
        made = []
        for array, spec in zip(arrays, self.specs, strict=True):
            if array.__class__ is not np.ndarray or not isinstance(spec, Spec) or array.dtype != spec.dtype or not array.flags.aligned:
                return None
            if array.shape != tuple([evaluated(size, values) for size in spec.shape]) or any(step % array.itemsize for step in array.strides):
                return None
            steps = tuple([0 if size == 1 else step // array.itemsize for size, step in zip(array.shape, array.strides)])
            differs = any(isinstance(size, SymbolicInt) for size in spec.shape)
            one = Laid(spec.shape, array.dtype, tuple([not step for step in steps]) if differs else None, () if differs else steps)
            if differs and one.strides_for(array.shape) != steps:
                return None
            made.append(one)
        return tuple(made)


def with_value(value: Any, values: Mapping[str, int]) -> Any:
    """A number with its formula, and its value for such values of symbols."""
    if isinstance(value, SymbolicInt):
        return SymbolicInt(value.expression.evaluate(values), value.expression)
    if isinstance(value, SymbolicFloat):
        return SymbolicFloat(evaluated(value, values), value.function, tuple([with_value(each, values) for each in value.arguments]))
    return value


def evaluated(value: Any, values: Mapping[str, int]) -> Any:
    """What a number with a formula is for such values of symbols."""
    if isinstance(value, SymbolicInt):
        return value.expression.evaluate(values)
    if isinstance(value, SymbolicFloat):
        return value.function(*[evaluated(each, values) for each in value.arguments])
    return value


@contextmanager
def watching(sizes: Sizes) -> Iterator[None]:
    """Comparisons of sizes with formulas are guarded while this lasts."""
    before, escape.compared = escape.compared, sizes.compared
    try:
        yield
    finally:
        escape.compared = before


def replaced(values: Mapping[str, int], old: int, new: int) -> dict[str, int]:
    """Sizes with another in the place of one."""
    return {name: new if size == old else size for name, size in values.items()}


class Pinned(Fixed):
    """Some sizes can't be others."""

    def __init__(self, names: set[str]) -> None:
        super().__init__("there is no other size for which it would hold")
        self.names = names


def others(sizes: Sizes) -> list[dict[str, int]]:
    """A few other sizes for which the guards hold; what is equal stays so."""
    holds = sizes.function(" and ".join(sizes.guards) or "True")
    distinct = sorted(set(sizes.values.values()))
    found: list[dict[str, int]] = []
    for change in _OTHERS:
        new = {size: change(size, at) for at, size in enumerate(distinct)}
        values = {name: new[size] for name, size in sizes.values.items()}
        if len(found) < CHECKS and values not in found and values != sizes.values and holds(**values):
            found.append(values)
    if not found:
        raise Pinned({name for name, size in sizes.values.items() if not any(holds(**replaced(sizes.values, size, change(size, 0))) for change in _OTHERS)})
    return found


def check_same(graph: Graph, other: Graph, values: Mapping[str, int]) -> None:
    """Make sure that a graph with formulas is, for some sizes, what is made for those."""
    if [shown(node, values) for node in graph.nodes] != [shown(node, {}) for node in other.nodes]:
        raise Fixed("the graph is another for other sizes")


def shown(node: Node, values: Mapping[str, int]) -> Any:
    """All of a node that must be the same."""

    def one(value: Any) -> Any:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, Spec):
            return [evaluated(each, values) for each in value.shape], value.dtype
        value = evaluated(value, values)
        return repr(value) if isinstance(value, (int, float)) else value if isinstance(value, str) else type(value)

    target = node.target if isinstance(node.target, str) else id(node.target)
    return node.name, node.op, target, map_aggregate((node.args, node.kwargs), one), map_aggregate(node.meta.get("val"), one) if node.op != "output" else None


def copied_for(graph: Graph, values: Mapping[str, int], convert: Callable[[Any, Mapping[str, int]], Any] = evaluated) -> Graph:
    """A graph for such sizes: with plain numbers, or with formulas that have these values."""
    made = Graph()
    here: dict[Node, Node] = {}

    def one(value: Any) -> Any:
        return Spec(tuple([convert(each, values) for each in value.shape]), value.dtype) if isinstance(value, Spec) else convert(value, values)

    for node in graph.nodes:
        new = here[node] = made.node_copy(node, here.__getitem__)
        new.args, new.kwargs = map_aggregate(new.args, one), map_aggregate(new.kwargs, one)
        new.meta = {**node.meta, "val": map_aggregate(node.meta.get("val"), one)}
    return made


class Template:
    """A program for any sizes, as long as guards hold; the sizes of one call make it a :class:`Program`."""

    def __init__(self, graph: Graph, inputs: tuple[Laid, ...], sizes: Sizes, attribute: Callable[[str], Any]) -> None:
        """Plan and compile a graph with formulas for inputs that lie so."""
        self.sizes = sizes
        started = time.perf_counter()
        with watching(sizes):
            expanded = expand(copied_for(graph, sizes.values, with_value), [each.spec(tuple([with_value(size, sizes.values) for size in each.shape])) for each in inputs], attribute)
        for values in others(sizes):
            plain = [each.spec(tuple([evaluated(size, values) for size in each.shape])) for each in inputs]
            check_same(expanded.graph, expand(copied_for(graph, values), plain, attribute).graph, values)
        sizes.take(expanded.graph)
        layouts = [each.strides_for(sizes.everywhere(each.shape)) for each in inputs]
        builder = Builder(expanded, layouts, bool(blas().addresses))
        self.program = program = Program(builder, Grouping(builder.values, [each for each in builder.outputs if each is not None]), sizes)
        program.seconds = time.perf_counter() - started
        self.holds = sizes.function(" and ".join(sizes.guards) or "True")
        if program.copies or any(isinstance(each, Call) for each in program.parts):
            raise Fixed("; ".join(["it is not native code alone", *program.notes]))
        self.values: list[Value] = [*program.inputs, *program.roots, *program.lives]
        made = [each for each in program.constants if each.made_by is not None]
        self.made = made
        measures = [
            [[each.shape, each.strides] for each in self.values],
            [None if each is None else [each.shape, each.strides, each.offset] for each in program.outputs],
            [[each.shape, each.strides, sizes_in(each.made_by[1:])] for each in made],
            program.nanoseconds,
        ]  # fmt: skip
        self.order = np.array(program.order, np.int64)  # which of the numbers stand in the table, one after the other
        numbers = "".join(f"{each}, " for each in sizes.numbers)
        flags = "".join(f"{each}, " for each in program.flags)
        self.measure = sizes.function(f"({written(measures)}, ({numbers}), ({flags}))")

    def instance(self, values: Mapping[str, int]) -> Program:
        """The program for some sizes, for which the guards must hold."""
        program = self.program
        (shapes, outputs, recipes, nanoseconds), numbers, flags = self.measure(**values)
        copies: dict[Value, Value] = {}
        for value, (shape, strides, *found) in zip([*self.values, *self.made], [*shapes, *recipes]):
            made: Any = copy.copy(value)
            copies[value] = made
            made.shape, made.strides = shape, strides
            if found:
                made.array = made_again(made.made_by, iter(found[0]))
        one = copy.copy(program)
        one.inputs = [copies[each] for each in program.inputs]  # type: ignore[misc]
        one.constants = [copies.get(each, each) for each in program.constants]  # type: ignore[misc]
        one.roots = [copies[each] for each in program.roots]
        one.outputs = [
            None if each is None or measured is None else Reference(copies.get(each.value, each.value), *measured) for each, measured in zip(program.outputs, outputs)
        ]
        one.lives = {copies[each]: life for each, life in program.lives.items()}
        one.offsets, one.arena = arrange(one.lives)
        one.slots = {copies.get(each, each): slot for each, slot in program.slots.items()}
        one.numbers = np.array(numbers, np.int64)[self.order]
        one.nanoseconds, one.splits, one.sizes, one.spaces, one.filled = nanoseconds, program.splits or any(flags), None, [], True
        return one


def made_again(made_by: Any, numbers: Iterator[Any]) -> Any:
    """The array that an op makes, with numbers in the place of those that may differ."""
    name, *arguments = made_by
    args, kwargs = map_aggregate(arguments, lambda each: next(numbers) if differs(each) else each)
    return table[name].call(*args, **kwargs)._array.copy(order="C")


def sizes_in(value: Any) -> list[Any]:
    """The numbers in an argument that may differ."""
    found: list[Any] = []
    map_aggregate(value, lambda each: found.append(each) if differs(each) else None)
    return found

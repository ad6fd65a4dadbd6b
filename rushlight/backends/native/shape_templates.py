"""Templates: schedules with symbolic sizes, compiled once, whose numbers are computed for each size.

The graph is decomposed on symbolic integers (``core/symbolic``), and scheduled on purely symbolic sizes (``schedule/symbolic_shape.py``);
every comparison becomes a guard.  The graph is then decomposed again for other sizes, as plain numbers, and must come out the same.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...codegen.llvm.target import processor
from ...core.base import Spec
from ...core.declare import table
from ...core.devices import device, device_of
from ...core.symbolic import Expression, SymbolicFloat, SymbolicInt, escape, is_symbolic, size_of
from ...graph import Graph, Node, map_aggregate
from ...passes.decompose import decompose
from ...schedule.memory_plan import ALIGNMENT, first_fit
from ...schedule.schedule import Schedule
from ...schedule.symbolic_shape import LEAST, MOST, Fixed, Sizes, SymbolicNumber, written
from ...schedule.tensor_ir import Call, Reference, TensorIRBuilder, Value
from .executable import CompiledSchedule

# Other sizes for which a template is checked, given one (and the number of sizes before it): small ones and large ones first.
_OTHERS: tuple[Callable[[int, int], int], ...] = (
    lambda size, at: LEAST + 1 + at, lambda size, at: 64 * size + 1 + at, lambda size, at: 2 * size + 1, lambda size, at: size + 1, lambda size, at: size + 8,
    lambda size, at: max(size - 1, LEAST), lambda size, at: 2 * size, lambda size, at: size + 64,
)  # fmt: skip
CHECKS = 2  # of them
PLANS = KEPT = 64  # memory plans of a template, and sets of layouts, that are kept


class InputLayout(NamedTuple):
    """The layout of an input: its shape, partly symbolic, and its strides in elements.

    A stride that depends on symbolic sizes is None: it is the extent of the dimension inside of it.
    """

    shape: tuple[Any, ...]
    dtype: Any
    strides: tuple[int | None, ...]
    order: tuple[int, ...]  # dimensions from the innermost to the outermost, without those of stride 0
    device: device

    def spec(self, shape: tuple[Any, ...]) -> Spec:
        """A Spec with these strides, in such a shape."""
        return Spec(shape, self.dtype, self.strides_for(shape), self.device)

    def strides_for(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """Its strides in such a shape."""
        made: list[Any] = list(self.strides)
        for inside, dim in zip(self.order, self.order[1:]):
            if made[dim] is None:
                made[dim] = made[inside] * shape[inside]
        return tuple(made)

    @staticmethod
    def of(array: Any, spec: Any) -> InputLayout | None:
        """The layout of an array with such symbolic sizes; None where its strides may depend on the present sizes."""
        steps = [0 if size == 1 else step // array.itemsize for size, step in zip(array.shape, array.strides)]
        order = sorted([dim for dim, step in enumerate(steps) if step], key=lambda dim: abs(steps[dim]))
        known: list[int | None] = list(steps)
        differing, last = False, -1
        for dim in order:
            if differing:
                if steps[dim] != steps[last] * array.shape[last]:
                    return None
                known[dim] = None
            differing, last = differing or isinstance(spec.shape[dim], SymbolicInt), dim
        return InputLayout(spec.shape, array.dtype, tuple(known), tuple(order), device_of(array))


class InputLayouts(tuple[InputLayout, ...]):
    """The layouts of all inputs, whose hash is computed once."""

    def __hash__(self) -> int:
        found = self.__dict__.get("known")
        if found is None:
            found = self.__dict__["known"] = super().__hash__()
        return int(found)


class Inputs:
    """The inputs of a graph, and their symbolic sizes."""

    def __init__(self, specs: list[Any]) -> None:
        self.specs = specs
        self.last: list[Any] = [None] * len(specs)  # by input: the strides of its last call, and its layout
        self.changed = 0  # how often one of those changed
        self.interned: dict[Any, InputLayouts] = {}  # by that, and by the other layouts
        self.fixed = [
            tuple(each.shape) if isinstance(each, Spec) and all(type(size) is int for size in each.shape) else None for each in specs
        ]  # the shapes without symbolic sizes
        self.places: dict[str, tuple[int, int]] = {}  # by symbol: the input and dimension that its value is read from
        for position, spec in enumerate(specs):
            for dim, size in enumerate(spec.shape) if isinstance(spec, Spec) else ():
                name = size.expression.as_symbol if isinstance(size, SymbolicInt) else None
                if name is not None:
                    self.places.setdefault(name, (position, dim))

    @staticmethod
    def of(graph: Graph) -> Inputs | None:
        """The inputs of a captured graph; None where there is no symbolic size."""
        found = Inputs([node.meta.get("val") for node in graph.nodes if node.op == "placeholder"])
        return found if found.places else None

    def specialized(self, names: Collection[str], values: Mapping[str, int]) -> Inputs:
        """The inputs specialized to some of the present sizes."""
        specialize = specializer(names, values)
        return Inputs(
            [spec.sized(tuple([specialize(size) for size in spec.shape])) if isinstance(spec, Spec) else spec for spec in self.specs]
        )

    def values(self, arrays: list[Any]) -> dict[str, int] | None:
        """The values of symbols in a call; None where no template accepts the call."""
        try:
            values = {name: arrays[position].shape[dim] for name, (position, dim) in self.places.items()}
        except (AttributeError, IndexError):
            return None
        for array, spec, fixed in zip(arrays, self.specs, self.fixed):  # specialized sizes must be equal
            if fixed is not None and array.__class__ is np.ndarray and array.shape == fixed:
                continue
            if isinstance(spec, Spec) and any(type(size) is int and size != given for size, given in zip(spec.shape, array.shape)):
                return None
        return values if values and max(values.values()) <= MOST else None

    def layouts(self, arrays: list[Any], values: Mapping[str, int]) -> InputLayouts | None:
        """The layouts of the inputs of a call; None where no template accepts them."""
        layouts, symbolic = [], []
        for at, (array, spec) in enumerate(zip(arrays, self.specs, strict=True)):
            last = self.last[at]
            if (
                last is not None
                and array.__class__ is np.ndarray
                and array.strides == last[0]
                and array.shape == spec.shape
                and array.dtype is spec.dtype
                and array.flags.aligned
            ):
                layouts.append(last[1])
                continue
            if array.__class__ is not np.ndarray or not isinstance(spec, Spec) or array.dtype != spec.dtype or not array.flags.aligned:
                return None
            if array.shape != tuple([evaluated(size, values) for size in spec.shape]) or any(
                step % array.itemsize for step in array.strides
            ):
                return None
            layout = InputLayout.of(array, spec)
            if layout is None:
                return None
            layouts.append(layout)
            if any(isinstance(size, SymbolicInt) for size in spec.shape):
                symbolic.append(layout)
            else:  # most inputs are parameters
                self.last[at], self.changed = (array.strides, layout), self.changed + 1
        if len(self.interned) > KEPT:
            self.interned.clear()
        return self.interned.setdefault((self.changed, *symbolic), InputLayouts(layouts))


def small_sizes(values: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The sizes that are too small for templates, by symbol."""
    return tuple([(name, size) for name, size in values.items() if size < LEAST])


def specializer(names: Collection[str], values: Mapping[str, int]) -> Callable[[Any], Any]:
    """A function that specializes symbolic numbers to some of the present sizes."""
    known = {name: values[name] if name in names else Expression.symbol(name) for name in values}

    def specialize(value: Any) -> Any:
        if not symbols_in(value) <= known.keys():
            return value  # it depends on data
        if isinstance(value, SymbolicInt):
            return size_of(value.expression.evaluate(values), value.expression.substitute(known))
        if isinstance(value, SymbolicFloat):
            arguments = tuple([specialize(each) for each in value.arguments])
            return (
                SymbolicFloat(evaluated(value, values), value.function, arguments)
                if any(map(is_symbolic, arguments))
                else value.function(*arguments)
            )
        return value

    return specialize


def symbols_in(value: Any) -> set[str]:
    """The symbols that a number depends on."""
    if isinstance(value, SymbolicFloat):
        return set().union(*map(symbols_in, value.arguments))
    return value.expression.symbols() if isinstance(value, SymbolicInt) else set()


def with_hint(value: Any, values: Mapping[str, int]) -> Any:
    """A symbolic number with its value for such values of symbols as the hint."""
    if isinstance(value, SymbolicInt):
        return SymbolicInt(value.expression.evaluate(values), value.expression)
    if isinstance(value, SymbolicFloat):
        return SymbolicFloat(evaluated(value, values), value.function, tuple([with_hint(each, values) for each in value.arguments]))
    return value


def evaluated(value: Any, values: Mapping[str, int]) -> Any:
    """The value of a symbolic number for such values of symbols."""
    if isinstance(value, SymbolicInt):
        return value.expression.evaluate(values)
    if isinstance(value, SymbolicFloat):
        return value.function(*[evaluated(each, values) for each in value.arguments])
    return value


@contextmanager
def recording_guards(sizes: Sizes) -> Iterator[None]:
    """Comparisons of symbolic sizes become guards in this context."""
    before, escape.compared = escape.compared, sizes.compared
    try:
        yield
    finally:
        escape.compared = before


def replaced(values: Mapping[str, int], old: int, new: int) -> dict[str, int]:
    """Sizes with one replaced by another."""
    return {name: new if size == old else size for name, size in values.items()}


class MustSpecialize(Fixed):
    """Guards that no other value of some sizes satisfies: the graph must be specialized to those sizes."""

    def __init__(self, names: set[str]) -> None:
        super().__init__("there is no other size for which the guards hold")
        self.names = names


def other_sizes(sizes: Sizes) -> list[dict[str, int]]:
    """A few other sizes for which the guards hold; equal sizes stay equal."""
    holds = sizes.function(" and ".join(sizes.guards) or "True")
    distinct = sorted(set(sizes.values.values()))
    chosen: list[dict[str, int]] = []
    for change in _OTHERS:
        new = {size: change(size, at) for at, size in enumerate(distinct)}
        values = {name: new[size] for name, size in sizes.values.items()}
        if len(chosen) < CHECKS and values not in chosen and values != sizes.values and holds(**values):
            chosen.append(values)
    if not chosen:
        changed = {size: [new for new in (change(size, 0) for change in _OTHERS) if new != size] for size in distinct}
        raise MustSpecialize(
            {name for name, size in sizes.values.items() if not any(holds(**replaced(sizes.values, size, new)) for new in changed[size])}
        )
    return chosen


def check_same(graph: Graph, other: Graph, values: Mapping[str, int]) -> None:
    """Check that a graph with symbolic sizes, evaluated for some sizes, is the graph that is made for those."""
    for one, plain in zip_longest(graph.nodes, other.nodes):
        same = one is not None and plain is not None and one.name == plain.name and one.op == plain.op and one.target == plain.target
        if not same or not evaluates_to(one.args, plain.args, values) or not evaluates_to(one.kwargs, plain.kwargs, values):
            raise Fixed("the graph differs for other sizes")
        if one.op != "output" and not evaluates_to(one.meta.get("val"), plain.meta.get("val"), values):
            raise Fixed("the graph differs for other sizes")


def evaluates_to(value: Any, plain: Any, values: Mapping[str, int]) -> bool:
    """Whether a symbolic argument, evaluated for some sizes, equals a plain one."""
    if isinstance(value, (tuple, list)):
        return (
            isinstance(plain, (tuple, list))
            and len(value) == len(plain)
            and all(evaluates_to(one, other, values) for one, other in zip(value, plain))
        )
    if isinstance(value, dict):
        return (
            isinstance(plain, dict)
            and list(value) == list(plain)
            and all(evaluates_to(each, plain[key], values) for key, each in value.items())
        )
    if isinstance(value, slice):
        return isinstance(plain, slice) and evaluates_to(
            (value.start, value.stop, value.step), (plain.start, plain.stop, plain.step), values
        )
    if isinstance(value, Node):
        return isinstance(plain, Node) and value.name == plain.name
    if isinstance(value, Spec):
        return (
            isinstance(plain, Spec)
            and value.dtype == plain.dtype
            and value.device == plain.device
            and evaluates_to(value.shape, plain.shape, values)
        )
    value = evaluated(value, values)
    if isinstance(value, (int, float)):
        return type(value) is type(plain) and (value == plain or value != value and plain != plain)
    return bool(value == plain) if isinstance(value, str) else type(value) is type(plain)


def copied_for(graph: Graph, values: Mapping[str, int], convert: Callable[[Any, Mapping[str, int]], Any] = evaluated) -> Graph:
    """A copy of a graph for such sizes: with plain numbers, or with symbolic numbers that have them as hints."""
    result = Graph()
    copies: dict[Node, Node] = {}

    def one(value: Any) -> Any:
        return value.sized([convert(each, values) for each in value.shape]) if isinstance(value, Spec) else convert(value, values)

    for node in graph.nodes:
        new = copies[node] = result.node_copy(node, copies.__getitem__)
        new.args, new.kwargs = map_aggregate(new.args, one), map_aggregate(new.kwargs, one)
        new.meta = {**node.meta, "val": map_aggregate(node.meta.get("val"), one)}
    return result


class Placed:
    """A reference or (without a value) a symbolic number, by the positions of its sizes among the numbers of a template."""

    __slots__ = ("places", "value")

    def __init__(self, value: Value | None, places: tuple[int, ...]) -> None:
        self.value = value
        self.places = places


def specs_for(
    inputs: tuple[InputLayout, ...], values: Mapping[str, int], convert: Callable[[Any, Mapping[str, int]], Any] = evaluated
) -> list[Spec]:
    """Specs of inputs for such sizes: plain numbers, or symbolic ones that have them as hints."""
    return [each.spec(tuple([convert(size, values) for size in each.shape])) for each in inputs]


def calls_in(graph: Graph, specs: list[Any], attribute: Callable[[str], Any]) -> int:
    """The number of results of called ops, for a graph specialized to one size."""
    builder = TensorIRBuilder(decompose(graph, specs, attribute), [each.element_strides for each in specs], processor().target)
    return sum(isinstance(each, Call) for each in builder.values)


class Template:
    """A compiled schedule with symbolic sizes, for all sizes for which its guards hold; an instance is one for the sizes of a call."""

    def __init__(self, graph: Graph, inputs: tuple[InputLayout, ...], sizes: Sizes, attribute: Callable[[str], Any]) -> None:
        """Schedule and compile a graph with symbolic sizes for inputs of such layouts."""
        self.sizes = sizes
        started = time.perf_counter()
        with recording_guards(sizes):
            decomposed = decompose(copied_for(graph, sizes.values, with_hint), specs_for(inputs, sizes.values, with_hint), attribute)
        for values in other_sizes(sizes):
            check_same(decomposed.graph, decompose(copied_for(graph, values), specs_for(inputs, values), attribute).graph, values)
        sizes.take(decomposed.graph)
        layouts = [each.strides_for(sizes.everywhere(each.shape)) for each in inputs]
        schedule = Schedule(decomposed, layouts, processor().target, sizes)
        called = schedule.calls()
        if called and called != calls_in(copied_for(graph, sizes.values), specs_for(inputs, sizes.values), attribute):
            raise Fixed("; ".join(["an op that is compiled for one size is called for symbolic sizes", *schedule.notes]))
        self.program = program = CompiledSchedule(schedule)
        program.seconds = time.perf_counter() - started
        self.holds = sizes.function(" and ".join(sizes.guards) or "True")
        self.calls = [each for each in program.parts if isinstance(each, Call)]
        self.values: list[Value] = [
            *program.inputs,
            *program.roots,
            *schedule.live_ranges,
            *(value for each in self.calls for value in each.others),
        ]
        made = [each for each in program.constants if each.made_by is not None]
        self.made = made
        # Every shape and number is computed once, and referred to by its position.
        places: dict[str, int] = {}

        def place(value: Any) -> int:
            return places.setdefault(value if isinstance(value, str) else written(value), len(places))

        def placed(value: Any) -> Any:
            if isinstance(value, Reference):
                return Placed(value.value, (place(value.shape), place(value.strides), place(value.offset)))
            return Placed(None, (place(value),)) if isinstance(value, SymbolicNumber) else value

        self.shapes = [(place(each.shape), place(each.strides)) for each in self.values]
        self.outputs = [placed(each) for each in program.outputs]
        self.copies = [(placed(each), at) for each, at in program.copies]
        self.arguments = [(map_aggregate(each.args, placed), map_aggregate(each.kwargs, placed)) for each in self.calls]
        self.recipes = [(place(each.shape), place(each.strides), place(sizes_in(each.made_by[1:]))) for each in made]
        self.nanoseconds, self.flags = place(program.nanoseconds), [place(each) for each in program.flags]
        numbers = [place(each) for each in sizes.numbers]
        self.order = [numbers[each] for each in program.order]  # the numbers of the table that the code reads
        self.measure = sizes.function(f"[{', '.join(places)}]")
        # Values whose sizes are plain numbers are those of all instances.
        calls = set(self.calls)
        self.symbolic: list[tuple[Any, ...]] = [
            (value, *placed_at)
            for value, placed_at in zip(self.values, self.shapes)
            if value in calls or any(isinstance(each, SymbolicNumber) for each in (*value.shape, *value.strides))
        ]
        self.symbolic += list(zip(made, *zip(*self.recipes))) if made else []
        self.renamed = {each for each, *_ in self.symbolic}
        self.lives = list(schedule.live_ranges.items())
        self.memory_plans: dict[tuple[int, ...], tuple[list[int], int]] = {}  # by sizes: offsets, and the size of the arena

    def instance(self, values: Mapping[str, int]) -> CompiledSchedule:
        """The compiled schedule for some sizes, for which the guards must hold."""
        program = self.program
        numbers = self.measure(**values)
        copies: dict[Value, Value] = {}
        for value, shape, strides, *recipe in self.symbolic:
            sized: Any = object.__new__(type(value))
            sized.__dict__.update(value.__dict__)
            copies[value] = sized
            sized.shape, sized.strides = numbers[shape], numbers[strides]
            if recipe:
                sized.array = remade(sized.made_by, iter(numbers[recipe[0]]))

        def filled(value: Any) -> Any:
            if not isinstance(value, Placed):
                return value
            sizes = [numbers[each] for each in value.places]
            return sizes[0] if value.value is None else Reference(copies.get(value.value, value.value), *sizes)

        for call, (args, kwargs) in zip(self.calls, self.arguments):
            sized_call: Any = copies[call]
            sized_call.args, sized_call.kwargs = map_aggregate(args, filled), map_aggregate(kwargs, filled)
            sized_call.others = [copies.get(each, each) for each in call.others]
        instance = copy.copy(program)
        instance.parts = [copies[each] if isinstance(each, Call) else each for each in program.parts]
        instance.copies = [(filled(each), at) for each, at in self.copies]
        instance.inputs = [copies.get(each, each) for each in program.inputs]  # type: ignore[misc]
        instance.constants = [copies.get(each, each) for each in program.constants]  # type: ignore[misc]
        instance.roots = [copies.get(each, each) for each in program.roots]
        instance.outputs = [filled(each) for each in self.outputs]
        instance.offsets, instance.arena = self.memory_plan(copies)
        instance.slots = {copies.get(each, each): slot for each, slot in program.slots.items()}
        instance.numbers = np.array([numbers[each] for each in self.order], np.int64)
        instance.nanoseconds, instance.splits = numbers[self.nanoseconds], program.splits or any(numbers[each] for each in self.flags)
        instance.sizes, instance.spaces, instance.launchers, instance.filled = None, [], {}, True
        instance.calls, instance.launched_from = 0, 2  # sizes that grow from call to call are seen once
        return instance

    def memory_plan(self, copies: Mapping[Value, Value]) -> tuple[dict[Value, int], int]:
        """The offsets of values in the arena, and its size: planned for sizes rounded up, so that sizes that grow by one have one plan."""
        values = [copies.get(each, each) for each, _ in self.lives]
        sizes = tuple([rounded(each.size * each.dtype.itemsize) for each in values])
        plan = self.memory_plans.get(sizes)
        if plan is None:
            offsets = first_fit([(size, *life) for size, (_, life) in zip(sizes, self.lives)])
            plan = self.memory_plans[sizes] = offsets, max([offset + size for offset, size in zip(offsets, sizes)], default=0)
            while len(self.memory_plans) > PLANS:
                del self.memory_plans[next(iter(self.memory_plans))]
        return dict(zip(values, plan[0])), plan[1]


def rounded(size: int) -> int:
    """A number of bytes, rounded up by at most an eighth to a multiple of the alignment."""
    unit = max(ALIGNMENT, 1 << max(0, size.bit_length() - 4))
    return -(-max(size, 1) // unit) * unit


def remade(made_by: Any, numbers: Iterator[Any]) -> Any:
    """The array that a factory op makes, with numbers for its symbolic arguments."""
    name, *arguments = made_by
    args, kwargs = map_aggregate(arguments, lambda each: next(numbers) if isinstance(each, SymbolicNumber) else each)
    return table[name].call(*args, **kwargs)._array.copy(order="C")


def sizes_in(value: Any) -> list[Any]:
    """The symbolic numbers in an argument."""
    numbers: list[Any] = []
    map_aggregate(value, lambda each: numbers.append(each) if isinstance(each, SymbolicNumber) else None)
    return numbers

"""Branches and loops under a capture: one node each, with bodies that are captured as graphs of their own.

Both branches run, on real values: the one that is not taken for what it would do, after which its writes are undone.  The body of
a loop is captured once, for any iteration: what differs from one iteration to the next (sizes, numbers) becomes a symbol.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core.base import Spec, TensorBase, make
from ...core.dtypes import BY_NUMPY
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import Expression, SymbolicFloat, SymbolicInt
from ...graph import Node, control
from ..tracer.tracer import TracerWarning
from . import functional_control
from .dynamic_lists import example_of, of_numbers, sequence_from, stacked
from .other_sizes import other_sizes
from .python_functions import Maybe, as_tensor
from .region_tracer import RegionTracer, copied, in_body

# -- values that go in and out -------------------------------------------------------------------------------------------


def flatten(value: Any) -> list[Any]:
    """What is in nested containers, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    elif is_object(value):
        value = [getattr(value, name) for name in attributes_of(value)]
    if isinstance(value, (tuple, list)):
        return [leaf for each in value for leaf in flatten(each)]
    return [value]


def is_object(value: Any) -> bool:
    """Whether this is an object of a scripted class."""
    return "_script_class_type" in vars(type(value))


def attributes_of(value: Any) -> list[str]:
    """The attributes of an object of a scripted class."""
    return list(vars(type(value))["_script_class_type"].described.attributes)


def rebuild(value: Any, leaves: Iterator[Any]) -> Any:
    """Nested containers with other leaves."""
    if isinstance(value, dict):
        return {key: rebuild(each, leaves) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        items = [rebuild(each, leaves) for each in value]
        if isinstance(value, list):
            return items
        return tuple.__new__(type(value), items) if hasattr(value, "_fields") else tuple(items)
    if is_object(value):
        made = object.__new__(type(value))
        for name in attributes_of(value):
            object.__setattr__(made, name, rebuild(getattr(value, name), leaves))
        return made
    return next(leaves)


def shape_of_containers(value: Any) -> Any:
    """Nested containers without what is in them, to compare."""
    if isinstance(value, dict):
        return {key: shape_of_containers(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return ["list" if isinstance(value, list) else "tuple", *map(shape_of_containers, value)]
    if is_object(value):
        return [type(value), *(shape_of_containers(getattr(value, name)) for name in attributes_of(value))]
    return None


def is_unset(value: Any) -> bool:
    """Whether a value is that of a variable which is unset on this path."""
    return value is control.UNSET


def filled(value: Any, like: Any) -> Any:
    """A value; where it is that of a variable which has none, and another one is a tuple, a tuple of such values."""
    if not isinstance(like, tuple):
        return value
    if is_unset(value):
        return rebuild(like, itertools.repeat(control.UNSET))
    if not isinstance(value, tuple) or len(value) != len(like):
        return value
    parts = [filled(each, other) for each, other in zip(value, like)]
    return tuple.__new__(type(value), parts)


class Unfilled:
    """A variable that has no value before a loop, and a tuple after it."""

    def __init__(self, example: Any) -> None:
        self.example = example

    def packed(self, value: Any) -> Any:
        """The value, as a tuple in any case."""
        return filled(value, self.example)

    def unpacked(self, value: Any) -> Any:
        """The same."""
        return value


def kind_of(value: Any) -> str:
    """How a leaf is carried: "tensor", "int", "bool", "float", "unset", or "constant"."""
    if isinstance(value, TensorBase):
        return "tensor"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if value is None or isinstance(value, Maybe):
        return "optional"
    return "unset" if is_unset(value) else "constant"


def equal(a: Any, b: Any) -> bool:
    """Whether two leaves are the same whatever the inputs are."""
    if isinstance(a, TensorBase) or isinstance(b, TensorBase):
        return a is b
    if isinstance(a, SymbolicFloat) or isinstance(b, SymbolicFloat):
        return a is b
    if isinstance(a, int) and isinstance(b, int):
        return isinstance(a, bool) == isinstance(b, bool) and Expression.of(a) == Expression.of(b)
    return type(a) is type(b) and (a is b or a == b)


def known_sizes(capture: Any, shape: tuple[Any, ...]) -> bool:
    """Whether all sizes follow from symbols that a capture has."""
    return all(not isinstance(each, SymbolicInt) or each.expression.symbols() <= set(capture.symbols) for each in shape)


def arrange(tracer: RegionTracer, first: list[Node], inputs: list[Node]) -> None:
    """Put the placeholders of a body in order: those given, then one for each node of the graph around."""
    wanted = [*first, *(tracer.from_around(each) for each in inputs)]
    for each in reversed(wanted):
        next(iter(tracer.graph.nodes)).prepend(each)


def emit(capture: Any, target: Any, args: tuple[Any, ...], bodies: dict[str, RegionTracer]) -> Node:
    """A node with captured bodies."""
    node = capture.graph.call_function(target, args)
    node.meta["source"], node.meta["module"] = capture.where()
    node.meta["bodies"] = {name: each.graph for name, each in bodies.items()}
    root = getattr(capture, "root", capture)
    for each in bodies.values():
        root.bodies[each.graph] = each
    capture.depends.add(node)
    return node


def part(capture: Any, node: Node, index: int) -> Node:
    """One of the results of a node."""
    return capture.part(node, index, True)  # type: ignore[no-any-return]


def rewritten(capture: Any, tensors: list[tuple[Any, Node, tuple[int, ...]]]) -> None:
    """Tensors of a capture were written to inside a body: from here on they are other values."""
    storages = {}
    for tensor, node, shape in tensors:
        capture.bind(tensor, node, shape)
        if tensor._storage is not None:
            storages[id(tensor._storage)] = tensor._storage
    for key, storage in storages.items():
        capture.aliases.held.append(storage)
        capture.aliases.versions[key] = capture.aliases.versions.get(key, 0) + 1
    for tensor, _, _ in tensors:
        if tensor._storage is not None:
            capture.entries[id(tensor)].version = capture.aliases.versions[id(tensor._storage)]


# -- branches ------------------------------------------------------------------------------------------------------------


def take_condition(capture: Any, condition: Any) -> None:
    """A condition that nothing has read yet may be an input of the capture: then it is one from here on, and not what it holds in this run."""
    if id(condition) not in capture.entries and capture.can_take(condition):
        capture.node_of(condition)


def branch(condition: Any, *inputs: Any, bodies: dict[str, Callable[..., Any]]) -> Any:
    """``control.branch`` under a capture."""
    capture = state.capture
    if not isinstance(condition, TensorBase):
        return control.branch(condition, *inputs, bodies=bodies)
    need_values(capture)
    take_condition(capture, condition)
    if not capture.is_traced(condition) or condition._array.__class__ is Spec:
        return control.branch(bool(condition._array) if condition._array.__class__ is not Spec else True, *inputs, bodies=bodies)
    if capture.keeps_control:
        return functional_control.cond(condition, inputs, bodies)
    taken = "then" if bool(condition._array) else "otherwise"
    other = "otherwise" if taken == "then" else "then"
    node = capture.argument(condition)
    speculated = run_body(capture, bodies[other], inputs, condition=(node, other == "then"))
    if isinstance(speculated, CaptureError):
        raise speculated
    if getattr(speculated, "deliberate", False):
        reason = f"{type(speculated).__name__}: {speculated}".splitlines()[0]
        capture_warning(capture, f"a branch that this run does not take raises ({reason}): the capture always takes the other one")
        return bodies[taken](*inputs)
    if isinstance(speculated, Exception):
        speculated = run_at_other_sizes(capture, bodies[other], inputs, (node, other == "then"), speculated)
    found = run_body(capture, bodies[taken], inputs, keep=True, condition=(node, taken == "then"))
    if isinstance(found, Exception):
        raise found
    if isinstance(capture, RegionTracer):  # itself a trial
        capture.undo += found[0].undo
    # What a branch does to lists is part of what it gives.
    sides = {taken: found, other: speculated}
    given = list_results(sides)
    changed = list({id(items): (items, before) for side in sides.values() for items, before, _ in side[2]}.values())
    contents = [{name: contents_after(side, items, before) for name, side in sides.items()} for items, before in changed]
    collected = [is_collected(capture, sides, items, after) for (items, _), after in zip(changed, contents)]
    for name, side in sides.items():
        values: list[Any] = []
        for (items, _), after, whole in zip(changed, contents, collected):
            values.append(collect(side, items, after[name], after.values()) if whole else after[name])
        side[1] = (side[1], values)
    result, joined = join(capture, condition, sides["then"], sides["otherwise"], found)
    if given:
        result = tuple([sequence_from(given[at][0], each, given[at][1]) if at in given else each for at, each in enumerate(result)])
    for (items, _), after, whole, value in zip(changed, contents, collected, joined):
        items[:] = after[taken] if whole else value
        if whole:
            sequence_from(items, value, any(holds_numbers(sides[name][0], items, each) for name, each in after.items()))
    return result


def list_results(sides: dict[str, Any]) -> dict[int, tuple[list[Any], bool]]:
    """The lists among what two branches give whose length is not the same whichever is taken, each as one tensor from here on.

    Of each, by its place: the items of this run, and whether they are numbers.
    """
    (_, first), (_, second) = sides.items()  # the first is the one that is taken
    found: dict[int, tuple[list[Any], bool]] = {}
    if not isinstance(first[1], tuple) or not isinstance(second[1], tuple):
        return found
    for at, pair in enumerate(zip(first[1], second[1])):
        if not all(isinstance(each, list) for each in pair) or pair[0] is pair[1]:
            continue
        known = [side[0].sequences.get(id(each)) for side, each in zip((first, second), pair)]
        if len(pair[0]) == len(pair[1]) and known == [None, None]:
            continue
        example = next((each for each in map(example_of, pair, known) if each is not None), None)
        found[at] = list(pair[0]), any(holds_numbers(side[0], each, each) for side, each in zip((first, second), pair))
        for side, items, sequence in zip((first, second), pair, known):
            whole = in_body(side[0], lambda items=items, sequence=sequence, example=example: stacked(items, sequence, example))  # type: ignore[misc]
            side[1] = (*side[1][:at], whole, *side[1][at + 1 :])
    return found


def holds_numbers(capture: Any, items: list[Any], contents: list[Any]) -> bool:
    """Whether a list, with these contents, is one of numbers."""
    return of_numbers(contents) or getattr(capture.sequences.get(id(items)), "numbers", False)


def contents_after(side: Any, items: list[Any], before: list[Any]) -> list[Any]:
    """What a list holds after one of the branches."""
    return next((contents for changed, _, contents in side[2] if changed is items), before)


def is_collected(capture: Any, sides: dict[str, Any], items: list[Any], after: dict[str, list[Any]]) -> bool:
    """Whether a list is kept as one tensor: its length depends on which branch is taken, or on something before or in them."""
    return len({len(each) for each in after.values()}) > 1 or any(id(items) in side[0].sequences for side in sides.values())


def collect(side: Any, items: list[Any], contents: list[Any], others: Any) -> Any:
    """The items of a list after one of the branches as one tensor."""
    tracer = side[0]
    sequence = tracer.sequences.get(id(items))
    example = next((each for each in (example_of(other, sequence) for other in others) if each is not None), None)
    return in_body(tracer, lambda: stacked(contents, sequence, example))


def need_values(capture: Any) -> None:
    """Control flow is captured on real values: a capture on shapes alone gives up here."""
    if capture.without_values:
        raise CaptureError("branches and loops are captured on values, and there are only shapes")


def capture_warning(capture: Any, message: str) -> None:
    """A warning at the user's line."""
    source, _ = capture.where()
    if source is None:
        warnings.warn(message, TracerWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, TracerWarning, source[0], source[1])


def run_at_other_sizes(
    capture: Any, body: Callable[..., Any], inputs: tuple[Any, ...], condition: tuple[Node, bool], error: Exception
) -> Any:
    """Capture a branch that does not run on the values of this run at sizes for which it is taken; its error, if there are none."""
    for sizes in other_sizes(capture, *condition):
        try:
            with sizes:
                found = run_body(capture, body, sizes.value(inputs), condition=condition)
        except CaptureError:
            continue
        if not isinstance(found, Exception):
            return found
    raise CaptureError(
        f"a branch that this run does not take can't be captured ({type(error).__name__}: {error}): a file or graph without it would be wrong for "
        "inputs that take it. Give example inputs for which it runs, or leave dimensions that its condition depends on out of the dynamic ones"
    ) from error


def run_body(
    capture: Any, body: Callable[..., Any], inputs: tuple[Any, ...], keep: bool = False, condition: tuple[Node, bool] | None = None
) -> Any:
    """Capture a body: its tracer, its result and what it did to lists, or the exception that it raised.

    With ``keep`` its writes to memory stay; lists get back what they held in any case.  It runs where a condition has a value.
    """
    tracer = RegionTracer(capture)
    tracer.condition = condition
    lists = snapshot(inputs)
    try:
        with tracer:
            result = body(*inputs)
    except Exception as error:  # whatever the user's branch raises
        tracer.restore()
        put_back(lists)
        return error
    if not keep:
        tracer.restore()
    try:
        changed = changes(lists)
        result = with_own_lists(tracer, result, [items for items, _, _ in changed])
        for items, before in lists:  # what another run would do to a list counts too
            if isinstance(items, list) and tracer.sequences.get(id(items)) is not capture.sequences.get(id(items)):
                if not any(items is each for each, _, _ in changed):
                    changed.append((items, before, list(items)))
    except CaptureError as error:
        return error
    finally:
        put_back(lists)
    return [tracer, result, changed]


def with_own_lists(tracer: RegionTracer, result: Any, changed: list[list[Any]]) -> Any:
    """The result of a body with copies of lists that it has changed: those get back what they held."""
    if not changed or not isinstance(result, tuple):
        return result
    made = []
    for each in result:
        if any(each is items for items in changed):
            sequence = tracer.sequences.get(id(each))
            each = list(each)
            if sequence is not None:
                tracer.sequences[id(each)] = sequence.holding(each)
        made.append(each)
    return tuple(made)


def changes(lists: list[tuple[Any, Any]]) -> list[tuple[list[Any], list[Any], list[Any]]]:
    """The lists of a snapshot that hold something else now: each with what it held and what it holds."""
    found = []
    for value, before in lists:
        if len(value) == len(before) and all(map(operator.is_, _values(value), _values(before))):
            continue
        if isinstance(value, dict):
            raise CaptureError("a dict is changed inside a branch or a loop that depends on the inputs: that can't be captured")
        found.append((value, before, list(value)))
    return found


def _values(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container


def snapshot(values: Any) -> list[tuple[Any, Any]]:
    """The lists and dicts in values, and in the attributes of objects of scripted classes, with what they hold now."""
    found: list[tuple[Any, Any]] = []
    objects: set[int] = set()

    def walk(value: Any) -> None:
        if isinstance(value, (list, dict)):
            found.append((value, value.copy()))
            inside: Any = value.values() if isinstance(value, dict) else value
        elif isinstance(value, tuple):
            inside = value
        elif isinstance(value, (TensorBase, int, float)) or callable(value) or id(value) in objects:
            return
        else:
            objects.add(id(value))
            inside = getattr(value, "__dict__", {}).values()
        for each in inside:
            walk(each)

    walk(values)
    return found


def put_back(lists: list[tuple[Any, Any]]) -> None:
    """Give lists and dicts back what they held."""
    for value, before in lists:
        if isinstance(value, dict):
            value.clear()
            value.update(before)
        else:
            value[:] = before


def join(capture: Any, condition: Any, then: Any, otherwise: Any, taken: Any) -> Any:
    """The node for two captured branches, and the values of the one that was taken as its results."""
    tracers = {"then": then[0], "otherwise": otherwise[0]}
    then[1], otherwise[1] = filled(then[1], otherwise[1]), filled(otherwise[1], then[1])
    if shape_of_containers(then[1]) != shape_of_containers(otherwise[1]):
        raise CaptureError("the two branches of an if give containers of different lengths or keys: that can't be captured")
    pairs = list(zip(flatten(then[1]), flatten(otherwise[1])))
    real = flatten(taken[1])
    outputs: tuple[list[Any], list[Any]] = ([], [])
    results: list[Any] = []  # for each leaf: the position of its output, or None
    for first, second in pairs:
        if equal(first, second) and not any(isinstance(each, TensorBase) and each in written_list(tracers) for each in (first, second)):
            results.append(None)
            continue
        kinds = {kind_of(first), kind_of(second)} - {"unset"}
        inner = {kind_of(each.value if isinstance(each, Maybe) else each) for each in (first, second) if each is not None} - {"unset"}
        if "optional" in kinds and len(inner) == 1 and inner <= {"tensor", "int", "float", "bool"}:
            results.append((len(outputs[0]), len(outputs[0]) + 1))
            for side, tracer, value, example in ((outputs[0], then[0], first, second), (outputs[1], otherwise[0], second, first)):
                example = example.value if isinstance(example, Maybe) else example
                there, tensor = (value.present, value.value) if isinstance(value, Maybe) else (value is not None, value)
                side.append(output_of(tracer, there, {"bool"}, True, condition))
                side.append(output_of(tracer, control.UNSET if tensor is None else tensor, inner, example, condition))
            continue
        if "constant" in kinds or "optional" in kinds:
            raise CaptureError(
                f"a variable is {show(first)} after one branch of an if and {show(second)} after the other: that can't be captured, give it a tensor "
                "or a number in both"
            )
        results.append(len(outputs[0]))
        for side, tracer, value, example in ((outputs[0], then[0], first, second), (outputs[1], otherwise[0], second, first)):
            side.append(output_of(tracer, value, kinds, example, condition))
    written = list({id(each): each for tracer in tracers.values() for each in tracer.written()}.values())
    for each in written:
        for side, tracer in ((outputs[0], then[0]), (outputs[1], otherwise[0])):
            with tracer:
                side.append(tracer.node_of(each))
    if not outputs[0]:
        return taken[1]
    inputs = list(dict.fromkeys([*then[0].captured, *otherwise[0].captured]))
    for tracer, values in ((then[0], outputs[0]), (otherwise[0], outputs[1])):
        tracer.graph.output(tuple(values))
        arrange(tracer, [], inputs)
    test = capture.argument(condition)
    node = emit(capture, control.branch, (test, *inputs), tracers)
    node.meta["val"] = tuple([None] * len(outputs[0]))
    leaves = []
    for position, value, pair in zip(results, real, pairs):
        if isinstance(position, tuple):
            value = maybe_of(capture, node, position, value, pair, outputs)
            there = [each.value if isinstance(each, Maybe) else each for each in pair]
            share(capture, value.value, related(capture, there))
        elif position is not None:
            value = result_of(capture, node, position, value, (outputs[0][position], outputs[1][position]))
            share(capture, value, related(capture, pair))
        leaves.append(value)
    for at, (one, first) in enumerate(zip(leaves, pairs)):
        for other, second in zip(leaves[:at], pairs[:at]):
            if isinstance(one, TensorBase) and isinstance(other, TensorBase) and (first[0] is second[0] or first[1] is second[1]):
                share(capture, one, [other])
    parts = []
    for at, each in enumerate(written, len(outputs[0]) - len(written)):
        nodes = (outputs[0][at], outputs[1][at])
        made = part(capture, node, at)
        parts.append((each, made, joined_shape(capture, made, each._array.shape, nodes)))
    rewritten(capture, parts)
    return rebuild(taken[1], iter(leaves))


def written_list(tracers: dict[str, RegionTracer]) -> list[Any]:
    """Identity-compared tensors that any of the bodies wrote to."""
    return _Identities(each for tracer in tracers.values() for each in tracer.written())


class _Identities(list[Any]):
    def __contains__(self, item: object) -> bool:
        return any(each is item for each in self)


def show(value: Any) -> str:
    """A leaf, for messages."""
    return "a tensor" if isinstance(value, TensorBase) else repr(value)


def output_of(tracer: RegionTracer, value: Any, kinds: set[str], example: Any, condition: Any) -> Any:
    """A leaf as an output of a body; numbers that differ become tensors, but integers stay numbers."""

    def make_value() -> Any:
        leaf = value
        if is_unset(value):
            leaf = blank(tracer, example)
        if kinds != {"int"} and not isinstance(leaf, TensorBase):
            leaf = as_tensor(leaf)
            if "float" in kinds and leaf._array.dtype.kind != "f":
                leaf = leaf + 0.0
        state.capture = None
        try:
            return tracer.argument(leaf)
        finally:
            state.capture = tracer

    return in_body(tracer, make_value)


def blank(tracer: RegionTracer, example: Any) -> Any:
    """A placeholder value like another one, where its elements are never read."""
    if not isinstance(example, TensorBase):
        return 0 if isinstance(example, int) and not isinstance(example, bool) else (False if isinstance(example, bool) else 0.0)
    array = example._array
    return make(np.zeros(tuple(int.__int__(each) for each in array.shape), array.dtype))


def spec_of(node: Any) -> Any:
    """What is known of an output."""
    return node.meta.get("val") if isinstance(node, Node) else node


def result_of(capture: Any, node: Node, position: int, value: Any, nodes: tuple[Any, Any]) -> Any:
    """A result of a branch: a tensor, or an integer that the capture does not know."""
    made = part(capture, node, position)
    specs = [spec_of(each) for each in nodes]
    if not any(isinstance(each, Spec) for each in specs):
        made.meta["val"] = found = capture.new_symbol(made, None, int.__int__(value) if not is_unset(value) else 0)
        return found
    first, second = (each if isinstance(each, Spec) else specs[1 - at] for at, each in enumerate(specs))
    if first.dtype != second.dtype:
        raise CaptureError(
            f"a variable is of type torch.{BY_NUMPY[first.dtype].name} after one branch of an if and torch.{BY_NUMPY[second.dtype].name} after "
            "the other: that can't be captured, convert one with .to()"
        )
    if not isinstance(value, TensorBase):
        value = make(np.zeros(first.shape, first.dtype)) if is_unset(value) else make(np.asarray(value, first.dtype))
    elif known(capture, value):
        value = copied(value)
    capture.bind(value, made, joined_shape(capture, made, value._array.shape, nodes))
    return value


def share(capture: Any, value: Any, others: list[Any]) -> None:
    """Note that a value may alias others: a write to either makes the value of the other unknown."""
    if isinstance(value, TensorBase):
        for each in others:
            capture.aliases.share(value, each)


def related(capture: Any, values: Any) -> list[Any]:
    """The tensors among values that a capture knows, also as one that may be the same as another."""
    return [each for each in values if isinstance(each, TensorBase) and (known(capture, each) or id(each) in capture.aliases.partners)]


def maybe_of(capture: Any, node: Node, positions: tuple[int, int], value: Any, pair: tuple[Any, Any], outputs: Any) -> Maybe:
    """A result that is a tensor after one branch and None after the other."""
    other = next(each.value if isinstance(each, Maybe) else each for each in pair if each is not None and not is_unset(each))
    there, tensor = (value.present, value.value) if isinstance(value, Maybe) else (value is not None, other if value is None else value)
    if isinstance(there, TensorBase):
        there = bool(there._array)
    first, second = positions
    present = result_of(capture, node, first, there, (outputs[0][first], outputs[1][first]))
    return Maybe(present, result_of(capture, node, second, tensor, (outputs[0][second], outputs[1][second])))


def known(capture: Any, tensor: Any) -> bool:
    """Whether a capture has a node for a tensor already."""
    return capture.knows(tensor) if isinstance(capture, RegionTracer) else id(tensor) in capture.entries or id(tensor) in capture.attributes


def joined_shape(capture: Any, made: Node, actual: tuple[int, ...], nodes: tuple[Any, Any]) -> tuple[int, ...]:
    """The shape of what one of two branches gives: where they differ, sizes that the capture does not know."""
    shapes = [spec_of(each).shape for each in nodes if isinstance(spec_of(each), Spec)]
    sizes: list[int] = []
    for dim, size in enumerate(actual):
        options = [shape[dim] for shape in shapes if len(shape) == len(actual)]
        if len(options) == len(shapes) and all(equal(each, options[0]) for each in options) and known_sizes(capture, (options[0],)):
            sizes.append(SymbolicInt(size, options[0].expression) if isinstance(options[0], SymbolicInt) else size)
        else:
            sizes.append(capture.new_symbol(made, dim, size))
    return tuple(sizes)

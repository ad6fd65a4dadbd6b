"""Operators with bodies: ``If`` and ``Loop`` are the control flow of our graphs; ``Scan`` is a loop, ``SequenceMap`` one over a list."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...capture.compile.annotations import mark
from ...capture.control.branches import branch as captured_branch
from ...capture.control.dynamic_lists import stack as captured_stack
from ...capture.control.loops import loop as captured_loop
from ...core.base import TensorBase
from ...core.state import state
from ...graph import control as flow
from ..errors import ModelFileError
from .builder import ModelBuilder, control
from .numbers import as_numbers
from .registry import dtype_of, ops
from .scope import GraphScope, NamedValue, Scope

ENDLESS = 1 << 62  # as a count: no limit
Bodies = dict[str, Callable[..., Any]]


# -- what the nodes call -----------------------------------------------------------------------------------------------


def choose(condition: Any, *inputs: Any, bodies: Bodies) -> Any:
    """One of two bodies."""
    if isinstance(condition, TensorBase) and condition._array.ndim:
        condition = ops.reshape(condition, ())
    return (flow.branch if state.capture is None else captured_branch)(condition, *inputs, bodies=bodies)


def repeat(
    count: Any,
    condition: Any,
    carried: Sequence[Any],
    inputs: Sequence[Any],
    scans: Sequence[tuple[int, tuple[int, ...]]] = (),
    *,
    bodies: Bodies,
) -> tuple[Any, ...]:
    """A loop that carries values along and stacks what its body gives beside them; ``scans`` says the type of each such tensor."""
    count = as_numbers(count)
    count = count[0] if isinstance(count, list) else count
    if count is not None and type(count) is int and count >= ENDLESS:
        count = None
    if isinstance(condition, TensorBase) and condition._array.ndim:
        condition = ops.reshape(condition, ())
    rows: tuple[list[Any], ...] = tuple([[] for _ in scans])
    width = len(carried)

    def body(index: Any, *values: Any) -> Any:
        given = values[width : width + len(rows)]
        proceed, *results = bodies["body"](index, *values[:width], *values[width + len(rows) :])
        for row, each in zip(given, results[width:]):
            row.append(each)
        return (proceed, *results[:width])

    run = flow.loop if state.capture is None else captured_loop
    made = run(count, condition, tuple(carried), (*rows, *inputs), bodies={"body": body})
    return (*made, *(stacked(row, *scan) for row, scan in zip(rows, scans)))


def stacked(row: list[Any], number: int, shape: tuple[int, ...]) -> Any:
    """The tensors that the iterations of a loop gave, as one."""
    if state.capture is not None and id(row) in state.capture.sequences:
        return captured_stack(row)
    return ops.stack(row) if row else ops.zeros((0, *shape), dtype=dtype_of(number))


def scan(
    states: Sequence[Any], scanned: Sequence[Any], inputs: Sequence[Any], outputs: Any, axes: Any, *, bodies: Bodies
) -> tuple[Any, ...]:
    """A loop over the slices of tensors; ``axes`` are axis and direction of each tensor that is cut, and of each that is put together."""
    cut, joined = axes
    size = scanned[0].shape[cut[0][0]]

    def body(index: Any, *values: Any) -> Any:
        given = values[: len(states)]
        items = [
            ops.select(each, axis, size - 1 - index if reverse else index)
            for each, (axis, reverse) in zip(values[len(states) : len(states) + len(scanned)], cut)
        ]
        return (True, *bodies["body"](*given, *items, *values[len(states) + len(scanned) :]))

    made = repeat(size, True, states, (*scanned, *inputs), outputs, bodies={"body": body})
    results = list(made[: len(states)])
    for each, (axis, reverse) in zip(made[len(states) :], joined):
        each = ops.flip(each, (0,)) if reverse else each
        results.append(ops.movedim(each, 0, axis) if axis else each)
    return tuple(results)


def scan_batch(
    lengths: Any, states: Sequence[Any], scanned: Sequence[Any], inputs: Sequence[Any], outputs: Any, axes: Any, *, bodies: Bodies
) -> Any:
    """``Scan`` of opset 8: the same for each row of a batch, as far as its length goes; what is put together is filled up with zeros."""
    limits = as_numbers(lengths)
    rows = []
    for at in range(int(scanned[0].shape[0])):
        part = [each[at] if limits is None else each[at][: limits[at]] for each in scanned]
        rows.append(scan([each[at] for each in states], part, inputs, outputs, axes, bodies=bodies))
    longest = int(scanned[0].shape[1])
    made = []
    for position, column in enumerate(zip(*rows)):
        if position >= len(states):
            column = tuple(
                [
                    ops.cat([each, ops.zeros_like(each[:1]).expand(longest - len(each), *each.shape[1:])]) if len(each) < longest else each
                    for each in column
                ]
            )
        made.append(ops.stack(list(column)))
    return tuple(made)


def map_sequence(given: Sequence[Any], inputs: Sequence[Any], count: int, *, bodies: Bodies) -> tuple[Any, ...]:
    """A body on each item of sequences, beside which tensors are given as they are."""
    made: list[list[Any]] = [[] for _ in range(count)]
    for index in range(len(given[0])):
        results = bodies["body"](*[each[index] if isinstance(each, list) else each for each in given], *inputs)
        for row, each in zip(made, results):
            row.append(each)
    return tuple(made)


for _function in (choose, repeat, scan, scan_batch, map_sequence):
    mark(_function, "recorded")


# -- how they are built ------------------------------------------------------------------------------------------------


def body_attribute(node: Any, name: str, owner: str) -> Any:
    """The graph of an attribute."""
    found = next((each.g for each in node.attribute if each.name == name), None)
    if found is None:
        raise ModelFileError(f"{owner} lacks the attribute '{name}'")
    return found


def attribute(node: Any, name: str, default: Any) -> Any:
    """An attribute that is a number or a list of them."""
    found = next((each for each in node.attribute if each.name == name), None)
    return default if found is None else list(found.ints) if isinstance(default, list) else found.i


def results(scope: Scope, node: Any, made: Any, types: list[Any]) -> None:
    """Name the results of a node that gives a tuple."""
    for position, name in enumerate(node.output):
        if name:
            part = scope.graph.call_function(operator.getitem, (made, position), name=name)
            scope.define(name, NamedValue(part, type=scope.types.get(name) or types[position]))


def finish(inside: Scope, values: list[NamedValue]) -> None:
    """End the graph of a body with what it gives."""
    inside.graph.output(tuple([inside.numbers(each) if is_truth(each) else inside.tensor(each) for each in values]))
    inside.graph.eliminate_dead_code()


def is_truth(value: NamedValue) -> bool:
    """Whether a value is a condition that is known."""
    return value.is_constant and value.type == 9 and not isinstance(value.numbers, list)


def import_if(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``If``: one of two bodies, on what they take from outside."""
    graphs = {"then": body_attribute(node, "then_branch", owner), "otherwise": body_attribute(node, "else_branch", owner)}
    for graph in graphs.values():
        if len(graph.output) != len(node.output):
            raise ModelFileError(f"{owner}: a body gives {len(graph.output)} values, and the node has {len(node.output)} outputs")
    condition = scope.find(node.input[0], owner)
    if condition.is_constant:
        known = condition.numbers
        chosen = graphs["then" if (known[0] if isinstance(known, list) else known) else "otherwise"]
        _, values = builder.body(scope, chosen, owner, inline=True)
        for name, value in zip(node.output, values):
            if name:
                scope.define(name, value)
        return
    frames: dict[str, GraphScope] = {}
    types: list[Any] = []
    for key, graph in graphs.items():
        inside, values = builder.body(scope, graph, owner)
        inside.graph.output(tuple([inside.tensor(each) for each in values]))
        frames[key], types = inside.frame, [each.type for each in values]
    # Both bodies take the same arguments: what each takes from outside, one after the other.
    counts = [len(each.captured) for each in frames.values()]
    for _ in range(counts[1]):
        frames["then"].input("unused")
    with frames["otherwise"].graph.inserting_before(None):
        for _ in range(counts[0]):
            frames["otherwise"].graph.placeholder("unused")
    arguments = (*frames["then"].arguments(), *frames["otherwise"].arguments())
    given = scope.numbers(condition) if scope.has_numbers(condition) else scope.tensor(condition)
    made = scope.graph.call_function(choose, (given, *arguments))
    made.meta["bodies"] = {key: each.graph for key, each in frames.items()}
    results(scope, node, made, types)


def described(graph: Any, position: int, value: NamedValue) -> tuple[int, tuple[int, ...]]:
    """Element type and sizes of what a body gives, as far as the file says them."""
    kind = graph.output[position].type.tensor_type
    return value.type or kind.elem_type or 1, tuple([each.dim_value for each in kind.shape.dim])


def import_loop(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``Loop``: a body up to so many times, as long as a condition holds; what it gives beside what it carries is stacked."""
    graph = body_attribute(node, "body", owner)
    inputs = [scope.find(each, owner) if each else None for each in node.input]
    carried = [each for each in inputs[2:] if each is not None]
    if len(graph.input) != len(carried) + 2 or len(graph.output) < len(carried) + 1 or len(node.output) > len(graph.output) - 1:
        raise ModelFileError(f"{owner}: its body does not take and give what is carried from one iteration to the next")
    frame = GraphScope(scope.frame)
    index = NamedValue(None, frame.input("index"), type=7)
    inside, values = builder.body(scope, graph, owner, {0: index, 1: NamedValue(None, True, type=9)}, frame=frame)
    finish(inside, values)
    scans = tuple([described(graph, position, each) for position, each in enumerate(values)][1 + len(carried) :])
    count = (
        None if not inputs or inputs[0] is None else scope.numbers(inputs[0]) if scope.has_numbers(inputs[0]) else scope.tensor(inputs[0])
    )
    condition: Any = True
    if len(inputs) > 1 and inputs[1] is not None:
        known = inputs[1]
        condition = scope.numbers(known) if is_truth(known) else scope.tensor(known)
    made = scope.graph.call_function(repeat, (count, condition, tuple([scope.tensor(each) for each in carried]), frame.arguments(), scans))
    made.meta["bodies"] = {"body": frame.graph}
    results(scope, node, made, [each.type for each in values[1:]])


def import_scan(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``Scan``: a loop over slices of its inputs."""
    graph = body_attribute(node, "body", owner)
    old = scope.opsets[""] < 9
    given = [scope.find(each, owner) for each in node.input[1 if old else 0 :]]
    count = attribute(node, "num_scan_inputs", 0)
    states = len(given) - count
    if not 0 < count <= len(given) or len(graph.input) != len(given) or len(graph.output) < states or len(node.output) > len(graph.output):
        raise ModelFileError(f"{owner}: its body does not take and give what is carried from one iteration to the next")
    inside, values = builder.body(scope, graph, owner)
    finish(inside, values)
    scanned, outputs = len(given) - states, len(values) - states
    zeros_in, zeros_out = [0] * scanned, [0] * outputs
    directions = attribute(node, "directions" if old else "scan_input_directions", zeros_in)
    cut = tuple(zip(attribute(node, "scan_input_axes", zeros_in), map(bool, directions)))
    joined = tuple(zip(attribute(node, "scan_output_axes", zeros_out), map(bool, attribute(node, "scan_output_directions", zeros_out))))
    if len(cut) != scanned or len(joined) != outputs:
        raise ModelFileError(f"{owner}: its axes and directions do not fit its inputs and outputs")
    tensors = [scope.tensor(each) for each in given]
    kinds = tuple([described(graph, position, each) for position, each in enumerate(values)][states:])
    lengths = scope.find(node.input[0], owner) if old and node.input[0] else None
    batch = () if not old else (None,) if lengths is None else (scope.tensor(lengths),)
    made = scope.graph.call_function(
        scan_batch if old else scan,
        (*batch, tuple(tensors[:states]), tuple(tensors[states:]), inside.frame.arguments(), kinds, (cut, joined)),
    )
    made.meta["bodies"] = {"body": inside.graph}
    results(scope, node, made, [each.type for each in values])


def import_sequence_map(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``SequenceMap``: a body on each item of a sequence."""
    graph = body_attribute(node, "body", owner)
    if len(graph.input) != len(node.input) or len(graph.output) < len(node.output):
        raise ModelFileError(f"{owner}: its body does not take and give as much as the node")
    given = [scope.find(each, owner) for each in node.input]
    inside, values = builder.body(scope, graph, owner)
    finish(inside, values)
    made = scope.graph.call_function(map_sequence, (tuple([scope.tensor(each) for each in given]), inside.frame.arguments(), len(values)))
    made.meta["bodies"] = {"body": inside.graph}
    results(scope, node, made, [each.type for each in values])


control.update({"If": import_if, "Loop": import_loop, "Scan": import_scan, "SequenceMap": import_sequence_map})

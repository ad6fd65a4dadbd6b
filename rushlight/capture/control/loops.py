"""Loops under a capture: the body captured once, for any iteration, as the body of one node."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...core.base import TensorBase, make
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import Expression, SymbolicInt, is_symbolic, plain
from ...graph import Node, control
from . import functional_control
from .branches import (
    Unfilled,
    arrange,
    changes,
    emit,
    flatten,
    is_unset,
    known,
    known_sizes,
    need_values,
    part,
    put_back,
    rebuild,
    related,
    rewritten,
    shape_of_containers,
    share,
    snapshot,
    take_condition,
)  # fmt: skip
from .carried_values import CarriedValue, result_shape
from .dynamic_lists import (
    InvalidatedList,
    OptionalExample,
    Ragged,
    RaggedExample,
    Sequence,
    argument,
    example_of,
    items_of,
    ragged_items_of,
    stacked,
    value_of_run,
)
from .python_functions import Maybe, as_tensor, truth
from .region_tracer import RegionTracer, copied, in_body, paused

_ROUNDS = 16  # how often a body is captured until what it carries no longer changes
_UNROLLED = 4096  # iterations of a loop that can only be written out one by one


class Attempt:
    """One capture of a body."""

    def __init__(
        self, capture: Any, count: Any, body: Callable[..., Any], carried: Any, inputs: Any, leaves: list[CarriedValue], extras: list[CarriedValue], held: list[Any], whole: list[Any]
    ) -> None:  # fmt: skip
        self.tracer = tracer = RegionTracer(capture)
        self.index = tracer.parameter("i")
        number = self.index.meta["val"] = tracer.new_symbol(self.index, None, 0)
        if isinstance(count, int):
            tracer.symbols[str(number.expression)].most = Expression.of(count) - Expression.of(1)
        given = rebuild(carried, iter([each.place(tracer, capture) for each in leaves]))
        for each in extras:
            each.place(tracer, capture)
        lists = snapshot((given, inputs))
        mine = lists_in(given)  # copies: what an iteration does to them is what it passes on
        reads = dict(tracer.aliases.list_reads)
        try:
            with tracer:
                self.condition, *new = body(number, *given, *inputs)
                self.condition = truth(self.condition)
            changed = [each for each in changes(lists) if not any(each[0] is items for items in whole)]
            self.new, different = flatten(new), shape_of_containers(tuple(new)) != shape_of_containers(tuple(carried))
            self.slots = carried_lengths(tracer, carried, new)
            self.kept, self.lost = carried_lists(carried, given, new, [items for items, _, _ in changed])
            self.changes = [each for each in changed if not any(each[0] is items for items in mine)]
            self.read = {key for key, times in tracer.aliases.list_reads.items() if times != reads.get(key)}
            others = [items for items, _ in lists if isinstance(items, list) and not any(items is each for each in mine)]
            self.collected = self.irregular(capture, others, whole)
            self.changes = [each for each in self.changes if not any(each[0] is items for items in held)]
        except CaptureError:
            raise
        except Exception as error:
            raise CaptureError(f"the body of a loop can't be captured for any iteration: {type(error).__name__}: {error}") from error
        finally:
            put_back(lists)
            self.touched = tracer.touched
            tracer.restore()
        # A list that grows is collected; of one whose items change, they are carried along.
        self.grown = [
            (items, after[len(before) :])
            for items, before, after in self.changes
            if len(after) > len(before) and all(map(operator.is_, after, before))
        ]
        if not self.slots and different:
            raise CaptureError("a loop changes the length of a list that it carries: that can't be captured")
        self.shapes = [tracer.shape_of(each) if isinstance(each, TensorBase) else () for each in self.new]

    def irregular(self, capture: Any, lists: list[Any], held: list[Any]) -> list[tuple[list[Any], Any]]:
        """The lists that grow in another way than by one tensor in each iteration, or are read, each with a tensor like its items."""
        found = []
        for items in lists:
            after = next((after for changed, _, after in self.changes if changed is items), None)
            before = next((before for changed, before, _ in self.changes if changed is items), items)
            sequence = self.tracer.sequences.get(id(items))
            one_by_one = (
                after is not None and len(after) == len(before) + 1 and isinstance(after[-1], TensorBase) and id(items) not in self.read
            )
            grown = sequence is not capture.sequences.get(id(items)) or (
                after is not None and len(after) != len(before) and not (one_by_one and all(map(operator.is_, after, before)))
            )
            if grown or (after is not None and id(items) in capture.sequences):
                if not any(items is each for each in held):
                    found.append((items, example_of(after or items, sequence)))
        return found

    def changed_lists(self) -> list[list[Any]]:
        """The lists whose items change."""
        grown = {id(items) for items, _ in self.grown}
        found = [(items, before, after) for items, before, after in self.changes if id(items) not in grown]
        if any(len(before) != len(after) for _, before, after in found):
            raise CaptureError("a loop changes the length of a list other than by append(): that can't be captured")
        return [items for items, _, _ in found]


def loop(
    count: Any,
    condition: Any,
    carried: tuple[Any, ...],
    inputs: tuple[Any, ...] = (),
    *,
    bodies: dict[str, Callable[..., Any]],
    scans: Any = (),
) -> Any:
    """``control.loop`` under a capture."""
    capture = state.capture
    need_values(capture)
    if isinstance(condition, TensorBase):
        take_condition(capture, condition)
    if isinstance(condition, TensorBase) and not capture.is_traced(condition):
        condition = bool(condition._array)
    if not isinstance(condition, TensorBase) and not condition:
        return tuple(carried)
    if type(count) is int and count <= 0:
        return tuple(carried)
    if capture.keeps_control:
        if isinstance(condition, TensorBase) or is_symbolic(count):
            return functional_control.while_loop(count, condition, carried, inputs, bodies["body"])
        return _unrolled(
            count,
            carried,
            inputs,
            bodies["body"],
            CaptureError("a loop of an exported program ends by values of its inputs after it has begun, or never"),
        )
    try:
        return with_lists(capture, count, condition, carried, inputs, bodies["body"])
    except CaptureError as error:
        if isinstance(count, SymbolicInt) or isinstance(condition, TensorBase) or (type(count) is int and count > _UNROLLED):
            raise
        reason = error
    return _unrolled(count, carried, inputs, bodies["body"], reason)


def _unrolled(count: int | None, carried: tuple[Any, ...], inputs: tuple[Any, ...], body: Callable[..., Any], reason: CaptureError) -> Any:
    """A loop that does not depend on the inputs, one iteration after the other."""
    index = 0
    while count is None or index < count:
        condition, *carried = body(index, *carried, *inputs)  # type: ignore[assignment]
        index += 1
        condition = truth(condition)
        if isinstance(condition, TensorBase):
            if state.capture.is_traced(condition):
                raise reason
            condition = bool(condition._array)
        if not condition:
            break
        if index >= _UNROLLED:
            raise reason
    return tuple(carried)


class ListsChange(Exception):
    """The body of a loop changes the items of lists, lets them grow now and then, or continues with one of another length."""

    def __init__(self, lists: list[list[Any]], growing: list[tuple[list[Any], Any]], slots: dict[int, Any] | None = None) -> None:
        self.lists = lists
        self.growing = growing
        self.slots = slots or {}


def with_lists(
    capture: Any, count: Any, condition: Any, carried: tuple[Any, ...], inputs: tuple[Any, ...], body: Callable[..., Any]
) -> Any:
    """A loop as one node; items of lists that its body changes are carried along, as is a tensor of all items of a list that grows."""
    lists: list[list[Any]] = []
    growing: list[tuple[list[Any], Any]] = []  # with a tensor like the items
    slots: dict[int, Any] = {
        at: example_of(each, capture.sequences[id(each)])
        for at, each in enumerate(carried)
        if isinstance(each, list) and id(each) in capture.sequences
    }

    def run(number: Any, *given: Any) -> Any:
        first, second = len(carried), len(carried) + len(lists)
        third = second + len(growing)
        for items, content in zip(lists, given[first:second]):
            items[:] = content
        if state.capture is not None:
            for (items, like), tensor in zip(growing, given[second:third]):
                state.capture.sequences[id(items)] = sequence_of(items, like, tensor)
        passed = [unpacked(each, slots[at]) if at in slots else each for at, each in enumerate(given[:first])]
        condition, *results = body(number, *passed, *given[third:])
        for at, like in slots.items():
            results[at] = packed(state.capture, results[at], like)
        contents = [list(items) for items in lists]
        wholes = [
            stacked(list(items), None if state.capture is None else state.capture.sequences[id(items)], like) for items, like in growing
        ]
        return (condition, *results, *contents, *wholes)

    for _ in range(_ROUNDS):
        whole = [stacked(list(items), capture.sequences.get(id(items)), like) for items, like in growing]
        given = [packed(capture, each, slots[at]) if at in slots else each for at, each in enumerate(carried)]
        try:
            results = captured(
                capture,
                count,
                condition,
                (*given, *(list(items) for items in lists), *whole),
                inputs,
                run,
                lists,
                [items for items, _ in growing],
            )
        except ListsChange as found:
            slots.update(found.slots)
            growing += found.growing
            lists[:] = [items for items in (*lists, *found.lists) if not any(items is each for each, _ in growing)]
            continue
        for items, content in zip(lists, results[len(carried) :]):
            items[:] = content
        for (items, like), tensor in zip(growing, results[len(carried) + len(lists) :]):
            capture.sequences[id(items)] = sequence_of(items, like, tensor)
        return tuple([unpacked(each, slots[at]) if at in slots else each for at, each in enumerate(results[: len(carried)])])
    raise CaptureError("the lists that a loop changes are others in each iteration: it can't be captured")


def packed(capture: Any, value: Any, like: Any) -> Any:
    """A list as a tensor of all its items (or as two), and what may be None as a pair: so a loop carries them."""
    if isinstance(like, (OptionalExample, Unfilled)):
        return like.packed(value)
    return stacked(list(value), None if capture is None else capture.sequences.get(id(value)), like)


def unpacked(tensors: Any, like: Any) -> Any:
    """What was packed."""
    if isinstance(like, (OptionalExample, Unfilled)):
        return like.unpacked(tensors)
    with paused(state.capture) if state.capture is not None else nullcontext():
        items = ragged_items_of(tensors[0], tensors[1], like.dim) if isinstance(like, RaggedExample) else items_of(tensors)
        if isinstance(like, (int, float)):
            items = [each.item() for each in items]
    if state.capture is not None:
        state.capture.sequences[id(items)] = sequence_of(items, like, tensors)
    return items


def carried_lengths(tracer: RegionTracer, carried: Any, new: Any) -> dict[int, Any]:
    """The lists among what a loop carries whose length is another after an iteration, and what may be None; each with what it is like."""
    found: dict[int, Any] = {}
    for at, (before, after) in enumerate(zip(carried, new)):
        if is_unset(before) and isinstance(after, tuple):
            found[at] = Unfilled(after)
        if after is not before and any(each is None or each.__class__ is Maybe for each in (before, after)):
            inner = [each.value if each.__class__ is Maybe else each for each in (before, after)]
            for each in inner:
                if isinstance(each, (TensorBase, int, float)):
                    found[at] = OptionalExample(each)
        if isinstance(before, list) and isinstance(after, list) and (len(before) != len(after) or id(after) in tracer.sequences):
            sequence = tracer.sequences.get(id(after))
            found[at] = (
                RaggedExample(after[0], sequence.dim) if isinstance(sequence, Ragged) and after else example_of(after or before, sequence)
            )
    return found


def carried_lists(carried: Any, given: Any, new: Any, changed: list[Any]) -> tuple[list[int], list[Any]]:
    """Which of the lists that a loop carries stay the same object, and the lists that it changes and does not go on with."""
    kept = [at for at, (before, after) in enumerate(zip(given, new)) if isinstance(after, list) and after is before]
    same = [given[at] for at in kept]
    lost = [
        original
        for original, copy in zip(lists_in(carried), lists_in(given))
        if any(copy is each for each in changed) and not any(copy is each for each in same)
    ]
    return kept, lost


def lists_in(value: Any) -> list[Any]:
    """The lists in nested containers."""
    if not isinstance(value, (tuple, list)):
        return []
    return [*([value] if isinstance(value, list) else []), *(found for each in value for found in lists_in(each))]


def sequence_of(items: list[Any], like: Any, tensors: Any) -> Any:
    """A list of which a tensor (or two, of items of different shapes) holds all items."""
    if isinstance(like, RaggedExample):
        return like.sequence(items, tensors)
    return Sequence(items, 0, len(items), tensors, not isinstance(like, TensorBase))


def captured(
    capture: Any,
    count: Any,
    condition: Any,
    carried: tuple[Any, ...],
    inputs: tuple[Any, ...],
    body: Callable[..., Any],
    lists: list[Any],
    whole: list[Any],
) -> Any:
    """A loop as one node; what is in ``lists``, and the lists ``whole`` as tensors, is among what is carried."""
    leaves = [CarriedValue(each, "tensor" if isinstance(each, TensorBase) else "constant") for each in flatten(carried)]
    extras: list[CarriedValue] = []
    dynamic = isinstance(count, SymbolicInt) or isinstance(condition, TensorBase)
    for _ in range(_ROUNDS):
        attempt = Attempt(capture, count, body, carried, inputs, leaves, extras, lists, whole)
        dynamic = dynamic or (isinstance(attempt.condition, TensorBase) and attempt.tracer.is_traced(attempt.condition))
        if not dynamic and (
            any(not isinstance(each, (OptionalExample, Unfilled)) for each in attempt.slots.values())
            or any(isinstance(like, (int, float)) for _, like in attempt.collected)
        ):
            raise CaptureError(
                "a loop that does not depend on the inputs makes a list longer: it is captured one iteration after the other"
            )
        if attempt.collected or attempt.slots:
            raise ListsChange([], attempt.collected, attempt.slots)
        more_lists = attempt.changed_lists()
        if more_lists:
            raise ListsChange(more_lists, [])
        changed = [leaf.changed(new, shape, capture) for leaf, new, shape in zip(leaves, attempt.new, attempt.shapes)]
        changed += [leaf.changed(leaf.initial, attempt.tracer.shape_of(leaf.initial), capture) for leaf in extras]
        more = [each for each in attempt.tracer.written() if not any(each is leaf.initial for leaf in extras)]
        extras += [CarriedValue(each, "extra") for each in more]
        if not any(changed) and not more:
            break
    else:
        raise CaptureError("what a loop carries along keeps changing from iteration to iteration: it can't be captured")
    tracer = attempt.tracer
    check_aliases(leaves, extras, attempt)
    for leaf, new in zip(leaves, attempt.new):
        if new is leaf.value and leaf.kind == "tensor" and id(new._array) not in attempt.touched:
            leave_outside(capture, tracer, leaf)
    varying = [leaf for leaf in leaves if leaf.kind != "constant"]
    outputs = [leaf.output(tracer, new) for leaf, new in zip(leaves, attempt.new) if leaf.kind != "constant"]
    outputs += [in_body(tracer, lambda leaf=leaf: tracer.node_of(leaf.initial)) for leaf in extras]  # type: ignore[misc]
    appended = [(items, each) for items, new in attempt.grown for each in new]
    if any(len(new) != 1 or not isinstance(new[0], TensorBase) for _, new in attempt.grown):  # numbers, say
        raise CaptureError("a loop appends something else than one tensor to a list in each iteration: that can't be captured")
    ragged = [(items, RaggedExample(each, dim)) for items, each in appended for dim in differing(capture, tracer, each)]
    if ragged:
        raise ListsChange([], ragged)
    outputs += [in_body(tracer, lambda each=each: argument(tracer, each)) for _, each in appended]  # type: ignore[misc]
    goes_on = attempt.condition
    if isinstance(goes_on, TensorBase):
        goes_on = in_body(tracer, lambda: argument(tracer, attempt.condition))
    initial = [
        argument(capture, leaf.initial if leaf.kind in ("int", "tensor", "extra") else as_tensor(leaf.initial))
        for leaf in (*varying, *extras)
    ]
    around = list(tracer.captured)
    tracer.graph.output((goes_on, *outputs))
    arrange(tracer, [attempt.index, *(leaf.node for leaf in (*varying, *extras) if leaf.node is not None)], around)
    if isinstance(capture, RegionTracer):  # itself a trial: what the loop now writes for good is undone with it
        capture.undo += [(array, array.copy()) for array in attempt.touched.values()]
    with paused(capture):
        start = bool(condition._array) if isinstance(condition, TensorBase) else condition
        lengths = [len(items) for items, _ in appended]
        final = control.loop(
            None if count is None else int.__int__(count), start, plain_numbers(carried), plain_numbers(inputs), bodies={"body": body}
        )
    if not outputs:
        return rebuild(final, iter([leaf.initial if is_symbolic(leaf.initial) else value for leaf, value in zip(leaves, flatten(final))]))
    options = (
        {"scans": tuple((each._array.dtype.name, tuple(int.__int__(s) for s in each._array.shape)) for _, each in appended)}
        if appended
        else {}
    )
    node = emit(
        capture, control.loop, (argument(capture, count), argument(capture, condition), tuple(initial), tuple(around)), {"body": tracer}
    )
    node.kwargs = options
    node.meta["val"] = tuple([None] * len(outputs))
    results = _results(capture, node, leaves, flatten(final), attempt)
    written = []
    for at, leaf in enumerate(extras, len(varying)):
        made = part(capture, node, at)
        written.append((leaf.initial, made, result_shape(capture, made, leaf, leaf.initial._array.shape)))
    rewritten(capture, written)
    for at, ((items, example), before) in enumerate(zip(appended, lengths), len(varying) + len(extras)):
        fixed = type(count) is int and not isinstance(condition, TensorBase) and not isinstance(attempt.condition, TensorBase)
        _sequence(capture, node, at, items, before, tracer.shape_of(example), fixed)
    for each in attempt.lost:
        capture.sequences[id(each)] = InvalidatedList(each)
    found = list(rebuild(final, iter(results)))
    for at in attempt.kept:  # other names of the list see what became of it
        carried[at][:] = found[at]
        found[at] = carried[at]
    return tuple(found)


def differing(capture: Any, tracer: RegionTracer, tensor: Any) -> list[int]:
    """The dimension, if there is one, in which a tensor that a loop appends to a list differs from iteration to iteration."""
    found = [dim for dim, size in enumerate(tracer.shape_of(tensor)) if not known_sizes(capture, (size,))]
    if len(found) > 1:
        raise CaptureError("a loop appends tensors to a list that differ in more than one dimension: that can't be captured")
    return found


def plain_numbers(values: Any) -> Any:
    """The same with sizes as plain numbers: a run for its values alone makes no formulas."""
    if isinstance(values, tuple) and not hasattr(values, "_fields"):
        return tuple([plain_numbers(each) for each in values])
    return plain(value_of_run(values))


def written_to(leaf: CarriedValue, attempt: Attempt) -> bool:
    """Whether an iteration writes in place to a tensor that is carried along, under any of its names."""
    return id(leaf.value._array) in attempt.touched or id(leaf.value) in attempt.tracer.aliases.doubtful


def leave_outside(capture: Any, tracer: RegionTracer, leaf: CarriedValue) -> None:
    """A tensor that no iteration changes is not carried along: the body uses the one from around."""
    outer = argument(capture, leaf.initial)
    inside, leaf.kind = leaf.node, "constant"
    assert inside is not None
    known_here = tracer.captured.setdefault(outer, inside)
    if known_here is not inside:
        inside.replace_all_uses_with(known_here)
        tracer.graph.erase_node(inside)
        tracer.entries[id(leaf.value)].node = known_here


def check_aliases(leaves: list[CarriedValue], extras: list[CarriedValue], attempt: Attempt) -> None:
    """Refuse writes in place to what may be, in this iteration or a later one, another name of something else."""
    carried = [leaf for leaf in leaves if leaf.kind != "constant" and isinstance(leaf.initial, TensorBase)]
    outside = [tensor for tensor, _ in attempt.tracer.outside.values()]
    for leaf in carried:
        others = [each.initial for each in carried if each is not leaf]
        if written_to(leaf, attempt) and any(leaf.initial is each for each in (*others, *outside)):
            raise CaptureError("a loop writes in place to a tensor that it also uses under another name: clone() it")
    written = [leaf.initial for leaf in extras]
    for at, (leaf, new) in enumerate(zip(leaves, attempt.new)):
        if not isinstance(new, TensorBase) or not isinstance(leaf.value, TensorBase) or new is leaf.value:
            continue
        others = [*(each.value for each in leaves), *outside, *attempt.new[:at], *attempt.new[at + 1 :]]
        same = any(new is each for each in others) or id(new) in attempt.tracer.aliases.partners or known(attempt.tracer.parent, new)
        moved = any(new is each.value and each is not leaf and written_to(each, attempt) for each in carried)
        if moved or any(new is each for each in written) or (same and written_to(leaf, attempt)):
            raise CaptureError("a loop writes in place to a tensor that may be another name of one that it uses: clone() it")


def _results(capture: Any, node: Node, leaves: list[CarriedValue], final: list[Any], attempt: Attempt) -> list[Any]:
    """The values after a loop, as results of its node."""
    results: list[Any] = []
    position = 0
    unsure: list[Any] = []  # results that may be the same tensor as another one
    for leaf, value, new in zip(leaves, final, attempt.new):
        if leaf.kind == "constant":
            results.append(leaf.initial if is_symbolic(leaf.initial) else value)
            continue
        made = part(capture, node, position)
        position += 1
        if leaf.kind == "int":
            made.meta["val"] = found = capture.new_symbol(made, None, 0 if is_unset(value) else int.__int__(value))
            results.append(found)
            continue
        original = value
        if is_unset(value):
            value = copied(leaf.initial)
        if not isinstance(value, TensorBase):
            kind = leaf.initial._array.dtype if isinstance(leaf.initial, TensorBase) else np.bool_ if leaf.kind == "bool" else np.float32
            value = make(np.asarray(value, kind))
        elif known(capture, value) and (value is not leaf.initial or id(value._array) not in attempt.touched):
            value = copied(value)
        shape = result_shape(capture, made, leaf, value._array.shape)
        if known(capture, value):
            rewritten(capture, [(value, made, shape)])
        else:
            capture.bind(value, made, shape)
        if id(leaf.initial._array if isinstance(leaf.initial, TensorBase) else None) in attempt.touched and leaf.initial is not value:
            capture.aliases.doubtful[id(leaf.initial)] = leaf.initial
        share(capture, value, related(capture, (original, leaf.initial, new)))
        if isinstance(new, TensorBase) and (id(new) in capture.aliases.partners or sum(new is each for each in attempt.new) > 1):
            share(capture, value, unsure)
            unsure.append(value)
        results.append(value)
    return results


def _sequence(capture: Any, node: Node, at: int, items: list[Any], before: int, shape: tuple[int, ...], fixed: bool) -> None:
    """What a loop appended to a list: one tensor, of which the items are parts."""
    made = part(capture, node, at)
    with paused(capture):
        real = [as_tensor(each).detach() for each in items[before:]]  # floats are numbers in this run
        array = np.stack([each._array for each in real]) if real else np.zeros((0, *map(int.__int__, shape)), np.float32)
        stacked = make(array)
    sizes = [len(real) if fixed else capture.new_symbol(made, 0, len(real))]
    for dim, size in enumerate(shape):
        sizes.append(size if known_sizes(capture, (size,)) else capture.new_symbol(made, dim + 1, int.__int__(size)))
    capture.bind(stacked, made, tuple(sizes))
    if not fixed:
        capture.sequences[id(items)] = Sequence(items, before, len(real), stacked)
    items[before:] = [stacked[index] for index in range(len(real))]

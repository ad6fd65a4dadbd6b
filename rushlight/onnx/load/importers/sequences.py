"""Sequences, which are lists of tensors, and optionals, which are a value or None."""

from __future__ import annotations

from typing import Any

from ....capture.control.dynamic_lists import cat, getitem, stack
from ....capture.control.list_methods import add, copied, insert, pop
from ....capture.control.python_functions import length
from ....core.state import state
from ..numbers import as_tensor
from ..registry import Int, NodeContext, Numbers, Tensor, dtype_of, importer, ops


def is_followed(sequence: Any) -> bool:
    """Whether this is a list whose length depends on the inputs of a capture."""
    return state.capture is not None and id(sequence) in getattr(state.capture, "sequences", ())


@importer("SequenceConstruct", since=11)
def sequence_construct(node: NodeContext, *items: Any) -> tuple[list[Any]]:
    """A sequence of tensors."""
    return (list(items),)


@importer("SequenceEmpty", since=11)
def sequence_empty(node: NodeContext) -> tuple[list[Any]]:
    """A sequence without items."""
    return ([],)


@importer("SequenceLength", since=11)
def sequence_length(node: NodeContext, sequence: Any) -> Tensor:
    """How many items there are."""
    return as_tensor(length(sequence) if is_followed(sequence) else len(sequence), 7)


@importer("SequenceAt", since=11)
def sequence_at(node: NodeContext, sequence: Any, position: Int) -> Any:
    """An item."""
    return getitem(sequence, position) if is_followed(sequence) else sequence[position]


@importer("SequenceInsert", since=11)
def sequence_insert(node: NodeContext, sequence: Any, item: Any, position: Int | None = None) -> tuple[list[Any]]:
    """A sequence with one more item: at the end, or before another one."""
    if is_followed(sequence):
        if position is None:
            return (add(sequence, [item]),)
        made = copied(sequence)
        insert(made, position, item)
        return (made,)
    at = len(sequence) if position is None else position + len(sequence) if position < 0 else position
    return ([*sequence[:at], item, *sequence[at:]],)


@importer("SequenceErase", since=11)
def sequence_erase(node: NodeContext, sequence: Any, position: Int | None = None) -> tuple[list[Any]]:
    """A sequence without an item: the last one, or another."""
    if is_followed(sequence):
        made = copied(sequence)
        pop(made, -1 if position is None else position)
        return (made,)
    at = len(sequence) - 1 if position is None else position + len(sequence) if position < 0 else position
    return ([*sequence[:at], *sequence[at + 1 :]],)


@importer("ConcatFromSequence", since=11)
def concat_from_sequence(node: NodeContext, sequence: Any) -> Tensor:
    """The items as one tensor: along a dimension that they have, or a new one."""
    if is_followed(sequence):
        return stack(sequence, node["axis"]) if node.get("new_axis") else cat(sequence, node["axis"])
    return ops.stack(list(sequence), node["axis"]) if node.get("new_axis") else ops.cat(list(sequence), node["axis"])


@importer("SplitToSequence", since=11)
def split_to_sequence(node: NodeContext, x: Any, split: Numbers = None) -> tuple[list[Any]]:
    """The parts of a tensor, of given sizes, or of one; parts of size one may lose the dimension."""
    axis = node.get("axis", 0)
    size = x.shape[axis]
    if split is None:
        parts = list(ops.split(x, 1, axis))
        return ([ops.squeeze(each, axis) for each in parts] if not node.get("keepdims", 1) else parts,)
    if isinstance(split, list):
        return (list(ops.split(x, split, axis)),)
    return (list(ops.split(x, split, axis)) if size else [],)


@importer("Optional", since=15)
def optional(node: NodeContext, value: Any = None) -> tuple[Any]:
    """A value, or nothing."""
    return (value,)


@importer("OptionalHasElement", since=15)
def optional_has_element(node: NodeContext, value: Any = None) -> Tensor:
    """Whether there is a value."""
    return ops.scalar_tensor(value is not None, dtype=dtype_of(9))


@importer("OptionalGetElement", since=15)
def optional_get_element(node: NodeContext, value: Any) -> tuple[Any]:
    """The value."""
    if value is None:
        raise node.error("the optional is empty")
    return (value,)

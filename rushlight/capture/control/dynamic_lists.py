"""Lists whose length depends on the inputs, under a capture: kept as one tensor with all their items."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import Spec, TensorBase, make
from ...core.declare import lookup
from ...core.devices import device_of
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import SymbolicInt, is_symbolic, plain
from ...graph.control import CONTROL
from .python_functions import Maybe, as_tensor, is_traced, item
from .python_functions import whole as whole_number


def kin(made: Any, *others: Any) -> Any:
    """A tensor that holds items of a list: a write to one of the others may be a write to an item, which it would not see."""
    if state.capture is not None:
        for each in others:
            if isinstance(each, TensorBase):
                state.capture.aliases.share(made, each)
    return made


class Sequence:
    """A list to which a captured loop or branch has appended: what was appended is one tensor, with the number as first dimension."""

    def __init__(self, items: list[Any], start: int, count: int, stacked: Any, numbers: bool = False) -> None:
        self.items = items
        self.start = start  # where the appended items begin in the list
        self.count = count  # how many there are in this run
        self.stacked = stacked
        self.numbers = numbers  # whether the items are numbers, and not tensors

    def length(self) -> Any:
        """The number of items, by a formula."""
        return self.stacked.size(0) + (len(self.items) - self.count)

    def tensors(self) -> list[Any]:
        """All items as tensors with one more dimension in front."""
        before, after = self.items[: self.start], self.items[self.start + self.count :]
        check_items([*before, *after])
        return [*map(_row, before), self.stacked, *map(_row, after)]

    def whole(self) -> Any:
        """All items as one tensor."""
        parts = self.tensors()
        return (
            parts[0]
            if len(parts) == 1
            else kin(lookup("cat").call(parts, 0), self.stacked, *self.items[: self.start], *self.items[self.start + self.count :])
        )

    def item(self, index: Any) -> Any:
        """One item, whose number may be symbolic."""
        whole = self.whole()
        found = whole[index]
        return item(found) if self.numbers else kin(found, whole)

    def holding(self, items: list[Any]) -> Sequence:
        """The same with other items in the list."""
        return Sequence(items, self.start, self.count, self.stacked, self.numbers)


def _row(value: Any) -> Any:
    return lookup("unsqueeze").call(as_tensor(value), 0)


class Ragged:
    """A list to which a captured loop has appended tensors that differ in one dimension: all of them, one after the other, and their sizes."""

    def __init__(self, items: list[Any], count: int, dim: int, flat: Any, sizes: Any) -> None:
        self.items = items
        self.count = count  # how many items of this run are in the tensors; what was appended since follows them in the list
        self.dim = dim
        self.flat = flat
        self.sizes = sizes

    def length(self) -> Any:
        """The number of items, by a formula."""
        return self.sizes.size(0) + (len(self.items) - self.count)

    def whole(self) -> tuple[Any, Any]:
        """All items one after the other, and their sizes."""
        more = self.items[self.count :]
        if not more:
            return self.flat, self.sizes
        check_items(more)
        sizes = [lookup("reshape").call(as_tensor(each.size(self.dim)), (1,)) for each in more]
        return kin(lookup("cat").call([self.flat, *more], self.dim), self.flat, *more), lookup("cat").call([self.sizes, *sizes], 0)

    def item(self, index: Any) -> Any:
        """One item, whose number may be symbolic."""
        flat, sizes = self.whole()
        size = sizes[index]
        start = item(lookup("cumsum").call(sizes, 0)[index] - size)
        return flat[(*[slice(None)] * self.dim, slice(start, start + item(size)))]

    def holding(self, items: list[Any]) -> Ragged:
        """The same with other items in the list."""
        return Ragged(items, self.count, self.dim, self.flat, self.sizes)


class RaggedExample:
    """A tensor like the items of a list, and the dimension in which they differ."""

    def __init__(self, tensor: Any, dim: int) -> None:
        self.shape, self.dtype = tuple(map(int.__int__, tensor._array.shape)), tensor._array.dtype
        self.dim = dim

    def empty(self) -> tuple[Any, Any]:
        """The two tensors of a list of none."""
        shape = [0 if dim == self.dim else size for dim, size in enumerate(self.shape)]
        return make(np.zeros(shape, self.dtype)), make(np.zeros(0, np.int64))

    def sequence(self, items: list[Any], tensors: tuple[Any, Any]) -> Ragged:
        """The list of such tensors."""
        return Ragged(items, len(items), self.dim, *tensors)

    def stacked(self, items: list[Any], sequence: Any) -> tuple[Any, Any]:
        """The two tensors of a list."""
        if isinstance(sequence, Ragged):
            return sequence.holding(items).whole()
        return Ragged(items, 0, self.dim, *self.empty()).whole()


class OptionalExample:
    """What a variable that may be None is where it is not: a tensor or a number like this one."""

    def __init__(self, example: Any) -> None:
        self.example = example

    def packed(self, value: Any) -> tuple[Any, Any]:
        """Whether a value is present, and the value, or a placeholder that is never read."""
        if value.__class__ is Maybe:
            return value.present, value.value
        if value is not None:
            return True, value
        like = self.example
        return False, make(np.zeros(tuple(map(int.__int__, like._array.shape)), like._array.dtype)) if isinstance(
            like, TensorBase
        ) else type(plain(like))()

    def unpacked(self, pair: tuple[Any, Any]) -> Any:
        """The value that a pair stands for."""
        present, value = pair
        if state.capture is not None and isinstance(present, TensorBase) and state.capture.is_traced(present):
            return Maybe(present, value)
        return value if present else None


def value_of_run(value: Any) -> Any:
    """What a value that may be None is in this run."""
    if value.__class__ is not Maybe:
        return value
    present = bool(value.present._array) if isinstance(value.present, TensorBase) else value.present
    return plain(value.value) if present else None


class InvalidatedList:
    """A list that a captured loop has changed before it continued with another one: its items are unknown."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __getattr__(self, name: str) -> Any:
        raise CaptureError(
            "a loop changes a list, continues with another one, and the first is used under another name: that can't be captured"
        )


def stacked(items: list[Any], sequence: Sequence | None, example: Any) -> Any:
    """The items of a list, of which nothing or a part is a sequence already, as one tensor; of none, one like the example's."""
    check_items(items)
    if isinstance(example, RaggedExample):
        return example.stacked(items, sequence)
    if isinstance(sequence, Ragged):
        raise refused("a change in a branch, or by a loop inside of another, where its items are of different shapes,")
    if sequence is not None:
        return sequence.holding(items).whole()
    if items:
        tensors = list(map(as_tensor, items))
        if any(each._array.shape != tensors[0]._array.shape for each in tensors):
            raise CaptureError("a loop carries a list whose items are of different shapes: that can't be captured")
        return kin(lookup("stack").call(tensors, 0), *items)
    if example is None:
        raise CaptureError("a list stays empty in this run, and what it would hold is not known: run the capture on inputs that fill it")
    array = example._array if isinstance(example, TensorBase) else np.zeros((), kind_of_number(example))
    return make(np.zeros((0, *map(int.__int__, array.shape)), array.dtype))


def kind_of_number(value: Any) -> Any:
    """The dtype of a tensor that holds a number."""
    return np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float32


def of_numbers(items: list[Any]) -> bool:
    """Whether a list holds numbers, not tensors."""
    return any(isinstance(each, (int, float)) for each in items)


def check_items(items: list[Any]) -> None:
    """Refuse a list of something else than tensors or numbers."""
    if not all(isinstance(each, (TensorBase, int, float)) for each in items):
        raise CaptureError("a list whose length depends on the inputs, or that a loop lets grow, can hold tensors or numbers alone")


def example_of(items: list[Any], sequence: Sequence | None) -> Any:
    """A tensor like the items of a list."""
    check_items(items)
    if items:
        return items[0]
    if isinstance(sequence, Ragged):
        raise refused("a change in a branch, or by a loop inside of another, where its items are of different shapes,")
    if sequence is None:
        return None
    like = np.zeros(tuple(map(int.__int__, sequence.stacked._array.shape[1:])), sequence.stacked._array.dtype)
    return like.item() if sequence.numbers else make(like)


def _found(value: Any) -> Sequence | Ragged | None:
    return state.capture.sequences.get(id(value)) if isinstance(value, list) else None


def getitem(container: Any, index: Any) -> Any:
    """``container[index]``, also of a list to which a loop has appended."""
    sequence = _found(container)
    index = _number(container, index)
    if sequence is not None:
        if isinstance(index, slice):
            if isinstance(sequence, Ragged):
                raise refused("a part of it, where its items are of different shapes,")
            whole = sequence.whole()
            return sequence_from(container[plain_slice(index)], kin(whole[index], whole), sequence.numbers)
        return sequence.item(index)
    if isinstance(index, slice) and isinstance(container, list) and any(map(is_symbolic, (index.start, index.stop, index.step))):
        whole = stacked(container, None, None)
        return sequence_from(container[plain_slice(index)], kin(whole[index], whole), of_numbers(container))
    if not isinstance(index, SymbolicInt) or not isinstance(container, (list, tuple)):
        return container[index]
    return _chosen(list(container), index)


def _number(container: Any, index: Any) -> Any:
    """An index of a list or tuple: of a tensor that depends on the inputs, the number that it holds."""
    return whole_number(index) if isinstance(container, (list, tuple)) and is_traced(index) else index


def _chosen(items: list[Any], index: Any) -> Any:
    """An item of a list that is known, by a number that is not."""
    kinds = {_kind(each) for each in items}
    if kinds == {"tensor"}:
        if len({(each._array.dtype, each._array.shape) for each in items}) == 1:
            return lookup("stack").call(items, 0)[index]
    elif kinds and kinds <= {"int", "float", "bool"}:
        table = lookup("stack").call([as_tensor(each) if len(kinds) == 1 else as_tensor(each) + 0.0 for each in items], 0)
        return item(table[index])
    raise CaptureError(
        "an item of a list is taken by a number that depends on the inputs: that can be captured of numbers and of tensors of one shape alone"
    )


def setitem(container: Any, index: Any, value: Any) -> None:
    """``container[index] = value``: of a list whose length depends on the inputs, or by a number that does, in one tensor with all items."""
    sequence = _found(container)
    index = _number(container, index)
    if sequence is None and isinstance(container, list) and isinstance(index, SymbolicInt):
        sequence = Sequence(container, 0, len(container), stacked(container, None, None), of_numbers(container))
    if sequence is None:
        container[index] = value
        return
    if isinstance(sequence, Ragged) or isinstance(index, slice):
        raise refused(
            "an assignment to a part of it"
            if isinstance(index, slice)
            else "an assignment to an item, where its items are of different shapes,"
        )
    whole, at = sequence.whole(), index % sequence.length()
    container[plain(index)] = value
    sequence_from(container, kin(lookup("cat").call([whole[:at], _row(value), whole[at + 1 :]], 0), whole, value), sequence.numbers)


def plain_slice(index: slice) -> slice:
    """A slice by the numbers of this run."""
    return slice(plain(index.start), plain(index.stop), plain(index.step))


def sequence_from(items: list[Any], whole: Any, numbers: bool) -> list[Any]:
    """A list of which a tensor holds all items, whatever it held before."""
    state.capture.sequences[id(items)] = Sequence(items, 0, len(items), whole, numbers)
    return items


def refused(what: str) -> CaptureError:
    """The error for what can't be done to a list whose length depends on the inputs."""
    return CaptureError(
        f"a list whose length depends on the inputs can be changed, indexed, stacked and concatenated; {what} can't be captured"
    )


RAGGED = ("list", "copy", "unpack")  # what can be done where items are of different shapes, too


def list_call(target: Any, args: Any, methods: dict[Any, Callable[..., Any]]) -> Any:
    """A call on a list whose length depends on the inputs, by what stands for it in ``methods``; NotImplemented for any other call.

    Which lists it reads is noted on the way.
    """
    if target in CONTROL or target == "append" or hasattr(target, "_program") or getattr(target, "of_lists", False):
        return NotImplemented
    reads = state.capture.aliases.list_reads
    for each in args:
        if each.__class__ is list and target != "extend":
            reads[id(each)] = reads.get(id(each), 0) + 1
    repeated = target is operator.mul and any(each.__class__ is list for each in args) and any(map(is_symbolic, args))
    if not repeated and (not state.capture.sequences or target in SEQUENCES or target is len or all(_found(each) is None for each in args)):
        return NotImplemented
    name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
    found = methods.get(target if type(target).__hash__ is not None else None, methods.get(name))
    if found is None or (name not in RAGGED and any(isinstance(_found(each), Ragged) for each in args)):
        raise refused(f"{name}()" + ("" if found is None else ", where its items are of different shapes,"))
    return found(*args)


# -- what comes in and goes out --------------------------------------------------------------------------------------------


def items_of(tensor: Any) -> list[Any]:
    """The list of which a tensor holds all items: tensors."""
    return list(lookup("unbind").call(tensor, 0))


def ragged_items_of(tensor: Any, sizes: Any, dim: int) -> list[Any]:
    """The list whose items are concatenated in a tensor."""
    return list(lookup("split").call(tensor, sizes.tolist(), dim))


def stacked_items(items: list[Any]) -> Any:
    """A list that is an input as one tensor."""
    return lookup("stack").call(items, 0)


def optional_of(present: Any, value: Any) -> Any:
    """A value that is there, or None."""
    return value if present else None


def is_present(value: Any) -> Any:
    """Whether an input that may be None is there."""
    return make(np.asarray(value is not None))


def present_value(value: Any) -> Any:
    """An input that may be None, where it is there."""
    return value


def optional_input(capture: Any, value: Any, node: Any) -> tuple[Maybe, Any]:
    """What stands for an input that may be None, and the node of its value where it is there."""
    there, part = (capture.graph.call_function(each, (node,)) for each in (is_present, present_value))
    capture.depends |= {node, there, part}
    present = make(np.asarray(True))
    capture.bind(present, there, ())
    return Maybe(present, value), part


def list_input(capture: Any, items: list[Any], node: Any, dynamic: Callable[[int], str | None]) -> None:
    """Tie a list of tensors of one shape, which is an input of any length, to a node."""
    first, count = items[0]._array, len(items)
    array: Any = first.sized((count, *first.shape)) if first.__class__ is Spec else np.stack([each._array for each in items])
    part = capture.graph.call_function(stacked_items, (node,))
    capture.depends |= {node, part}
    symbols = [None, *(dynamic(dim) for dim in range(first.ndim))]
    shape = [
        size if symbol is None and dim else capture.new_symbol(part, dim, size, symbol)
        for dim, (size, symbol) in enumerate(zip(array.shape, symbols))
    ]
    tensor = make(array)
    capture.bind(tensor, part, tuple(shape))
    node.meta["val"] = Spec(tuple(shape[1:]), first.dtype, device=device_of(first))
    node.meta["container"] = "sequence"
    capture.sequences[id(items)] = Sequence(items, 0, count, tensor)


def output_of(capture: Any, value: Any) -> tuple[Any, Any]:
    """What a program returns, as nodes, and with a tensor for each output: for a list of unknown length too, and for what may be None."""
    if isinstance(value, list) and id(value) in capture.sequences:
        sequence = capture.sequences[id(value)].holding(value)
        whole = sequence.whole()
        if isinstance(sequence, Ragged):
            made = _node(capture, ragged_items_of, (*(argument(capture, each) for each in whole), sequence.dim))
            return made, whole[0]
        return _node(capture, items_of, (argument(capture, whole),)), whole
    if value.__class__ is Maybe:
        return _node(capture, optional_of, (argument(capture, value.present), argument(capture, value.value))), value.value
    if isinstance(value, (tuple, list)) and any(isinstance(each, (tuple, list, dict, Maybe)) for each in value):
        pairs = [output_of(capture, each) for each in value]
        nodes, shown = [each for each, _ in pairs], [each for _, each in pairs]
        if hasattr(value, "_fields"):
            return tuple.__new__(type(value), nodes), tuple.__new__(type(value), shown)  # type: ignore[type-var]
        return (nodes, shown) if isinstance(value, list) else (tuple(nodes), tuple(shown))
    return argument(capture, value), value


def _node(capture: Any, function: Any, args: tuple[Any, ...]) -> Any:
    made = capture.graph.call_function(function, args)
    made.meta["source"], made.meta["module"] = capture.where()
    capture.depends.add(made)
    return made


def argument(capture: Any, value: Any) -> Any:
    """A value as an argument of a node."""
    before, state.capture = state.capture, None
    try:
        return capture.argument(value)
    finally:
        state.capture = before


def stack(tensors: Any, dim: int = 0, **options: Any) -> Any:
    """``torch.stack``, also of such a list."""
    sequence = _found(tensors)
    if sequence is None:
        return lookup("stack").call(tensors, dim, **options)
    if isinstance(sequence, Ragged):
        raise refused("stack(), where its items are of different shapes,")
    return lookup("movedim").call(sequence.whole(), 0, dim)


def cat(tensors: Any, dim: int = 0, **options: Any) -> Any:
    """``torch.cat``, also of such a list."""
    sequence = _found(tensors)
    if sequence is None:
        return lookup("cat").call(tensors, dim, **options)
    if isinstance(sequence, Ragged):
        flat = sequence.whole()[0]
        if dim % flat._array.ndim != sequence.dim:
            raise refused("cat() in another dimension than that in which its items differ")
        return flat
    whole = sequence.whole()
    rank = whole._array.ndim - 1
    moved = lookup("movedim").call(whole, 0, dim % rank)
    shape = list(moved.shape)
    return lookup("reshape").call(moved, (*shape[: dim % rank], shape[dim % rank] * shape[dim % rank + 1], *shape[dim % rank + 2 :]))


SEQUENCES: dict[Any, Callable[..., Any]] = {
    operator.getitem: getitem,
    operator.setitem: setitem,
    lookup("stack").call: stack,
    lookup("cat").call: cat,
}


def _kind(value: Any) -> str:
    if isinstance(value, TensorBase):
        return "tensor"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "other")

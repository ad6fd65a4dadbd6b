"""What Python's lists do, for lists of which a capture knows one tensor of all items: their length depends on the inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...core.declare import lookup
from ...core.state import state
from ...core.symbolic import plain
from ...tensor.construct import tensor
from .dynamic_lists import Sequence, example_of, kin, of_numbers, sequence_from, stacked
from .python_functions import as_tensor, item


def found(items: list[Any]) -> Sequence | None:
    """What the capture knows of a list."""
    return state.capture.sequences.get(id(items))  # type: ignore[no-any-return]


def whole_of(items: list[Any]) -> Any:
    """All items as one tensor."""
    return stacked(items, found(items), None)


def holds_numbers(items: list[Any]) -> bool:
    """Whether a list holds numbers."""
    sequence = found(items)
    return of_numbers(items) if sequence is None else sequence.numbers


def together(first: list[Any], second: list[Any]) -> Any:
    """The items of both as one tensor; one of the two may be empty."""
    example = next((each for each in (example_of(items, found(items)) for items in (first, second)) if each is not None), None)
    parts = [stacked(items, found(items), example) for items in (first, second)]
    return kin(lookup("cat").call(parts, 0), *parts)


def add(first: list[Any], second: list[Any]) -> list[Any]:
    """``first + second``."""
    return sequence_from([*first, *second], together(first, second), holds_numbers(first) or holds_numbers(second))


def extend(items: list[Any], more: list[Any]) -> list[Any]:
    """``items.extend(more)``, ``items += more``."""
    whole, numbers = together(items, more), holds_numbers(items) or holds_numbers(more)
    items.extend(list(more))
    return sequence_from(items, whole, numbers)


def repeated(items: Any, times: Any) -> list[Any]:
    """``items * times``."""
    items, times = (items, times) if isinstance(items, list) else (times, items)
    whole = whole_of(items)
    rest = [1] * (whole._array.ndim - 1)
    return sequence_from(items * plain(times), kin(lookup("repeat").call(whole, (times, *rest)), whole), holds_numbers(items))


def pop(items: list[Any], index: Any = -1) -> Any:
    """``items.pop(index)``."""
    sequence = found(items)
    assert sequence is not None
    value = sequence.item(index)
    delete(items, index)
    return value


def delete(items: list[Any], index: Any) -> None:
    """``del items[index]``."""
    whole, numbers = whole_of(items), holds_numbers(items)
    at = index % whole.size(0)
    rest = whole[:-1] if type(index) is int and index == -1 else lookup("cat").call([whole[:at], whole[at + 1 :]], 0)
    del items[plain(index)]
    sequence_from(items, kin(rest, whole), numbers)


def insert(items: list[Any], index: Any, value: Any) -> None:
    """``items.insert(index, value)``."""
    whole, numbers = whole_of(items), holds_numbers(items)
    row = lookup("unsqueeze").call(as_tensor(value), 0)
    items.insert(plain(index), value)
    sequence_from(items, kin(lookup("cat").call([whole[:index], row, whole[index:]], 0), whole, value), numbers)


def reverse(items: list[Any]) -> None:
    """``items.reverse()``."""
    whole, numbers = whole_of(items), holds_numbers(items)
    items.reverse()
    sequence_from(items, kin(lookup("flip").call(whole, (0,)), whole), numbers)


def clear(items: list[Any]) -> None:
    """``items.clear()``."""
    whole, numbers = whole_of(items), holds_numbers(items)
    items.clear()
    sequence_from(items, whole[:0], numbers)


def copied(items: list[Any]) -> list[Any]:
    """``list(items)``."""
    made = list(items)
    state.capture.sequences[id(made)] = state.capture.sequences[id(items)].holding(made)
    return made


def unpacked(items: list[Any], count: int) -> tuple[Any, ...]:
    """The items of a list that is unpacked, ``a, b = items``: so many must be there."""
    sequence = found(items)
    assert sequence is not None
    if len(items) != count:
        raise ValueError(f"{'not enough' if len(items) < count else 'too many'} values to unpack (expected {count}, got {len(items)})")
    return tuple([sequence.item(at) for at in range(count)])


def total(items: list[Any], start: Any = 0) -> Any:
    """``sum(items, start)``."""
    made = lookup("sum").call(whole_of(items), (0,))
    return start + (item(made) if holds_numbers(items) else made)


def extreme(name: str) -> Callable[[list[Any]], Any]:
    """``max(items)`` or ``min(items)``, of numbers."""
    return lambda items: item(lookup(name).call(whole_of(items), (0,)))


def as_data(items: list[Any], **options: Any) -> Any:
    """``torch.tensor(items)``."""
    made = whole_of(items)
    return made if options.get("dtype") is None else lookup("cast").call(made, options["dtype"])


METHODS: dict[Any, Callable[..., Any]] = {
    operator.add: add, operator.iadd: extend, "extend": extend, operator.mul: repeated, "pop": pop, "insert": insert, "reverse": reverse, "clear": clear,
    "copy": copied, list: copied, sum: total, max: extreme("amax"), min: extreme("amin"), tensor: as_data, "delete_item": delete, "unpack": unpacked,
}  # fmt: skip

"""`torch.utils._ordered_set`: a set that keeps the order in which its elements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, Generic, TypeVar

Element = TypeVar("Element")


class OrderedSet(MutableSet[Element], Generic[Element]):
    """A set in the order of insertion."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[Element] | None = None) -> None:
        self._dict: dict[Element, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[Element]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[Element]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __getitem__(self, index: int) -> Element:
        return list(self._dict)[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        return super().__eq__(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._dict)!r})"

    def add(self, value: Element) -> None:
        """Add an element; one that is there keeps its place."""
        self._dict[value] = None

    def discard(self, value: Element) -> None:
        """Take an element out, if it is there."""
        self._dict.pop(value, None)

    def clear(self) -> None:
        """Take all out."""
        self._dict.clear()

    def pop(self) -> Element:
        """Take the last one out."""
        if not self._dict:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[Element]:
        """Another with the same elements."""
        return OrderedSet(self)

    def update(self, *others: Iterable[Element]) -> None:
        """Add the elements of others."""
        for other in others:
            self |= other  # type: ignore[arg-type]

    def union(self, *others: Iterable[Element]) -> OrderedSet[Element]:
        """These elements, then those of others."""
        made = self.copy()
        made.update(*others)
        return made

    def intersection(self, *others: Iterable[Element]) -> OrderedSet[Element]:
        """The elements that all of them have."""
        kept = [set(each) for each in others]
        return OrderedSet(each for each in self if all(each in other for other in kept))

    def difference(self, *others: Iterable[Element]) -> OrderedSet[Element]:
        """The elements that none of the others have."""
        gone: set[Any] = set().union(*others)
        return OrderedSet(each for each in self if each not in gone)

    def symmetric_difference(self, other: Iterable[Element]) -> OrderedSet[Element]:
        """The elements that one of the two has."""
        return self ^ OrderedSet(other)  # type: ignore[return-value]

    def issubset(self, other: Iterable[Element]) -> bool:
        """Whether another has all of these."""
        return self <= set(other)

    def issuperset(self, other: Iterable[Element]) -> bool:
        """Whether these are all of another, and perhaps more."""
        return self >= set(other)

    def isdisjoint(self, other: Iterable[Element]) -> bool:
        """Whether the two share none."""
        return not any(each in self for each in other)

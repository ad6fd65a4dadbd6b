"""``jit.script`` of lists and dicts: containers with elements of one type, which Python and scripts share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import Error
from .type_checks import checker
from .types import ANY, DictType, ListType, Type, type_of


def _checked(value: Any, wanted: Type) -> Any:
    check = checker(wanted)
    if check is not None and not check(value):
        raise TypeError(f"a value of type '{type(value).__name__}' can't be put into a container of {wanted}")
    return float(value) if wanted.name == "float" else value


def _shown(value: Any) -> Any:
    """An item as Python gets it: containers in containers are shared, too."""
    if isinstance(value, list):
        return ScriptList(value)
    return ScriptDict(value) if isinstance(value, dict) else value


class ScriptList:
    """A list that scripts take as it is, where they would copy one of Python."""

    def __init__(self, items: Any, kind: Type | None = None) -> None:
        self._items: list[Any] = items if isinstance(items, list) else list(items)
        found = kind if kind is not None else type_of(self._items)
        if self._items and isinstance(found, ListType) and found.element == ANY:
            raise Error("the elements of a scripted list must be of one type")
        self._element = found.element if isinstance(found, ListType) else ANY

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter([_shown(each) for each in self._items])

    def __contains__(self, value: Any) -> bool:
        return _checked(value, self._element) in self._items

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return ScriptList(self._items[at], ListType(self._element))
        return _shown(self._items[at])

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            value = list(value)
            if len(value) != len(self._items[at]):
                raise RuntimeError("the left and the right side of a slice assignment differ in size")
            self._items[at] = [_checked(each, self._element) for each in value]
        else:
            self._items[at] = _checked(value, self._element)

    def __delitem__(self, at: int) -> None:
        del self._items[at]

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, ScriptList) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)

    def append(self, value: Any) -> None:
        """Add an item at the end."""
        self._items.append(_checked(value, self._element))

    def insert(self, at: int, value: Any) -> None:
        """Add an item at a place."""
        self._items.insert(at, _checked(value, self._element))

    def extend(self, values: Any) -> None:
        """Add all items of another list."""
        self._items.extend([_checked(each, self._element) for each in values])

    def pop(self, at: int = -1) -> Any:
        """Take an item out."""
        return self._items.pop(at)

    def remove(self, value: Any) -> None:
        """Take the first item out that is equal to a value."""
        self._items.remove(_checked(value, self._element))

    def count(self, value: Any) -> int:
        """How many items are equal to a value."""
        return self._items.count(_checked(value, self._element))

    def clear(self) -> None:
        """Take all items out."""
        self._items.clear()


class ScriptDict:
    """A dict that scripts take as it is, where they would copy one of Python."""

    def __init__(self, items: Any, kind: Type | None = None) -> None:
        self._items: dict[Any, Any] = items if isinstance(items, dict) else dict(items)
        found = kind if kind is not None else type_of(self._items)
        self._types = (found.key, found.value) if isinstance(found, DictType) else (ANY, ANY)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __contains__(self, key: Any) -> bool:
        try:
            return _checked(key, self._types[0]) in self._items
        except TypeError as error:
            raise KeyError(*error.args) from None

    def __getitem__(self, key: Any) -> Any:
        return _shown(self._items[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[_checked(key, self._types[0])] = _checked(value, self._types[1])

    def __delitem__(self, key: Any) -> None:
        del self._items[_checked(key, self._types[0])]

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, ScriptDict) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in self._items.items()) + "}"

    def keys(self) -> Any:
        """The keys."""
        return self._items.keys()

    def items(self) -> Any:
        """Keys with their values."""
        return [(key, _shown(value)) for key, value in self._items.items()]

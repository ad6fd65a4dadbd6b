"""Weak references to tensors by identity: ``WeakIdKeyDictionary`` and its like.

>>> import rushlight
>>> held = WeakIdKeyDictionary()
>>> x = rushlight.ones(2)
>>> held[x] = "first"
>>> held[x], len(held)
('first', 1)
>>> del x
>>> len(held)
0
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the very same object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return mine is others if mine is not None and others is not None else self is other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping whose keys are compared by identity, and vanish with the objects."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        kept = weakref.ref(self)

        def remove(key: Any) -> None:
            found = kept()
            if found is not None:
                found.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            found = reference()
            if found is not None:
                yield found

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # an object that can't be referred to weakly
            return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same keys and values."""
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = value
        return made

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """The references; their objects may be gone."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary
WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

"""Types of tensors by their sizes, some of them unknown: what gradual typing of graphs is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors with given sizes: ``TensorType((1, 2, Dyn))`` or ``TensorType[1, 2, Dyn]``."""

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self) -> Sequence[Any]:
        """The sizes."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    __hash__ = None  # type: ignore[assignment]

    def __class_getitem__(cls, dims: Any) -> TensorType:
        return TensorType(dims if isinstance(dims, tuple) else (dims,))


class _DynType:
    """The type of what is not known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def _each(relation: Callable[[object, object], bool], t1: object, t2: object) -> bool:
    """Whether a relation holds between two types of tensors, size by size."""
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(relation, t1.dims, t2.dims))


def is_consistent(t1: object, t2: object) -> bool:
    """Whether one value can have both types: sizes are equal, or one is not known."""
    return t1 == t2 or isinstance(t1, _DynType) or isinstance(t2, _DynType) or _each(is_consistent, t1, t2)


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether whatever has the first type has the second, which may leave sizes open."""
    return t1 == t2 or isinstance(t2, _DynType) or _each(is_more_precise, t1, t2)

"""Types of tensors by their sizes, some of them unknown: what gradual typing of graphs is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _DynType:
    """The type of a value of which nothing is known; the sizes that are unknown have it, too."""

    __name__ = "_DynType"
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


class TensorType:
    """The type of tensors with given sizes: ``TensorType((1, 2, Dyn))`` or ``TensorType[1, 2, Dyn]``."""

    __match_args__ = ("dims",)
    __hash__ = None  # type: ignore[assignment]
    __args__: Sequence[Any]  # with ``__origin__``, what `typing.get_args` and `typing.get_origin` call these

    def __init__(self, dim: Sequence[Any]) -> None:
        vars(self).update(__origin__=TensorType, __args__=dim)

    def __class_getitem__(cls, sizes: Any) -> TensorType:
        return TensorType(sizes if type(sizes) is tuple else (sizes,))

    dims = property(lambda self: self.__args__, doc="The sizes.")

    def __eq__(self, other: object) -> bool:
        match other:
            case TensorType(dims):
                return [*dims] == [*self.dims]
        return False

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"


def _admits(general: object, special: object, both_ways: bool) -> bool:
    """Whether values of the special type may have the general one; what is unknown in the special type counts only ``both_ways``."""
    match general, special:
        case _DynType(), _:
            return True
        case _, _DynType():
            return both_ways
        case TensorType(wanted), TensorType(given) if len(wanted) == len(given):
            return all(_admits(each, size, both_ways) for each, size in zip(wanted, given))
    return general == special


def is_consistent(t1: object, t2: object) -> bool:
    """Whether one value can have both types: sizes are equal, or one is not known."""
    return _admits(t1, t2, both_ways=True)


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether whatever has the first type has the second, which may leave sizes open."""
    return _admits(t2, t1, both_ways=False)

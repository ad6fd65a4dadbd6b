"""What was compiled once for all functions that one ``def`` makes, as long as they mean the same by the names they use."""

from __future__ import annotations

import enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ....core.devices import device
from ....core.dtypes import dtype
from ..frontend.source import MISSING, FunctionSource

KEPT = 2  # programs for one def: each with what it means by its names
_NUMBERS = (int, float, complex, str, bool, type(None), dtype, device, type(...))
_FIXED = (*_NUMBERS, FunctionType, BuiltinFunctionType, type, ModuleType, enum.Enum)
_FIXED_CLASSES = frozenset(_FIXED)


class Meaning:
    """What a function was compiled with: values of the names that it uses, its annotations and defaults."""

    __slots__ = ("annotations", "attributes", "defaults", "names")

    def __init__(self, source: FunctionSource) -> None:
        self.names = source.names
        self.attributes = source.attributes
        self.annotations = dict(source.function.__annotations__)
        self.defaults = defaults_of(source.function)

    def is_fixed(self) -> bool:
        """Whether nothing in it can change unseen, as a list could."""
        values = [*self.names.values(), *(value for _, _, value in self.attributes), *self.defaults.values()]
        return all(map(is_fixed, values))

    def is_of(self, source: FunctionSource) -> bool:
        """Whether a function means the same."""
        function = source.function
        if self.defaults.keys() != defaults_of(function).keys() or self.annotations.keys() != function.__annotations__.keys():
            return False
        pairs = [(value, source.find(name)) for name, value in self.names.items()]
        pairs += [(value, getattr(owner, name, MISSING)) for owner, name, value in self.attributes]
        pairs += zip(self.defaults.values(), defaults_of(function).values())
        return all(same(one, other) for one, other in pairs) and all(
            one is other or (one.__class__ is other.__class__ and one == other)
            for one, other in zip(self.annotations.values(), function.__annotations__.values())
        )


def defaults_of(function: Any) -> dict[Any, Any]:
    """The defaults of a function, by position or name."""
    return {**dict(enumerate(function.__defaults__ or ())), **(function.__kwdefaults__ or {})}


def is_fixed(value: Any) -> bool:
    """Whether a value stays what it is."""
    if value.__class__ in _FIXED_CLASSES:
        return True
    if isinstance(value, tuple):
        return all(map(is_fixed, value))
    return value is MISSING or isinstance(value, _FIXED) or getattr(value, "__module__", None) == "typing" or hasattr(value, "_program")


def same(one: Any, other: Any) -> bool:
    """Whether two values are one, or constants that nothing can tell apart."""
    if one is other:
        return True
    return one.__class__ is other.__class__ and isinstance(one, (*_NUMBERS, tuple)) and is_fixed(one) and repr(one) == repr(other)


def known_program(source: FunctionSource) -> Any:
    """The program of a function that means the same, or None."""
    for meaning, program in source.text.programs:
        if not program.private and meaning.is_of(source):
            return program
    return None


def keep_program(source: FunctionSource, program: Any) -> None:
    """Keep a program for other functions of the same ``def``."""
    meaning = Meaning(source)
    if meaning.is_fixed():
        source.text.programs = [(meaning, program), *source.text.programs][:KEPT]
        source.text.forget_tree()

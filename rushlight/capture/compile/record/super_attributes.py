"""Attributes by ``super()``: what a base of a user's class has under a name stays the same in later calls."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..guards.guard import Kind
from ..vm.frame import Inline
from .callables import is_users


def super_attribute(recorder: Any, value: Any, name: str) -> Any:
    """An attribute of a ``super`` object; a property is a call of its function."""
    kinds = value.__self_class__.__mro__ if value.__self_class__ is not None else ()
    bases = kinds[kinds.index(value.__thisclass__) + 1 :] if value.__thisclass__ in kinds else ()
    owner = next((each for each in bases if name in each.__dict__), None)
    if owner is None or not is_users(owner) or ("attribute", id(owner), name) in recorder.written:
        return recorder.load_plain(value, name)
    sources = recorder.new_source
    for each in bases[: bases.index(owner)]:
        if is_users(each):
            recorder.guards.add(Kind.NO_FIELD, sources.known(each), name, key=name)
    found = owner.__dict__[name]
    if not isinstance(found, FunctionType) and hasattr(type(found), "__get__"):
        recorder.guards.identity(sources.item(sources.attribute(sources.known(owner), "__dict__"), name), found)
        if isinstance(found, property) and isinstance(found.fget, FunctionType) and recorder.should_inline(found.fget):
            return Inline(found.fget, (value.__self__,), {})
        return recorder.load_plain(value, name)
    if isinstance(found, FunctionType):
        recorder.guard_class_attribute(owner, name, found)
        return recorder.load_plain(value, name)
    return recorder.guard_value(sources.attribute(sources.known(owner), name), found)

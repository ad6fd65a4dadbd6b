"""Which names statements read and which they set."""

from __future__ import annotations

import ast
import operator
from ast import Constant, Del, Load, Name
from collections.abc import Callable, Iterable
from typing import Any

from .exits import Guard, Set


def loaded(nodes: Iterable[Any]) -> set[str]:
    """The names that are read."""
    found: set[str] = set()
    for each in nodes:
        found |= _names(each)[0]
    return found


def assigned(nodes: Iterable[Any]) -> set[str]:
    """The names that are set, but not inside comprehensions."""
    found: set[str] = set()
    for each in nodes:
        found |= _names(each)[1]
    return found


_LEAVES = frozenset("op ops ctx attr id name arg kind type_comment conversion level module is_async simple".split())
_KINDS = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST) and each not in (Name, Constant)]
_FIELDS: dict[type, list[str]] = {kind: [each for each in getattr(kind, "_fields", ()) if each not in _LEAVES] for kind in _KINDS}
_FIELDS.update({Set: ["value"], Guard: ["body"]})
# What is inside of a node: a tuple, for which a getter needs two names at least.
_parts: dict[type, Callable[[Any], Any]] = {
    kind: operator.attrgetter(*fields, *(["__class__"] if len(fields) == 1 else [])) for kind, fields in _FIELDS.items() if fields
}
_SCOPES = frozenset((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef))
_WHOLE = _SCOPES | {kind for kind in _KINDS if issubclass(kind, ast.stmt)} | {Set, Guard}  # what is kept for each


def _names(node: Any) -> tuple[set[str], set[str]]:
    """The names that a part of a program reads, and those that it sets; found once for each statement."""
    known = node.__dict__.get("_names")
    if known is not None:
        return known  # type: ignore[no-any-return]
    kind = node.__class__
    reads: set[str] = set()
    sets: set[str] = set()
    waiting: list[Any] = [*_parts[kind](node)] if kind in _parts else [node]
    for part in waiting:  # which grows
        inner = part.__class__
        if inner is Name:
            if part.ctx.__class__ is Load:
                reads.add(part.id)
            else:
                sets.add(part.id)
                if part.ctx.__class__ is Del:
                    reads.add(part.id)
        elif inner is list:
            waiting += part
        elif inner is Constant or inner is type:
            continue
        elif inner in _WHOLE:
            found = _names(part)
            reads |= found[0]
            sets |= found[1]
        elif inner in _parts:
            waiting += _parts[inner](part)
    if kind is ast.AugAssign and node.target.__class__ is ast.Name:
        reads.add(node.target.id)
    elif kind is Set:
        sets.add(node.name)
    elif kind is Guard:
        reads.update(node.flags)
    elif kind in _SCOPES:
        sets = set()
    elif kind is ast.For or kind is ast.While:
        reads.update(getattr(node, "stop", ()))
    node._names = (reads, sets)
    return reads, sets


def renamed(part: Any, names: dict[str, str]) -> Any:
    """The same part of a program with other names for the variables of a comprehension; the part itself stays as it is."""
    if isinstance(part, list):
        return [renamed(each, names) for each in part]
    if not isinstance(part, ast.AST):
        return part
    made: Any = type(part).__new__(type(part))
    made.__dict__.update({field: renamed(value, names) for field, value in part.__dict__.items() if field != "_names"})
    if isinstance(part, Name):
        made.id = names.get(part.id, part.id)
    return made

"""Which names statements read and which they set."""

from __future__ import annotations

import ast
import operator
from ast import Constant, Del, Load, Name
from collections.abc import Callable, Iterable
from typing import Any

from .single_exit import Set, UnlessExited

_LEAVES = frozenset("op ops ctx attr id name arg kind type_comment conversion level module is_async simple".split())
_KINDS = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST) and each not in (Name, Constant)]
_FIELDS: dict[type, list[str]] = {kind: [each for each in getattr(kind, "_fields", ()) if each not in _LEAVES] for kind in _KINDS}
_FIELDS[UnlessExited] = ["body"]
# What is inside of a node: a tuple, for which a getter needs two names at least.
_parts: dict[type, Callable[[Any], Any]] = {
    kind: operator.attrgetter(*fields, *(["__class__"] if len(fields) == 1 else [])) for kind, fields in _FIELDS.items() if fields
}
_SCOPES = frozenset((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef))
_KEPT = _SCOPES | {kind for kind, fields in _FIELDS.items() if "body" in fields and not issubclass(kind, ast.expr)}


def names_in(nodes: Iterable[Any]) -> tuple[set[str], set[str]]:
    """The names that parts of a program read, and those that they set, but not inside comprehensions."""
    reads: set[str] = set()
    sets: set[str] = set()
    waiting = [*nodes]
    for part in waiting:  # which grows
        kind = part.__class__
        if kind is Name:
            if part.ctx.__class__ is Load:
                reads.add(part.id)
            else:
                sets.add(part.id)
                if part.ctx.__class__ is Del:
                    reads.add(part.id)
        elif kind is list:
            waiting += part
        elif kind is Constant or kind is type:
            continue
        elif kind in _KEPT:
            found = part.__dict__.get("_names") or _names_of(part, kind)
            reads |= found[0]
            sets |= found[1]
        elif kind is Set:
            sets.add(part.name)
            waiting.append(part.value)
        elif kind in _parts:
            waiting += _parts[kind](part)
            if kind is ast.AugAssign and part.target.__class__ is Name:
                reads.add(part.target.id)
    return reads, sets


def _names_of(node: Any, kind: type) -> tuple[set[str], set[str]]:
    """The names of a part that has statements, or names of its own, inside: they are found once."""
    reads, sets = names_in(_parts[kind](node))
    if kind is UnlessExited:
        reads.update(node.flags)
    elif kind is ast.For or kind is ast.While:
        reads.update(getattr(node, "stop", ()))
    elif kind in _SCOPES:
        sets = set()
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

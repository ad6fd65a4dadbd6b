"""Which names statements read and which they set."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any


def loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are read."""
    found: set[str] = set()
    for each in nodes:
        found |= _names(each)[0]
    return found


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are set, but not inside comprehensions."""
    found: set[str] = set()
    for each in nodes:
        found |= _names(each)[1]
    return found


_SCOPES = frozenset((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef))
_LEAVES = frozenset("op ops ctx attr id name arg kind type_comment conversion level module is_async simple".split())
_parts: dict[type, tuple[str, ...]] = {}  # the fields of each kind of node that may have nodes in them


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a part of a program reads, and those that it sets; found once for each statement."""
    known = node.__dict__.get("_names")
    if known is not None:
        return known  # type: ignore[no-any-return]
    reads: set[str] = set()
    sets: set[str] = set()
    waiting: list[Any] = [node]
    while waiting:
        part: Any = waiting.pop()
        kind = part.__class__
        if kind is list:
            waiting += part
            continue
        if kind is ast.Name:
            if part.ctx.__class__ is ast.Load:
                reads.add(part.id)
                continue
            sets.add(part.id)
            if part.ctx.__class__ is ast.Del:
                reads.add(part.id)
            continue
        fields = _parts.get(kind)
        if fields is None:
            fields = _parts[kind] = tuple(each for each in getattr(kind, "_fields", ()) if each not in _LEAVES) if kind is not ast.Constant else ()
        if part is not node and (kind in _SCOPES or isinstance(part, ast.stmt)):
            inner = _names(part)
            reads |= inner[0]
            sets |= inner[1]
            continue
        for field in fields:
            value = getattr(part, field, None)
            if value is not None:
                waiting.append(value)
        if kind is ast.AugAssign and isinstance(part.target, ast.Name):  # type: ignore[union-attr]
            reads.add(part.target.id)  # type: ignore[union-attr]
    if node.__class__ in _SCOPES:
        sets = set()
    reads.update(getattr(node, "stop", ()))
    node._names = (reads, sets)  # type: ignore[attr-defined]
    return reads, sets


def renamed(part: Any, names: dict[str, str]) -> Any:
    """The same part of a program with other names for the variables of a comprehension; the part itself stays as it is."""
    if isinstance(part, list):
        return [renamed(each, names) for each in part]
    if not isinstance(part, ast.AST):
        return part
    made: Any = type(part).__new__(type(part))
    made.__dict__.update({field: renamed(value, names) for field, value in part.__dict__.items() if field != "_names"})
    if isinstance(part, ast.Name):
        made.id = names.get(part.id, part.id)
    return made

"""Which names statements read and which they set."""

from __future__ import annotations

import ast
from collections.abc import Iterable


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


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a part of a program reads, and those that it sets; found once for each statement."""
    known = node.__dict__.get("_names")
    if known is not None:
        return known  # type: ignore[no-any-return]
    reads: set[str] = set()
    sets: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is ast.Name:
            if part.ctx.__class__ is ast.Load:  # type: ignore[attr-defined]
                reads.add(part.id)  # type: ignore[attr-defined]
                continue
            sets.add(part.id)  # type: ignore[attr-defined]
            if part.ctx.__class__ is ast.Del:  # type: ignore[attr-defined]
                reads.add(part.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if part is not node and (kind in _SCOPES or isinstance(part, ast.stmt)):
            inner = _names(part)
            reads |= inner[0]
            sets |= inner[1]
            continue
        for value in part.__dict__.values():
            if value.__class__ is list:
                waiting += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)
        if kind is ast.AugAssign and isinstance(part.target, ast.Name):  # type: ignore[attr-defined]
            reads.add(part.target.id)  # type: ignore[attr-defined]
    if node.__class__ in _SCOPES:
        sets = set()
    reads.update(getattr(node, "stop", ()))
    node._names = (reads, sets)  # type: ignore[attr-defined]
    return reads, sets


class Renamed(ast.NodeTransformer):
    """The same expression with other names for the variables of a comprehension."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

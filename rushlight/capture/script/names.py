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


_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef)


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a part of a program reads, and those that it sets; found once for each part."""
    known = getattr(node, "_names", None)
    if known is not None:
        return known  # type: ignore[no-any-return]
    reads: set[str] = set()
    sets: set[str] = set()
    if isinstance(node, ast.Name):
        (reads if isinstance(node.ctx, ast.Load) else sets).add(node.id)
        if isinstance(node.ctx, ast.Del):
            reads.add(node.id)
    else:
        for field in node._fields:
            value = getattr(node, field, None)
            for each in value if isinstance(value, list) else (value,):
                if isinstance(each, ast.AST) and not isinstance(each, ast.expr_context):
                    inner = _names(each)
                    reads |= inner[0]
                    sets |= inner[1]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            reads.add(node.target.id)
        if isinstance(node, _SCOPES):
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

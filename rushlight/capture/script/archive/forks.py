"""Forked functions in the code of archives: what they compute is written where they are forked."""

from __future__ import annotations

import ast
import copy
import itertools

from ..frontend.errors import NotSupportedError

_MARK = "__forked_function"
_MOST = 100_000  # nodes of syntax: functions that fork others twice make more than any file has


class InlinedForks(ast.NodeTransformer):
    """Replaces ``def __forked_function(): ...; f = fork(__forked_function)`` by the statements of the function, with names of their own."""

    def __init__(self) -> None:
        self.count = itertools.count()
        self.bodies: dict[str, list[ast.stmt]] = {}
        self.written = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        """A definition: one that is forked is kept for that place, with what it forks itself inlined first."""
        if not node.name.startswith(_MARK):
            return self.generic_visit(node)
        if node.args.args or not node.body or not isinstance(node.body[-1], ast.Return) or node.body[-1].value is None:
            raise NotSupportedError("a forked function of the archive takes arguments, or does not end with what it returns")
        self.generic_visit(node)
        self.bodies[node.name] = node.body
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """``f = fork(__forked_function)``: ``f`` is the result, which ``torch.wait`` passes on."""
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "fork" and len(call.args) == 1):
            return node
        name = call.args[0].id if isinstance(call.args[0], ast.Name) else ""
        if name not in self.bodies:
            return node
        self.written += sum(1 for part in self.bodies[name] for _ in ast.walk(part))
        if self.written > _MOST:
            raise NotSupportedError(f"the forked functions of the archive, written out, have more than {_MOST} parts")
        *body, result = copy.deepcopy(self.bodies[name])
        names = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        renamed = Renamed(names, f"_fork{next(self.count)}_")
        assert isinstance(result, ast.Return) and result.value is not None
        return [*(renamed.visit(each) for each in body), ast.copy_location(ast.Assign(node.targets, renamed.visit(result.value)), node)]


class Renamed(ast.NodeTransformer):
    """Names with a prefix."""

    def __init__(self, names: set[str], prefix: str) -> None:
        self.names, self.prefix = names, prefix

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """One of the names, wherever it stands."""
        return ast.copy_location(ast.Name(self.prefix + node.id, node.ctx), node) if node.id in self.names else node


def inlined_forks(tree: ast.Module, text: str) -> ast.Module:
    """The code of a file without forked functions."""
    if _MARK not in text:
        return tree
    try:
        made: ast.Module = InlinedForks().visit(tree)
    except RecursionError:
        raise NotSupportedError("the forked functions of the archive are nested too deep") from None
    return made

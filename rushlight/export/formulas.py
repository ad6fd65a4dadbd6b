"""Formulas of sizes as ``.pt2`` files have them: SymPy's own notation, which is written and read here as text, and never evaluated."""

from __future__ import annotations

import ast
from typing import Any

from ..core.symbolic import Expression
from .errors import ArchiveError

_BINARY = {"FloorDiv": "//", "CleanDiv": "//", "PythonMod": "%", "Mod": "%", "Max": "max", "Min": "min"}
_WRITTEN = {sign: name for name, sign in reversed(_BINARY.items())}
_RELATIONS = {"GreaterThan": ">=", "LessThan": "<=", "StrictGreaterThan": ">", "StrictLessThan": "<", "Equality": "==", "Unequality": "!="}
RELATIONS = {sign: name for name, sign in _RELATIONS.items()}
_DEEPEST = 60


def read(text: Any) -> Expression:
    """The formula that a text of SymPy's stands for; raises for anything else."""
    if not isinstance(text, str) or len(text) > 100_000:
        raise ArchiveError(f"a size is given by {str(text)[:60]!r}, which is no formula")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ArchiveError(f"a size is given by {text[:60]!r}, which is no formula") from None
    return _formula(tree, text, 0)


def _formula(node: ast.expr, text: str, depth: int) -> Expression:
    if depth > _DEEPEST:
        raise ArchiveError(f"the formula {text[:60]!r} is nested too deeply")
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Expression.of(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Expression.of(0) - _formula(node.operand, text, depth + 1)
    if isinstance(node, ast.BinOp):
        left, right = _formula(node.left, text, depth + 1), _formula(node.right, text, depth + 1)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.FloorDiv):
            return left // right
        if isinstance(node.op, ast.Mod):
            return left % right
    if isinstance(node, ast.Name):
        return Expression.symbol(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name == "Symbol" and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return Expression.symbol(node.args[0].value)
        parts = [_formula(each, text, depth + 1) for each in node.args]
        if name == "Integer" and len(parts) == 1:
            return parts[0]
        if name in ("Add", "Mul") and parts:
            made = parts[0]
            for each in parts[1:]:
                made = made + each if name == "Add" else made * each
            return made
        if name == "Pow" and len(parts) == 2 and parts[1].constant is not None and 0 <= parts[1].constant <= 8:
            made = Expression.of(1)
            for _ in range(parts[1].constant):
                made = made * parts[0]
            return made
        if name in _BINARY and len(parts) >= 2:
            made = parts[0]
            for each in parts[1:]:
                how = _BINARY[name]
                made = made // each if how == "//" else made % each if how == "%" else Expression.operation(how, made, each)
            return made
    raise ArchiveError(f"the formula {text[:80]!r} has a part that is not known here")


def write(formula: Expression) -> str:
    """A formula in SymPy's notation."""
    terms = []
    for monomial, factor in formula.terms.items():
        parts = ([f"Integer({factor})"] if factor != 1 or not monomial else []) + [_atom(each) for each in monomial]
        terms.append(parts[0] if len(parts) == 1 else f"Mul({', '.join(parts)})")
    if not terms:
        return "Integer(0)"
    return terms[0] if len(terms) == 1 else f"Add({', '.join(sorted(terms, key=lambda each: not each.startswith('Integer')))})"


def _atom(atom: Any) -> str:
    if isinstance(atom, str):
        return f"Symbol('{atom}', integer=True)" if atom.startswith("u") else f"Symbol('{atom}', positive=True, integer=True)"
    name, first, second = atom
    return f"{_WRITTEN[name]}({write(first)}, {write(second)})"


def write_relation(how: str, left: Expression, right: Expression) -> str:
    """A comparison in SymPy's notation."""
    return f"{RELATIONS[how]}({write(left)}, {write(right)})"


def read_relation(text: Any) -> str:
    """A comparison of SymPy's notation in words."""
    try:
        tree = ast.parse(str(text)[:100_000], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ArchiveError(f"{str(text)[:60]!r} is no comparison of sizes") from None
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _RELATIONS and len(tree.args) == 2:
        left, right = (_formula(each, str(text), 0) for each in tree.args)
        return f"{left} {_RELATIONS[tree.func.id]} {right}"
    return str(text)[:200]

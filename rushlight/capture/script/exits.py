"""Rewrites a function so that it has one ``return``, at its end, and no ``break`` or ``continue``.

What follows an early return goes into the other branch of the ``if``; where that does not do, a flag says that the function (or
the loop) is done, and what follows is put under an ``if``.  Loops get an attribute ``stop``: the flags that end them.
"""

from __future__ import annotations

import ast
from typing import Any

from .names import assigned

RETURNED, VALUE = "$returned", "$value"
_STRAIGHT = frozenset((ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert))
_SIMPLE = _STRAIGHT | {ast.Raise}


class Exits:
    """One rewriting of one function."""

    def __init__(self) -> None:
        self.loops = 0
        self.read: set[str] = set()

    def function(self, definition: ast.FunctionDef) -> list[ast.stmt]:
        """The statements of the function without jumps; the last is its only ``return``."""
        last = definition.body[-1]
        statements = list(definition.body)
        if isinstance(last, ast.Return) and not any(jumps(each) for each in statements[:-1]):
            return statements
        may_return, always = exits_of(statements)
        if may_return and not always:
            statements.append(placed(ast.Return(placed(ast.Constant(None), last)), last))
        body, may, _ = self.block(statements, None)
        if RETURNED in self.read:
            first = definition.body[0]
            unset = self.assign(VALUE, ast.Name("$unset", ast.Load()), first)
            body = [self.assign(RETURNED, ast.Constant(False), first), unset, *body]
        value: ast.expr = ast.Name(VALUE, ast.Load()) if RETURNED in may else ast.Constant(None)
        final = placed(ast.Return(placed(value, last)), last)
        body = self.pruned(body)
        if body and isinstance(body[-1], ast.Assign) and target_of(body[-1]) == VALUE and not self.used_before(body[:-1]):
            return [*body[:-1], placed(ast.Return(body[-1].value), body[-1])]
        return [*body, final]

    def used_before(self, statements: list[ast.stmt]) -> bool:
        return VALUE in assigned(statements)

    def pruned(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Without assignments to flags that nobody reads."""
        kept: list[ast.stmt] = []
        for each in statements:
            if each.__class__ is ast.Assign:
                name = target_of(each)
                if name is not None and name[0] == "$" and name != VALUE and name not in self.read:
                    continue
            if each.__class__ not in _SIMPLE:
                for field in ("body", "orelse"):
                    inner = getattr(each, field, None)
                    if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                        setattr(each, field, self.pruned(inner) or ([placed(ast.Pass(), each)] if field == "body" else []))
            kept.append(each)
        return kept

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], loop: tuple[str, str] | None) -> tuple[list[ast.stmt], set[str], bool]:
        """Statements without jumps, the flags that they may set, and whether they never reach their end."""
        made: list[ast.stmt] = []
        may: set[str] = set()
        for at, each in enumerate(statements):
            if each.__class__ in _STRAIGHT:
                made.append(each)
                continue
            rest = statements[at + 1 :]
            if isinstance(each, ast.Return):
                made += [self.assign(VALUE, each.value or ast.Constant(None), each), self.assign(RETURNED, ast.Constant(True), each)]
                return made, may | {RETURNED}, True
            if isinstance(each, (ast.Break, ast.Continue)) and loop is not None:
                flag = loop[0] if isinstance(each, ast.Break) else loop[1]
                made.append(self.assign(flag, ast.Constant(True), each))
                return made, may | {flag}, True
            if isinstance(each, ast.Raise):
                made.append(each)
                return made, may, True
            if isinstance(each, ast.If):
                done = self.choice(each, rest, loop, made)
                if done is not None:
                    return made, may | done[0], done[1]
                continue
            if isinstance(each, (ast.For, ast.While)):
                flags = self.loop(each, loop, made)
                if endless(each):
                    return made, may | flags, True
            elif isinstance(each, ast.With):
                body, flags, always = self.block(each.body, loop)
                made.append(copied(each, body=body))
                if always:
                    return made, may | flags, True
            else:
                made.append(each)
                continue
            if flags:
                return made, *self.guarded(flags, rest, loop, made, may)
        return made, may, False

    def choice(self, each: ast.If, rest: list[ast.stmt], loop: Any, made: list[ast.stmt]) -> tuple[set[str], bool] | None:
        """An ``if``; None where the statements after it stay where they are."""
        may_then, always_then = exits_of(each.body)
        may_else, always_else = exits_of(each.orelse)
        if not may_then and not may_else:
            body, _, first = self.block(each.body, loop)
            orelse, _, second = self.block(each.orelse, loop)
            made.append(copied(each, body=body, orelse=orelse))
            return (set(), True) if first and second and orelse else None
        move_to_else = always_then and not always_else
        move_to_then = always_else and not always_then
        body, flags_then, first = self.block([*each.body, *rest] if move_to_then else each.body, loop)
        orelse, flags_else, second = self.block([*each.orelse, *rest] if move_to_else else each.orelse, loop)
        made.append(copied(each, body=body, orelse=orelse))
        flags = flags_then | flags_else
        if (always_then and always_else) or move_to_else or move_to_then:
            return flags, first and second
        return self.guarded(flags, rest, loop, made, set())

    def guarded(self, flags: set[str], rest: list[ast.stmt], loop: Any, made: list[ast.stmt], may: set[str]) -> tuple[set[str], bool]:
        """What follows something that may have set flags."""
        body, later, always = self.block(rest, loop)
        if body:
            self.read |= flags
            place = rest[0]
            test = negated(sorted(flags), place)
            made.append(placed(ast.If(test, body, []), place))
        return may | flags | later, always

    def loop(self, each: Any, outer: Any, made: list[ast.stmt]) -> set[str]:
        """A loop; the flags that concern what follows it."""
        self.loops += 1
        broken, skipped = f"$broken{self.loops}", f"$skipped{self.loops}"
        body, may, _ = self.block(each.body, (broken, skipped))
        stop = sorted(may & {broken, RETURNED})
        self.read |= set(stop)
        if skipped in may:
            body = [self.assign(skipped, ast.Constant(False), each), *body]
        if broken in may:
            made.append(self.assign(broken, ast.Constant(False), each))
        changed = copied(each, body=body)
        changed.stop = stop
        made.append(changed)
        return may - {broken, skipped}

    def assign(self, name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
        if not hasattr(value, "lineno"):
            placed(value, place)
        return placed(ast.Assign([placed(ast.Name(name, ast.Store()), place)], value), place)


def jumps(node: ast.AST) -> bool:
    """Whether there is a ``return``, ``break`` or ``continue`` in a statement."""
    return holds(node, (ast.Return, ast.Break, ast.Continue))


def holds(node: ast.AST, kinds: Any) -> bool:
    """Whether a statement is of one of several kinds, or has one that is inside."""
    if isinstance(node, kinds):
        return True
    if node.__class__ in _SIMPLE:
        return False
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(node, field, None)
        if isinstance(inner, list) and any(holds(each, kinds) for each in inner):
            return True
    return False


def target_of(statement: ast.stmt) -> str | None:
    """The name that a plain assignment sets."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def placed(made: Any, place: Any) -> Any:
    """A node of the syntax tree at the place of another."""
    made.lineno, made.col_offset = place.lineno, place.col_offset
    made.end_lineno, made.end_col_offset = place.end_lineno, place.end_col_offset
    return made


def negated(flags: list[str], place: ast.AST) -> ast.expr:
    """``not (a or b)``."""
    names: list[ast.expr] = [placed(ast.Name(flag, ast.Load()), place) for flag in flags]
    value = names[0] if len(names) == 1 else placed(ast.BoolOp(ast.Or(), names), place)
    return placed(ast.UnaryOp(ast.Not(), value), place)


def copied(node: Any, **fields: Any) -> Any:
    """The same statement with other parts."""
    kind: Any = type(node)
    made = kind.__new__(kind)
    made.__dict__.update(node.__dict__)
    made.__dict__.update(fields)
    made.__dict__.pop("_names", None)
    return made


def exits_of(statements: list[ast.stmt]) -> tuple[bool, bool]:
    """Whether statements may leave what they stand in (other than by ``raise``), and whether they never reach their end."""
    may = False
    for each in statements:
        if each.__class__ in _STRAIGHT:
            continue
        if isinstance(each, (ast.Return, ast.Break, ast.Continue)):
            return True, True
        if isinstance(each, ast.Raise):
            return may, True
        if isinstance(each, ast.If):
            first, always_first = exits_of(each.body)
            second, always_second = exits_of(each.orelse)
            may = may or first or second
            if always_first and always_second:
                return may, True
        elif isinstance(each, (ast.For, ast.While)):
            may = may or holds(each, ast.Return)
            if endless(each):
                return may, True
        elif isinstance(each, ast.With):
            inside, always = exits_of(each.body)
            may = may or inside
            if always:
                return may, True
    return may, False


def endless(loop: ast.stmt) -> bool:
    """Whether a loop can only be left by a ``return`` or an exception."""
    if not isinstance(loop, ast.While) or not isinstance(loop.test, ast.Constant) or not loop.test.value:
        return False
    return not any(map(_breaks, loop.body))


def _breaks(statement: ast.AST) -> bool:
    if isinstance(statement, (ast.For, ast.While)):
        return False
    return isinstance(statement, ast.Break) or any(map(_breaks, ast.iter_child_nodes(statement)))

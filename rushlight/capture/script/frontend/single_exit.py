"""Rewrites a function so that it has one ``return``, at its end, and no ``break`` or ``continue``.

What follows an early return goes into the other branch of the ``if``; where that does not do, a flag says that the function (or
the loop) is done, and what follows is put under a :class:`Guard`.  Loops get an attribute ``stop``: the flags that end them.
"""

from __future__ import annotations

import ast
from typing import Any

from ....graph.control import UNSET

RETURNED, VALUE = "$returned", "$value"
FLAGS = (RETURNED, "$broken", "$skipped")  # what the names of flags begin with
_JUMPS = frozenset((ast.Return, ast.Break, ast.Continue))
_STRAIGHT = frozenset((ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert))
_SIMPLE = _STRAIGHT | {ast.Raise}


class Set:
    """A statement of the rewriting: a flag, or the value that is returned, is set to an expression or to what is known."""

    def __init__(self, name: str, value: ast.expr | None, known: Any, place: ast.stmt) -> None:
        self.name = name
        self.value = value
        self.known = known
        placed(self, place)  # not the place itself, which may hold this


class UnlessExited:
    """A statement of the rewriting: its body runs where none of some flags is set."""

    def __init__(self, flags: list[str], body: list[Any], place: Any) -> None:
        self.flags = flags
        self.body = body
        self.lineno = place.lineno


class Exits:
    """One rewriting of one function, in place."""

    def __init__(self) -> None:
        self.loops = 0
        self.returns: list[ast.Return] = []
        self.tested = False  # whether it matters somewhere that the function has returned

    def function(self, definition: ast.FunctionDef) -> list[Any]:
        """The statements of the function without jumps; the last is its only ``return``."""
        statements: list[Any] = definition.body
        last = statements[-1]
        if last.__class__ is not ast.Return:
            nothing = placed(ast.Constant(None), last)
            nothing.implicit = True  # which the message about it tells apart
            last = placed(ast.Return(nothing), last)
            statements = [*statements, last]
        if not any(map(jumps, statements[:-1])):
            return statements
        body, may, _ = self.block(statements, None)
        if self.tested:
            first = definition.body[0]
            body = [Set(RETURNED, None, False, first), Set(VALUE, None, UNSET, first), *body]
        elif len(self.returns) == 1 and body[-1].__class__ is Set and body[-1].name == VALUE:
            return [*body[:-1], self.returns[0]]
        value: ast.expr = ast.Name(VALUE, ast.Load()) if RETURNED in may else ast.Constant(None)
        return [*body, placed(ast.Return(placed(value, last)), last)]

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, statements: list[Any], loop: tuple[str, str] | None) -> tuple[list[Any], set[str], bool]:
        """Statements without jumps, the flags that they may set, and whether they never reach their end."""
        made: list[Any] = []
        for at, each in enumerate(statements):
            kind = each.__class__
            if kind in _STRAIGHT:
                made.append(each)
                continue
            if kind is ast.Return:
                self.returns.append(each)
                made += [Set(RETURNED, None, True, each), Set(VALUE, each.value, None, each)]
                return made, {RETURNED}, True
            if kind in _JUMPS and loop is not None:
                flag = loop[0] if kind is ast.Break else loop[1]
                made.append(Set(flag, None, True, each))
                return made, {flag}, True
            made.append(each)
            if kind is ast.Raise:
                return made, set(), True
            if kind is ast.If:
                done = self.choice(each, statements[at + 1 :], loop, made)
                if done is not None:
                    return made, *done
                continue
            if kind is ast.For or kind is ast.While:
                flags, always = self.loop(each, made)
            elif kind is ast.With:
                each.body, flags, always = self.block(each.body, loop)
            else:
                continue
            if always:
                return made, flags, True
            if flags:
                return made, *self.guarded(flags, statements[at + 1 :], loop, made)
        return made, set(), False

    def choice(self, each: ast.If, rest: list[Any], loop: Any, made: list[Any]) -> tuple[set[str], bool] | None:
        """An ``if``; None where the statements after it stay where they are."""
        orelse = each.orelse
        each.body, flags_then, always_then = self.block(each.body, loop)
        if always_then and (flags_then or any(map(jumps, orelse))):  # what follows is the other branch
            each.orelse, flags_else, always_else = self.block([*orelse, *rest], loop)
            return flags_then | flags_else, always_else
        each.orelse, flags_else, always_else = self.block(orelse, loop)
        if always_else and flags_then:  # what follows is the first branch
            later, always = self.guarded(flags_then, rest, loop, each.body)
            return flags_else | later, always
        if always_else and flags_else:
            more, later, always = self.block(rest, loop)
            each.body = [*each.body, *more]
            return flags_else | later, always
        if not flags_then and not flags_else:
            return (set(), True) if always_then and always_else and orelse else None
        return self.guarded(flags_then | flags_else, rest, loop, made)

    def guarded(self, flags: set[str], rest: list[Any], loop: Any, made: list[Any]) -> tuple[set[str], bool]:
        """What follows something that may have set flags."""
        body, later, always = self.block(rest, loop)
        if body:
            self.tested |= RETURNED in flags
            made.append(UnlessExited(sorted(flags), body, rest[0]))
        return flags | later, always

    def loop(self, each: Any, made: list[Any]) -> tuple[set[str], bool]:
        """A loop: the flags that concern what follows it, and whether nothing does, as only an exception or ``return`` ends it."""
        self.loops += 1
        broken, skipped = f"$broken{self.loops}", f"$skipped{self.loops}"
        each.body, may, _ = self.block(each.body, (broken, skipped))
        each.stop = sorted(may & {broken, RETURNED})
        self.tested |= RETURNED in may
        if skipped in may:
            each.body.insert(0, Set(skipped, None, False, each))
        if broken in may:
            made.insert(-1, Set(broken, None, False, each))
        endless = each.__class__ is ast.While and isinstance(each.test, ast.Constant) and bool(each.test.value) and broken not in may
        return may - {broken, skipped}, endless


def jumps(statement: Any) -> bool:
    """Whether there is a ``return``, ``break`` or ``continue`` in a statement."""
    kind = statement.__class__
    if kind in _SIMPLE:
        return False
    if kind in _JUMPS:
        return True
    return any(any(map(jumps, getattr(statement, field, ()))) for field in ("body", "orelse", "handlers", "finalbody", "cases"))


def placed(made: Any, place: Any) -> Any:
    """A node of the syntax tree at the place of another."""
    made.lineno, made.col_offset = place.lineno, place.col_offset
    made.end_lineno, made.end_col_offset = place.end_lineno, place.end_col_offset
    return made

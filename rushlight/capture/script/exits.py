"""Rewrites a function so that it has one ``return``, at its end, and no ``break`` or ``continue``.

What follows an early return goes into the other branch of the ``if``; where that does not do, a flag says that the function (or
the loop) is done, and what follows is put under a :class:`Guard`.  Loops get an attribute ``stop``: the flags that end them.
"""

from __future__ import annotations

import ast
from typing import Any

from ...graph.control import UNSET

RETURNED, VALUE = "$returned", "$value"
_STRAIGHT = frozenset((ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert))
_RETURNS, _BREAKS, _CONTINUES = 1, 2, 4  # ways of leaving statements, as bits
_JUMPS: dict[type, int] = {ast.Return: _RETURNS, ast.Break: _BREAKS, ast.Continue: _CONTINUES}


class Set:
    """A statement of the rewriting: a flag, or the value that is returned, is set to an expression or to what is known."""

    def __init__(self, name: str, value: ast.expr | None, known: Any, place: ast.stmt) -> None:
        self.name = name
        self.value = value
        self.known = known
        self.lineno = place.lineno  # not the place itself, which may hold this


class Guard:
    """A statement of the rewriting: its body runs where none of some flags is set."""

    def __init__(self, flags: list[str], body: list[Any], place: Any) -> None:
        self.flags = flags
        self.body = body
        self.lineno = place.lineno


class Exits:
    """One rewriting of one function, in place."""

    def __init__(self) -> None:
        self.jumps: list[ast.stmt] = []
        self.loops = 0
        self.returns = 0
        self.tested = False  # whether it matters somewhere that the function has returned

    def function(self, definition: ast.FunctionDef) -> list[Any]:
        """The statements of the function without jumps; the last is its only ``return``."""
        statements: list[Any] = definition.body
        last = statements[-1]
        _, always = self.survey(statements)
        if self.jumps == [last]:
            return statements
        if not always:
            statements = [*statements, self.end(None, last)]
        if not self.jumps:
            return statements
        body, may, _ = self.block(statements, None)
        if self.tested:
            first = definition.body[0]
            body = [Set(RETURNED, None, False, first), Set(VALUE, None, UNSET, first), *body]
        elif self.returns == 1 and body[-1].__class__ is Set and body[-1].name == VALUE:
            return [*body[:-1], *[each for each in self.jumps if each.__class__ is ast.Return]]
        return [*body, self.end(VALUE if RETURNED in may else None, last)]

    def end(self, name: str | None, last: ast.stmt) -> ast.stmt:
        """A ``return`` of a variable, or of None, after the last statement."""
        value: ast.expr = ast.Constant(None) if name is None else ast.Name(name, ast.Load())
        return placed(ast.Return(placed(value, last)), last)  # type: ignore[no-any-return]

    def survey(self, statements: list[Any]) -> tuple[int, bool]:
        """In which ways statements may leave what they stand in (other than by ``raise``), and whether they never reach their end.

        An ``if`` gets an attribute ``exits``: whether it may leave, and whether each of its branches never reaches its end; that of a
        loop says in which ways its body may be left.
        """
        ways = 0
        for each in statements:
            kind = each.__class__
            if kind in _STRAIGHT:
                continue
            if kind in _JUMPS:
                self.jumps.append(each)
                return ways | _JUMPS[kind], True
            if kind is ast.Raise:
                return ways, True
            if kind is ast.If:
                first, always_first = self.survey(each.body)
                second, always_second = self.survey(each.orelse)
                ways |= first | second
                each.exits = (first | second, always_first, always_second)
                if always_first and always_second:
                    return ways, True
            elif kind is ast.For or kind is ast.While:
                each.exits, _ = self.survey(each.body)
                ways |= each.exits & _RETURNS
                if kind is ast.While and endless(each):
                    return ways, True
            elif kind is ast.With:
                inside, always = self.survey(each.body)
                ways |= inside
                if always:
                    return ways, True
        return ways, False

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
                self.returns += 1
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
                flags = self.loop(each, made)
                always = kind is ast.While and endless(each)
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
        leaves, always_then, always_else = each.exits  # type: ignore[attr-defined]
        then, orelse = each.body, each.orelse
        if not leaves:
            each.body, _, first = self.block(then, loop)
            each.orelse, _, second = self.block(orelse, loop)
            return (set(), True) if first and second and orelse else None
        if always_then and not always_else:
            orelse = [*orelse, *rest]
        elif always_else and not always_then:
            then = [*then, *rest]
        each.body, flags_then, first = self.block(then, loop)
        each.orelse, flags_else, second = self.block(orelse, loop)
        flags = flags_then | flags_else
        return (flags, first and second) if always_then or always_else else self.guarded(flags, rest, loop, made)

    def guarded(self, flags: set[str], rest: list[Any], loop: Any, made: list[Any]) -> tuple[set[str], bool]:
        """What follows something that may have set flags."""
        body, later, always = self.block(rest, loop)
        if body:
            self.tested |= RETURNED in flags
            made.append(Guard(sorted(flags), body, rest[0]))
        return flags | later, always

    def loop(self, each: Any, made: list[Any]) -> set[str]:
        """A loop; the flags that concern what follows it."""
        self.loops += 1
        broken, skipped = f"$broken{self.loops}", f"$skipped{self.loops}"
        each.body, may, _ = self.block(each.body, (broken, skipped))
        each.stop = sorted(may & {broken, RETURNED})
        self.tested |= RETURNED in may
        if skipped in may:
            each.body.insert(0, Set(skipped, None, False, each))
        if broken in may:
            made.insert(-1, Set(broken, None, False, each))
        return may - {broken, skipped}


def placed(made: Any, place: Any) -> Any:
    """A node of the syntax tree at the place of another."""
    made.lineno, made.col_offset = place.lineno, place.col_offset
    made.end_lineno, made.end_col_offset = place.end_lineno, place.end_col_offset
    return made


def endless(loop: Any) -> bool:
    """Whether a ``while`` can only be left by a ``return`` or an exception."""
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value) and not loop.exits & _BREAKS

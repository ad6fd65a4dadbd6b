"""Statements of serialized TorchScript: assignments, and values that are written where they are used.

As PyTorch prints code, a value that is used once stands inside the expression that uses it, as long as everything is still computed in the order of
the graph; the others are variables, with the names that the user's program gives them where it does.
"""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
from typing import Any, NamedTuple

from ....graph import Node
from ....graph.control import branch
from ....graph.node import map_arg

_RESERVED = frozenset((*dir(builtins), *keyword.kwlist, *"self torch ops annotate uninitialized unchecked_cast CONSTANTS inf nan".split()))
_MARK = re.compile("\0(\\d+)\0")  # stands for a pending value in text; quoted() leaves no such letter in literals


class Pending(NamedTuple):
    """A value that is not written yet, since one expression after it may have it inside."""

    number: int
    node: Node
    text: str
    depth: int


def _occurrences(node: Node, user: Node) -> int:
    """How often a node is an argument of another."""
    found: list[Node] = []
    map_arg((user.args, dict(user.kwargs)), found.append)
    return sum(each is node for each in found)


class StatementText:
    """The lines of one function or method; ``nested`` where expressions may stand inside of others, otherwise each line has one operator."""

    def __init__(self, nested: bool) -> None:
        self.nested = nested
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}  # the text of each node that is written, or the mark of a pending one
        self.taken: set[str] = set()
        self.variables: dict[str, str] = {}  # names -> the user's variables that they are named after
        self.pending: list[Pending] = []
        self.settled: dict[int, str] = {}  # pending values that have become variables
        self.marks = itertools.count()

    def fresh(self, variable: str = "") -> str:
        """A name that nothing else has: that of a variable of the user's program, with a number where it is taken."""
        if variable.startswith("_") or not variable.isidentifier() or variable in _RESERVED:
            variable = ""
        names = itertools.chain([variable] if variable else [], (f"{variable or '_'}{at}" for at in itertools.count()))
        name = next(each for each in names if each not in self.taken)
        self.taken.add(name)
        if variable:
            self.variables[name] = variable
        return name

    def put(self, depth: int, text: str, returned: bool = False) -> None:
        """A line; ``returned`` of one that gives what a function or a block results in."""
        text = self.inlined(text, returned)
        self.settle()
        self.lines.append("  " * depth + text)

    def assign(self, node: Node, text: str, depth: int) -> None:
        """A node as a variable, or inside of the one expression that uses it."""
        text = self.inlined(text)
        if self.nested and self.used_once(node):
            number = next(self.marks)
            self.pending.append(Pending(number, node, text, depth))
            self.names[node] = f"\0{number}\0"
            return
        self.settle()
        self.names[node] = name = self.fresh(node.meta.get("variable", ""))
        self.lines.append(f"{'  ' * depth}{name} = {text}")

    def used_once(self, node: Node) -> bool:
        """Whether the text of one other node has this one, at one place."""
        if len(node.users) != 1:
            return False
        (user,) = node.users
        if user.bodies and not (user.target is branch and user.args[0] is node):
            return False
        return _occurrences(node, user) == 1

    def inlined(self, text: str, returned: bool = False) -> str:
        """Text with the last pending values in it, where it has them once and in their order; the others become variables."""
        marks = [int(each) for each in _MARK.findall(text)]
        inside: dict[int, str] = {}
        for mark in reversed(marks):
            if not self.pending or self.pending[-1].number != mark or marks.count(mark) > 1:
                break
            if "variable" in self.pending[-1].node.meta and not returned:  # what the user has named stays a variable
                break
            inside[mark] = self.pending.pop().text
        if any(mark not in inside and mark not in self.settled for mark in marks):
            self.settle()
        return _MARK.sub(lambda found: inside.get(int(found[1])) or self.settled[int(found[1])], text)

    def settle(self) -> None:
        """Write what is pending as variables."""
        for each in self.pending:
            self.names[each.node] = self.settled[each.number] = name = self.fresh(each.node.meta.get("variable", ""))
            self.lines.append(f"{'  ' * each.depth}{name} = {each.text}")
        self.pending.clear()

    def settle_name(self, node: Node) -> None:
        """Of a node whose name is made of others' (an alias, a slice): no pending values in it, for it may be used at several places."""
        name = self.names.get(node, "")
        if "\0" in name and not (self.pending and self.pending[-1].node is node):
            self.settle()
            self.names[node] = _MARK.sub(lambda found: self.settled[int(found[1])], name)

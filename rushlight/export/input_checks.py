"""What is checked of the inputs of an exported program in each call: sizes, ranges, equal sizes, and the comparisons that the program made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.base import TensorBase
from ..core.symbolic import SymbolicInt
from .dynamic_shapes import int_oo
from .graph_signature import InputKind
from .size_guards import Guard, show

Check = tuple[str, str]  # what is demanded, in the words of the program; and the condition, on flat inputs ``a0``, ``a1``, ...


def input_checks(ep: Any, paths: list[str] | None = None, guards: Iterable[Guard] = ()) -> list[Check]:
    """The checks of a program; ``paths`` are names of its flat inputs."""
    nodes = {node.name: node for node in ep.graph.nodes if node.op == "placeholder"}
    given = [
        nodes[each.arg.name] for each in ep.graph_signature.input_specs if each.kind is InputKind.USER_INPUT and each.arg.name in nodes
    ]
    found = _Checks()
    for at, node in enumerate(given):
        found.input(at, paths[at] if paths is not None and at < len(paths) else node.name, node.meta.get("val"))
    for key, bounds in ep.range_constraints.items():
        name = str(key)
        if name in found.code:
            if bounds.lower > 2:
                found.checks.append((f"{found.text[name]} >= {bounds.lower}", f"{found.code[name]} >= {bounds.lower}"))
            if bounds.upper < int_oo:
                found.checks.append((f"{found.text[name]} <= {bounds.upper}", f"{found.code[name]} <= {bounds.upper}"))
    for guard in guards:
        if guard.symbols and guard.symbols <= set(found.code) and guard.how != "!=":
            found.checks.append((guard.text(found.text), guard.text(found.code)))
    return found.checks


class _Checks:
    """Collects checks; ``code`` and ``text`` say where each symbol is read."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.code: dict[str, str] = {}
        self.text: dict[str, str] = {}

    def input(self, at: int, text: str, known: Any) -> None:
        """The checks of one input."""
        if isinstance(known, TensorBase):
            for dim, size in enumerate(known._array.shape):
                self.size(f"a{at}.size()[{dim}]", f"{text}.size()[{dim}]", size)
        elif isinstance(known, SymbolicInt):
            name = known.expression.as_symbol
            if name is not None:
                self.code.setdefault(name, f"a{at}")
                self.text.setdefault(name, text)
        elif known is None:
            self.checks.append((f"{text} is None", f"a{at} is None"))
        elif isinstance(known, (bool, int, str)) or (isinstance(known, float) and math.isfinite(known)):
            self.checks.append((f"{text} == {known!r}", f"a{at} == {known!r}"))

    def size(self, code: str, text: str, size: Any) -> None:
        """The check of one size; a symbol that is first read here is not checked."""
        if not isinstance(size, SymbolicInt):
            self.checks.append((f"{text} == {size}", f"{code} == {int(size)}"))
            return
        formula = size.expression
        symbols = list(formula.symbols())
        if len(symbols) != 1:
            return
        (root,) = symbols
        factor, offset = formula.terms.get((root,), 0), formula.terms.get((), 0)
        if root not in self.code:
            if set(formula.terms) - {(), (root,)} or factor < 1:
                return  # no linear function: the symbol can't be told from it
            if factor > 1:
                self.checks.append((f"{text} % {factor} == {offset % factor}", f"({code} - {offset}) % {factor} == 0"))
            self.code[root] = code if formula.as_symbol else f"(({code} - {offset}) // {factor})"
            self.text[root] = text if formula.as_symbol else f"({text} - {offset}) // {factor}"
            return
        wanted = show(formula, {root: self.code[root]})
        if factor == 1 and offset and len(formula.terms) == 2:
            self.checks.append((f"{self.text[root]} == {-offset} + {text}", f"{code} == {wanted}"))
        else:
            self.checks.append((f"{text} == {show(formula, {root: self.text[root]})}", f"{code} == {wanted}"))


__all__ = ["Check", "input_checks"]

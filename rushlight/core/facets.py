"""Facets: facts about ops that live outside their declarations (batching rules, autocast classes, lowerings), registered on the ops themselves.

A facet is declared once by the room that uses it.  Registering for a name that is no op fails when the registering module is imported, so a
misspelt or renamed op can't go unnoticed; registering does not load the op's file.

    batching = Facet("batching", "how vmap runs the op on a batch")

    @batching.register("add", "mul")
    def rule(level, op, args): ...

    batching.of(op)  # the rule, or None

A facet whose facts are needed rarely names the module that registers them as its ``source``; the first lookup imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .declare import Op, customs, table
from .process_safety import load_module

Fact = TypeVar("Fact")

facets: dict[str, Facet[Any]] = {}  # every facet by its name, for docs/ops.md and the tests


class _Resolved(dict[Op, Any]):
    """The facts that were looked up, by op: a second lookup is one of a dict, without a call in Python."""

    __slots__ = ("facet",)

    def __init__(self, facet: Facet[Any]) -> None:
        self.facet = facet

    def __missing__(self, op: Op) -> Any:
        fact = self[op] = self.facet.resolve(op)
        return fact


class Facet(Generic[Fact]):
    """One kind of fact about ops: a mapping from ops to facts, with the ops' names checked on registration."""

    def __init__(self, name: str, summary: str, source: str | None = None, *, of_custom_ops: bool = False) -> None:
        """``source`` is the module that registers all facts, imported on the first lookup; see also `expect`.  A facet ``of_custom_ops`` is for ops
        that are registered while a program runs, and not for those of the table."""
        if name in facets:
            raise ValueError(f"the facet {name!r} is declared twice")
        self.name = name
        self.summary = summary
        self.of_custom_ops = of_custom_ops
        self._facts: dict[str, Fact] = {}
        self._customs: dict[str, Fact] = {}  # of ops that programs register, which are no part of the table
        self._source = source
        self._expected: dict[str, str] = {}  # the modules that will register facts, by the names of the ops
        self._resolved = _Resolved(self)
        self.of: Callable[[Op], Fact | None] = self._resolved.__getitem__  # the fact of an op, or None
        facets[name] = self

    def expect(self, module: str, *names: str) -> None:
        """Say which module registers the facts of some ops: it is imported when one of them is first asked for."""
        for name in names:
            if name not in table:
                raise LookupError(f"the facet {self.name!r} is expected of {name!r}, which is no op")
            if name not in self._facts:
                self._expected[name] = module

    def load(self) -> None:
        """Import every module that facts are expected from."""
        if self._source is not None:
            source, self._source = self._source, None
            load_module(source)
        while self._expected:
            load_module(self._expected.popitem()[1])

    def set(self, fact: Fact, *names: str) -> None:
        """Register a fact for ops, by their names in the op table."""
        self._resolved.clear()
        for name in names:
            if name in customs:
                self._customs[name] = fact
                continue
            if name not in table:
                raise LookupError(f"the facet {self.name!r} is registered for {name!r}, which is no op")
            if name in self._facts:
                raise ValueError(f"the facet {self.name!r} of {name!r} is registered twice")
            self._facts[name] = fact
            self._expected.pop(name, None)

    def forget(self, name: str) -> None:
        """Take back the fact of an op that a program had registered, and takes back."""
        self._resolved.clear()
        self._customs.pop(name, None)

    def register(self, *names: str) -> Callable[[Fact], Fact]:
        """A decorator: the function is the fact of these ops."""

        def decorate(fact: Fact) -> Fact:
            self.set(fact, *names)
            return fact

        return decorate

    def resolve(self, op: Op) -> Fact | None:
        """The fact of an op, or None, by its name; the module that registers it is imported first."""
        if op.name in self._expected:
            load_module(self._expected.pop(op.name))
        elif self._source is not None:
            self.load()
        return self._facts.get(op.name) or self._customs.get(op.name)

    def __contains__(self, op: Op) -> bool:
        return self.of(op) is not None

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(self._facts)

    def __repr__(self) -> str:
        return f"<facet {self.name}: {len(self._facts)} ops>"


__all__ = ["Facet", "facets"]

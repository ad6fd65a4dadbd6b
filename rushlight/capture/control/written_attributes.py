"""Attributes of Modules that a scripted branch or loop changes: under a capture they are values that its bodies take and give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph import Graph, Interpreter, control

SETTER = "__setattr__"


def written_attributes(graphs: Any, root: Any) -> WrittenAttributes | None:
    """The attributes that graphs set, and those that are lists, in the methods that they call as well; None where there are none."""
    lists: dict[int, list[Any]] = {}
    found: dict[tuple[int, str], tuple[Any, str]] = {}
    seen: set[tuple[int, int]] = set()

    def look(graph: Graph, root: Any) -> None:
        if (id(graph), id(root)) in seen:
            return
        seen.add((id(graph), id(root)))
        for node in graph.nodes:
            for body in (node.meta.get("bodies") or {}).values():
                look(body, root)
            if node.op == "get_attr":
                value = Interpreter(root, graph).fetch_attr(node.target)
                if isinstance(value, list):
                    lists[id(value)] = value
            if node.op != "call_module":
                continue
            path, _, last = node.target.rpartition(".")
            if last == SETTER:
                owner = Interpreter(root, graph).fetch_attr(path) if path else root
                found[id(owner), node.args[0]] = (owner, node.args[0])
                continue
            called = Interpreter(root, graph).fetch_attr(node.target)
            method: Any = called if hasattr(called, "_program") else getattr(called, "forward", None)
            if hasattr(method, "_program") and hasattr(method, "owner"):
                look(method._program.graph, method.owner)

    for graph in graphs:
        look(graph, root)
    return WrittenAttributes(list(found.values()), list(lists.values())) if found or lists else None


class WrittenAttributes:
    """Calls ``branch`` and ``loop`` with attributes among what their bodies take and give, and sets them once afterwards.

    A body may be captured several times, and for a branch that is not taken: what it sets must not stay.  Attributes that are lists are
    among the inputs, where what a body does to a list is seen.
    """

    def __init__(self, places: list[tuple[Any, str]], lists: list[list[Any]]) -> None:
        self.places = [(self.table(module, name), name) for module, name in places]
        self.lists = lists

    @staticmethod
    def table(module: Any, name: str) -> Any:
        """Where a Module keeps an attribute."""
        return next((each for each in (module._parameters, module._buffers, module._modules) if name in each), module.__dict__)

    def values(self) -> list[Any]:
        """What the attributes are now."""
        return [table[name] for table, name in self.places]

    def assign(self, values: Any) -> None:
        """Set the attributes."""
        for (table, name), value in zip(self.places, values):
            table[name] = value

    def around(self, body: Callable[..., Any], at: int | None) -> Callable[..., Any]:
        """A body that takes the attributes after its first ``at`` arguments (None: finds them set), and gives them after its results."""

        def run(*args: Any) -> Any:
            before = self.values()
            args = args[: len(args) - len(self.lists)]
            if at is not None:
                self.assign(args[at : at + len(before)])
                args = (*args[:at], *args[at + len(before) :])
            try:
                return (*body(*args), *self.values())
            finally:
                self.assign(before)

        return run

    def call(self, target: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``control.loop`` or ``control.branch`` by the function that stands for it."""
        bodies, at = kwargs["bodies"], None
        if target is control.loop:
            at = 1 + len(args[2])
            args = (*args[:2], (*args[2], *self.values()), (*(args[3] if len(args) > 3 else ()), *self.lists))
        else:
            args = (*args, *self.lists)
        given = function(*args, **{**kwargs, "bodies": {name: self.around(body, at) for name, body in bodies.items()}})
        count = len(given) - len(self.places)
        self.assign(given[count:])
        return tuple(given[:count])

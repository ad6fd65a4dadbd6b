"""The interpreter: runs a graph node by node, and can be derived from to do something else with each."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from ..core.errors import ArgumentError, GraphError
from .graph import Graph
from .node import PLAIN, Node, last_uses, map_arg
from .printer import source_of


class Interpreter:
    """Runs a graph on a root, from which ``get_attr`` and ``call_module`` nodes take what they name.

    A node that owns bodies gets them as the keyword argument ``bodies``: functions by name.
    """

    def __init__(self, root: Any = None, graph: Graph | None = None, garbage_collect_values: bool = True) -> None:
        self.root = root
        self.graph: Graph = root.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self._arguments: Iterator[Any] = iter(())
        self._plans: dict[Graph, dict[Node, list[Node]]] = {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None) -> Any:
        """Run the graph; nodes that ``initial_env`` has a value for do not run."""
        self._plans = {}  # the graph may have changed since
        return self._run(args, initial_env or {})

    def _run(self, args: tuple[Any, ...], initial_env: dict[Node, Any]) -> Any:
        self.env = env = dict(initial_env)
        self._arguments = iter(args)
        dead = self._dead_after() if self.garbage_collect_values else {}
        for node in list(self.graph.nodes):
            if node in env:
                continue
            if node.op == "output":
                self._check_all_taken(len(args))
            try:
                result = env[node] = self.run_node(node)
            except Exception as error:
                error.add_note(f"while running {node.format_node()}{source_of(node, '; ')}")
                raise
            for each in dead.get(node, ()):
                env.pop(each, None)
            if node.op == "output":
                return result
        raise GraphError("the graph has no output")

    def _dead_after(self) -> dict[Node, list[Node]]:
        """For each node, the values whose live range ends there; made once for a body that runs many times."""
        plan = self._plans.get(self.graph)
        if plan is None:
            plan = self._plans[self.graph] = last_uses(self.graph)
        return plan

    def _check_all_taken(self, count: int) -> None:
        left = len(list(self._arguments))
        if left:
            raise ArgumentError(f"the graph takes {count - left} arguments, but {count} were given")

    def run_node(self, n: Node) -> Any:
        """Run one node on the values of its arguments."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        bodies = n.meta.get("bodies")
        if bodies:
            kwargs["bodies"] = {name: self.body(graph) for name, graph in bodies.items()}
        return getattr(self, n.op)(n.target, args, kwargs)

    def body(self, graph: Graph) -> Callable[..., Any]:
        """A function that runs a sub-graph as this graph is run."""

        def run(*args: Any) -> Any:
            inner = copy.copy(self)
            inner.graph = graph
            return inner._run(args, {})

        return run

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n._args, n), self.map_nodes_to_values(n._kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nested arguments with values for nodes."""
        env = self.env
        try:
            if args.__class__ is tuple:  # mostly nodes and constants
                return tuple(
                    [
                        env[each] if each.__class__ is Node else each if each.__class__ in PLAIN else map_arg(each, env.__getitem__)
                        for each in args
                    ]
                )
            return map_arg(args, env.__getitem__) if args or not isinstance(args, dict) else {}
        except KeyError as error:
            if not isinstance(error.args[0], Node):
                raise
            raise GraphError(f"node '{n.name}' uses '{error.args[0].name}', which has no value yet") from None

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument of ``run``, all that are left (``*name``), or the default."""
        if target.startswith("*"):
            return {} if target.startswith("**") else tuple(self._arguments)
        for value in self._arguments:
            return value
        if args:
            return args[0]
        raise ArgumentError(f"missing argument '{target}'")

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the root has at a dotted path."""
        return self.fetch_attr(target)

    def call_function(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module of the root."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What the root has at a dotted path."""
        found = self.root
        for name in target.split("."):
            if not hasattr(found, name):
                raise GraphError(f"'{target}' is not there: {type(found).__name__} has no attribute '{name}'")
            found = getattr(found, name)
        return found

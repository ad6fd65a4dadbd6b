"""A graph run before it is worth compiling: node by node, until a body has run often enough to be compiled to Python."""

from __future__ import annotations

import ast
import linecache
from itertools import count
from operator import attrgetter
from typing import Any

from ...graph import Graph, Node, map_arg

LARGEST = 48  # nodes of a graph that is walked; walking keeps all values to the end
_WALKS = 6  # of a body, before it is compiled
_PLAIN = frozenset((int, float, str, bool, type(None), complex))
_numbers = count()


class Compiled:
    """A graph as a Python function, which gets the owner of its attributes first."""

    __slots__ = ("file", "graph", "run", "source")

    def __init__(self, graph: Graph, name: str) -> None:
        code = graph.python_code("self")
        self.graph = graph
        self.file = f"<graph of {name} {next(_numbers)}>"
        self.source = code.src
        namespace = dict(code.globals)
        exec(compile(code.src, self.file, "exec"), namespace)
        self.run = namespace["forward"]

    def explain(self, error: BaseException) -> None:
        """Add to an exception where in the user's program it came up."""
        traceback, line = error.__traceback__, None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        if line is not None:
            lines: dict[int, Any] = {}
            locate(ast.parse(self.source).body[0], self.graph, lines)
            explain(error, lines.get(line))


def explain(error: BaseException, node: Node | None) -> None:
    """Add to an exception the line of the user's program that a node comes from."""
    if node is not None and node.meta.get("source"):
        file, number, name = node.meta["source"]
        text = linecache.getline(file, number).strip()
        error.add_note(f'in the scripted program:\n  File "{file}", line {number}, in {name}' + (f"\n    {text}" if text else ""))


def locate(function: Any, graph: Graph, lines: dict[int, Any]) -> None:
    """Which nodes the lines of a printed function come from."""
    nodes = [node for node in graph.nodes if node.op != "placeholder"]
    at = bodies = 0
    for statement in function.body:
        node = nodes[min(at, len(nodes) - 1)]
        if isinstance(statement, ast.FunctionDef):
            locate(statement, list(node.bodies.values())[bodies], lines)
            bodies += 1
            continue
        lines.setdefault(statement.lineno, node)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == node.name:
            at, bodies = at + 1, 0


class Walk:
    """One run of a graph; its bodies are kept, and compiled when they have run a few times."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.bodies: dict[Node, dict[str, Body]] = {}
        self.explained = False

    def run(self, graph: Graph, args: tuple[Any, ...]) -> Any:
        """The result of a graph on complete arguments."""
        values: dict[Node, Any] = {}
        node = graph._root._next
        for each in args:  # placeholders come first
            values[node] = each
            node = node._next
        try:
            while True:
                op = node.op
                if op == "call_function":
                    found = []
                    for each in node._args:
                        kind: Any = each.__class__
                        if kind is Node:
                            each = values[each]
                        elif kind not in _PLAIN:
                            each = map_arg(each, values.__getitem__)
                        found.append(each)
                    if "bodies" in node.meta:
                        values[node] = node.target(*found, bodies=self.bodies_of(node), **map_arg(node._kwargs, values.__getitem__))
                    elif node._kwargs:
                        values[node] = node.target(*found, **map_arg(node._kwargs, values.__getitem__))
                    else:
                        values[node] = node.target(*found)
                elif op == "output":
                    return map_arg(node._args[0], values.__getitem__)
                elif op == "call_method":
                    receiver, *found = map_arg(node._args, values.__getitem__)
                    values[node] = getattr(receiver, node.target)(*found, **map_arg(node._kwargs, values.__getitem__))
                else:
                    found = attrgetter(node.target)(self.owner)
                    if op == "call_module":
                        found = found(*map_arg(node._args, values.__getitem__), **map_arg(node._kwargs, values.__getitem__))
                    values[node] = found
                node = node._next
        except Exception as error:
            if not self.explained:
                self.explained = True
                explain(error, node)
            raise

    def bodies_of(self, node: Node) -> dict[str, Body]:
        """What runs the sub-graphs of a node."""
        found = self.bodies.get(node)
        if found is None:
            found = self.bodies[node] = {name: Body(self, body) for name, body in node.bodies.items()}
        return found


class Body:
    """A sub-graph as a function."""

    __slots__ = ("compiled", "graph", "walk", "walks")

    def __init__(self, walk: Walk, graph: Graph) -> None:
        self.walk = walk
        self.graph = graph
        self.walks = 0
        self.compiled: Compiled | None = None

    def __call__(self, *args: Any) -> Any:
        compiled = self.compiled
        if compiled is None:
            if self.walks < _WALKS:
                self.walks += 1
                return self.walk.run(self.graph, args)
            compiled = self.compiled = Compiled(self.graph, self.walk.name)
        try:
            return compiled.run(self.walk.owner, *args)
        except Exception as error:
            if not self.walk.explained:
                self.walk.explained = True
                compiled.explain(error)
            raise

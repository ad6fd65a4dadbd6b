"""The verifier: whether a graph is well formed."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from ..core.errors import ArgumentError, GraphError
from .calls import bind
from .node import OPCODES, Node, map_arg

if TYPE_CHECKING:
    from .graph import Graph


def verify(graph: Graph, owning_module: Any = None) -> None:
    """Raise a GraphError that names the node where a graph, or a sub-graph of it, is not well formed."""
    owner = graph.owning_module if graph.owning_module is not None else owning_module
    seen: set[Node] = set()
    names: set[str] = set()
    users: dict[Node, set[Node]] = {}
    output: Node | None = None
    body_begun = False
    for node in graph.nodes:
        if node.graph is not graph:
            raise _error(node, "belongs to another graph")
        if node.op not in OPCODES:
            raise _error(node, f"has the unknown kind '{node.op}'")
        if output is not None:
            raise _error(node, "is a second output" if node.op == "output" else "comes after the output")
        if not node.name.isidentifier() or keyword.iskeyword(node.name):
            raise _error(node, "has a name that can't be that of a variable")
        if node.name in names:
            raise _error(node, "has a name that another node has")
        if node.op == "placeholder":
            if body_begun:
                raise _error(node, "is a placeholder after the first node that computes")
        else:
            body_begun = True
        _check_inputs(node, graph, seen, users)
        _check_target(node, owner)
        for name, body in node.bodies.items():
            try:
                verify(body, owner)
            except GraphError as error:
                raise _error(node, f"has a body '{name}' that is not well formed: {error}") from error
        if node.op == "output":
            output = node
        seen.add(node)
        names.add(node.name)
    if output is None:
        raise GraphError("the graph has no output")
    for node in graph.nodes:
        expected = users.get(node, set())
        if set(node.users) != expected:
            wrong = sorted(each.name for each in set(node.users) ^ expected)
            raise _error(node, f"has the wrong users: it disagrees with the arguments of {', '.join(wrong)}")


def _error(node: Node, what: str) -> GraphError:
    return GraphError(f"node '{node.name}' {what}")


def _check_inputs(node: Node, graph: Graph, seen: set[Node], users: dict[Node, set[Node]]) -> None:
    inputs: dict[Node, None] = {}

    def note(each: Node) -> Node:
        inputs[each] = None
        return each

    map_arg((node.args, node.kwargs), note)
    for each in inputs:
        if each.graph is not graph:
            raise _error(node, f"uses '{each.name}', a node of another graph")
        if each not in seen:
            where = "which is erased" if each._erased else "which is computed later"
            raise _error(node, f"uses '{each.name}', {where}" if each is not node else "uses itself")
        users.setdefault(each, set()).add(node)
    if set(inputs) != set(node.all_input_nodes):
        raise _error(node, "has arguments that were changed in place")


def _check_target(node: Node, owner: Any) -> None:
    if node.op == "call_function":
        if not callable(node.target):
            raise _error(node, f"calls {node.target!r}, which is no function")
        _check_call(node)
        return
    if not isinstance(node.target, str):
        raise _error(node, f"is a {node.op} and has the target {node.target!r}, which is no name")
    if node.op == "output" and (len(node.args) != 1 or node.kwargs):
        raise _error(node, f"is an output of {len(node.args)} values: it takes one, which may be a tuple")
    if node.op == "placeholder" and (len(node.args) > 1 or node.kwargs):
        raise _error(node, "is a placeholder with arguments: it takes none but its default")
    if node.op == "call_method" and not node.args:
        raise _error(node, f"calls the method '{node.target}' of nothing")
    if node.op == "get_attr" and (node.args or node.kwargs):
        raise _error(node, "is a get_attr with arguments")
    if node.op in ("get_attr", "call_module") and owner is not None:
        found = owner
        for name in node.target.split("."):
            if not hasattr(found, name):
                raise _error(node, f"refers to '{node.target}', but {type(found).__name__} has no attribute '{name}'")
            found = getattr(found, name)
        if node.op == "call_module" and not callable(found):
            raise _error(node, f"calls '{node.target}', which is no module but a {type(found).__name__}")


def _check_call(node: Node) -> None:
    """The arguments of a call of an op of the table fit its schema."""
    op = node.table_op
    if op is None:
        return
    kwargs = dict(node.kwargs)
    if op.has_out:
        kwargs.pop("out", None)
    try:
        bind(op, node.args, kwargs)
    except ArgumentError as error:
        raise _error(node, f"does not fit the schema of {op.qualified_name}: {error}") from error

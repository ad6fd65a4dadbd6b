"""Common subexpression elimination over an ``fx`` graph: a call that stood there before is not made again."""

from __future__ import annotations

from typing import Any

from .....core.declare import Op, table
from .....graph.node import Node
from .....ops.overloads import OpOverload, find_packet
from .....utils.trees import flatten
from ....graph import Graph
from ....graph_module import GraphModule
from ...infra.pass_base import PassBase, PassResult


def get_CSE_banned_ops() -> set[Any]:
    """The packets of ``aten`` operators whose calls are never joined: those that draw random numbers."""
    random = {op.name for op in table.values() if isinstance(op, Op) and op.random}
    found = set()
    for name in random | {"dropout", "native_dropout"}:
        try:
            found.add(find_packet("aten", name))
        except AttributeError:  # an op that PyTorch has no operator for
            continue
    return found


def _writes(target: Any) -> bool:
    """Whether an operator writes to one of its arguments."""
    return isinstance(target, OpOverload) and any(each.is_write for each in target._schema.arguments)


class CSEPass(PassBase):
    """A pass that leaves out the second of two calls with the same function and arguments; those of ``banned_ops`` stay."""

    def __init__(self, banned_ops: Any = None) -> None:
        super().__init__()
        self.banned_ops = set() if banned_ops is None else set(banned_ops)

    def _may_be_shared(self, node: Node) -> bool:
        if node.op not in ("call_function", "call_method") or node.is_impure() or _writes(node.target):
            return False
        packet = node.target.overloadpacket if isinstance(node.target, OpOverload) else node.target
        return node.target not in self.banned_ops and packet not in self.banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        """A graph module without the repeated calls; the given one stays as it is."""
        graph: Any = Graph()
        copies: dict[Any, Any] = {}
        known: dict[Any, Any] = {}
        modified = False
        for node in graph_module.graph.nodes:
            key = self._key(node, copies) if self._may_be_shared(node) else None
            if key is not None and key in known:
                copies[node] = known[key]
                modified = True
                continue
            copies[node] = graph.node_copy(node, lambda each: copies[each])
            if key is not None:
                known[key] = copies[node]
        return PassResult(GraphModule(graph_module, graph), modified)

    def _key(self, node: Node, copies: dict[Any, Any]) -> Any:
        """What two calls that can be shared have in common; None where an argument can't be compared."""
        leaves, structure = flatten((node.args, dict(node.kwargs)))
        parts = tuple(id(copies[each]) if isinstance(each, Node) else (type(each), each) for each in leaves)
        try:
            hash(parts)
        except TypeError:
            return None
        return node.op, node.target, parts, str(structure)


__all__ = ["CSEPass", "get_CSE_banned_ops"]

"""Writes to tensors: which inputs a graph writes to, and tensors as they were before, so that what a capture or a failing graph did can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....core.base import Spec
from ....graph import Node
from .graph_functions import ApplyFunction, gradients_of, hook_gradient, set_grad_mode, set_inference_mode

SAFE = (set_grad_mode, set_inference_mode, hook_gradient)  # change nothing that has to be rolled back

_STATISTICS = frozenset(("running_mean", "running_var"))


class SavedTensor:
    """The elements, the version and the history of a tensor, and the history of what it is a view of, which a write changes too."""

    __slots__ = ("array", "kept", "tensor")

    def __init__(self, tensor: Any) -> None:
        array = tensor._array
        self.tensor, self.array = (
            tensor,
            None if isinstance(array, Spec) else array.copy(),
        )  # which fake and batched tensors have in its place
        bases = (tensor,) if tensor._view is None else (tensor, tensor._view.base)
        self.kept = [(each, each._storage, each._storage and each._storage.version, history(each)) for each in bases]

    def restore(self) -> None:
        """Put everything back."""
        if self.array is not None:
            self.tensor._array[...] = self.array
        for tensor, storage, version, (fields, view) in self.kept:
            if tensor._storage is not None:
                tensor._storage.version = version if storage is not None else 0
            tensor._grad_fn, tensor._output_index, tensor._requires_grad = fields
            if view is not None:
                tensor._view.version = view


def history(tensor: Any) -> tuple[Any, Any]:
    """What a tensor's gradients follow from, and the version of the memory for which that holds."""
    return (
        tensor._grad_fn,
        tensor._output_index,
        tensor._requires_grad,
    ), None if tensor._view is None else tensor._view.version


def written_places(op: Any, args: Sequence[Any]) -> Iterator[Any]:
    """The arguments that an op writes to, apart from ``out``: nodes of a graph, or tensors, or lists of them."""
    if op.functional is not None or op.public_name.endswith("_") and not op.public_name.endswith("__"):
        yield from args[:1]
    for parameter, each in zip(op.parameters, args):
        if parameter.name in _STATISTICS:
            yield each
        elif parameter.name == "inplace" and each is not False:
            yield args[0]
        elif parameter.name == "max_norm" and each is not None:  # rows of a table that are too long
            yield args[1]


def written_inputs(nodes: Iterable[Node]) -> set[Node]:
    """The placeholders among nodes that those after them write to, themselves or by views."""
    memory: dict[Node, frozenset[Node]] = {}
    found: set[Node] = set()
    for node in nodes:
        if node.op == "placeholder":
            memory[node] = frozenset((node,))
        elif node.op == "call_function":
            for each in targets(node):
                found |= memory.get(each, frozenset())
            memory[node] = shared(node, memory)
    return found


def targets(node: Node) -> Iterator[Node]:
    """The tensors that a node writes to."""
    op = node.table_op
    if node.op in ("placeholder", "output"):
        return
    if op is None:
        writes = node.target is not gradients_of and node.target not in SAFE and node.is_impure()
        if isinstance(node.target, ApplyFunction):
            body = node.meta.get("bodies", {}).get("fwd_body")
            writes = body is None or any(True for each in body.nodes for _ in targets(each))
        if writes:
            yield from node.all_input_nodes
        return
    out = node.kwargs.get("out")
    yield from (each for each in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(each, Node))
    for place in written_places(op, node.args):
        yield from (each for each in (place if isinstance(place, (tuple, list)) else (place,)) if isinstance(each, Node))
    if node.kwargs.get("inplace") and isinstance(node.args[0], Node):
        yield node.args[0]


def shared(node: Node, memory: dict[Node, frozenset[Node]]) -> frozenset[Node]:
    """The inputs whose storage the value of a node may share."""
    op = node.table_op
    if op is not None and op.body is None and not op.view and op.functional is None and "out" not in node.kwargs:
        return frozenset()
    found: frozenset[Node] = frozenset()
    for each in node.all_input_nodes:
        found |= memory.get(each, frozenset())
    return found

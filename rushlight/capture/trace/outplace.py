"""``jit.trace(_force_outplace=True)``: in-place ops of a trace become those that give new tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...core.declare import table
from ...core.facets import Facet
from ...graph import Graph, Node
from ..tracer.tracer import TracerWarning

composite_view: Facet[bool] = Facet("composite view", "a composite that gives a view of its operand, where the strides allow it")
composite_view.set(True, "view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "narrow", "movedim")
outplace_form: Facet[Callable[[Node], tuple[Any, tuple[Any, ...]]]] = Facet(
    "outplace form", "the op and arguments that take the place of a write in a trace without writes, other than the functional form"
)
outplace_form.set(lambda node: (table["expand_as"], (node.args[1], node.args[0])), "copy_")
outplace_form.set(lambda node: (table["full_like"], node.args), "fill_")


def drop_writes(graph: Graph) -> None:
    """Replace in-place ops by their functional forms; other views of what they write to do not see the change, and the user is told so."""
    for node in list(graph.nodes):
        op = getattr(node.target, "op", None) if node.op == "call_function" else None
        if op is None or not op.name.endswith("_") or not node.args or not isinstance(node.args[0], Node):
            continue
        written = node.args[0]
        form = outplace_form.of(op)
        found, arguments = (op.functional, node.args) if form is None else form(node)
        if found is None:
            continue
        if is_view(written) or any(is_view(user) for user in written.users if user is not node):
            warnings.warn(
                f"There are 2 live references to the data region being modified when tracing in-place operator {op.name}. This might cause the trace "
                "to be incorrect, because all other views that also reference this data will not reflect this change in the trace! On the other hand, "
                "if all other views use the same memory chunk, but are disjoint (e.g. are outputs of torch.split), this might still be safe.",
                TracerWarning,
                stacklevel=4,
            )
        node.target, node.args = found.call, arguments
        order = {each: at for at, each in enumerate(graph.nodes)}
        for user in list(written.users):
            if user is not node and order[user] > order[node]:
                user.replace_input_with(written, node)
    graph.lint()


def is_view(node: Node) -> bool:
    """Whether a node gives a view of another tensor."""
    op = getattr(node.target, "op", None) if node.op == "call_function" else None
    return op is not None and bool(op.view or composite_view.of(op))

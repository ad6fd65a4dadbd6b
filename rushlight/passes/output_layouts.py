"""The memory layouts that eager mode would give to the results of a captured graph.

Meta rules of ops say nothing of the strides of computed values: native code chooses them.  Those of what a program returns can be seen.  They are followed here from
inputs and views through pointwise ops, in the graph as it was captured: ``contiguous()`` is still there.  What is computed by any other op counts as row-major.
Symbolic sizes count as what they were during the capture, and no guard is recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..core.base import Spec, TensorBase, contiguous_strides, make
from ..core.errors import RushlightError
from ..core.facets import Facet
from ..core.families import Elementwise
from ..core.state import fake_mode, state
from ..graph import Graph, Node, map_aggregate
from ..ops.shape.memory import element_strides, lies_as

layout_kind: Facet[str] = Facet(
    "layout of results",
    "how eager mode lays out results: like the operands (pointwise), or as a view (permuted: also of a row-major operand)",
)
layout_kind.set(
    "pointwise", "bernoulli", "cast", "celu", "clone", "dropout", "gelu", "masked_fill", "mish", "where", "where_elements",
    *[f"nn_functional_{name}" for name in (
        "alpha_dropout", "celu", "dropout", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "selu", "sigmoid", "silu", "tanh",
        "threshold",
    )],
)  # fmt: skip
layout_kind.set("view", "broadcast_to", "expand_as", "flatten", "ravel", "reshape", "unflatten", "view", "view_as")
layout_kind.set("permuted", "adjoint", "chunk", "mT", "matrix_H", "mH", "movedim", "narrow", "numpy_T", "split", "swapaxes", "tensor_split")


def output_orders(graph: Graph, examples: Sequence[Any]) -> dict[int, tuple[int, ...]]:
    """For those of the outputs that are not row-major in eager mode: their dimensions from the outermost to the innermost.

    ``examples`` are Specs of the inputs, or tensors.
    """
    output = graph.output_node()
    results = output.args[0] if isinstance(output.args[0], (tuple, list)) else ()
    strides_of: dict[Node, tuple[int, ...]] = {}  # the strides of values that are not row-major
    inputs = iter(examples)
    if not all("val" in node.meta for node in graph.nodes if node.op != "output"):  # a graph that was not captured
        return {}
    for node in graph.nodes:
        value: Any = next(inputs) if node.op == "placeholder" else node.meta.get("val")
        value = value._array if isinstance(value, TensorBase) else value
        op = node.table_op
        if op is not None and (op.view or layout_kind.of(op) == "permuted") or any(each in strides_of for each in node.all_input_nodes):
            strides = _strides(node, value, strides_of)
        else:
            strides = element_strides(value) if node.op == "placeholder" and hasattr(value, "strides") else None
        if strides is not None and node.op != "output":
            numbers = _plain(strides)
            shape = _plain(value[0].shape if isinstance(value, (tuple, list)) else value.shape)
            if not lies_as(shape, numbers, contiguous_strides(shape)):
                strides_of[node] = numbers
    orders = {}
    for at, each in enumerate(results):
        order = _order(_plain(each.meta["val"].shape), strides_of[each]) if each in strides_of and each.op == "call_function" else None
        if order is not None:
            orders[at] = order
    return orders


def _strides(node: Node, value: Any, strides_of: dict[Node, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The strides of a node's result (or the first of its results), some of whose operands are not row-major; None where it is."""
    if node.target is operator.getitem:
        whole = node.args[0].table_op
        parts = whole is not None and (whole.view or layout_kind.of(whole) == "permuted")
        return strides_of[node.args[0]] if parts or node.args[1] == 0 else None
    op = node.table_op
    if op is None:
        return None
    kind = "pointwise" if isinstance(op.meta, Elementwise) else layout_kind.of(op)
    if op.view or kind in ("view", "permuted"):
        return _of_view(node, strides_of)
    if kind == "pointwise" and node.kwargs.get("memory_format") is None:
        operands = [
            (_plain(each.meta["val"].shape), strides_of.get(each))
            for each in node.all_input_nodes
            if isinstance(each.meta.get("val"), Spec)
        ]
        return pointwise_strides(_plain(value.shape), operands)
    return None


def _of_view(node: Node, strides_of: dict[Node, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The strides of a view, by the op itself on a tensor without elements; None where the real program makes a copy."""

    def argument(value: Any) -> Any:
        if not isinstance(value, Node):
            return _number(value)
        spec = value.meta["val"]
        if not isinstance(spec, Spec):
            return _number(spec)
        return make(Spec(_plain(spec.shape), spec.dtype, strides_of.get(value, spec._strides and _plain(spec._strides)), spec.device))

    enabled, state.grad_enabled = state.grad_enabled, False
    try:
        with fake_mode():
            views = node.target(*map_aggregate(node.args, argument), **map_aggregate(node.kwargs, argument))
    except (RushlightError, RuntimeError):  # a view that these strides do not allow: the program that was captured has others
        return None
    finally:
        state.grad_enabled = enabled
    first = views if isinstance(views, TensorBase) else views[0]
    return first._array.element_strides  # type: ignore[no-any-return]


def pointwise_strides(shape: tuple[int, ...], operands: Sequence[tuple[tuple[int, ...], tuple[int, ...] | None]]) -> tuple[int, ...]:
    """The strides of a pointwise op's result: its dimensions are sorted by the operands' strides where these agree, else row-major."""
    dims = len(shape)
    steps = [
        (0,) * (dims - len(each)) + tuple([0 if size == 1 else step for size, step in zip(each, strides or contiguous_strides(each))])
        for each, strides in operands
    ]

    def inner(a: int, b: int) -> int:
        """1 where dimension ``a`` is inside of ``b``, -1 where it is outside by an operand, 0 where none tells."""
        compared = [each[a] < each[b] for each in steps if each[a] and each[b]]
        return 0 if not compared else 1 if all(compared) else -1

    order = list(reversed(range(dims)))  # from the innermost
    for at in range(1, dims):
        position = at
        for other in reversed(range(at)):
            compared = inner(order[position], order[other])
            if compared < 0:
                break
            if compared:
                order[position], order[other] = order[other], order[position]
                position = other
    strides, step = [0] * dims, 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions from the outermost to the innermost, where memory is dense in that order; else None."""
    order = tuple(sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim)))
    packed = contiguous_strides(tuple([shape[dim] for dim in order]))
    return order if all(strides[dim] == step or shape[dim] == 1 for dim, step in zip(order, packed)) else None


def _number(value: Any) -> Any:
    return int.__index__(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(numbers: Any) -> tuple[int, ...]:
    """Sizes as plain numbers: those of the capture, where they are symbolic."""
    return tuple([int.__index__(each) for each in numbers])

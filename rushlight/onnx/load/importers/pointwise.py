"""Elementwise operators: arithmetic, comparisons, activations."""

from __future__ import annotations

from ..registry import NodeContext, Tensor, importer, ops


@importer("Relu")
def relu(node: NodeContext, x: Tensor) -> Tensor:
    """max(x, 0)."""
    return ops.relu(x)


@importer("Sigmoid")
def sigmoid(node: NodeContext, x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


@importer("Tanh")
def tanh(node: NodeContext, x: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return ops.tanh(x)


@importer("Add", "Sub", "Mul")
def arithmetic(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """Sum, difference, product."""
    return ops.add(a, b) if node.kind == "Add" else ops.sub(a, b) if node.kind == "Sub" else ops.mul(a, b)


@importer("Div")
def div(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """Quotient, of whole numbers towards zero."""
    return ops.div(a, b) if a.dtype.is_floating_point else ops.div(a, b, rounding_mode="trunc")

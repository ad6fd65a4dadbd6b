"""Rematerialization of fused ops: the backward graph computes their results again from what it has anyway, so that they are not kept for it.

For back-ends that fuse many ops into one pass over memory.  A layer norm is a scale and a shift of what its gradient needs anyway, and GELU and its
derivative share one error function.  The recomputation starts from an operand ``after`` the gradient, so that no back-end schedules it early.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import table
from ..core.devices import CPU
from ..core.facets import Facet
from ..graph import Node
from ..graph.calls import bind
from .differentiate import JointGraph
from .partition import ancestors

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Rematerializer:
    """Rewrites a joint graph, node by node."""

    def __init__(self, joint: JointGraph, kept: Container[str] | None = None) -> None:
        self.joint = joint
        self.graph = joint.graph
        self.kept = kept
        self.positions: dict[Node, float] = {node: at for at, node in enumerate(joint.graph.nodes)}

    def run(self) -> None:
        """Apply the rewrite of each node's op."""
        for node in list(self.graph.nodes):
            op = node.table_op
            rewrite = None if op is None else rematerialization.of(op)
            if rewrite is not None and not node.kwargs:
                rewrite(self, node)

    def available(self, node: Node | None) -> bool:
        """Whether a backward graph has a value, or what it is computed from: where the forward is there already, it keeps what it keeps."""
        if self.kept is None or node is None:
            return True
        frontier = {each for each in self.joint.forward if each.name in self.kept}
        return not any(each.op == "placeholder" and each not in frontier for each in ancestors([node], frontier))

    def later_users(self, result: Node, gradient: Node) -> list[Node]:
        """The users of a result in the backward that come after a gradient, in order."""
        users = [user for user in result.users if self.positions.get(user, -1) > self.positions[gradient] and user.op != "output"]
        if self.joint.tangents:  # otherwise the forward is a whole training step, gradients included
            users = [user for user in users if user not in self.joint.forward]
        return sorted(users, key=self.positions.__getitem__)

    def inserting_before(self, nodes: list[Node]) -> Any:
        """A context that inserts new nodes before all of these."""
        self.here = min(nodes, key=self.positions.__getitem__)
        return self.graph.inserting_before(self.here)

    def call(self, like: Node, name: str, *args: Any) -> Node:
        """A new node with the shape and the source location of another."""
        node = self.graph.call_function(table[name].call, args)
        node.meta.update(val=like.meta["val"], source=like.meta.get("source"), module=like.meta.get("module", ""))
        self.positions[node] = self.positions[self.here] - 0.5
        return node

    def standardize(self, node: Node) -> None:
        """The input is needed for second derivatives only."""
        gradient, _, result, *rest = node.args
        node.args = (gradient, result, result, *rest)

    def layer_norm(self, node: Node) -> None:
        """The result is a scale and a shift of the standardized input, which is kept in any case; devices with fast arithmetic compute that again, too."""
        gradient, input, weight, standard, variance, dims, eps = node.args
        node.args = (gradient, standard, weight, standard, variance, dims, eps)
        whole = standard.args[0] if standard.target is operator.getitem else standard
        if whole.table_op is not table["layer_standardize"] or not is_float(standard):
            return
        results = [each for each in whole.users if each.args[1] == 0]
        users = [user for each in results for user in self.later_users(each, gradient)]
        device, shape = standard.meta["val"].device, standard.meta["val"].shape
        from_input = (
            device is not None and device != CPU and is_float(input) and list(dims) == list(range(len(shape) - len(dims), len(shape)))
        )
        bias = whole.args[2]
        if not (self.available(weight) and self.available(bias)):
            users = []  # gradients of more values came in another order, and the result itself was kept for them
        if not users and not from_input:
            return
        with self.inserting_before([*users, node]):
            # The gradient starts from the same elements, so that one pass computes both.
            if from_input:  # which a residual connection keeps anyway: one array less is written and held
                standardized = self.call(standard, "after", input, gradient)
                scale = self.call(variance, "rsqrt", self.call(variance, "add", variance, eps))
                standardized = self.call(
                    standard,
                    "mul",
                    self.call(standard, "sub", standardized, self.call(variance, "mean", standardized, list(dims), True)),
                    scale,
                )
            else:
                standardized = self.call(standard, "after", standard, gradient)
            result = standardized
            if weight is not None and bias is not None:
                result = self.call(standard, "scale_shift", standardized, weight, bias)
            elif weight is not None or bias is not None:
                result = self.call(standard, "add" if weight is None else "mul", standardized, bias if weight is None else weight)
        node.args = (gradient, standardized, weight, standardized, variance, dims, eps)
        for user in users:
            for each in results:
                user.replace_input_with(each, result)

    def attention(self, node: Node) -> None:
        """The attention weights, quadratic in the sequence length, are computed again from queries and keys."""
        gradient, query, key, value, weights, scale, causal, _ = bind(table["attention_backward"], node.args)
        whole = weights.args[0] if weights is not None and weights.target is operator.getitem else None
        if whole is None or whole.table_op is not table["attention"] or len(weights.users) > 1 or not is_float(weights):
            return
        device = weights.meta["val"].device
        if device is not None and device != CPU:
            return  # what other devices keep is one number a row
        node.args = (gradient, query, key, value, None, scale, causal, whole.args[3])

    def gelu(self, node: Node) -> None:
        """The result and the derivative from one error function."""
        gradient, input, result = node.args
        device = input.meta["val"].device
        if device is not None and device != CPU and not is_float(input):
            with self.inserting_before([node]):  # its derivative would be kept in float32, which is more to read than the input
                node.args = (gradient, self.call(input, "after", input, gradient), None)
            return
        if result is None:
            return
        node.args = (gradient, input, None)
        users = self.later_users(result, gradient)
        if not users or not is_float(input) or not is_float(gradient) or gradient.meta["val"].shape != input.meta["val"].shape:
            return
        with self.inserting_before([*users, node]):
            x = self.call(input, "after", input, gradient)
            share = self.call(input, "normal_share", x)
            recomputed = self.call(input, "mul", x, share)
            power = self.call(input, "exp", self.call(input, "mul", self.call(input, "mul", x, x), -0.5))
            bell = self.call(input, "mul", power, 1 / math.sqrt(2 * math.pi))
            slope = self.call(input, "add", share, self.call(input, "mul", x, bell))
        for user in users:
            user.replace_input_with(result, recomputed)
        with self.inserting_before([node]):
            product = self.call(node, "mul", gradient, slope)
        node.replace_all_uses_with(product)
        self.graph.erase_node(node)
        self.joint.values[:] = [product if each is node else each for each in self.joint.values]
        self.joint.gradients[:] = [product if each is node else each for each in self.joint.gradients]


def is_float(node: Node) -> bool:
    """Whether a value's dtype is that of its arithmetic: narrower ones are rounded after each op."""
    spec = node.meta.get("val")
    return isinstance(spec, Spec) and spec.dtype in _FLOATS


rematerialization: Facet[Callable[[Rematerializer, Node], None]] = Facet(
    "rematerialization", "how a backward graph computes results again that the op would have kept for it"
)
rematerialization.set(Rematerializer.layer_norm, "layer_standardize_backward")
rematerialization.set(Rematerializer.standardize, "standardize_backward")
rematerialization.set(Rematerializer.gelu, "gelu_backward")
rematerialization.set(Rematerializer.attention, "attention_backward")


def rematerialize(joint: JointGraph, kept: Container[str] | None = None) -> None:
    """Have the backward part of a joint graph compute again what costs it next to nothing; ``kept`` are the values that it has, where that is settled."""
    Rematerializer(joint, kept).run()

"""Results that a backward graph computes by itself, where it has what they are computed from: then they are not kept for it.

For back-ends that make one pass over memory of many ops.  A layer norm is a scale and a shift of what its gradient needs anyway, and GELU and its
slope come from one error function.  What is computed again starts from an operand ``after`` the gradient, so that no back-end computes it early.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import table
from ..graph import Node
from ..graph.calls import bind
from .differentiate import Joint

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # others are rounded after each op


class Lighter:
    """Rewrites a joint graph."""

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        self.graph = joint.graph
        self.places: dict[Node, float] = {node: at for at, node in enumerate(joint.graph.nodes)}

    def run(self) -> None:
        """Apply what is known of each node's op."""
        rules = {
            "layer_standardize_backward": self.layer_norm, "standardize_backward": self.standardize, "gelu_backward": self.gelu,
            "attention_backward": self.attention,
        }  # fmt: skip
        for node in list(self.graph.nodes):
            op = node.table_op
            if op is not None and op.name in rules and not node.kwargs:
                rules[op.name](node)

    def late(self, result: Node, gradient: Node) -> list[Node]:
        """The users of a result that belong to the backward and can come after a gradient, in their order."""
        found = [user for user in result.users if self.places.get(user, -1) > self.places[gradient] and user.op != "output"]
        if self.joint.tangents:  # else the forward is a training step, with gradients in it
            found = [user for user in found if user not in self.joint.forward]
        return sorted(found, key=self.places.__getitem__)

    def first(self, nodes: list[Node]) -> Any:
        """A place before all of some nodes, for new ones."""
        self.here = min(nodes, key=self.places.__getitem__)
        return self.graph.inserting_before(self.here)

    def call(self, like: Node, name: str, *args: Any) -> Node:
        """A new node of the shape and the source of another."""
        node = self.graph.call_function(table[name].call, args)
        node.meta.update(val=like.meta["val"], source=like.meta.get("source"), module=like.meta.get("module", ""))
        self.places[node] = self.places[self.here] - 0.5
        return node

    def standardize(self, node: Node) -> None:
        """The input itself is for second derivatives alone."""
        gradient, _, result, *rest = node.args
        node.args = (gradient, result, result, *rest)

    def layer_norm(self, node: Node) -> None:
        """The result is a scale and a shift of what is kept in any case."""
        gradient, _, weight, standard, *rest = node.args
        node.args = (gradient, standard, weight, standard, *rest)
        whole = standard.args[0] if standard.target is operator.getitem else standard
        if whole.table_op is None or whole.table_op.name != "layer_standardize":
            return
        results = [each for each in whole.users if each.args[1] == 0]
        users = [user for each in results for user in self.late(each, gradient)]
        if not users or not is_float(standard):
            return
        bias = whole.args[2]
        with self.first([*users, node]):
            # The gradient starts from the same elements, so that one pass does all.
            again = made = self.call(standard, "after", standard, gradient)
            if weight is not None and bias is not None:
                made = self.call(standard, "scale_shift", again, weight, bias)
            elif weight is not None or bias is not None:
                made = self.call(standard, "add" if weight is None else "mul", again, bias if weight is None else weight)
        node.args = (gradient, again, weight, again, *rest)
        for user in users:
            for each in results:
                user.replace_input_with(each, made)

    def attention(self, node: Node) -> None:
        """The weights, as many as pairs of places, are computed again from queries and keys."""
        gradient, query, key, value, weights, scale, causal, _ = bind(table["attention_backward"], node.args)
        whole = weights.args[0] if weights is not None and weights.target is operator.getitem else None
        if whole is None or whole.table_op is None or whole.table_op.name != "attention" or len(weights.users) > 1 or not is_float(weights):
            return
        node.args = (gradient, query, key, value, None, scale, causal, whole.args[3])

    def gelu(self, node: Node) -> None:
        """The result, and its slope, from one error function."""
        gradient, input, result = node.args
        if result is None:
            return
        node.args = (gradient, input, None)
        users = self.late(result, gradient)
        if not users or not is_float(input) or not is_float(gradient) or gradient.meta["val"].shape != input.meta["val"].shape:
            return
        with self.first([*users, node]):
            x = self.call(input, "after", input, gradient)
            share = self.call(input, "normal_share", x)
            made = self.call(input, "mul", x, share)
            power = self.call(input, "exp", self.call(input, "mul", self.call(input, "mul", x, x), -0.5))
            bell = self.call(input, "mul", power, 1 / math.sqrt(2 * math.pi))
            slope = self.call(input, "add", share, self.call(input, "mul", x, bell))
        for user in users:
            user.replace_input_with(result, made)
        with self.first([node]):
            product = self.call(node, "mul", gradient, slope)
        node.replace_all_uses_with(product)
        self.graph.erase_node(node)
        self.joint.values[:] = [product if each is node else each for each in self.joint.values]
        self.joint.gradients[:] = [product if each is node else each for each in self.joint.gradients]


def is_float(node: Node) -> bool:
    """Whether a value is of a type that is computed in as it lies in memory."""
    found = node.meta.get("val")
    return isinstance(found, Spec) and found.dtype in _FLOATS


def lighten(joint: Joint) -> None:
    """Have the backward part of a joint graph compute by itself what costs it next to nothing."""
    Lighter(joint).run()

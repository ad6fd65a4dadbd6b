"""What a frozen program need not compute: dropout, and batch norms after convolutions and linear layers."""

from __future__ import annotations

import copy
import inspect
import operator
from typing import Any

from ....core.base import TensorBase
from ....graph import Graph, Node
from ....graph.control import branch
from ....graph.node import all_graphs
from ....nn import functional as F
from ....nn.modules import conv
from ....nn.modules.batchnorm import _BatchNorm
from ....nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights
from ..frontend.types import ANY, BOOL, INT, TENSOR

_DROPOUTS = frozenset(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout"))
_CONVOLUTIONS = frozenset(("conv1d", "conv2d", "conv3d"))
_FOLDED = (conv.Conv1d, conv.Conv2d, conv.Conv3d, conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)


def optimise(owner: Any) -> None:
    """Simplify the programs of a frozen Module."""
    for program in owner._script_programs.values():
        for graph in list(all_graphs(program.graph)):
            for node in list(graph.nodes):
                if name_of(node) in _DROPOUTS:
                    _drop(node)
            for node in list(graph.nodes):
                found = batch_norm(owner, node)
                if found is not None:
                    BatchNormFolding(owner, graph, node, found).run()
            graph.eliminate_dead_code()
        program.graph.lint()
    _forget(owner)


def _forget(owner: Any) -> None:
    """Release frozen tensors and Modules that no program uses any more."""
    programs = owner._script_programs.values()
    used = {
        node.target
        for program in programs
        for graph in all_graphs(program.graph)
        for node in graph.nodes
        if node.op in ("get_attr", "call_module")
    }
    for table in (owner.__dict__, owner._modules):
        for name in [name for name in table if name.startswith("_frozen_") and name not in used]:
            del table[name]


def name_of(node: Node) -> str:
    """The name of the function that a node calls."""
    return getattr(node.target, "__name__", "") if node.op == "call_function" and not node.bodies else ""


def arguments(node: Node) -> dict[str, Any]:
    """The arguments of a call by the names of the parameters, with defaults."""
    bound = inspect.signature(node.target).bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _drop(node: Node) -> None:
    """Dropout outside of training gives what it gets."""
    given = arguments(node)
    training = given.get("training", given.get("train"))
    source = given.get("input")
    if training is False and isinstance(source, Node):
        node.replace_all_uses_with(source)
        node.graph.erase_node(node)


def constant(owner: Any, value: Any) -> Any:
    """The tensor that a ``get_attr`` node reads, or None of what is none; False where it is something else."""
    found = getattr(owner, value.target, None) if isinstance(value, Node) and value.op == "get_attr" else value
    return found if found is None or isinstance(found, TensorBase) else False


def batch_norm(owner: Any, node: Node) -> list[Any] | None:
    """Mean, variance, epsilon, weight and bias of a batch norm that are known; None of everything else."""
    if node.op == "call_module":
        layer = owner._modules.get(node.target)
        if not isinstance(layer, _BatchNorm) or layer.training or layer.running_mean is None or layer.running_var is None:
            return None
        return [layer.running_mean, layer.running_var, layer.eps, layer.weight, layer.bias]
    if name_of(node) != "batch_norm":
        return None
    given = arguments(node)
    found = [
        given["eps"] if name == "eps" else constant(owner, given[name]) for name in ("running_mean", "running_var", "eps", "weight", "bias")
    ]
    if (
        given["training"] is not False
        or not isinstance(given["eps"], float)
        or any(each is False for each in found)
        or found[0] is None
        or found[1] is None
    ):
        return None
    return found


class BatchNormFolding:
    """One batch norm of constant statistics, and the layer before it."""

    def __init__(self, owner: Any, graph: Graph, node: Node, constants: list[Any]) -> None:
        self.owner = owner
        self.graph = graph
        self.node = node
        self.constants = constants  # mean, variance, epsilon, weight, bias

    def keep(self, like: str, value: Any) -> str:
        """A new constant (or Module) of the owner; its name."""
        number = 0
        while hasattr(self.owner, f"{like}_folded{number}"):
            number += 1
        name = f"{like}_folded{number}"
        if isinstance(value, TensorBase):
            self.owner.__dict__[name] = value.detach()
        else:
            self.owner._modules[name] = value.requires_grad_(False)
        return name

    def run(self) -> None:
        """Fold it if that changes no result."""
        before = self.node.args[0] if self.node.args else None
        if not isinstance(before, Node) or list(before.users) != [self.node]:
            return
        if before.op == "call_module":
            self.into_module(before)
        elif name_of(before) in _CONVOLUTIONS:
            self.into_function(before, False)
        elif name_of(before) == "linear":
            self.into_function(before, True)

    def fused(self, fuse: Any, weight: Any, bias: Any, *more: Any) -> tuple[Any, Any]:
        """Weight and bias of the layer with the batch norm in it."""
        return fuse(weight, bias, *self.constants, *more)  # type: ignore[no-any-return]

    def into_module(self, before: Node) -> None:
        """A convolution that was kept as a Module."""
        layer = self.owner._modules.get(before.target)
        if not isinstance(layer, _FOLDED) or (layer.transposed and layer.groups != 1):
            return
        made = copy.deepcopy(layer)
        made.weight, made.bias = self.fused(fuse_conv_bn_weights, layer.weight, layer.bias, layer.transposed)
        before.target = self.keep(before.target, made)
        self.finish(before)

    def into_function(self, before: Node, linear: bool) -> None:
        """A call of a function with constant weights."""
        given = arguments(before)
        weight, bias = constant(self.owner, given.get("weight")), constant(self.owner, given.get("bias"))
        if not isinstance(weight, TensorBase) or bias is False or (linear and weight.dim() != 2):
            return
        made = self.fused(fuse_linear_bn_weights if linear else fuse_conv_bn_weights, weight, bias)
        like = given["weight"].target
        names = [self.keep(like, made[0]), self.keep(f"{like}_bias", made[1])]
        with self.graph.inserting_before(before):
            constants = [self.graph.get_attr(name, TENSOR) for name in names]
        if linear:
            self.if_rows(before, given, constants)
            return
        given["weight"], given["bias"] = constants
        before.args, before.kwargs = (), given
        self.finish(before)

    def if_rows(self, before: Node, given: dict[str, Any], constants: list[Node]) -> None:
        """A linear layer gives columns, which is what a batch norm scales, only where its input is a matrix: that is seen when it runs."""
        inputs = [
            given["input"],
            *constants,
            *before.all_input_nodes[1:],
            *[each for each in self.node.all_input_nodes if each is not before],
        ]
        inputs = list(dict.fromkeys(inputs))
        bodies = {}
        for name in ("then", "otherwise"):
            body = Graph()
            inside: dict[Node, Any] = {each: body.placeholder(each.name, each.type) for each in inputs}
            if name == "then":
                result = body.call_function(F.linear, (inside[given["input"]], *(inside[each] for each in constants)), type_expr=TENSOR)
            else:
                for each in (before, self.node):
                    inside[each] = body.node_copy(each, inside.__getitem__)
                result = inside[self.node]
            body.output((result,))
            bodies[name] = body
        with self.graph.inserting_before(self.node):
            rank = self.graph.call_method("dim", (given["input"],), type_expr=INT)
            test = self.graph.call_function(operator.eq, (rank, 2), type_expr=BOOL)
            chosen = self.graph.call_function(branch, (test, *inputs), type_expr=ANY)
            chosen.meta["bodies"] = bodies
            made = self.graph.call_function(operator.getitem, (chosen, 0), type_expr=TENSOR)
        for each in (rank, test, chosen, made):
            each.meta.update(source=self.node.meta.get("source"), module="")
        self.node.replace_all_uses_with(made)
        self.graph.erase_node(self.node)
        self.graph.erase_node(before)

    def finish(self, before: Node) -> None:
        """The layer in place of the batch norm."""
        self.node.replace_all_uses_with(before)
        self.graph.erase_node(self.node)

"""PyTorch's core operators in the place of others: the last step of ``run_decompositions``, on the graph of a program.

A rule gets a node and the graph, and returns the node that takes its place; None leaves it.  Sizes that are symbols stay as they are written.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..core.base import Spec, TensorBase, contiguous_strides
from ..core.dtypes import BY_NAME
from ..core.missing import is_own
from ..core.symbolic import is_symbolic
from ..graph import Graph, Node
from ..ops.overloads import find_overload
from ..ops.shape.memory import view_strides
from ..tensor.layout import contiguous_format

Rule = Callable[[Graph, Node], "Node | None"]
RULES: dict[str, Rule] = {}  # of all decompositions
CORE: dict[str, Rule] = {}  # of those into core operators alone


def rule(*names: str, core: bool = False) -> Callable[[Rule], Rule]:
    """Register what takes the place of operators."""

    def register(function: Rule) -> Rule:
        (CORE if core else RULES).update(dict.fromkeys(names, function))
        return function

    return register


def name_of(node: Node) -> str:
    """An operator of aten by its name and overload; an empty text of everything else."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith("aten::"):
        return ""
    return f"{schema.name[6:]}.{schema.overload_name or 'default'}"


def value_of(node: Any) -> Any:
    """What is known of the tensor that a node gives: its shape and dtype."""
    found = node.meta.get("val") if isinstance(node, Node) else None
    return found._array if isinstance(found, TensorBase) else found if isinstance(found, Spec) else None


def call(graph: Graph, name: str, args: tuple[Any, ...], value: Any, old: Node, kwargs: dict[str, Any] | None = None) -> Node:
    """A node that calls an operator."""
    packet, _, overload = name.partition(".")
    made = graph.create_node("call_function", find_overload("aten", packet, overload or "default"), args, kwargs or {}, packet)
    made.meta.update({key: each for key, each in old.meta.items() if key in ("stack_trace", "source", "module")}, val=value)
    return made


def first_of(graph: Graph, node: Node) -> Node:
    """The first result of a node; those of the others are made, too, as PyTorch makes them."""
    made = []
    for at, value in enumerate(node.meta["val"]):
        made.append(graph.create_node("call_function", operator.getitem, (node, at), {}, "getitem"))
        made[-1].meta["val"] = value
    return made[0]


def like(value: Any, shape: Any, dtype: Any = None) -> Any:
    """What is known of a tensor of a shape, of the dtype of another."""
    return Spec(tuple(shape), value.dtype if dtype is None else dtype.numpy)


def is_static(value: Any) -> bool:
    """Whether no size is a symbol."""
    return value is not None and not any(is_symbolic(each) for each in value.shape)


def arguments(node: Node, *defaults: Any) -> list[Any]:
    """The arguments of a node by position, with defaults for those behind the first."""
    names = [each.name for each in node.target._schema.arguments]
    found = list(node.args)
    for at in range(len(found), len(defaults) + 1):
        found.append(node.kwargs.get(names[at], defaults[at - 1]))
    return found


# -- shapes ---------------------------------------------------------------------------------------------------------------------------


_ORDERED = frozenset(
    "mm bmm addmm baddbmm convolution cat stack embedding native_layer_norm _softmax _log_softmax full zeros ones arange index_select gather sum mean amax amin".split()
)
_MOVED = frozenset(
    "permute t transpose numpy_T mT expand slice select split split_with_sizes chunk unbind diagonal squeeze unsqueeze lstm gru rnn_tanh rnn_relu".split()
)


def strides_of(node: Any, known: dict[Any, Any]) -> tuple[int, ...] | None:
    """The strides that PyTorch gives a value; None where they are not known."""
    if not isinstance(node, Node):
        return None
    if node not in known:
        known[node] = _strides(node, known)
    found: tuple[int, ...] | None = known[node]
    return found


def _is_ordered(node: Node, name: str) -> bool:
    """Whether a result is contiguous, whatever the strides of its operands."""
    return name in _ORDERED or (name == "clone" and node.kwargs.get("memory_format") is contiguous_format)


def _strides(node: Node, known: dict[Any, Any]) -> tuple[int, ...] | None:
    value = value_of(node)
    if not is_static(value):
        return None
    inputs = [each for each in node.all_input_nodes if value_of(each) is not None]
    name = name_of(node).partition(".")[0]
    if node.op != "call_function" or _is_ordered(node, name):
        return contiguous_strides(value.shape)
    if node.target is operator.getitem and name_of(node.args[0]).partition(".")[0] in ("split", "split_with_sizes", "chunk"):
        return strides_of(node.args[0].args[0], known)
    before = strides_of(node.args[0], known) if node.args else ()
    if before is None:
        return None
    if name == "permute":
        return tuple(before[each] for each in node.args[1])
    if name in ("t", "transpose", "mT"):
        order = list(before)
        first, second = node.args[1:3] if len(node.args) > 2 else (-2, -1)
        if len(order) > 1:
            order[first], order[second] = order[second], order[first]
        return tuple(order)
    if name == "view":
        return view_strides(tuple(value_of(node.args[0]).shape), before, tuple(value.shape))
    if name in _MOVED:
        return None
    same = all(strides_of(each, known) == contiguous_strides(value_of(each).shape) for each in inputs)
    return contiguous_strides(value.shape) if same else None


@rule("reshape.default", "flatten.using_ints", "_unsafe_view.default", "unflatten.int")
def view(graph: Graph, node: Node) -> Node | None:
    value, source = value_of(node), node.args[0]
    if is_static(value):
        sizes = [int(each) for each in value.shape]
    elif name_of(node) in ("reshape.default", "_unsafe_view.default"):
        sizes = list(node.args[1])
    else:
        return None
    strides = strides_of(source, graph.__dict__.setdefault("_strides", {}))
    fits = (
        view_strides(tuple(value_of(source).shape), strides, tuple(sizes)) is not None
        if strides is not None and is_static(value)
        else not _may_be_moved(source)
    )
    if not fits:
        source = call(graph, "clone", (source,), value_of(source), node, {"memory_format": contiguous_format})
    return call(graph, "view", (source, sizes), value, node)


def _may_be_moved(node: Any) -> bool:
    """Whether a value may be non-contiguous."""
    while isinstance(node, Node) and node.op == "call_function":
        name = name_of(node).partition(".")[0]
        if _is_ordered(node, name):
            return False
        if name in _MOVED or (node.target is operator.getitem and name_of(node.args[0]).partition(".")[0] in _MOVED):
            return True
        inputs = [each for each in node.all_input_nodes if value_of(each) is not None]
        if len(inputs) != 1:
            return any(map(_may_be_moved, inputs))
        node = inputs[0]
    return False


@rule("t.default", "transpose.int", "numpy_T.default", "mT.default", core=True)
def permuted(graph: Graph, node: Node) -> Node | None:
    value = value_of(node)
    rank = len(value.shape)
    if rank < 2:
        return None
    order = list(range(rank))
    if name_of(node) == "numpy_T.default":
        order.reverse()
    else:
        first, second = node.args[1:3] if len(node.args) > 2 else (-2, -1)
        order[first], order[second] = order[second], order[first]
    return call(graph, "permute", (node.args[0], order), value, node)


@rule("split.Tensor", "chunk.default", core=True)
def parts(graph: Graph, node: Node) -> Node | None:
    values, dim = node.meta["val"], node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    sizes = [each.shape[dim] for each in values]
    if any(map(is_symbolic, sizes)):
        return None
    return call(graph, "split_with_sizes", (node.args[0], [int(each) for each in sizes], *((dim,) if dim else ())), values, node)


@rule("squeeze.dim", core=True)
def squeezed(graph: Graph, node: Node) -> Node | None:
    return call(graph, "squeeze.dims", (node.args[0], [node.args[1]]), value_of(node), node)


# -- layers ---------------------------------------------------------------------------------------------------------------------------


@rule("dropout.default", "feature_dropout.default", "alpha_dropout.default")
def dropout(graph: Graph, node: Node) -> Node | None:
    x, probability, training = node.args
    value = value_of(node)
    if not training:
        return call(graph, "clone", (x,), value, node)
    if name_of(node) != "dropout.default":
        return None
    both = (value, like(value, value.shape, BY_NAME["bool"]))
    return first_of(graph, call(graph, "native_dropout", (x, probability, True), both, node))


@rule("layer_norm.default")
def layer_norm(graph: Graph, node: Node) -> Node | None:
    x, sizes, weight, bias, eps = arguments(node, [], None, None, 1e-05)[:5]
    value = value_of(node)
    shape = value.shape
    outer = (*shape[: len(shape) - len(sizes)], *(1 for _ in sizes))
    results = (value, like(value, outer), like(value, outer))
    return first_of(graph, call(graph, "native_layer_norm", (x, list(sizes), weight, bias, eps), results, node))


@rule("group_norm.default")
def group_norm(graph: Graph, node: Node) -> Node | None:
    x, groups, weight, bias, eps = arguments(node, 1, None, None, 1e-05)[:5]
    value = value_of(node)
    if not is_static(value):
        return None
    batch, channels, *rest = (int(each) for each in value.shape)
    results = (value, like(value, (batch, groups)), like(value, (batch, groups)))
    return first_of(
        graph, call(graph, "native_group_norm", (x, weight, bias, batch, channels, math.prod(rest), groups, eps), results, node)
    )


@rule("batch_norm.default")
def batch_norm(graph: Graph, node: Node) -> Node | None:
    x, weight, bias, mean, variance, training, momentum, eps = node.args[:8]
    if training or mean is None:
        return None
    value = value_of(node)
    results = (value, like(value, (0,)), like(value, (0,)))
    made = call(graph, "_native_batch_norm_legit_no_training", (x, weight, bias, mean, variance, momentum, eps), results, node)
    return first_of(graph, made)


@rule("max_pool2d.default", "max_pool3d.default")
def max_pool(graph: Graph, node: Node) -> Node | None:
    value = value_of(node)
    results = (value, like(value, value.shape, BY_NAME["int64"]))
    return first_of(graph, call(graph, f"{name_of(node).partition('.')[0]}_with_indices", node.args, results, node))


@rule("adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default", core=True)
def adaptive_average(graph: Graph, node: Node) -> Node | None:
    x, sizes = node.args
    if all(type(each) is int and each == 1 for each in sizes):
        return call(graph, "mean.dim", (x, [-1 - at for at in range(len(sizes))], True), value_of(node), node)
    return call(graph, f"_{name_of(node).partition('.')[0]}", (x, list(sizes)), value_of(node), node)


@rule("sum.default", core=True)
def whole_sum(graph: Graph, node: Node) -> Node | None:
    node.target, node.args = find_overload("aten", "sum", "dim_IntList"), (node.args[0], [])  # the node itself: it keeps its name
    return None


@rule("relu6.default")
def relu6(graph: Graph, node: Node) -> Node | None:
    return call(graph, "hardtanh", (node.args[0], 0.0, 6.0), value_of(node), node)


def rewrite(graph: Graph, core: bool, kept: set[Any]) -> dict[Node, Node]:
    """Apply the rules to all nodes of a graph; returns what has taken the place of nodes."""
    replaced: dict[Node, Node] = {}
    rules = {**RULES, **CORE} if core else RULES
    for node in list(graph.nodes):
        found = rules.get(name_of(node)) if node.op == "call_function" and node.target not in kept else None
        if found is None:
            continue
        with graph.inserting_before(node):
            made = found(graph, node)
        if made is not None:
            node.replace_all_uses_with(made)
            graph.erase_node(node)
            replaced[node] = made
    return replaced


def is_foreign(target: Any) -> bool:
    """Whether a node's target is an operator that PyTorch does not have."""
    return hasattr(target, "op") or (is_own(type(target)) and not hasattr(target, "_schema") and not hasattr(target, "_namespace"))


__all__ = ["CORE", "RULES", "is_foreign", "name_of", "rewrite"]

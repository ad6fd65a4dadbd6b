"""Observers in a traced model: behind each value that will be quantized."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ao.nn.intrinsic import _FusedModule
from ...ao.quantization.fake_quantize import FixedQParamsFakeQuantize
from ...ao.quantization.observer import FixedQParamsObserver
from ...ao.quantization.qconfig import qconfig_equals
from ...core.dtypes import qint8, quint8
from ...core.errors import NotSupported
from ..graph_module import GraphModule
from ..node import Node
from .patterns import DYNAMIC, EMBEDDINGS, FIXED, WEIGHTED, is_quantizable, kind_of, relu_behind, shares_scale, tensor_operands, weight_of

_FIXED_OBSERVERS = (FixedQParamsObserver, FixedQParamsFakeQuantize)


def assign_qconfigs(model: GraphModule, mapping: Any, scopes: dict[str, str]) -> dict[str, Any]:
    """The QConfig of each node, by the node's name; of modules that are quantized also their own."""
    modules = dict(model.named_modules(remove_duplicate=False))
    found: dict[str, Any] = {}
    calls: Counter[Any] = Counter()
    for node in model.graph.nodes:
        kind = kind_of(node, modules)
        if kind is None:
            continue
        scope = scopes.get(node.name, "")
        path = str(node.target) if node.op == "call_module" else scope
        # A fused module has the QConfig of what it begins with.
        base = modules[path] if node.op == "call_module" else None
        asked = _kind_of_fused(base, mapping.object_type_qconfigs) if isinstance(base, _FusedModule) else kind
        qconfig = mapping.qconfig_for(path, asked, calls[scope, kind], scope)
        calls[scope, kind] += 1
        found[node.name] = qconfig
        if base is not None:
            base.qconfig = qconfig
    return found


def _kind_of_fused(module: Any, by_kind: dict[Any, Any]) -> Any:
    """The class by which a fused module's QConfig is found: its own, or that of its first part, where all parts agree."""
    wanted = by_kind.get(type(module[0]))
    for each in list(module)[1:]:
        if not qconfig_equals(by_kind.get(type(each)), wanted):
            raise LookupError(
                f"During fusion, we need to specify the same qconfigs for all module types in {type(module)} offending type: {type(each)}"
            )
    return type(module) if wanted is None else type(module[0])


def is_dynamic(qconfig: Any) -> bool:
    """Whether activations get their scales when a model runs, not before."""
    return bool(getattr(qconfig.activation(), "is_dynamic", False))


def _is_static(node: Node, kind: Any, qconfig: Any) -> bool:
    if qconfig is None or kind in EMBEDDINGS or not is_quantizable(node, kind):
        return False
    observer = qconfig.activation()
    if getattr(observer, "is_dynamic", False):
        return False
    dtype = getattr(observer, "dtype", None)
    if dtype not in (quint8, qint8) and not shares_scale(node, kind):
        if kind in DYNAMIC:
            raise NotSupported(f"activations of {dtype} in traced models are not quantized here: use quint8 or qint8")
        return False
    return kind not in FIXED or isinstance(observer, _FIXED_OBSERVERS)


class Groups:
    """Values that share an observer: the results of poolings, views and concatenations have the scale of their operands."""

    def __init__(self) -> None:
        self.first: dict[Node, Node] = {}

    def of(self, node: Node) -> Node:
        """The value whose observer a value has."""
        while self.first.get(node, node) is not node:
            node = self.first[node]
        return node

    def join(self, one: Node, other: Node) -> None:
        """Two values have one observer: that of the first."""
        a, b = self.of(one), self.of(other)
        if a is not b:
            self.first[b] = a


def insert_observers(model: GraphModule, qconfigs: dict[str, Any]) -> None:
    """Put observers behind the operands and results of what is quantized; nodes that will be quantized are marked in their meta."""
    modules = dict(model.named_modules(remove_duplicate=False))
    groups, wanted, weights = Groups(), dict[Node, Any](), dict[Node, Any]()
    for node in model.graph.nodes:
        kind, qconfig = kind_of(node, modules), qconfigs.get(node.name)
        if qconfig is not None and (kind in EMBEDDINGS or (kind in DYNAMIC and is_dynamic(qconfig))):
            node.meta["quantization"] = "dynamic"
        weight = weight_of(node, kind)
        if (
            weight is not None
            and qconfig is not None
            and (_is_static(node, kind, qconfig) or WEIGHTED[kind] == "linear" and is_dynamic(qconfig))
        ):
            weights.setdefault(weight, qconfig)
            node.meta["quantization"] = "dynamic"  # unless it is static, see below
        if not _is_static(node, kind, qconfig):
            continue
        operands = tensor_operands(node)
        result = relu_behind(node, kind, modules) or node
        if "fused" in node.meta:  # the ReLU behind a sum: both are one
            continue
        node.meta["quantization"] = "static"
        if result is not node:
            result.meta["fused"] = True
        shared = shares_scale(node, kind)
        for operand in operands:
            wanted.setdefault(operand, qconfig)
            if shared:
                groups.join(operands[0], operand)
        if kind in FIXED:
            wanted[result] = qconfig
        else:
            wanted.setdefault(result, qconfig)
        if shared:
            groups.join(operands[0], result)
    observers: dict[Node, Any] = {}
    for number, node in enumerate(each for each in list(model.graph.nodes) if each in wanted or each in weights):
        group = groups.of(node)
        if node in weights:
            observers[group] = weights[node].weight()
        elif group not in observers:
            observers[group] = wanted[group if group in wanted else node].activation()
        name = f"activation_post_process_{number}"
        model.add_submodule(name, observers[group])
        with model.graph.inserting_after(node):
            observed = model.graph.call_module(name, (node,))
        observed.meta["input only"] = node not in weights and qconfigs.get(node.name) is None
        node.replace_all_uses_with(observed)
        observed.args = (node,)
    model.graph.lint()
    model.recompile()

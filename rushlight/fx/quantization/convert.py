"""Quantized models from observed ones: values get scales, and what has a quantized form takes quantized values."""

from __future__ import annotations

from typing import Any

from ...ao.quantization.observer_insertion import remove_qconfig
from ...core.declare import exports
from ...nn import functional
from ...ops import quantized
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .patterns import ADDITIONS, DYNAMIC, EMBEDDINGS, FIXED, LAYERS, PRODUCTS, kind_of, shares_scale, tensor_operands

_OBSERVER = "activation_post_process_"


class Converter:
    """Rewrites an observed graph node by node, keeping for each value its float and its quantized form."""

    def __init__(self, model: GraphModule) -> None:
        self.model = model
        self.graph = model.graph
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.observer: dict[Node, Any] = {}  # by the value that is observed
        self.quantized: dict[Node, Node] = {}  # a float value -> its quantized form
        self.floats: dict[Node, Node] = {}  # a quantized value -> its float form
        self.counts: dict[str, int] = {}

    def run(self) -> None:
        """Rewrite the graph, and replace the modules."""
        for node in list(self.graph.nodes):
            if node.op == "call_module" and str(node.target).startswith(_OBSERVER):
                (value,) = node.args
                self.observer[value] = self.modules[str(node.target)]
                node.replace_all_uses_with(value)
                self.graph.erase_node(node)
                self.model.delete_submodule(str(node.target))
        relus = set()
        for node in list(self.graph.nodes):
            kind = kind_of(node, self.modules)
            if node in relus:
                continue
            mark = node.meta.get("quantization")
            if mark == "static":
                relu = next(iter(node.users)) if kind in (*ADDITIONS, *PRODUCTS) and len(node.users) == 1 else None
                relu = relu if relu is not None and relu.meta.get("fused") else None
                if relu is not None:
                    relus.add(relu)
                self.static(node, kind, relu)
            else:
                if mark == "dynamic":
                    self.swap(node, {**DYNAMIC, **{each: LAYERS.get(each, DYNAMIC[each]) for each in EMBEDDINGS}})
                self.with_floats(node)
        self.graph.eliminate_dead_code()
        self.graph.lint()
        self.model.recompile()
        remove_qconfig(self.model)

    # -- values --------------------------------------------------------------------------------------------------

    def as_float(self, value: Node, before: Node) -> Node:
        """The float form of a value, for a node."""
        if value not in self.quantized or self.quantized[value] is not value:
            return value
        if value not in self.floats:
            with self.graph.inserting_after(value):
                self.floats[value] = self.graph.call_method("dequantize", (value,))
        return self.floats[value]

    def as_quantized(self, value: Node, before: Node) -> Node:
        """The quantized form of a value, for a node."""
        if value not in self.quantized:
            observer = self.observer[value]
            scale, zero_point = observer.calculate_qparams()
            path = str(before.target).replace(".", "_") + "_input" if before.op == "call_module" else ""
            with self.graph.inserting_after(value):
                first = self.constant(f"{path}_scale_", scale)
            with self.graph.inserting_after(first):
                second = self.constant(f"{path}_zero_point_", zero_point)
            with self.graph.inserting_after(second):
                self.quantized[value] = self.graph.call_function(exports["", "quantize_per_tensor"], (value, first, second, observer.dtype))
        return self.quantized[value]

    def constant(self, prefix: str, value: Any) -> Node:
        """A node that reads a new buffer."""
        number = self.counts.get(prefix, 0)
        self.counts[prefix] = number + 1
        name = f"{prefix}{number}"
        self.model.register_buffer(name, value.reshape(()))
        return self.graph.get_attr(name)

    def with_floats(self, node: Node) -> None:
        """Give a node that stays as it is the float forms of its operands."""
        node.args = map_arg(node.args, lambda each: self.as_float(each, node))
        node.kwargs = map_arg(node.kwargs, lambda each: self.as_float(each, node))

    # -- calls ---------------------------------------------------------------------------------------------------

    def swap(self, node: Node, mapping: dict[Any, Any]) -> None:
        """Replace the module that a node calls."""
        path, _, last = str(node.target).rpartition(".")
        module = self.modules[str(node.target)]
        if type(module) in mapping:
            made = mapping[type(module)].from_float(module)
            made.training = module.training
            setattr(self.model.get_submodule(path), last, made)
            self.modules[str(node.target)] = made

    def static(self, node: Node, kind: Any, relu: Node | None) -> None:
        """A node on quantized operands, where all of them have a scale."""
        operands = tensor_operands(node)
        forms = {each: self.as_quantized(each, node) for each in operands}
        if kind in LAYERS:
            self.modules[str(node.target)].activation_post_process = self.observer[node]
            self.swap(node, LAYERS)
        elif kind in (*ADDITIONS, *PRODUCTS):
            self.binary(node, kind, relu, forms)
            return
        elif not (shares_scale(node, kind) or kind in FIXED or kind is functional.dropout):
            self.with_floats(node)
            return
        others = {each: self.as_float(each, node) for each in node.all_input_nodes if each not in forms}
        node.args = map_arg(node.args, lambda each: forms.get(each, others.get(each, each)))
        node.kwargs = map_arg(node.kwargs, lambda each: forms.get(each, others.get(each, each)))
        self.quantized[node] = node

    def binary(self, node: Node, kind: Any, relu: Node | None, forms: dict[Node, Node]) -> None:
        """A sum or a product, with the ReLU behind it."""
        result = node if relu is None else relu
        arguments: list[Any] = [forms.get(each, each) if isinstance(each, Node) else each for each in node.args[:2]]
        two = all(isinstance(each, Node) for each in arguments)
        name = ("add" if kind in ADDITIONS else "mul") + ("" if two else "_scalar") + ("" if relu is None else "_relu")
        if two:
            scale, zero_point = self.observer[result].calculate_qparams()
            with self.graph.inserting_before(result):
                arguments += [self.constant("_scale_", scale), self.constant("_zero_point_", zero_point)]
        with self.graph.inserting_before(result):
            made = self.graph.call_function(getattr(quantized, name), tuple(arguments))
        result.replace_all_uses_with(made)
        if result in self.observer:
            self.observer[made] = self.observer[result]
        self.quantized[made] = made
        self.graph.erase_node(result)
        if relu is not None:
            self.graph.erase_node(node)

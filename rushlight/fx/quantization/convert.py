"""Quantized models from observed ones: values get scales, and what has a quantized form takes quantized values."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ...ao.nn.quantized.quantize import quantize_weight
from ...ao.quantization.observer_insertion import remove_qconfig
from ...core.declare import exports
from ...core.dtypes import float16
from ...nn import Linear, functional
from ...ops import quantized
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .patterns import (
    ADDITIONS,
    DYNAMIC,
    EMBEDDINGS,
    FIXED,
    LAYERS,
    PRODUCTS,
    WEIGHTED,
    kind_of,
    relu_behind,
    shares_scale,
    tensor_operands,
    weight_of,
    weighted_arguments,
)

_OBSERVER = "activation_post_process_"


def _packed_weights(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.startswith("_packed_weight_")}


def _save_packed(model: Any, state: dict[str, Any], prefix: str, _: Any) -> None:
    """Packed weights belong to a model's state."""
    state.update({prefix + name: value for name, value in _packed_weights(model).items()})


def _load_packed(model: Any, state: dict[str, Any], prefix: str, metadata: Any, strict: bool, missing: list[str], *_: Any) -> None:
    """Take packed weights from a state."""
    for name in _packed_weights(model):
        if prefix + name in state:
            setattr(model, name, state.pop(prefix + name))
        else:
            missing.append(prefix + name)


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
        self.names: dict[Node, str] = {}
        self.packed = 0
        self.folded: set[str] = set()  # parameters that packed weights hold

    def run(self) -> None:
        """Rewrite the graph, and replace the modules."""
        for node in list(self.graph.nodes):
            if node.op == "call_module" and str(node.target).startswith(_OBSERVER):
                (value,) = node.args
                self.observer[value] = self.modules[str(node.target)]
                self.numbered(node, value)
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
                relu = next(iter(node.users)) if kind in (*ADDITIONS, *PRODUCTS, *WEIGHTED) and len(node.users) == 1 else None
                relu = relu if relu is not None and relu.meta.get("fused") else None
                if relu is not None:
                    relus.add(relu)
                self.static(node, kind, relu)
            elif mark == "dynamic" and kind in WEIGHTED:
                relu = relu_behind(node, kind, self.modules)
                if relu is not None:
                    relus.add(relu)
                self.weighted(node, kind, relu)
            else:
                if mark == "dynamic":
                    self.swap(node, {**DYNAMIC, **{each: LAYERS.get(each, DYNAMIC[each]) for each in EMBEDDINGS}})
                self.with_floats(node)
        self.graph.eliminate_dead_code()
        for path in self.folded - {str(node.target) for node in self.graph.nodes if node.op == "get_attr"}:
            owner, _, last = path.rpartition(".")
            delattr(self.model.get_submodule(owner), last)
        if self.packed:
            self.model._register_state_dict_hook(_save_packed)
            self.model._register_load_state_dict_pre_hook(_load_packed, with_module=True)
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
            with self.graph.inserting_after(value):
                first = self.constant(value, "scale", scale)
            with self.graph.inserting_after(first):
                second = self.constant(value, "zero_point", zero_point)
            with self.graph.inserting_after(second):
                self.quantized[value] = self.graph.call_function(exports["", "quantize_per_tensor"], (value, first, second, observer.dtype))
        return self.quantized[value]

    def numbered(self, observed: Node, value: Node) -> None:
        """Choose the names of a value's scale and zero point: the module it is computed in, or the one that takes it, and a number."""
        users = list(observed.users)
        first = next((each for each in users if kind_of(each, self.modules) in (functional.linear, Linear)), users[0] if users else value)
        path = first.meta.get("scope", "") + "_input" if observed.meta.get("input only") else value.meta.get("scope", "")
        prefix = path.replace(".", "_")
        number = self.counts[prefix] = self.counts.get(prefix, -1) + 1
        self.names[value] = f"{prefix}_{{}}_{number}"

    def constant(self, value: Node, part: str, number: Any) -> Node:
        """A node that reads the scale or the zero point of a value, a new buffer."""
        name = self.names[value].format(part)
        self.model.register_buffer(name, number.reshape(()))
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
        elif kind in WEIGHTED:
            self.weighted(node, kind, relu, forms)
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
            arguments += self.scale_of(result)
        self.replace(node, relu, name, arguments)

    def scale_of(self, result: Node) -> list[Node]:
        """Nodes that read the scale and the zero point of a result."""
        scale, zero_point = self.observer[result].calculate_qparams()
        with self.graph.inserting_before(result):
            return [self.constant(result, "scale", scale), self.constant(result, "zero_point", zero_point)]

    def weighted(self, node: Node, kind: Any, relu: Node | None, forms: dict[Node, Node] | None = None) -> None:
        """A layer that is a function of its weight; without quantized operands, one that quantizes them when it runs."""
        result = node if relu is None else relu
        given, weight = weighted_arguments(node), weight_of(node, kind)
        assert weight is not None
        values = {each: attrgetter(str(given[each].target))(self.model) for each in ("weight", "bias") if given.get(each) is not None}
        self.folded.update(str(given[each].target) for each in values)
        observer = self.observer[weight]
        observer(values["weight"])  # which may not have run
        half = observer.dtype is float16
        tensor = values["weight"].detach() if half else quantize_weight(values["weight"], observer)
        bias = values["bias"].detach() if "bias" in values else None
        name = WEIGHTED[kind] + ("" if relu is None else "_relu")
        if kind is functional.linear:
            packed = (quantized.linear_prepack_fp16 if half else quantized.linear_prepack)(tensor, bias)
        else:
            spatial = tensor.dim() - 2
            options = [given.get("stride", 1), given.get("padding", 0), given.get("dilation", 1)]
            wide = [(each,) * spatial if isinstance(each, int) else tuple(each) for each in options]
            packed = getattr(quantized, f"{WEIGHTED[kind]}_prepack")(tensor, bias, *wide, given.get("groups", 1))
        attribute = f"_packed_weight_{self.packed}"
        self.packed += 1
        setattr(self.model, attribute, packed)
        with self.graph.inserting_before(result):
            first = given["input"] if forms is None else forms[given["input"]]
            arguments = [first if forms is not None else self.as_float(first, node), self.graph.get_attr(attribute)]
        if forms is None:
            more = [] if half else [True]  # with one bit less, as the kernels of x86 take them
            self.replace(node, relu, f"{name}_dynamic_fp16" if half else f"{name}_dynamic", [*arguments, *more])
        else:
            self.replace(node, relu, name, [*arguments, *self.scale_of(result)])

    def replace(self, node: Node, relu: Node | None, name: str, arguments: list[Any]) -> None:
        """Put a call of a quantized function in the place of a node and of the ReLU behind it."""
        result = node if relu is None else relu
        with self.graph.inserting_before(result):
            made = self.graph.call_function(getattr(quantized, name), tuple(arguments))
        result.replace_all_uses_with(made)
        if result in self.observer:
            self.observer[made] = self.observer[result]
        if node.meta["quantization"] == "static":
            self.quantized[made] = made
        self.graph.erase_node(result)
        if relu is not None:
            self.graph.erase_node(node)

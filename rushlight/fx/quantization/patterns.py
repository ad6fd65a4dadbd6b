"""What of a traced model can be quantized, and how its result is observed."""

from __future__ import annotations

import operator
from typing import Any

from ... import nn
from ...ao.nn import quantized as nnq
from ...ao.quantization.quantization_mappings import get_default_dynamic_quant_module_mappings, get_default_static_quant_module_mappings
from ...ao.quantization.stubs import DeQuantStub, QuantStub
from ...core.declare import exports
from ...nn import functional
from ..node import Node

ADDITIONS = (operator.add, operator.iadd, exports["", "add"])
PRODUCTS = (operator.mul, operator.imul, exports["", "mul"])
RELUS = (nn.ReLU, functional.relu, "relu", "relu_")

# Module class -> quantized class with a scale of its own.
LAYERS: dict[Any, Any] = {
    kind: made
    for kind, made in get_default_static_quant_module_mappings().items()
    if kind not in (QuantStub, DeQuantStub, nnq.FloatFunctional, nn.GroupNorm, nn.ReLU6, nn.Embedding, nn.EmbeddingBag)
}
DYNAMIC: dict[Any, Any] = get_default_dynamic_quant_module_mappings()
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)

# Functions of an input and a weight -> their quantized form in `torch.ops.quantized`.
WEIGHTED: dict[Any, str] = {getattr(functional, name): name for name in ("linear", "conv1d", "conv2d", "conv3d")}
_ARGUMENTS = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")

# Results that have the scale of the first operand.
SHARED_MODULES = (
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.Hardtanh, nn.Identity,
    nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU, nn.ReLU6,
)  # fmt: skip
SHARED_FUNCTIONS = (
    functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d, functional.avg_pool1d,
    functional.avg_pool2d, functional.avg_pool3d, functional.hardtanh, functional.hardtanh_, functional.interpolate, functional.max_pool1d,
    functional.max_pool2d, functional.max_pool3d, functional.pixel_shuffle, functional.pixel_unshuffle, functional.relu, functional.relu6,
    *(
        exports["", name]
        for name in "cat avg_pool1d clamp flatten mean narrow repeat_interleave transpose squeeze stack unsqueeze".split()
    ),
)  # fmt: skip
SHARED_METHODS = frozenset(
    "contiguous clamp detach detach_ mean permute repeat repeat_interleave reshape resize_ relu relu_ squeeze squeeze_ transpose unsqueeze "
    "unsqueeze_ view".split()
)
# Results whose scale is known before anything is seen.
FIXED = (
    nn.Hardsigmoid, nn.Sigmoid, nn.Tanh, functional.hardsigmoid, functional.sigmoid, functional.tanh, exports["", "sigmoid"],
    exports["", "tanh"], "hardsigmoid", "sigmoid", "tanh",
)  # fmt: skip
OWN_SCALE = (functional.dropout,)


def kind_of(node: Node, modules: dict[str, Any]) -> Any:
    """What a node calls: the class of a module, a function, or a method's name; None for others."""
    if node.op == "call_module":
        return type(modules[str(node.target)])
    return node.target if node.op in ("call_function", "call_method") else None


def weighted_arguments(node: Node) -> dict[str, Any]:
    """The arguments of a call in `WEIGHTED`, by their names."""
    return {**dict(zip(_ARGUMENTS, node.args)), **node.kwargs}


def weight_of(node: Node, kind: Any) -> Node | None:
    """The parameter that is the weight of a call in `WEIGHTED`; None where it is computed, or where the padding is a word."""
    given = weighted_arguments(node) if kind in WEIGHTED else {}
    weight, bias = given.get("weight"), given.get("bias")
    fixed = isinstance(weight, Node) and weight.op == "get_attr" and (bias is None or isinstance(bias, Node) and bias.op == "get_attr")
    return weight if fixed and not isinstance(given.get("padding"), str) else None


def relu_behind(node: Node, kind: Any, modules: dict[str, Any]) -> Node | None:
    """The ReLU that is computed with a sum, a product or a layer: its only user."""
    relus = RELUS[:2] if kind in WEIGHTED else RELUS
    if len(node.users) != 1 or kind not in (*ADDITIONS, *PRODUCTS, *WEIGHTED):
        return None
    (user,) = node.users
    return user if kind_of(user, modules) in relus else None


def tensor_operands(node: Node) -> list[Node]:
    """The operands of a quantizable node that are quantized with it."""
    first = node.args[0] if node.args else None
    if isinstance(first, (list, tuple)):
        return [each for each in first if isinstance(each, Node)]
    found = [first] if isinstance(first, Node) else []
    second = node.args[1] if len(node.args) > 1 else None
    if node.op == "call_function" and node.target in (*ADDITIONS, *PRODUCTS) and isinstance(second, Node):
        found.append(second)
    return found


def shares_scale(node: Node, kind: Any) -> bool:
    """Whether a result has the scale of its operands."""
    if kind in (*ADDITIONS, *PRODUCTS):
        return len(tensor_operands(node)) == 1  # with a number
    return kind in SHARED_MODULES or kind in SHARED_FUNCTIONS or (node.op == "call_method" and kind in SHARED_METHODS)


def is_quantizable(node: Node, kind: Any) -> bool:
    """Whether there is a quantized form of what a node calls."""
    if kind is None or not tensor_operands(node):
        return False
    if kind in WEIGHTED:
        return weight_of(node, kind) is not None
    return kind in LAYERS or kind in FIXED or kind in OWN_SCALE or kind in (*ADDITIONS, *PRODUCTS) or shares_scale(node, kind)

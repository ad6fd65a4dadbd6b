"""Quantized tensors in an exported graph: represented by their real values, rounded where an op rounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import Op
from ..core.dtypes import BY_NUMPY
from ..core.quantized import rule_of
from ..graph import Node
from ..ops.quantized.quantize_onnx import dequantized, parameters, rounded
from .ir import OnnxValue

_FLOAT32 = np.dtype(np.float32)


def as_exported(known: Any) -> Any:
    """What is known about a value; of a quantized one, that real numbers are exported for it."""
    if isinstance(known, tuple):
        return tuple([as_exported(each) for each in known])
    return Spec(known.shape, _FLOAT32) if is_quantized(known) else known


def is_quantized(known: Any) -> bool:
    """Whether what is known about a value says that it is quantized."""
    return isinstance(known, Spec) and BY_NUMPY[known.dtype].integer is not None


def is_kept(op: Op | None) -> bool:
    """Whether an op stays in the graph although its result is known: of a weight, the file says how it is quantized."""
    return op is not None and "fake_quantize" in op.name


def stand_for(value: Any) -> Any:
    """The type of the tensor that a value stands for."""
    return value.dtype if value.quantizer is None else value.quantizer.dtype.numpy


@contextmanager
def as_real_numbers(node: Node, values: dict[Node, Any]) -> Iterator[None]:
    """A time in which what a node gets dequantized is no longer known as quantized: one value stands for both."""
    found: list[Any] = [
        values.get(each) for each in node.all_input_nodes if isinstance(each.meta.get("val"), Spec) and not is_quantized(each.meta["val"])
    ]
    hidden: list[tuple[Any, Any]] = [
        (each, each.quantizer) for each in found if each is not None and getattr(each, "quantizer", None) is not None
    ]
    for each, _ in hidden:
        each.quantizer = None
    try:
        yield
    finally:
        for each, quantizer in hidden:
            each.quantizer = quantizer


def finish(g: Any, node: Node, op: Op, made: Any) -> Any:
    """The result of an op on quantized tensors, rounded to its quantizer."""
    known: Any = node.meta.get("val")
    quantizer = node.meta.get("quantizer")
    rounds = getattr(rule_of(op), "rounds", False)
    if quantizer is None:
        if rounds and any(is_quantized(each.meta.get("val")) for each in node.all_input_nodes):
            g.unrounded = True  # it is a part of a composite, whose result is rounded
        return made
    if rounds or g.unrounded:
        made = rounded(g, made, *parameters_of(g, quantizer), quantizer.dtype.integer, quantizer.axis)
        made.dtype, made.shape = _FLOAT32, known.shape
    g.unrounded = False
    made.quantizer = quantizer
    return made


def part(node: Node, value: Any) -> Any:
    """One of several results of an op; of a quantized one, with its quantizer."""
    if isinstance(value, OnnxValue) and node.meta.get("quantizer") is not None:
        value.quantizer = node.meta["quantizer"]
    return value


def constant(g: Any, array: Any, integers: Any) -> Any:
    """A quantized tensor whose elements are known, from its integers as a value."""
    own = array.quantizer
    made = dequantized(g, integers, own.scale, own.zero_point, own.dtype.integer, own.axis)
    made.quantizer = own
    return made


def parameters_of(g: Any, quantizer: Any) -> tuple[Any, Any]:
    """Scale and zero point of a quantizer: values of the file for that of an input, else numbers."""
    _, *found = g.input_quantizers.get(id(quantizer), (quantizer, quantizer.scale, quantizer.zero_point))
    return found[0], found[1]


def input_value(g: Any, name: str, spec: Spec, quantizer: Any) -> Any:
    """A quantized input: its integers, its scale (a double) and its zero point (an int64) are inputs of the file, as in PyTorch."""
    if quantizer.axis is not None:
        raise g.unsupported("a quantized input with a scale for each channel: give the real numbers, and quantize in the model")
    integer = np.dtype(quantizer.dtype.integer)
    kinds = (("", integer, spec.shape), ("_scale", np.dtype(np.float64), ()), ("_zero_point", np.dtype(np.int64), ()))
    integers, scale, zero_point = [OnnxValue(None, kind, shape, g.fresh(name + part)) for part, kind, shape in kinds]
    g.graph._inputs += [integers, scale, zero_point]
    scale, zero_point = g.cast(scale, _FLOAT32), g.cast(zero_point, integer)
    g.input_quantizers[id(quantizer)] = (quantizer, scale, zero_point)
    made = dequantized(g, integers, scale, zero_point, integer, None)
    made.dtype, made.shape, made.quantizer = _FLOAT32, spec.shape, quantizer
    return made


def output_parts(g: Any, value: Any) -> Any:
    """A quantized result as what the file gives for it: integers, scale and zero point; real numbers where each channel has its own."""
    own = value.quantizer
    if own is None or own.axis is not None or np.dtype(own.dtype.integer).itemsize > 1:
        return value
    scale, zero_point = parameters(g, *parameters_of(g, own), np.dtype(own.dtype.integer), None)
    owner = value.owner
    if owner is not None and owner.kind() == "onnx::DequantizeLinear" and all(map(same, [*owner.inputs()][1:], (scale, zero_point))):
        return [owner.inputsAt(0), scale, zero_point]  # what was rounded just now
    integers = g.op("QuantizeLinear", value, scale, zero_point)
    integers.dtype, integers.shape = np.dtype(own.dtype.integer), value.shape
    return [integers, scale, zero_point]


def same(a: Any, b: Any) -> bool:
    """Whether two values are one, or equal constants."""
    return a is b or (a.constant is not None and b.constant is not None and a.dtype == b.dtype and np.array_equal(a.constant, b.constant))

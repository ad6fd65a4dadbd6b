"""Ops on complex values, which are pairs of real ones in ONNX: linear ops run once on the real parts and once on the imaginary ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import Op
from ..core.facets import Facet
from .ir import OnnxValue

# Of the lowering, the op and its arguments: values, or NotImplemented.
ComplexRule = Callable[[Any, Op, tuple[Any, ...]], Any]

complex_rule: Facet[ComplexRule] = Facet(
    "ONNX complex", "how ONNX computes the op on complex values, where it is no view of both parts alike"
)
_FLOAT32 = np.dtype(np.float32)
_REFUSED = "ONNX has no complex arithmetic: write this with real and imaginary parts"


@complex_rule.register("real_part", "imag", "view_as_real", "view_as_complex")
def on_pairs(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """An op whose own ONNX form takes pairs."""
    return lowering.own_form(op, args)


def on_each_part(lowering: Any, op: Op, args: tuple[Any, ...], scaled: bool) -> Any:
    """A linear op: once on the real parts, once on the imaginary ones; where it is ``scaled``, real operands are factors of both."""
    g, outer = lowering.g, lowering.g.outputs
    if lowering.is_decomposed(op):
        return NotImplemented  # its body is linear too

    def part(value: Any, at: int) -> Any:
        if isinstance(value, OnnxValue):
            if value.dtype.kind == "c":
                return g.parts(value)[at]
            return value if scaled or at == 0 else g.expand_like(g.constant(0, value.dtype), value)
        if isinstance(value, (tuple, list)):
            return type(value)([part(each, at) for each in value])
        return value if scaled or value is None else (value.real, value.imag)[at]

    places = {at for at, _ in op.tensor_positions}
    g.outputs = tuple([Spec(each.shape, np.zeros(0, each.dtype).real.dtype) for each in outer])
    try:
        made = [
            lowering.own_form(op, tuple([part(each, at) if place in places else each for place, each in enumerate(args)])) for at in (0, 1)
        ]
        real, imaginary = (lowering.settle(op, each, g.outputs if isinstance(each, (tuple, list)) else g.outputs[0]) for each in made)
    finally:
        g.outputs = outer
    if isinstance(real, (tuple, list)):
        return tuple([g.joined(*each) for each in zip(real, imaginary)])
    return g.joined(real, imaginary)


@complex_rule.register(
    "add", "sub", "neg", "sum", "mean", "cat", "stack", "index_select", "flip", "roll", "narrow", "clone", "contiguous"
)  # fmt: skip
def by_parts(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A linear op on complex values and real ones, whose imaginary parts are 0."""
    return on_each_part(lowering, op, args, scaled=False)


@complex_rule.register("constant_pad_nd")
def padded(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    if args[2]:
        raise lowering.g.unsupported(_REFUSED)
    return by_parts(lowering, op, args)


@complex_rule.register("mul")
def product(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """The product of two complex values, or of one and a complex number; real factors scale both parts."""
    if lowering.is_decomposed(op):
        return NotImplemented
    if not all(map(is_complex, args[:2])):
        return on_each_part(lowering, op, args, scaled=True)
    g = lowering.g
    values = [each if isinstance(each, OnnxValue) else g.constant(each, g.outputs[0].dtype) for each in args[:2]]
    (a, b), (c, d) = (g.parts(each) for each in values)
    made = g.Sub(g.Mul(a, c), g.Mul(b, d)), g.Add(g.Mul(a, d), g.Mul(b, c))
    for each in made:
        each.shape = g.outputs[0].shape
    return g.joined(*made)


@complex_rule.register("div")
def quotient(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A quotient by a real value, or by a number."""
    if not is_complex(args[1]):
        return on_each_part(lowering, op, args, scaled=True)
    if isinstance(args[1], OnnxValue) or not is_complex(args[0]):
        raise lowering.g.unsupported(_REFUSED)
    return product(lowering, op, (args[0], 1 / args[1], *args[2:]))


def is_complex(value: Any) -> bool:
    """Whether an operand is a complex value or number."""
    return isinstance(value, complex) or getattr(value, "dtype", _FLOAT32).kind == "c"


__all__ = ["by_parts", "complex_rule"]

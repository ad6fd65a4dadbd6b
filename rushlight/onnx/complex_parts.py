"""Ops on complex values, which are pairs of real ones in ONNX.

Linear ops run once on the real parts and once on the imaginary ones, products of matrices on parts side by side, and functions are formulas of both parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.declare import Op, table
from ..core.facets import Facet
from ..core.symbolic import is_symbolic
from ..ops.pointwise.complex_onnx import abs_form
from .complex_functions import complex_function
from .ir import OnnxValue

# Of the lowering, the op and its arguments: values, or NotImplemented.
ComplexRule = Callable[[Any, Op, tuple[Any, ...]], Any]

complex_rule: Facet[ComplexRule] = Facet(
    "ONNX complex", "how ONNX computes the op on complex values, where it is no view of both parts alike"
)
_SELECTING = frozenset({"condition", "mask", "index", "indices", "repeats"})  # parameters that say which elements are meant
_NUMBERS = frozenset({"value", "fill_value"})
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
        if value is None or (scaled and not isinstance(value, complex)):
            return value
        return (value.real, value.imag)[at]

    tensors = {at for at, _ in op.tensor_positions}

    def argument(place: int, value: Any, at: int) -> Any:
        name = op.parameters[min(place, len(op.parameters) - 1)].name
        if name == "dtype":
            return value if value is None else value.to_real()
        if name in _SELECTING:
            return value
        if isinstance(value, complex) and place not in tensors and name not in _NUMBERS:
            raise g.unsupported(_REFUSED)
        return part(value, at) if place in tensors or name in _NUMBERS else value

    g.outputs = tuple([Spec(each.shape, np.zeros(0, each.dtype).real.dtype) for each in outer])
    try:
        made = [lowering.own_form(op, tuple([argument(place, each, at) for place, each in enumerate(args)])) for at in (0, 1)]
        if any(each is NotImplemented for each in made):
            return NotImplemented
        real, imaginary = (lowering.settle(op, each, g.outputs if isinstance(each, (tuple, list)) else g.outputs[0]) for each in made)
    finally:
        g.outputs = outer
    if isinstance(real, (tuple, list)):
        return tuple([g.joined(*each) for each in zip(real, imaginary)])
    return g.joined(real, imaginary)


@complex_rule.register(
    "add", "sub", "neg", "sum", "mean", "cat", "stack", "index_select", "flip", "roll", "narrow", "clone", "contiguous", "reshape",
    "where", "masked_fill", "masked_select", "masked_scatter", "index", "index_put", "index_add", "index_copy", "index_fill", "gather",
    "scatter_add", "scatter_elements", "where_elements", "slice_scatter", "select_scatter", "diagonal_scatter", "diag_embed", "copy", "fill", "fill_", "repeat",
    "repeat_interleave", "tril", "triu", "cumsum", "constant_pad_nd",
)  # fmt: skip
def by_parts(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A linear op on complex values and real ones, whose imaginary parts are 0."""
    return on_each_part(lowering, op, args, scaled=False)


def filled(g: Any, value: Any) -> Any:
    """The result of an op that makes a tensor of one value, of which only the shape follows from its arguments."""
    shape, dtype = g.outputs[0].shape, g.outputs[0].dtype
    if all(type(each) is int for each in shape):
        return g.constant(np.full(shape, value, dtype))
    kind = np.zeros(0, dtype).real.dtype
    return g.joined(*[g.expand(g.constant(each, kind), shape) for each in (value.real, value.imag)])


@complex_rule.register("zeros", "zeros_like", "empty", "empty_like")
def zeros(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    return filled(lowering.g, 0)


@complex_rule.register("ones", "ones_like")
def ones(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    return filled(lowering.g, 1)


@complex_rule.register("full", "full_like")
def full(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    if isinstance(args[1], (int, float, complex)) and not is_symbolic(args[1]):
        return filled(lowering.g, args[1])
    return by_parts(lowering, op, args)


@complex_rule.register("mul")
def product(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """The product of two complex values, or of one and a complex number; real factors scale both parts."""
    if all(map(is_complex, args[:2])):
        return pointwise(lowering, op, args)
    return NotImplemented if lowering.is_decomposed(op) else on_each_part(lowering, op, args, scaled=True)


@complex_rule.register("div")
def quotient(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A quotient by a real value, or by a number, of both parts; or one by a complex value."""
    if not is_complex(args[1]):
        return on_each_part(lowering, op, args, scaled=True)
    return pointwise(lowering, op, args)


def pointwise(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A function of complex numbers in real arithmetic."""
    g = lowering.g
    places = [at for at, _ in op.tensor_positions]
    result = g.outputs[0]
    found = [np.dtype(np.complex64), *(each.dtype for each in args if isinstance(each, OnnxValue))]
    dtype = result.dtype if result.dtype.kind == "c" else np.result_type(*found)
    kind = np.zeros(0, dtype).real.dtype

    def parts(value: Any) -> Any:
        if isinstance(value, OnnxValue):
            return g.parts(g.cast(value, dtype))
        return g.number(value.real, kind), g.constant(value.imag, kind)

    function = complex_function.of(op)
    assert function is not None
    made = function(g, *[parts(each) if at in places else each for at, each in enumerate(args)])
    if isinstance(made, OnnxValue):
        return made
    for each in made:
        each.shape = result.shape
    return g.joined(*made)


@complex_rule.register("matmul", "linear", "addmm", "baddbmm", "convolution")
def contraction(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A product of matrices (or a convolution): ``[a, -b] [c; d]`` is the real part of ``(a + b i) (c + d i)``, ``[a, b] [d; c]`` the imaginary one."""
    g, outer = lowering.g, lowering.g.outputs
    named = {each.name: value for each, value in zip(op.parameters, args)}
    if named.get("groups", 1) != 1 or any(isinstance(value, complex) for value in args):
        raise g.unsupported(_REFUSED)
    first = 1 if "beta" in named else 0  # after what the product is added to
    second = first + 1
    x, y = args[first], args[second]
    if "transposed" in named:
        axes = 1, 0 if named["transposed"] else 1
    else:
        axes = x.rank - 1, y.rank - 1 if "weight" in named else max(y.rank - 2, 0)
    real_type = np.zeros(0, outer[0].dtype).real.dtype
    (a, b), (c, d) = g.parts(x), g.parts(y)
    minus = g.Neg(b)
    minus.shape = b.shape
    factors = [(g.concat([a, left], axes[0]), g.concat(right, axes[1])) for left, right in ((minus, [c, d]), (b, [d, c]))]
    made = []
    g.outputs = (Spec(outer[0].shape, real_type),)
    try:
        for at, pair in enumerate(factors):
            given = list(args)
            given[first], given[second] = pair
            for place, _ in op.tensor_positions:
                if place not in (first, second) and isinstance(args[place], OnnxValue):
                    given[place] = g.parts(g.cast(args[place], outer[0].dtype))[at]
            made.append(lowering.settle(op, lowering.own_form(op, tuple(given)), g.outputs[0]))
    finally:
        g.outputs = outer
    return g.joined(*made)


@complex_rule.register("vector_norm")
def norm(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """A norm of absolute values."""
    size = abs_form(lowering.g, args[0])
    size.shape = args[0].shape
    return lowering.own_form(op, (size, *args[1:]))


@complex_rule.register("var_correction")
def variance(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """The variance: that of the real parts and that of the imaginary ones together."""
    if lowering.is_decomposed(op):
        return NotImplemented
    g = lowering.g
    return g.Add(*[lowering.settle(op, lowering.own_form(op, (each, *args[1:])), g.outputs[0]) for each in g.parts(args[0])])


@complex_rule.register("std_correction")
def deviation(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """The root of the variance."""
    return lowering.g.Sqrt(variance(lowering, table["var_correction"], args))


@complex_rule.register("any", "all", "nonzero")
def of_truths(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """An op that asks which elements are not 0."""
    return lowering.own_form(op, (lowering.g.cast(args[0], np.bool_), *args[1:]))


@complex_rule.register("einsum", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def by_body(lowering: Any, op: Op, args: tuple[Any, ...]) -> Any:
    """An op whose body has a rule where its own ONNX form has none."""
    return NotImplemented


def is_complex(value: Any) -> bool:
    """Whether an operand is a complex value or number."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) or (dtype is not None and dtype.kind == "c")


def rule_of(op: Op) -> ComplexRule | None:
    """How an op is computed on complex values; None where it is not."""
    return complex_rule.of(op) or (pointwise if complex_function.of(op) is not None else by_parts if op.view else None)


__all__ = ["complex_rule", "rule_of"]

"""Arithmetic, comparison, logic and bits, element by element with broadcasting."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.symbolic import is_symbolic
from .. import calls as rl
from ..numbers import as_numbers
from ..registry import NodeContext, Number, dtype_of, importer
from ..strings import Strings
from .values import is_text

UNARY = {
    "Abs": rl.abs, "Acos": rl.acos, "Acosh": rl.acosh, "Asin": rl.asin, "Asinh": rl.asinh, "Atan": rl.atan, "Atanh": rl.atanh,
    "BitwiseNot": rl.bitwise_not, "Ceil": rl.ceil, "Cos": rl.cos, "Cosh": rl.cosh, "Erf": rl.erf, "Exp": rl.exp, "Floor": rl.floor,
    "IsNaN": rl.isnan, "Log": rl.log, "Neg": rl.neg, "Not": rl.logical_not, "Reciprocal": rl.reciprocal, "Round": rl.round,
    "Sign": rl.sign, "Sin": rl.sin, "Sinh": rl.sinh, "Sqrt": rl.sqrt, "Tan": rl.tan,
}  # fmt: skip


def declare_unary(name: str, function: Callable[..., Any]) -> None:
    """An operator that is a function of ours."""

    @importer(name)
    def unary(node: NodeContext, x: Any) -> Any:
        return function(x)


for _name, _function in UNARY.items():
    declare_unary(_name, _function)


def stretched(node: NodeContext, a: Any, b: Any) -> Any:
    """The second operand with the dimensions that broadcasting before opset 7 gives it: it starts at dimension ``axis`` of the first."""
    if node.opset >= 7 or not node["broadcast"] or b.dim() == 0:
        return b
    axis = node.get("axis")
    if axis is None:
        return b
    trailing = a.dim() - (axis + a.dim() if axis < 0 else axis) - b.dim()
    return b.reshape(tuple(b.shape) + (1,) * trailing)


def divide(a: Any, b: Any) -> Any:
    """A quotient; of integers, without its fraction."""
    return rl.div(a, b) if a.is_floating_point() or a.is_complex() else rl.div(a, b, rounding_mode="trunc")


def power(base: Any, exponent: Any) -> Any:
    """A power, with the type of its base."""
    return rl.pow(base, exponent).to(base.dtype)


BINARY = {
    "Add": rl.add, "And": rl.logical_and, "BitwiseAnd": rl.bitwise_and, "BitwiseOr": rl.bitwise_or, "BitwiseXor": rl.bitwise_xor,
    "Div": divide, "Greater": rl.gt, "GreaterOrEqual": rl.ge, "Less": rl.lt, "LessOrEqual": rl.le, "Mul": rl.mul, "Or": rl.logical_or,
    "Pow": power, "Sub": rl.sub, "Xor": rl.logical_xor,
}  # fmt: skip


def declare_binary(name: str, function: Callable[..., Any]) -> None:
    """An operator of two operands that is a function of ours."""

    @importer(name)
    def binary(node: NodeContext, a: Any, b: Any) -> Any:
        return function(a, stretched(node, a, b))


for _name, _function in BINARY.items():
    declare_binary(_name, _function)


@importer("Equal")
def equal(node: NodeContext, a: Any, b: Any) -> Any:
    if is_text(a):
        return rl.from_numpy(np.asarray(a.array == b.array, bool))
    return rl.eq(a, stretched(node, a, b))


@importer("Mod")
def mod(node: NodeContext, a: Any, b: Any) -> Any:
    return rl.fmod(a, b) if node["fmod"] else rl.remainder(a, b)


@importer("BitShift")
def bit_shift(node: NodeContext, x: Any, y: Any) -> Any:
    bits = x.element_size() * 8
    inside = (y >= 0) & (y < bits)
    steps = rl.where(inside, y, rl.zeros_like(y))
    if node.get("direction") == "LEFT":
        return rl.where(inside, rl.bitwise_left_shift(x, steps), rl.zeros_like(x))
    gone = rl.where(x < 0, -rl.ones_like(x), rl.zeros_like(x)) if x.dtype.is_signed else rl.zeros_like(x)
    return rl.where(inside, rl.bitwise_right_shift(x, steps), gone)


def declare_variadic(name: str, function: Callable[..., Any]) -> None:
    """An operator that joins any number of operands pair by pair."""

    @importer(name)
    def variadic(node: NodeContext, *operands: Any) -> Any:
        return functools.reduce(function, operands)


for _name, _function in {"Max": rl.maximum, "Min": rl.minimum, "Sum": rl.add}.items():
    declare_variadic(_name, _function)


@importer("Mean")
def mean(node: NodeContext, *operands: Any) -> Any:
    return functools.reduce(rl.add, operands) / len(operands)


@importer("Clip")
def clip(node: NodeContext, x: Any, low: Any = None, high: Any = None) -> Any:
    if node.opset < 11:
        low, high = node.get("min"), node.get("max")
    return x if low is None and high is None else rl.clamp(x, low, high)


@importer("Where")
def where(node: NodeContext, condition: Any, x: Any, y: Any) -> Any:
    if is_text(x):
        return Strings(np.where(condition.numpy(), x.array, y.array))
    return rl.where(condition, x, y)


@importer("IsInf")
def is_inf(node: NodeContext, x: Any) -> Any:
    match node["detect_negative"], node["detect_positive"]:
        case 1, 1:
            return rl.isinf(x)
        case 0, 1:
            return rl.isposinf(x)
        case 1, 0:
            return rl.isneginf(x)
    return rl.zeros_like(x, dtype=rl.bool)


@importer("Range")
def value_range(node: NodeContext, start: Number, limit: Number, delta: Number) -> Any:
    first, step = start, delta  # tensors where they have gradients
    start, limit, delta = (as_numbers(each) for each in (start, limit, delta))
    whole = isinstance(start, int) and isinstance(delta, int)
    if whole and is_symbolic(limit - start):
        return rl.arange(start, limit, delta, dtype=dtype_of(node.input_type(0) or 7))
    count = max(-int((start - limit) // delta), 0)
    dtype = dtype_of(node.input_type(0) or (7 if whole else 1))
    exact = rl.float32 if dtype in (rl.float16, rl.bfloat16) and node.get("stash_type", 0) == 1 else dtype
    return (first + rl.arange(count, dtype=exact) * step).to(dtype)

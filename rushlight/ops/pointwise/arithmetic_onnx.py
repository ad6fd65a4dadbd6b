"""The ONNX forms of divisions with a rest, and of what works on bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)


def pair(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands as values of one type; a number wraps around where the type can't hold it, as in kernels."""
    like = a.dtype if hasattr(a, "dtype") else b.dtype

    def value(x: Any) -> Any:
        return x if hasattr(x, "dtype") else g.constant(np.asarray(x).astype(like))

    return value(a), value(b)


def _opposite(g: Any, a: Any, b: Any) -> Any:
    """Whether a value and a divisor have different signs (and neither is 0)."""
    zero = g.constant(0, a.dtype)
    if b.constant is not None and (b.constant > 0).all():
        return g.Less(a, zero)
    return g.Less(g.Mul(g.Sign(a), g.Sign(b)), zero)  # the product itself may be too large, or too small


def _is_whole(b: Any) -> bool:
    """Whether a divisor is known to be one whole number, for which rounding a quotient down does no harm."""
    return b.constant is not None and b.constant.size == 1 and bool(b.constant) and float(b.constant) == math.floor(b.constant)


def truncated_rest(g: Any, a: Any, b: Any) -> Any:
    """The rest with the sign of the dividend."""
    if g.opset >= 10:
        return g.Mod(a, b, fmod=1)
    rest = g.Sub(a, g.Mul(truncated_quotient(g, a, b), b))
    return rest if a.dtype.kind != "f" else g.where(g.Less(g.Abs(a), g.Abs(b)), a, rest)  # by infinity too


def truncated_quotient(g: Any, a: Any, b: Any) -> Any:
    """The quotient without its fraction."""
    quotient = g.Div(a, b)
    if a.dtype.kind != "f":
        return quotient
    return g.where(g.Less(quotient, g.constant(0, a.dtype)), g.Ceil(quotient), g.Floor(quotient))


def floored_rest(g: Any, a: Any, b: Any) -> Any:
    """The rest with the sign of the divisor."""
    if a.dtype.kind in "iu" and g.opset >= 10:
        return g.Mod(a, b)
    rest = truncated_rest(g, a, b)
    return rest if a.dtype.kind == "u" else g.where(_opposite(g, rest, b), g.Add(rest, b), rest)


def floored_quotient(g: Any, a: Any, b: Any) -> Any:
    """The whole number below a quotient, of the true one and not of the one that was rounded."""
    if a.dtype.kind == "u":
        return g.Div(a, b)
    if a.dtype.kind == "i":
        if g.opset >= 10:
            return g.Div(g.Sub(a, g.Mod(a, b)), b)
        quotient = g.Div(a, b)
        return g.Sub(quotient, g.cast(_opposite(g, g.Sub(a, g.Mul(quotient, b)), b), a.dtype))
    if _is_whole(b):
        return g.Floor(g.Div(a, b))
    rest = truncated_rest(g, a, b)
    quotient = g.Floor(g.Add(g.Div(g.Sub(a, rest), b), g.constant(0.5, a.dtype)))
    quotient = g.Sub(quotient, g.cast(_opposite(g, rest, b), a.dtype))
    if b.constant is not None and b.constant.all():
        return quotient
    return g.where(g.cast(b, _BOOL), quotient, g.Div(a, b))


def division_form(g: Any, input: Any, other: Any, rounding_mode: str | None) -> Any:
    """Division, and what is left of the quotient by a rounding mode."""
    a, b = pair(g, input, other)
    if rounding_mode is None:
        return g.Div(a, b)
    return (floored_quotient if rounding_mode == "floor" else truncated_quotient)(g, a, b)


def of_pair(function: Any) -> dict[int, Any]:
    """A form for two operands, either of which may be a number."""
    return {9: lambda g, input, other: function(g, *pair(g, input, other))}


# -- bits --------------------------------------------------------------------------------------------------------


def _bits(g: Any, x: Any) -> Any:
    """The bits of integers in a new last dimension, lowest first, as 0 and 1: what is left by 2 of halves, of halves ..."""
    width = 8 * x.dtype.itemsize
    wide = g.unsqueeze(g.cast(x, _INT64), [x.rank])
    powers = g.constant(np.asarray([1 << at for at in range(min(width, 63))], np.int64))
    found = floored_rest(g, floored_quotient(g, wide, powers), g.constant(2, _INT64))
    if width < 64:
        return found
    return g.concat([found, g.cast(g.Less(wide, g.constant(0, _INT64)), _INT64)], x.rank)


def _from_bits(g: Any, bits: Any, dtype: Any) -> Any:
    width = 8 * dtype.itemsize
    weights = [1 << at for at in range(width)]
    if dtype.kind == "i":
        weights[-1] = -weights[-1]
    total = g.MatMul(bits, g.constant(np.asarray(weights, np.int64)[:, None]))  # exact, which sums of the runtime are not
    total.shape = (*bits.shape[:-1], 1)
    return g.cast(g.squeeze(total, [bits.rank - 1]), dtype)


def power_form(g: Any, input: Any, exponent: Any) -> Any:
    """Powers by a tensor of exponents; of one exponent the kernel knows better."""
    if not hasattr(exponent, "dtype"):
        return NotImplemented
    return g.Pow(input if hasattr(input, "dtype") else g.number(input, exponent.dtype), exponent)


def gcd(g: Any, a: Any, b: Any) -> Any:
    """The greatest common divisor by Euclid's algorithm, in a loop until no rest is left anywhere."""
    zero, one = g.constant(0, a.dtype), g.constant(1, a.dtype)
    shape = g.outputs[0].shape

    def some(g: Any, x: Any) -> Any:  # whether any element is not 0
        return g.cast(g.reduce("ReduceMax", g.cast(g.cast(x, _BOOL), _INT32), None), _BOOL) if x.rank else g.cast(x, _BOOL)

    def step(inner: Any, _count: Any, _more: Any, a: Any, b: Any) -> Any:
        there = inner.cast(b, _BOOL)
        rest = truncated_rest(inner, a, inner.where(there, b, one))
        rest, found = inner.where(there, rest, zero), inner.where(there, b, a)
        rest.shape = found.shape = shape
        return some(inner, rest), found, rest

    a, b = g.expand(a, shape), g.expand(b, shape)
    graph = g.subgraph([(_INT64, ()), (_BOOL, ()), (a.dtype, shape), (b.dtype, shape)], step)
    found, _ = g.op("Loop", None, some(g, b), a, b, outputs=2, body_g=graph)
    found.dtype, found.shape = a.dtype, shape
    return found if a.dtype.kind == "u" else g.Abs(found)


def lcm(g: Any, a: Any, b: Any) -> Any:
    """The least common multiple: the product without the divisors that both have."""
    divisor = gcd(g, a, b)
    divisor = g.where(g.cast(divisor, _BOOL), divisor, g.constant(1, a.dtype))
    return g.Abs(g.Mul(g.Div(a, divisor), b))


def bitwise_form(name: str) -> dict[int, Any]:
    """``And``, ``Or`` or ``Xor`` of truth values or of bits; before there was a node for bits, one by one."""

    def form(g: Any, input: Any, other: Any) -> Any:
        a, b = pair(g, input, other)
        if a.dtype == _BOOL:
            return g.make(name, (a, b), {})
        if g.opset >= 18:
            return g.make(f"Bitwise{name}", (a, b), {})
        if g.is_empty(g.outputs[0]):
            return g.full(g.outputs[0].shape, 0, a.dtype)
        if a.dtype == np.uint64:
            raise g.unsupported("the bits of uint64 numbers can't be seen", since=18)
        rank = max(a.rank, b.rank)
        first, second = (_bits(g, x if x.rank == rank else g.unsqueeze(x, list(range(rank - x.rank)))) for x in (a, b))
        both = g.Mul(first, second)
        result = {"And": lambda: both, "Or": lambda: g.Sub(g.Add(first, second), both)}.get(
            name, lambda: g.Sub(g.Add(first, second), g.Mul(both, g.constant(2, _INT64)))
        )()
        return _from_bits(g, result, a.dtype)

    return {9: form}


def bitwise_not_form(g: Any, input: Any) -> Any:
    """``-x - 1``, or what is missing to the largest number."""
    if input.dtype == _BOOL:
        return g.Not(input)
    if g.opset >= 18:
        return g.BitwiseNot(input)
    return g.Sub(g.constant(-1 if input.dtype.kind == "i" else np.iinfo(input.dtype).max, input.dtype), input)


def _shift_places(g: Any, b: Any, width: int) -> Any:
    """How far to shift, at most ``width``; less than 0 counts as that."""
    places = g.cast(b, _INT64)
    if b.constant is not None:
        return g.constant(np.where((b.constant < 0) | (b.constant > width), width, b.constant).astype(np.int64))
    limit = g.constant(width, _INT64)
    places = g.minimum(places, limit)
    return places if b.dtype.kind == "u" else g.where(g.Less(places, g.constant(0, _INT64)), limit, places)


def left_shift_form(g: Any, input: Any, other: Any) -> Any:
    """The product with a power of two, looked up."""
    a, b = pair(g, input, other)
    width = 8 * a.dtype.itemsize
    powers = np.asarray([*(1 << at for at in range(width)), 0], object)
    if a.dtype.kind == "i":
        powers[width - 1] = -powers[width - 1]
    places = _shift_places(g, b, width)
    return g.Mul(a, g.gather(g.constant(powers.astype(a.dtype)), places, 0))


def right_shift_form(g: Any, input: Any, other: Any) -> Any:
    """The quotient by a power of two, rounded down; shifted by all bits, only the sign is left."""
    a, b = pair(g, input, other)
    width = 8 * a.dtype.itemsize
    places = _shift_places(g, b, width)
    signed = a.dtype.kind == "i"
    largest = width - 2 if signed else width - 1  # the largest power of two that the type can hold
    powers = np.asarray([1 << min(at, largest) for at in range(width + 1)]).astype(a.dtype)
    quotient = floored_quotient(g, a, g.gather(g.constant(powers), places, 0))
    if places.constant is not None and (places.constant <= largest).all():
        return quotient
    zero = g.constant(0, a.dtype)
    sign = g.where(g.Less(a, zero), g.constant(-1, a.dtype), zero) if signed else zero
    return g.where(g.Greater(places, g.constant(largest, _INT64)), sign, quotient)

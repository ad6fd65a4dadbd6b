"""Conversions to ONNX's element types, those among them that no tensor has: wrapping, rounding and saturation.

Integers of two and four bits are held by 8-bit ones, and small floating types without a dtype of ours by float32 (``registry.dtype_of``).  Their
values are always exactly those of the narrow type, so that nothing but the file's boundary has to know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from . import calls as rl
from .registry import dtype_of


@dataclass(frozen=True)
class NarrowInteger:
    """An integer type of fewer than 8 bits."""

    name: str
    bits: int
    signed: bool

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest value."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.signed else (0, (1 << self.bits) - 1)


@dataclass(frozen=True)
class SmallFloat:
    """A floating type of at most 8 bits: its mantissa's bits, its least normal exponent, its largest value and what it has beside numbers."""

    name: str
    mantissa: int
    least_exponent: int
    largest: float
    infinite: bool = False
    nan: bool = True
    negative_zero: bool = True


NARROW_INTEGERS = {
    21: NarrowInteger("uint4", 4, False), 22: NarrowInteger("int4", 4, True),
    25: NarrowInteger("uint2", 2, False), 26: NarrowInteger("int2", 2, True),
}  # fmt: skip
SMALL_FLOATS = {
    17: SmallFloat("float8_e4m3fn", 3, -6, 448.0),
    18: SmallFloat("float8_e4m3fnuz", 3, -7, 240.0, negative_zero=False),
    19: SmallFloat("float8_e5m2", 2, -14, 57344.0, infinite=True),
    20: SmallFloat("float8_e5m2fnuz", 2, -15, 57344.0, negative_zero=False),
    23: SmallFloat("float4_e2m1fn", 1, 0, 6.0, nan=False),
    27: SmallFloat("float6_e2m3fn", 3, 0, 7.5, nan=False),
    28: SmallFloat("float6_e3m2fn", 2, -2, 28.0, nan=False),
}
POWERS_OF_TWO = 24  # float8e8m0, which has nothing but an exponent


# -- conversions -----------------------------------------------------------------------------------------------------------------


def converted(x: Any, number: int, saturate: bool = True, round_mode: str = "up") -> Any:
    """A tensor as ONNX's Cast converts it to an element type, in the dtype that holds it."""
    if number in NARROW_INTEGERS:
        return wrapped(x, NARROW_INTEGERS[number]).to(dtype_of(number))
    if number in SMALL_FLOATS:
        return small(x, number, saturate)
    if number == POWERS_OF_TWO:
        return power_of_two(x, saturate, round_mode)
    dtype = dtype_of(number)
    return x != 0 if dtype is rl.bool and x.dtype is not rl.bool else x.to(dtype)


def wrapped(x: Any, kind: NarrowInteger) -> Any:
    """Integers without the bits above those of a narrow type."""
    x = x.to(rl.int32)
    low = rl.bitwise_and(x, (1 << kind.bits) - 1)
    sign = 1 << kind.bits - 1
    return rl.bitwise_xor(low, sign) - sign if kind.signed else low


def small(x: Any, number: int, saturate: bool = True) -> Any:
    """Numbers of a small floating type, in the dtype that holds it."""
    kind, dtype = SMALL_FLOATS[number], dtype_of(number)
    if saturate and dtype is not rl.float32:  # a dtype of its own, whose conversion rounds
        return rl.clamp(x, -kind.largest, kind.largest).to(dtype)
    return rounded(x, kind, saturate).to(dtype)


def rounded(x: Any, kind: SmallFloat, saturate: bool = True) -> Any:
    """Numbers rounded to the nearest of a small floating type, to the even one of two; in float32 or float64."""
    x = x.to(rl.float64 if x.dtype is rl.float64 else rl.float32)
    unit = powers(kind.least_exponent, math.frexp(kind.largest)[1] - 1, x.dtype)[exponent_from(x, kind)] * 2.0**-kind.mantissa
    nearest = rl.round(x / unit) * unit
    beyond = rl.abs(nearest) > kind.largest
    limit = rl.copysign(rl.full_like(x, kind.largest), x)
    if saturate or not kind.nan:
        outside = limit
    else:
        outside = rl.copysign(rl.full_like(x, float("inf") if kind.infinite else float("nan")), x)
    result = rl.where(beyond | rl.isinf(x), outside, nearest)
    result = rl.where(rl.isnan(x), x if kind.nan else rl.full_like(x, -0.0), result)
    return result if kind.negative_zero else result + 0.0


def powers(first: int, last: int, dtype: Any) -> Any:
    """The powers of two from one exponent to another."""
    return rl.tensor([2.0**each for each in range(first, last + 1)], dtype=dtype)


def exponent_from(x: Any, kind: SmallFloat) -> Any:
    """The exponents of numbers, counted from the least of a type, and at most its largest."""
    return rl.bucketize(rl.abs(x), powers(kind.least_exponent + 1, math.frexp(kind.largest)[1] - 1, x.dtype), right=True)


def power_of_two(x: Any, saturate: bool, round_mode: str) -> Any:
    """The power of two near a number, between 2**-127 and 2**127."""
    x = rl.abs(x.to(rl.float64))
    values = powers(-127, 127, x.dtype)
    match round_mode:
        case "up":
            place = rl.bucketize(x, values)
        case "down":
            place = rl.bucketize(x, values, right=True) - 1
        case "nearest":  # a number in the middle goes up
            place = rl.bucketize(x, values[1:] * 0.75, right=True)
        case _:
            raise ValueError(f"round_mode {round_mode!r} is not up, down or nearest")
    last = values.shape[0] - 1
    result = values[rl.clamp(place, 0, last)]
    outside = rl.isnan(x)
    if not saturate:
        outside = outside | (x < 2.0**-127) | (x > 2.0**127)
    return rl.where(outside, rl.full_like(x, float("nan")), result).to(rl.float32)

"""Functions that generated kernels call: those of CUDA's math library, or formulas where kernels are interpreted, which has no such library.

Max and min reductions propagate NaN, as eager mode's do; Triton's own ignore it.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _larger(a, b):
    return tl.where((a > b) | (a != a), a, b)


@triton.jit
def _smaller(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _either(a, b):
    return a | b


@triton.jit
def _both(a, b):
    return a & b


@triton.jit
def reduce_mul(x):
    return tl.reduce(x, 1, _times)[:, None]


@triton.jit
def trunc(x):
    return tl.where(x < 0, tl.ceil(x), tl.floor(x))


@triton.jit
def rint(x):
    below = tl.floor(x)
    rest = x - below
    odd = tl.floor(below * 0.5) * 2 != below
    found = tl.where((rest > 0.5) | ((rest == 0.5) & odd), below + 1, below)
    return tl.where(found == 0, x * 0, found)  # which has the sign of x


@triton.jit
def signbit(x):
    if x.dtype == tl.float64:
        found = x.to(tl.int64, bitcast=True) < 0
    else:
        found = x.to(tl.int32, bitcast=True) < 0
    return found


@triton.jit
def copysign(x, y):
    return tl.where(signbit(y), tl.abs(x) * -1.0, tl.abs(x))


@triton.jit
def log10(x):
    return tl.log2(x) * 0.30102999566398120


if triton.knobs.runtime.interpret:

    @triton.jit
    def reduce_max(x):
        if x.dtype.is_floating():
            missing = tl.sum((x != x).to(tl.int32), 1)
            return tl.where(missing > 0, float("nan"), tl.max(tl.where(x != x, float("-inf"), x), 1))[:, None]
        return tl.max(x, 1)[:, None]

    @triton.jit
    def reduce_min(x):
        if x.dtype.is_floating():
            missing = tl.sum((x != x).to(tl.int32), 1)
            return tl.where(missing > 0, float("nan"), tl.min(tl.where(x != x, float("inf"), x), 1))[:, None]
        return tl.min(x, 1)[:, None]

    @triton.jit
    def reduce_or(x):
        return (tl.max(x.to(tl.int32), 1) != 0)[:, None]

    @triton.jit
    def reduce_and(x):
        return (tl.min(x.to(tl.int32), 1) != 0)[:, None]

    @triton.jit
    def log1p(x):
        y = 1 + x
        found = tl.log(y) * (x / tl.where(y == 1, 1, y - 1))
        return tl.where(y == 1, x, tl.where(y == float("inf"), y, found))

    @triton.jit
    def expm1(x):
        y = tl.exp(x)
        found = (y - 1) * (x / tl.where(y == 1, 1, tl.log(y)))
        return tl.where(y == 1, x, tl.where((y - 1 == -1) | (y == float("inf")), y - 1, found))

    @triton.jit
    def tanh(x):
        y = expm1(-2 * tl.abs(x))
        return copysign(y / (y + 2), x)

    @triton.jit
    def sinh(x):
        y = expm1(tl.abs(x))
        half = tl.exp(0.5 * tl.abs(x))
        return copysign(tl.where(tl.abs(x) > 20, 0.5 * half * half, 0.5 * (y + y / (y + 1))), x)

    @triton.jit
    def cosh(x):
        half = tl.exp(0.5 * tl.abs(x))
        return tl.where(tl.abs(x) > 20, 0.5 * half * half, 0.5 * (half * half + 1 / (half * half)))

    @triton.jit
    def power(x, y):
        a, b = x.to(tl.float64), y.to(tl.float64)
        size = tl.exp2(b * tl.log2(tl.abs(a)))
        whole = tl.floor(b) == b
        odd = whole & (tl.floor(b * 0.5) * 2 != b)
        found = tl.where(signbit(x) & odd, size * -1.0, tl.where((a < 0) & (whole == 0) & (tl.abs(a) != float("inf")), float("nan"), size))
        return tl.where((b == 0) | (a == 1), 1, tl.where((a == -1) & (tl.abs(b) == float("inf")), 1, found)).to(tl.float32)

else:

    @triton.jit
    def reduce_max(x):
        return tl.reduce(x, 1, _larger)[:, None]

    @triton.jit
    def reduce_min(x):
        return tl.reduce(x, 1, _smaller)[:, None]

    @triton.jit
    def reduce_or(x):
        return tl.reduce(x.to(tl.int32), 1, _either)[:, None] != 0

    @triton.jit
    def reduce_and(x):
        return tl.reduce(x.to(tl.int32), 1, _both)[:, None] != 0

    @triton.jit
    def log1p(x):
        return libdevice.log1p(x)

    @triton.jit
    def expm1(x):
        return libdevice.expm1(x)

    @triton.jit
    def tanh(x):
        return libdevice.tanh(x)

    @triton.jit
    def sinh(x):
        return libdevice.sinh(x)

    @triton.jit
    def cosh(x):
        return libdevice.cosh(x)

    @triton.jit
    def power(x, y):
        return libdevice.pow(x, y)

"""Elementary functions as straight-line arithmetic, so that LLVM can vectorize it.

Arguments are brought near 0 by exact steps, and a polynomial does the rest.  The polynomials interpolate at Chebyshev
nodes, which is within a few percent of minimax.  NaN, infinities, denormal numbers and signed zeros are
right; ``tests/test_native_vector_math.py`` measures the errors over the whole range.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .instructions import VectorVariant
from .ir import IRBuilder, Scalar
from .target import processor
from .vectors import Vectors, Wide

LN2 = "0.693147180559945309417232121458176568"


class Format(NamedTuple):
    """What the functions need to know about a floating-point type."""

    word: str  # the integer type of the same width
    fraction: int  # bits of the fraction
    bias: int
    low: float  # exp of less is 0 ...
    high: float  # ... and of more infinite
    smallest: float  # the smallest number that is not denormal
    ln2: tuple[float, float]  # log(2) in two parts; multiples of the first are exact
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r**2
    log: tuple[float, ...]  # with s = f / (2 + f) and z = s * s: (log(1 + f) / s - 2) / z


SINGLE = Format(
    "i32", 23, 127, -104.0, 89.0, 2.0**-126, (0.693145751953125, 1.4286068203094172e-06),
    (0.0013926550428495920898, 0.0083634727221610281038, 0.041666552403190217405, 0.16666575217373649406, 0.5),
    (0.23353427603651185, 0.28549968591308469, 0.40000129426956259, 0.66666666545127132),
)  # fmt: skip
DOUBLE = Format(
    "i64", 52, 1023, -746.0, 710.0, 2.0**-1022, (0.693147180369123816490, 1.90821492927058770002e-10),
    (2.5100860168090098861e-8, 2.7620705697125571599e-7, 2.7557267457163429957e-6, 0.000024801519991900053067, 0.00019841269863702190533,
     0.0013888888918057098786, 0.0083333333333299313345, 0.041666666666622430934, 0.16666666666666667492, 0.50000000000000010733),
    (0.11911140964953425846, 0.11684875777034337673, 0.13335785054380889394, 0.15384571714534154042, 0.18181818637598999785,
     0.22222222219554103805, 0.28571428571436387475, 0.39999999999999991192, 0.66666666666666666668),
)  # fmt: skip
# erf(x) / x - 1 in x**2 up to 1
ERF = {
    "float": (7.8758750626854883e-05, -0.00080168642871658695, 0.0051890874234339740, -0.026854212010626412, 0.11283594715160218,
              -0.37612626666720331, 0.12837916584835095),
    "double": (5.9571761477489114e-11, -1.1372848856791674e-09, 1.4659775274047436e-08, -1.6350312701054695e-07, 1.6461000484121368e-06,
               -1.4925595266831182e-05, 0.00012055331111642711, -0.00085483269808337899, 0.0052239776248180145, -0.026866170645076793,
               0.11283791670954879, -0.37612638903183748, 0.12837916709551257),
}  # fmt: skip
# Beyond, in single precision, log2(erfc(x)) up to 4, and 2**r of what is left of it; in double precision, erfc(x) exp(x**2) in (x - 3) / (x + 3)
LOG_ERFC = (-0.001659720755, 0.02132041188, -0.1278723466, -0.9442275868, -1.612123215, -0.003854381475)
EXP2 = (0.001327646047, 0.009675552746, 0.05550713395, 0.2402211951, 0.6931469669, 1.000000072)
ERFC = (
    1.2801900862962662e-06, 2.0236031796417566e-06, -8.0080213194126843e-06, -1.2848894512523529e-05, 6.4061820735305467e-05,
    4.5254726354833541e-05, -0.00059706235170932843, 0.00070774644439015373, 0.0042691363475082564, -0.024392499318273193,
    0.071665837197748743, -0.15011593650078744, 0.24560380171233194, -0.32623356004303717, 0.17900115118138995,
)  # fmt: skip
# (tanh(x) / x - 1) / x**2 in x**2 up to 0.552**2
TANH = {
    "float": (-0.0065967163660443232318, 0.021302180244034964134, -0.053908249902761504609, 0.13333107716712043061, -0.33333331961795069809),
    "double": (-0.000020510231178195018896, 0.000084979489123529140225, -0.00023455291687056203236, 0.00058890839711597201743,
               -0.0014556562000265333549, 0.0035921096718730719413, -0.0088632343440157426974, 0.021869488491325998562,
               -0.053968253967382565232, 0.1333333333333267124, -0.333333333333333325),
}  # fmt: skip
FAR = 2.0**19  # the largest angle that single precision is enough for
QUARTER = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)  # pi / 2 in three parts
SINGLE_SIN = (-0.00019577721430072251, 0.008332700249708165, -0.16666664410207003)
SINGLE_COS = (2.4537750767028218e-5, -0.0013888254915538888, 0.041666664406913111)
SIN = (2.7246868722877944544e-6, -0.00019840063040804116852, 0.0083333318306294283635, -0.1666666666374136766)
COS = (-2.7298407652795174721e-7, 0.000024800580601354642352, -0.0013888887635227974877, 0.041666666664226133516)
TURNS = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7  # the first 264 bits of 2 / pi


def format_of(x: Scalar) -> Format:
    """The format of a value's type."""
    return SINGLE if x.type == "float" else DOUBLE


def clamp(c: IRBuilder, x: Scalar, low: float, high: float) -> Scalar:
    """A number clamped to two bounds; NaN stays NaN."""
    low_, high_ = c.like(x, low), c.like(x, high)
    x = c.select(c.compare("olt", x, low_), low_, x)
    return c.select(c.compare("ogt", x, high_), high_, x)


def reduced(c: IRBuilder, x: Scalar, offset: int, exact: bool = True, times: float = 1.0) -> tuple[Scalar, Scalar]:
    """``n`` plus an offset in the low bits of a word, and ``r``, with ``x times = n log(2) + r times`` and r near 0.

    Adding a number too large for fractional bits rounds the sum to an integer, with ``n`` in its last bits.
    """
    f = format_of(x)
    large = 1.5 * 2.0**f.fraction + offset
    sum_ = c.fma(x, c.like(x, times / math.log(2)), c.like(x, large))
    n = c.binary("fsub", sum_, c.like(x, large))
    if exact:
        first, second = f.ln2 if times == 1.0 else halves(x.type, times)
        r = c.fma(n, c.like(x, -second), c.fma(n, c.like(x, -first), x))
    else:
        r = c.fma(n, c.like(x, -math.log(2) / times), x)
    return c.convert("bitcast", sum_, f.word), r


def halves(type: str, times: float) -> tuple[float, float]:
    """``log(2) / times`` as a number of a type and what is left of it: a multiple of the first is subtracted without an error but the last bit of what remains."""
    whole = np.longdouble(LN2) / np.longdouble(times)
    first = (np.float32 if type == "float" else np.float64)(whole)
    return float(first), float(whole - first)


def power_of_two(c: IRBuilder, word: Scalar, type: str) -> Scalar:
    """``2 ** n`` for a word whose last bits are ``n`` plus the bias; what is before them is dropped."""
    f = SINGLE if type == "float" else DOUBLE
    return c.convert("bitcast", c.binary("shl", word, c.like(word, f.fraction)), type)


def exp_reduced(c: IRBuilder, r: Scalar, times: float = 1.0) -> Scalar:
    """exp of a reduced argument near 0, times another number."""
    coefficients = (*format_of(r).exp, 1.0, 1.0)
    return c.polynomial(r, tuple([each * times**power for power, each in zip(range(len(coefficients) - 1, -1, -1), coefficients)]))


def expm1_reduced(c: IRBuilder, r: Scalar) -> Scalar:
    """``exp(r) - 1`` of a number near 0, with all its digits."""
    return c.fma(c.polynomial(r, format_of(r).exp), c.binary("fmul", r, r), r)


def exp(c: IRBuilder, x: Scalar) -> Scalar:
    f = format_of(x)
    word, r = reduced(c, clamp(c, x, f.low, f.high), 2 * f.bias)
    return scaled(c, exp_reduced(c, r), word)


def scaled(c: IRBuilder, x: Scalar, word: Scalar) -> Scalar:
    """``x 2**n``, with n plus twice the bias in the word: by two factors, since the power alone may be too large, or denormal."""
    half = c.binary("lshr", word, c.like(word, 1))
    x = c.binary("fmul", x, power_of_two(c, half, x.type))
    return c.binary("fmul", x, power_of_two(c, c.binary("sub", word, half), x.type))


def exp_nonpositive(c: IRBuilder, x: Scalar) -> Scalar:
    """exp of nonpositive arguments."""
    return c.binary("fmul", scaled_exp(c, x, True), c.like(x, 2.0 ** -_exponent_offset(format_of(x))))


def scaled_exp(c: IRBuilder, x: Scalar, exact: bool = False) -> Scalar:
    """exp of nonpositive arguments, times a power of two: for quotients of such, as in softmax.

    In single precision, tiny results are a little less exact: by a relative 2 ** -24 for each 20 that the argument is below 0.
    """
    f = format_of(x)
    exact = exact or f is DOUBLE
    x = c.select(c.compare("olt", x, c.like(x, f.low)), c.like(x, f.low), x)
    word, r = reduced(c, x, f.bias + _exponent_offset(f), exact)
    return c.binary("fmul", exp_reduced(c, r), power_of_two(c, word, x.type))


def _exponent_offset(f: Format) -> int:
    """By how much exponents are raised, so that the power is never denormal."""
    return f.fraction + 8


def expm1(c: IRBuilder, x: Scalar) -> Scalar:
    """``exp(x) - 1``, with all its digits near 0."""
    f = format_of(x)
    word, r = reduced(c, clamp(c, x, -f.fraction - 2.0, f.high), f.bias - 1)
    half = power_of_two(c, word, x.type)  # 2**n / 2, since 2**n may be too large
    result = c.fma(half, expm1_reduced(c, r), c.binary("fsub", half, c.like(x, 0.5)))
    return c.select(c.compare("oeq", x, c.like(x, 0.0)), x, c.binary("fadd", result, result))  # -0 stays -0


def logarithm(c: IRBuilder, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The power of two next to a positive number as a float, and ``log`` of their quotient in two parts."""
    f = format_of(x)
    denormal = c.compare("olt", x, c.like(x, f.smallest))
    normal = c.select(denormal, c.binary("fmul", x, c.like(x, 2.0**f.fraction)), x)
    bits = c.convert("bitcast", normal, f.word)
    kind = np.float32 if f is SINGLE else np.float64
    offset = int.from_bytes(kind(math.sqrt(0.5)).tobytes(), "little")
    e = c.binary("ashr", c.binary("sub", bits, c.like(bits, offset)), c.like(bits, f.fraction))
    m = c.convert("bitcast", c.binary("sub", bits, c.binary("shl", e, c.like(bits, f.fraction))), x.type)
    n = c.convert("sitofp", e, x.type)
    n = c.select(denormal, c.binary("fsub", n, c.like(x, float(f.fraction))), n)
    fraction = c.binary("fsub", m, c.like(x, 1.0))
    s = c.binary("fdiv", fraction, c.binary("fadd", fraction, c.like(x, 2.0)))
    z = c.binary("fmul", s, s)
    rest = c.binary("fmul", c.polynomial(z, f.log), z)
    return n, fraction, c.binary("fmul", s, c.binary("fsub", rest, fraction))


def log(c: IRBuilder, x: Scalar, correction: Scalar | None = None) -> Scalar:
    """The natural logarithm; ``correction`` is added before the larger parts."""
    f = format_of(x)
    n, high, low = logarithm(c, x)
    if correction is not None:
        low = c.binary("fadd", low, correction)
    low = c.fma(n, c.like(x, f.ln2[1]), low)
    result = c.fma(n, c.like(x, f.ln2[0]), c.binary("fadd", high, low))
    return log_special(c, x, result)


def log_special(c: IRBuilder, x: Scalar, result: Scalar) -> Scalar:
    """-inf for 0, NaN for negative numbers; inf and NaN are kept."""
    result = c.select(c.compare("olt", x, c.like(x, math.inf)), result, x)
    result = c.select(c.compare("olt", x, c.like(x, 0.0)), c.like(x, math.nan), result)
    return c.select(c.compare("oeq", x, c.like(x, 0.0)), c.like(x, -math.inf), result)


def log1p(c: IRBuilder, x: Scalar) -> Scalar:
    """``log(1 + x)``, with all its digits near 0."""
    one = c.like(x, 1.0)
    u = c.binary("fadd", x, one)
    big = c.compare("ogt", x, one)  # the part of the sum that is rounded away is found from the larger one
    lost = c.select(big, c.binary("fsub", one, c.binary("fsub", u, x)), c.binary("fsub", x, c.binary("fsub", u, one)))
    result = log(c, u, c.binary("fdiv", lost, u))
    small = c.compare("olt", c.intrinsic("fabs", x), c.like(x, 2.0 ** -(format_of(x).fraction + 2)))
    result = c.select(small, x, result)
    return c.select(c.compare("oeq", x, c.like(x, math.inf)), x, result)


def scaled_log(base: float) -> Any:
    """The logarithm to another base; powers of two that are whole stay so."""

    def run(c: IRBuilder, x: Scalar) -> Scalar:
        f = format_of(x)
        n, high, low = logarithm(c, x)
        whole = c.binary("fadd", high, low)
        rest = c.binary("fadd", c.binary("fsub", high, whole), low)
        factor = 1 / math.log(base)
        top = float(_round(factor, f))
        result = c.binary("fmul", whole, c.like(x, factor - top))
        result = c.fma(rest, c.like(x, top), result)
        if base == 2:
            return log_special(c, x, c.binary("fadd", n, c.fma(whole, c.like(x, top), result)))
        step = math.log(2, base)
        first = float(_round(step, f, f.fraction // 2))
        result = c.fma(n, c.like(x, step - first), result)
        return log_special(c, x, c.fma(n, c.like(x, first), c.fma(whole, c.like(x, top), result)))

    return run


def _round(value: float, f: Format, bits: int | None = None) -> float:
    """A constant with as few bits as the format (or fewer) has."""
    bits = f.fraction if bits is None else bits
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**bits), exponent - bits)


def exp2(c: IRBuilder, x: Scalar) -> Scalar:
    f = format_of(x)
    bounded = clamp(c, x, f.low / math.log(2) - 1, f.high / math.log(2) + 1)
    large = c.like(x, 1.5 * 2.0**f.fraction + 2 * f.bias)
    sum_ = c.binary("fadd", bounded, large)
    part = c.binary("fsub", bounded, c.binary("fsub", sum_, large))
    high = float(_round(math.log(2), f))
    r = c.binary("fmul", part, c.like(x, high))
    rest = c.fma(part, c.like(x, math.log(2) - high), c.fma(part, c.like(x, high), c.neg(r)))
    value = c.binary("fadd", c.binary("fadd", expm1_reduced(c, r), rest), c.like(x, 1.0))
    return scaled(c, value, c.convert("bitcast", sum_, f.word))


def tanh(c: IRBuilder, x: Scalar) -> Scalar:
    """``x + x**3 p(x**2)`` near 0, and ``1 - 2 / (exp(2 |x|) + 1)``, with the sign of x, elsewhere."""
    f = format_of(x)
    square = c.binary("fmul", x, x)
    near = c.fma(c.binary("fmul", x, square), c.polynomial(square, TANH[x.type]), x)
    size = c.intrinsic("fabs", x)
    limit = c.like(x, 10.0 if f is SINGLE else 22.0)  # beyond, the result is 1
    bounded = c.select(c.compare("ogt", size, limit), limit, size)
    word, r = reduced(c, bounded, f.bias, exact=False, times=2.0)
    below = c.fma(exp_reduced(c, r, 2.0), power_of_two(c, word, x.type), c.like(x, 1.0))
    far = c.binary("fsub", c.like(x, 1.0), c.binary("fdiv", c.like(x, 2.0), below))
    return c.intrinsic("copysign", c.select(c.compare("olt", size, c.like(x, 0.55)), near, far), x)


def one_plus_exp(c: IRBuilder, x: Scalar, times: float = -2.0) -> Scalar:
    """``1 + exp(-2 x)``: twice its inverse is ``1 + tanh(x)``, as exact where tanh is next to -1.  -2 may be any negative number."""
    f = format_of(x)
    bounded = clamp(c, x, f.high / times, -0.69 * f.bias / times)  # 2**n is infinite in the end
    word, r = reduced(c, bounded, f.bias, times=times)
    return c.fma(exp_reduced(c, r, times), power_of_two(c, word, x.type), c.like(x, 1.0))


def erf(c: IRBuilder, x: Scalar) -> Scalar:
    """``x + x p(x**2)`` near 0, and ``1 - erfc(x)`` elsewhere."""
    size = c.intrinsic("fabs", x)
    square = c.binary("fmul", x, x)
    near = c.fma(x, c.polynomial(square, ERF[x.type]), x)
    limit = c.like(x, 4.0 if x.type == "float" else 6.0)  # beyond, the result is 1
    size = c.select(c.compare("ogt", size, limit), limit, size)
    far = c.intrinsic("copysign", single_erf(c, size) if x.type == "float" else double_erf(c, size), x)
    return c.select(c.compare("olt", size, c.like(x, 1.0)), near, far)


def single_erf(c: IRBuilder, x: Scalar) -> Scalar:
    """erf from 1 to 4, by the binary logarithm of erfc."""
    f = format_of(x)
    large = c.like(x, 1.5 * 2.0**f.fraction + f.bias)
    power = c.polynomial(x, LOG_ERFC)
    sum_ = c.binary("fadd", power, large)
    r = c.binary("fsub", power, c.binary("fsub", sum_, large))
    return c.fma(c.neg(c.polynomial(r, EXP2)), power_of_two(c, c.convert("bitcast", sum_, f.word), x.type), c.like(x, 1.0))


def double_erf(c: IRBuilder, x: Scalar) -> Scalar:
    """erf from 1 to 6."""
    t = c.binary("fdiv", c.binary("fsub", x, c.like(x, 3.0)), c.binary("fadd", x, c.like(x, 3.0)))
    return c.binary("fsub", c.like(x, 1.0), c.binary("fmul", exp(c, c.neg(c.binary("fmul", x, x))), c.polynomial(t, ERFC)))


def sinh(c: IRBuilder, x: Scalar) -> Scalar:
    """``(e + e / (e + 1)) / 2`` with ``e = expm1(|x|)``; of large numbers, half of exp without overflow."""
    size = c.intrinsic("fabs", x)
    e = expm1(c, size)
    quotient, half = c.binary("fdiv", e, c.binary("fadd", e, c.like(x, 1.0))), c.binary("fmul", e, c.like(x, 0.5))
    small = c.fma(c.neg(half), quotient, e)  # the same, where e is less than 1 and exact to the last digit
    near = c.select(c.compare("olt", e, c.like(x, 1.0)), small, c.fma(c.like(x, 0.5), quotient, half))
    large = c.compare("ogt", size, c.like(x, format_of(x).fraction * 1.0))
    return c.intrinsic("copysign", c.select(large, half_exp(c, size), near), x)


def cosh(c: IRBuilder, x: Scalar) -> Scalar:
    size = c.intrinsic("fabs", x)
    e = exp(c, size)
    near = c.fma(c.like(x, 0.5), e, c.binary("fdiv", c.like(x, 0.5), e))
    return c.select(c.compare("ogt", size, c.like(x, format_of(x).fraction * 1.0)), half_exp(c, size), near)


def half_exp(c: IRBuilder, x: Scalar) -> Scalar:
    """``exp(x) / 2`` where exp alone may be too large."""
    f = format_of(x)
    word, r = reduced(c, clamp(c, x, 0.0, f.high + 1), 2 * f.bias - 1)
    return scaled(c, exp_reduced(c, r), word)


# -- angles, in single precision ---------------------------------------------------------------------------------


def circular(quarter: int) -> Any:
    """sin, or with one quarter turn more cos; larger angles than most are left to another function."""

    def run(c: IRBuilder, x: Scalar) -> Scalar:
        large = c.like(x, 1.5 * 2.0**23)
        sum_ = c.fma(x, c.like(x, 2 / math.pi), large)
        n, turn = c.binary("fsub", sum_, large), c.convert("bitcast", sum_, "i32")  # the last bits are those of n
        angle = x
        for part in QUARTER:
            angle = c.fma(n, c.like(x, -part), angle)
        square = c.binary("fmul", angle, angle)
        sine = c.fma(c.binary("fmul", angle, square), c.polynomial(square, SINGLE_SIN), angle)
        cosine = c.polynomial(square, (*SINGLE_COS, -0.5, 1.0))
        if quarter:
            turn = c.binary("add", turn, c.like(turn, quarter))
        odd = c.compare("ne", c.binary("and", turn, c.like(turn, 1)), c.like(turn, 0))
        value = c.convert("bitcast", c.select(odd, cosine, sine), "i32")
        flipped = c.binary("xor", value, c.binary("shl", c.binary("and", turn, c.like(turn, 2)), c.like(turn, 30)))
        result = c.convert("bitcast", flipped, "float")
        if not quarter:
            result = c.select(c.compare("oeq", x, c.like(x, 0.0)), x, result)  # -0 stays -0
        vectors = isinstance(c, Wide) and c.lanes > 1
        return c.call_value(far_angles(c, vectors), "float", Scalar(str(quarter), "i32"), x, result)

    return run


def far_angles(c: IRBuilder, vectors: bool) -> str:
    """The name of a function of a quarter turn, an angle, and its sine from there on, if that is right: of large angles, it finds it itself.

    It has a vector variant, which tests all angles at once.
    """
    memo, key = c.module.memo, "far angles"
    count = processor().vector_bits // 32
    parameters = "i32 %quarter, float %x, float %near"
    if key not in memo:
        inner = IRBuilder(c.module)
        x, result = Scalar("%x", "float"), inner.slot("float")
        inner.write(Scalar("%near", "float"), result)
        with inner.when(inner.compare("ugt", inner.intrinsic("fabs", x), inner.like(x, FAR))):
            inner.write(exact_circular(inner, x, Scalar("%quarter", "i32")), result)
        exact = c.module.add("far_angle", inner.function("", parameters, inner.read(result, "float")), quick=True)
        wide = Wide(c.module, count)
        wide.scalar = True
        type = wide.vector("float")
        given, results = wide.slot(type), wide.slot(type)
        wide.write(Scalar("%near", type), results)
        far = wide.compare("ugt", wide.intrinsic("fabs", x), wide.like(x, FAR))
        with wide.when(Vectors(wide, "i1", count).reduce("or", far)):
            wide.write(Scalar("%x", type), given)
            with wide.one(), wide.loop(count) as index:
                angle, near = wide.load(given, index, "float"), wide.load(results, index, "float")
                wide.store(wide.call_value(exact, "float", Scalar("%quarter", "i32"), angle, near), results, index)
        found = wide.read(results, type)
        memo[key] = c.module.add("far_angles", wide.function("", f"i32 %quarter, {type} %x, {type} %near", found))
        memo[key, "exact"] = exact
    if not vectors and (key, "one") not in memo:
        inner = IRBuilder(c.module)
        given_ = (Scalar("%quarter", "i32"), Scalar("%x", "float"), Scalar("%near", "float"))
        function = inner.function("", parameters, inner.call_value(memo[key, "exact"], "float", *given_))
        function.variant = VectorVariant(f"{count}uvv", memo[key])
        memo[key, "one"] = c.module.add("angle", function, quick=True)
    return memo[key] if vectors else memo[key, "one"]


def reduced_angle(c: IRBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """The quarter turn (mod 4) next to an angle of single precision, and the angle from there, in double precision.

    The angle is a whole number times a power of two.  Times as many bits of 2 / pi as count, in 64-bit arithmetic that
    wraps at whole turns, it gives the position on the circle to 2**-64 for every angle.
    """
    bits = c.convert("bitcast", x, "i32")
    exponent = c.binary("and", c.binary("lshr", bits, c.like(bits, 23)), c.like(bits, 255))
    fraction = c.binary("or", c.binary("and", bits, c.like(bits, 0x7FFFFF)), c.like(bits, 0x800000))
    at = c.convert("sext", c.binary("sub", exponent, c.like(exponent, 96)), "i64")
    at = c.max(at, c.like(at, 0))  # below 2**-31 the quarter turn is 0
    first = c.load(circle_table(c, 0), at, "i64")
    second = c.load(circle_table(c, 1), at, "i64")
    whole = c.convert("zext", fraction, "i64")
    product = c.binary("mul", whole, first)
    product = c.binary("add", product, c.binary("lshr", c.binary("mul", whole, second), c.like(whole, 32)))
    turn = c.binary("lshr", c.binary("add", product, c.like(product, 1 << 61)), c.like(product, 62))
    rest = c.binary("sub", product, c.binary("shl", turn, c.like(turn, 62)))
    angle = c.binary("fmul", c.convert("sitofp", rest, "double"), c.constant("double", math.pi / 2 * 2.0**-62))
    small = c.compare("slt", exponent, c.like(exponent, 96))
    angle = c.select(small, c.convert("fpext", c.intrinsic("fabs", x), "double"), angle)
    turn = c.select(small, c.like(turn, 0), turn)
    negative = c.compare("slt", bits, c.like(bits, 0))
    turn = c.select(negative, c.binary("sub", c.like(turn, 0), turn), turn)
    return turn, c.select(negative, c.neg(angle), angle)


def circle_table(c: IRBuilder, part: int) -> str:
    """For each exponent from 96 on, the 64 bits of 2 / pi that count, and the 32 after them."""
    name = f"@circle{part}"
    entries = []
    for exponent in range(96, 256):
        power = exponent - 150  # the angle is a whole number of 24 bits times 2**power
        # bits so that product / 2**64 is the angle in turns of 4 quarters: 2/pi * 2**power * 2**62, mod 2**64
        window = TURNS >> (264 - 62 - 32 - power) & ((1 << 96) - 1)
        value = window >> 32 if part == 0 else window & 0xFFFFFFFF
        entries.append(f"i64 {value - (1 << 64) if value >> 63 else value}")
    c.module.declare(name, f"{name} = internal constant [{len(entries)} x i64] [{', '.join(entries)}]")
    c.uses.add(name)
    return name


def exact_circular(c: IRBuilder, x: Scalar, quarter: Scalar) -> Scalar:
    """sin, or with one quarter turn more cos, of any angle."""
    turn, angle = reduced_angle(c, x)
    turn = c.binary("add", turn, c.convert("zext", quarter, turn.type))
    z = c.binary("fmul", angle, angle)
    sine = c.fma(c.binary("fmul", c.polynomial(z, SIN), z), angle, angle)
    cosine = c.fma(c.fma(c.polynomial(z, COS), z, c.like(z, -0.5)), z, c.like(z, 1.0))
    odd = c.compare("ne", c.binary("and", turn, c.like(turn, 1)), c.like(turn, 0))
    value = c.select(odd, cosine, sine)
    value = c.select(c.compare("ne", c.binary("and", turn, c.like(turn, 2)), c.like(turn, 0)), c.neg(value), value)
    finite = c.compare("olt", c.intrinsic("fabs", x), c.like(x, math.inf))
    return c.select(finite, c.convert("fptrunc", value, "float"), c.like(x, math.nan))


# -- powers, in single precision ---------------------------------------------------------------------------------


def power(c: IRBuilder, x: Scalar, y: Scalar) -> Scalar:
    """``x ** y`` of single precision, by way of exp and log in double precision."""
    base, exponent = c.convert("fpext", c.intrinsic("fabs", x), "double"), c.convert("fpext", y, "double")
    result = exp(c, c.binary("fmul", exponent, log(c, base)))
    result = c.convert("fptrunc", result, "float")
    one, zero = c.like(x, 1.0), c.like(x, 0.0)
    whole = c.compare("oeq", c.intrinsic("floor", y), y)
    half = c.binary("fmul", y, c.like(y, 0.5))
    odd = c.binary("and", whole, c.compare("une", c.intrinsic("floor", half), half))
    negative = c.compare("slt", c.convert("bitcast", x, "i32"), c.constant("i32", 0))
    flipped = c.select(c.binary("and", odd, negative), c.neg(result), result)
    finite = c.compare("ogt", x, c.like(x, -math.inf))
    strange = c.binary("and", c.compare("olt", x, zero), c.binary("and", finite, c.binary("xor", whole, c.like(whole, 1))))
    result = c.select(strange, c.like(x, math.nan), flipped)
    # 1 to any power is 1, and so is -1 to an infinite one
    infinite = c.compare("oeq", c.intrinsic("fabs", y), c.like(y, math.inf))
    unit = c.select(infinite, c.intrinsic("fabs", x), x)
    result = c.select(c.compare("oeq", unit, one), one, result)
    return c.select(c.compare("oeq", y, zero), one, result)


UNARY: dict[str, Any] = {
    "exp": exp, "expm1": expm1, "exp2": exp2, "log": log, "log2": scaled_log(2), "log10": scaled_log(10), "log1p": log1p,
    "tanh": tanh, "erf": erf, "sinh": sinh, "cosh": cosh,
}  # fmt: skip
SINGLE_ONLY: dict[str, Any] = {"sin": circular(0), "cos": circular(1)}
# What expressions say otherwise (``simplify.py``), and functions of several numbers.
OTHERS: dict[str, Any] = {"exp_nonpositive": exp_nonpositive, "scaled_exp": scaled_exp, "one_plus_exp": one_plus_exp, "power": power}

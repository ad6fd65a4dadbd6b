"""Functions of complex numbers in real arithmetic, for ONNX, which has none on complex ones: each takes and gives real and imaginary parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.facets import Facet
from ..ops.pointwise.complex_onnx import angle_of

Parts = tuple[Any, Any]

# Of the builder and the arguments, tensors as their parts: parts, or a value of truths.
complex_function: Facet[Callable[..., Any]] = Facet(
    "ONNX complex function", "how ONNX computes a pointwise op on the real and imaginary parts of complex values"
)


def add(g: Any, x: Parts, y: Parts) -> Parts:
    return g.Add(x[0], y[0]), g.Add(x[1], y[1])


def sub(g: Any, x: Parts, y: Parts) -> Parts:
    return g.Sub(x[0], y[0]), g.Sub(x[1], y[1])


@complex_function.register("mul")
def mul(g: Any, x: Parts, y: Parts) -> Parts:
    (a, b), (c, d) = x, y
    return g.Sub(g.Mul(a, c), g.Mul(b, d)), g.Add(g.Mul(a, d), g.Mul(b, c))


def scale(g: Any, x: Parts, factor: Any) -> Parts:
    return g.Mul(x[0], factor), g.Mul(x[1], factor)


@complex_function.register("div")
def div(g: Any, x: Parts, y: Parts, rounding_mode: Any = None) -> Parts:
    """A quotient; divisors are scaled first, so that their squares neither overflow nor vanish."""
    size = g.maximum(g.Abs(y[0]), g.Abs(y[1]))
    c, d = g.Div(y[0], size), g.Div(y[1], size)
    norm = g.Mul(g.Add(g.Mul(c, c), g.Mul(d, d)), size)
    real, imaginary = mul(g, x, (c, g.Neg(d)))
    return g.Div(real, norm), g.Div(imaginary, norm)


@complex_function.register("reciprocal")
def reciprocal(g: Any, x: Parts) -> Parts:
    return div(g, (1.0, g.Mul(x[1], 0.0)), x)


def absolute(g: Any, x: Parts) -> Any:
    """The absolute value, scaled as divisors are."""
    large, small = g.maximum(g.Abs(x[0]), g.Abs(x[1])), g.minimum(g.Abs(x[0]), g.Abs(x[1]))
    ratio = g.where(g.Equal(large, small), g.Sign(large), g.Div(small, large))  # also where both are 0, or both infinite
    return g.Mul(large, g.Sqrt(g.Add(g.Mul(ratio, ratio), 1.0)))


def polar(g: Any, size: Any, angle: Any) -> Parts:
    return g.Mul(size, g.Cos(angle)), g.Mul(size, g.Sin(angle))


@complex_function.register("exp")
def exp(g: Any, x: Parts) -> Parts:
    return polar(g, g.Exp(x[0]), x[1])


@complex_function.register("log")
def log(g: Any, x: Parts) -> Parts:
    return g.Log(absolute(g, x)), angle_of(g, *x)


@complex_function.register("sqrt")
def sqrt(g: Any, x: Parts) -> Parts:
    """The root with a real part of at least 0."""
    a, b = x
    root = g.Sqrt(g.Mul(g.Add(g.Abs(a), absolute(g, x)), 0.5))
    other = g.where(g.Equal(root, 0.0), root, g.Div(g.Abs(b), g.Mul(root, 2.0)))
    right = g.Less(a, 0.0)
    real, imaginary = g.where(right, other, root), g.where(right, root, other)
    return real, g.where(g.Less(b, 0.0), g.Neg(imaginary), imaginary)


@complex_function.register("pow")
def power(g: Any, x: Parts, exponent: Any) -> Parts:
    """A power: small whole ones are products."""
    c, d = (None if each.constant is None or each.constant.size != 1 else each.constant.item() for each in exponent)
    if d == 0 and c in (1, 2, 3, 4):
        made = x
        for _ in range(int(c) - 1):
            made = mul(g, made, x)
        return made if c != 1 else scale(g, x, 1.0)
    if d == 0 and c == -1:
        return reciprocal(g, x)
    size, angle = absolute(g, x), angle_of(g, *x)
    if d == 0:
        return polar(g, g.Pow(size, exponent[0]), g.Mul(angle, exponent[0]))
    made = exp(g, mul(g, (g.Log(size), angle), exponent))
    zero = g.Equal(size, 0.0)
    return g.where(zero, 0.0, made[0]), g.where(zero, 0.0, made[1])


@complex_function.register("sin")
def sin(g: Any, x: Parts) -> Parts:
    return g.Mul(g.Sin(x[0]), g.Cosh(x[1])), g.Mul(g.Cos(x[0]), g.Sinh(x[1]))


@complex_function.register("cos")
def cos(g: Any, x: Parts) -> Parts:
    return g.Mul(g.Cos(x[0]), g.Cosh(x[1])), g.Neg(g.Mul(g.Sin(x[0]), g.Sinh(x[1])))


@complex_function.register("sinh")
def sinh(g: Any, x: Parts) -> Parts:
    return g.Mul(g.Sinh(x[0]), g.Cos(x[1])), g.Mul(g.Cosh(x[0]), g.Sin(x[1]))


@complex_function.register("cosh")
def cosh(g: Any, x: Parts) -> Parts:
    return g.Mul(g.Cosh(x[0]), g.Cos(x[1])), g.Mul(g.Sinh(x[0]), g.Sin(x[1]))


@complex_function.register("tanh")
def tanh(g: Any, x: Parts) -> Parts:
    """By the real tanh and tan, which stay finite where sinh and cosh overflow."""
    t, s = g.Tanh(x[0]), g.Tan(x[1])
    t2, s2 = g.Mul(t, t), g.Mul(s, s)
    norm = g.Add(g.Mul(t2, s2), 1.0)
    return g.Div(g.Mul(t, g.Add(s2, 1.0)), norm), g.Div(g.Mul(s, g.Sub(1.0, t2)), norm)


@complex_function.register("tan")
def tan(g: Any, x: Parts) -> Parts:
    real, imaginary = tanh(g, (g.Neg(x[1]), x[0]))
    return imaginary, g.Neg(real)


@complex_function.register("sigmoid")
def sigmoid(g: Any, x: Parts) -> Parts:
    real, imaginary = scale(g, tanh(g, scale(g, x, 0.5)), 0.5)
    return g.Add(real, 0.5), imaginary


@complex_function.register("sgn")
def sgn(g: Any, x: Parts) -> Parts:
    size = absolute(g, x)
    zero = g.Equal(size, 0.0)
    return g.where(zero, 0.0, g.Div(x[0], size)), g.where(zero, 0.0, g.Div(x[1], size))


def plus(g: Any, x: Parts, number: float) -> Parts:
    return g.Add(x[0], number), x[1]


@complex_function.register("lerp")
def lerp(g: Any, x: Parts, end: Parts, weight: Parts) -> Parts:
    return add(g, x, mul(g, weight, sub(g, end, x)))


@complex_function.register("addcmul")
def addcmul(g: Any, x: Parts, first: Parts, second: Parts, value: Any) -> Parts:
    return add(g, x, scale(g, mul(g, first, second), value))


@complex_function.register("addcdiv")
def addcdiv(g: Any, x: Parts, first: Parts, second: Parts, value: Any) -> Parts:
    return add(g, x, scale(g, div(g, first, second), value))


@complex_function.register("eq")
def equal(g: Any, x: Parts, y: Parts) -> Any:
    return g.And(g.equal(x[0], y[0]), g.equal(x[1], y[1]))


@complex_function.register("isfinite")
def is_finite(g: Any, x: Parts) -> Any:
    """Numbers less themselves are 0, unless one is infinite or NaN."""
    return g.And(*[g.Equal(g.Sub(each, each), 0.0) for each in x])


complex_function.register("exp2")(lambda g, x: exp(g, scale(g, x, math.log(2))))
complex_function.register("expm1")(lambda g, x: plus(g, exp(g, x), -1.0))
complex_function.register("log1p")(lambda g, x: log(g, plus(g, x, 1.0)))
complex_function.register("log2")(lambda g, x: scale(g, log(g, x), 1 / math.log(2)))
complex_function.register("log10")(lambda g, x: scale(g, log(g, x), 1 / math.log(10)))
complex_function.register("rsqrt")(lambda g, x: reciprocal(g, sqrt(g, x)))
complex_function.register("ne")(lambda g, x, y: g.Not(equal(g, x, y)))
complex_function.register("isnan")(lambda g, x: g.Or(*[g.IsNaN(each) for each in x]))
complex_function.register("isinf")(lambda g, x: g.Or(*[g.IsInf(each) for each in x]))
complex_function.register("logical_not")(lambda g, x: g.And(*[g.Equal(each, 0.0) for each in x]))

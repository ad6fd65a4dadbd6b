"""NumPy's pointwise functions as ONNX nodes.

The kernel of a pointwise op is written with functions of ``xp`` and operators alone.  Called with this in the place of NumPy, and
with :class:`Array` in the place of arrays, it gives the op's ONNX nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ir import OnnxValue
from .opset_builder import OpsetBuilder

_BOOL = np.dtype(np.bool_)


class NotExpressible(Exception):
    """A kernel that does more than pointwise functions can say."""


class Array:
    """A value that behaves like an array in a kernel."""

    __slots__ = ("g", "value")
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __init__(self, g: OpsetBuilder, value: OnnxValue) -> None:
        self.g = g
        self.value = value

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.rank

    @property
    def size(self) -> int:
        return 1  # kernels ask only whether it is large

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        return Array(self.g, self.g.cast(self.value, np.dtype(dtype)))

    def __bool__(self) -> bool:
        raise NotExpressible("the kernel looks at values")

    def __getattr__(self, name: str) -> Any:
        raise NotExpressible(f"the kernel uses array.{name}")

    def __getitem__(self, index: Any) -> Any:
        raise NotExpressible("the kernel picks elements")

    __setitem__ = __getitem__

    def __add__(self, other: Any) -> Array:
        return binary(self.g, "Add", self, other)

    def __radd__(self, other: Any) -> Array:
        return binary(self.g, "Add", other, self)

    def __sub__(self, other: Any) -> Array:
        return binary(self.g, "Sub", self, other)

    def __rsub__(self, other: Any) -> Array:
        return binary(self.g, "Sub", other, self)

    def __mul__(self, other: Any) -> Array:
        return binary(self.g, "Mul", self, other)

    def __rmul__(self, other: Any) -> Array:
        return binary(self.g, "Mul", other, self)

    def __truediv__(self, other: Any) -> Array:
        return divide(self.g, self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return divide(self.g, other, self)

    def __pow__(self, other: Any) -> Array:
        if isinstance(other, int) and other == 2:
            return self * self
        return binary(self.g, "Pow", self, other)

    def __rpow__(self, other: Any) -> Array:
        return binary(self.g, "Pow", other, self)

    def __neg__(self) -> Array:
        return Array(self.g, self.g.Neg(self.value))

    def __abs__(self) -> Array:
        return Array(self.g, self.g.Abs(self.value))

    def __lt__(self, other: Any) -> Array:
        return compare(self.g, "Less", self, other)

    def __gt__(self, other: Any) -> Array:
        return compare(self.g, "Greater", self, other)

    def __le__(self, other: Any) -> Array:
        return compare(self.g, "LessOrEqual", self, other)

    def __ge__(self, other: Any) -> Array:
        return compare(self.g, "GreaterOrEqual", self, other)

    def __eq__(self, other: Any) -> Any:
        return compare(self.g, "Equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return ~compare(self.g, "Equal", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Array:
        return logic(self.g, "And", self, other)

    def __or__(self, other: Any) -> Array:
        return logic(self.g, "Or", self, other)

    def __xor__(self, other: Any) -> Array:
        return logic(self.g, "Xor", self, other)

    def __invert__(self) -> Array:
        if self.dtype != _BOOL:
            raise NotExpressible("the kernel works on bits")
        return Array(self.g, self.g.Not(self.value))


def operands(g: OpsetBuilder, a: Any, b: Any) -> tuple[OnnxValue, OnnxValue]:
    """Two operands as values of one element type; a number takes that of the array."""
    first = a.value if isinstance(a, Array) else None
    second = b.value if isinstance(b, Array) else None
    like = first.dtype if first is not None else second.dtype  # type: ignore[union-attr]
    if first is not None and second is not None and first.dtype != second.dtype:
        like = np.result_type(first.dtype, second.dtype)
        return g.cast(first, like), g.cast(second, like)
    for number in (a, b):
        if not isinstance(number, Array) and like.kind in "iub" and np.asarray(number).dtype.kind == "f":
            raise NotExpressible("the kernel turns integers into floats")
    return (
        first if first is not None else g.number(_plain(a), like),
        second if second is not None else g.number(_plain(b), like),
    )


def _plain(number: Any) -> Any:
    if isinstance(number, np.ndarray) and number.ndim:
        raise NotExpressible("the kernel uses an array of constants")
    return number.item() if isinstance(number, (np.generic, np.ndarray)) else number


def binary(g: OpsetBuilder, name: str, a: Any, b: Any) -> Array:
    return Array(g, g.make(name, operands(g, a, b), {}))


def divide(g: OpsetBuilder, a: Any, b: Any) -> Array:
    if all(each.dtype.kind not in "fV" for each in (a, b) if isinstance(each, Array)):
        raise NotExpressible("the kernel turns integers into floats")
    return binary(g, "Div", a, b)


def compare(g: OpsetBuilder, name: str, a: Any, b: Any) -> Array:
    first, second = operands(g, a, b)
    if name == "Equal":
        return Array(g, g.equal(first, second))
    if name in ("LessOrEqual", "GreaterOrEqual") and g.opset < 12:
        strict = g.make(name.removesuffix("OrEqual"), (first, second), {})
        return Array(g, g.Or(strict, compare(g, "Equal", Array(g, first), Array(g, second)).value))
    return Array(g, g.make(name, (first, second), {}))


def logic(g: OpsetBuilder, name: str, a: Any, b: Any) -> Array:
    first, second = operands(g, a, b)
    if first.dtype != _BOOL:
        raise NotExpressible("the kernel works on bits")
    return Array(g, g.make(name, (first, second), {}))


class Functions:
    """Stands for NumPy in a kernel."""

    float32, float64, int64, int32, bool_ = np.float32, np.float64, np.int64, np.int32, np.bool_
    pi, inf, nan, e, newaxis = np.pi, np.inf, np.nan, np.e, None
    finfo, iinfo, dtype, errstate = np.finfo, np.iinfo, np.dtype, np.errstate

    def __init__(self, g: OpsetBuilder, like: Any = np.float32) -> None:
        self.g = g
        self.like = np.dtype(like)  # the type that plain numbers have beside no array

    def __getattr__(self, name: str) -> Any:
        simple = _UNARY.get(name)
        if simple is not None:
            return lambda x, out=None: x if simple == "" else self.unary(name, simple, x)
        pair = _BINARY.get(name)
        if pair is not None:
            return lambda a, b, out=None: getattr(np, name)(a, b) if not _any(a, b) else pair(self.g, a, b)
        raise NotExpressible(f"the kernel uses numpy.{name}")

    def unary(self, name: str, simple: Any, x: Any) -> Any:
        if not isinstance(x, Array):
            return getattr(np, name)(x)
        if isinstance(simple, str):
            return Array(self.g, self.g.make(simple, (x.value,), {}))
        return simple(self, x)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        if not isinstance(condition, Array):
            return a if condition else b
        if not _any(a, b):
            kind = next((each.dtype for each in (a, b) if isinstance(each, np.generic)), self.like)
            return Array(self.g, self.g.where(condition.value, self.g.constant(_plain(a), kind), self.g.constant(_plain(b), kind)))
        first, second = operands(self.g, a, b)
        return Array(self.g, self.g.where(condition.value, first, second))

    def clip(self, x: Any, low: Any, high: Any, out: Any = None) -> Any:
        if not isinstance(x, Array):
            return np.clip(x, low, high)
        for limit, function in ((low, self.maximum), (high, self.minimum)):
            if limit is not None:
                x = function(x, limit)
        return x

    def ones_like(self, x: Array) -> Array:
        return x * 0 + 1 if x.dtype.kind != "f" else Array(self.g, self.g.expand_like(self.g.constant(1, x.dtype), x.value))

    def zeros_like(self, x: Array) -> Array:
        return Array(self.g, self.g.expand_like(self.g.constant(0, x.dtype), x.value))

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        return x if dtype is None or not isinstance(x, Array) else x.astype(dtype)


def _any(*values: Any) -> bool:
    return any(isinstance(each, Array) for each in values)


def _isinf(xp: Functions, x: Array) -> Array:
    if x.dtype.kind != "f":
        return x != x
    return Array(xp.g, xp.g.IsInf(x.value)) if xp.g.opset >= 10 and x.dtype != np.float16 else abs(x) == np.inf


def _isnan(xp: Functions, x: Array) -> Array:
    return Array(xp.g, xp.g.IsNaN(x.value)) if x.dtype.kind == "f" else x != x


def _trunc(xp: Functions, x: Array) -> Array:
    return xp.where(x < 0, xp.ceil(x), xp.floor(x)) if x.dtype.kind == "f" else x  # type: ignore[no-any-return]


def _round(xp: Functions, x: Array) -> Array:
    if xp.g.opset >= 11:
        return Array(xp.g, xp.g.Round(x.value))
    down = xp.floor(x)
    rest = x - down
    odd = down - 2 * xp.floor(down / 2)  # halves go to the even neighbour
    up = (rest > 0.5) | ((rest == 0.5) & (odd == 1))
    return xp.where(up, down + 1, down)  # type: ignore[no-any-return]


def _sign(xp: Functions, x: Array) -> Array:
    return Array(xp.g, xp.g.Sign(x.value))


def _expm1(xp: Functions, x: Array) -> Array:
    # exp(x) - 1 loses digits near 0: there, 2 sinh(x/2) exp(x/2) does not
    half = x * 0.5
    sinh = Array(xp.g, xp.g.Sinh(half.value))
    return xp.where(abs(x) < 0.5, 2.0 * sinh * xp.exp(half), xp.exp(x) - 1.0)  # type: ignore[no-any-return]


def _log1p(xp: Functions, x: Array) -> Array:
    # log(u) * x / (u - 1) with u = 1 + x keeps the digits that 1 + x rounds away
    u = 1.0 + x
    near = u == 1.0
    scale = xp.where(near, x * 0 + 1.0, u - 1.0)
    result = xp.log(u) * (x / scale)
    exact = xp.where(near, x, result)
    return xp.where(abs(u) == np.inf, xp.log(u), exact)  # type: ignore[no-any-return]


def _remainder(g: OpsetBuilder, a: Any, b: Any) -> Array:
    first, second = (Array(g, each) for each in operands(g, a, b))
    if first.dtype.kind != "f":
        return Array(g, g.Mod(first.value, second.value))
    return first - Functions(g).floor(first / second) * second  # type: ignore[no-any-return]


def _hypot(g: OpsetBuilder, a: Any, b: Any) -> Array:
    return Array(g, g.Sqrt((a * a + b * b).value))


def _maximum(g: OpsetBuilder, a: Any, b: Any) -> Array:
    return Array(g, g.maximum(*operands(g, a, b)))


def _minimum(g: OpsetBuilder, a: Any, b: Any) -> Array:
    return Array(g, g.minimum(*operands(g, a, b)))


def _fmod(g: OpsetBuilder, a: Any, b: Any) -> Array:
    first, second = operands(g, a, b)
    if g.opset < 10:
        xp = Functions(g)
        x, y = Array(g, first), Array(g, second)
        return x - xp.trunc(x / y) * y  # type: ignore[no-any-return]
    return Array(g, g.Mod(first, second, fmod=1))


def _fmax(g: OpsetBuilder, a: Any, b: Any, larger: bool = True) -> Array:
    first, second = operands(g, a, b)
    found = g.maximum(first, second) if larger else g.minimum(first, second)
    if first.dtype.kind == "f":  # of a number and a NaN, the number
        found = g.where(g.IsNaN(first), second, g.where(g.IsNaN(second), first, found))
    return Array(g, found)


def _logaddexp2(g: OpsetBuilder, a: Any, b: Any) -> Array:
    xp = Functions(g)
    distance = xp.where(a == b, 0.0, abs(a - b))
    return xp.maximum(a, b) + xp.log1p(xp.exp2(-distance)) * float(1 / np.log(2))  # type: ignore[no-any-return]


def _arctan2(g: OpsetBuilder, a: Any, b: Any) -> Array:
    xp = Functions(g)
    y, x = (Array(g, each) for each in operands(g, a, b))
    height, width = abs(y), abs(x)
    equal = height == width  # also where both are 0, or both infinite
    slope = xp.where(equal, xp.sign(height), height / width)
    angle = xp.arctan(slope)
    angle = xp.where(xp.signbit(x), np.pi - angle, angle)
    return xp.where(xp.signbit(y), -angle, angle)  # type: ignore[no-any-return]


_UNARY: dict[str, Any] = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "sinh": "Sinh", "cosh": "Cosh",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "negative": "Neg", "abs": "Abs", "absolute": "Abs", "fabs": "Abs", "reciprocal": "Reciprocal", "conjugate": "", "positive": "",
    "floor": lambda xp, x: Array(xp.g, xp.g.Floor(x.value)) if x.dtype.kind == "f" else x,
    "ceil": lambda xp, x: Array(xp.g, xp.g.Ceil(x.value)) if x.dtype.kind == "f" else x,
    "trunc": _trunc, "rint": _round, "sign": _sign, "isnan": _isnan, "isinf": _isinf, "expm1": _expm1, "log1p": _log1p,
    "isfinite": lambda xp, x: ~(_isnan(xp, x) | _isinf(xp, x)),
    "square": lambda xp, x: x * x, "exp2": lambda xp, x: xp.exp(x * float(np.log(2))), "logical_not": lambda xp, x: ~truth(x),
    "log2": lambda xp, x: xp.log(x) * float(1 / np.log(2)), "log10": lambda xp, x: xp.log(x) * float(1 / np.log(10)),
    "signbit": lambda xp, x: x < 0 if x.dtype.kind != "f" else (x < 0) | ((x == 0) & (1.0 / x < 0)),
    "invert": lambda xp, x: ~x,
}  # fmt: skip


def truth(x: Any) -> Any:
    """Whether elements are not zero."""
    return x if not isinstance(x, Array) or x.dtype == _BOOL else x != 0


_BINARY: dict[str, Callable[[OpsetBuilder, Any, Any], Any]] = {
    "add": lambda g, a, b: a + b, "subtract": lambda g, a, b: a - b, "multiply": lambda g, a, b: a * b,
    "divide": lambda g, a, b: a / b, "true_divide": lambda g, a, b: a / b, "power": lambda g, a, b: binary(g, "Pow", a, b),
    "maximum": _maximum, "minimum": _minimum, "fmod": _fmod, "remainder": _remainder, "hypot": _hypot, "arctan2": _arctan2,
    "fmax": _fmax, "fmin": lambda g, a, b: _fmax(g, a, b, False), "logaddexp2": _logaddexp2,
    "equal": lambda g, a, b: compare(g, "Equal", a, b), "not_equal": lambda g, a, b: ~compare(g, "Equal", a, b),
    "less": lambda g, a, b: compare(g, "Less", a, b), "less_equal": lambda g, a, b: compare(g, "LessOrEqual", a, b),
    "greater": lambda g, a, b: compare(g, "Greater", a, b), "greater_equal": lambda g, a, b: compare(g, "GreaterOrEqual", a, b),
    "logical_and": lambda g, a, b: logic(g, "And", truth(a), truth(b)), "logical_or": lambda g, a, b: logic(g, "Or", truth(a), truth(b)),
    "logical_xor": lambda g, a, b: logic(g, "Xor", truth(a), truth(b)),
    "bitwise_and": lambda g, a, b: a & b, "bitwise_or": lambda g, a, b: a | b, "bitwise_xor": lambda g, a, b: a ^ b,
    "copysign": lambda g, a, b: Functions(g).where(Functions(g).signbit(b), -abs(a), abs(a)),
}  # fmt: skip

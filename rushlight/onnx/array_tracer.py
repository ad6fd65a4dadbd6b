"""Pointwise kernels as ONNX nodes: the functions of NumPy that ONNX has, by opset (see ``core/array_tracer.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array_tracer import BOOL, COMPOSED, ArrayTracer, NotExpressible, TracedArray, without_dimensions
from .ir import OnnxValue
from .opset_builder import OpsetBuilder


class OnnxArray(TracedArray):
    """A value of an ONNX graph that behaves like an array in a kernel."""

    __slots__ = ("tracer", "value")

    def __init__(self, tracer: OnnxArrayTracer, value: OnnxValue) -> None:
        self.tracer = tracer
        self.value = value

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.value.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.rank

    def copy(self) -> OnnxArray:
        return OnnxArray(self.tracer, self.value)

    def become(self, other: OnnxArray) -> OnnxArray:
        self.value = self.tracer.g.cast(other.value, self.dtype)
        return self


class OnnxArrayTracer(ArrayTracer):
    """Stands for NumPy in a kernel whose functions become nodes; ``like`` is the dtype of numbers where no array gives one."""

    def __init__(self, g: OpsetBuilder, like: Any = np.float32) -> None:
        self.g = g
        self.like = np.dtype(like)

    def promote(self, *operands: Any) -> np.dtype[Any]:
        """The dtype of the arrays among operands: numbers take it, where that loses nothing."""
        found = {each.dtype for each in operands if isinstance(each, OnnxArray)}
        dtype = np.result_type(*found) if len(found) > 1 else found.pop()
        numbers = [without_dimensions(each) for each in operands if not isinstance(each, OnnxArray)]
        if dtype.kind in "iub" and any(np.asarray(each).dtype.kind == "f" for each in numbers):
            raise NotExpressible("the kernel turns integers into floats")
        return dtype

    def values(self, *operands: Any) -> tuple[OnnxValue, ...]:
        """Operands as values of one dtype."""
        dtype = self.promote(*operands)
        return tuple(
            self.g.cast(each.value, dtype) if isinstance(each, OnnxArray) else self.g.number(_python_number(each), dtype)
            for each in operands
        )

    def node(self, name: str, *operands: Any, **attributes: Any) -> OnnxArray:
        """A node on operands of one dtype."""
        return OnnxArray(self, self.g.make(name, self.values(*operands), attributes))

    def cast(self, array: OnnxArray, dtype: np.dtype[Any]) -> OnnxArray:
        return OnnxArray(self, self.g.cast(array.value, dtype))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        if not isinstance(condition, OnnxArray):
            return a if condition else b
        if isinstance(a, OnnxArray) or isinstance(b, OnnxArray):
            first, second = self.values(a, b)
        else:
            dtype = next((each.dtype for each in (a, b) if isinstance(each, np.generic)), self.like)
            first, second = (self.g.constant(_python_number(each), dtype) for each in (a, b))
        return OnnxArray(self, self.g.where(condition.value, first, second))

    def clip(self, x: Any, low: Any, high: Any, out: Any = None) -> Any:
        if not isinstance(x, OnnxArray):
            return np.clip(x, low, high)
        for limit, function in ((low, self.maximum), (high, self.minimum)):
            if limit is not None:
                x = function(x, limit)
        return x

    def full_like(self, x: OnnxArray, value: Any) -> OnnxArray:
        return OnnxArray(self, self.g.expand_like(self.g.constant(value, x.dtype), x.value))

    def ones_like(self, x: Any) -> OnnxArray:
        return self.full_like(x, 1) if x.dtype.kind == "f" else x * 0 + 1  # type: ignore[no-any-return]

    def zeros_like(self, x: OnnxArray) -> OnnxArray:
        return self.full_like(x, 0)


def _python_number(number: Any) -> Any:
    return number.item() if isinstance(without_dimensions(number), (np.generic, np.ndarray)) else number


def _node(name: str) -> Callable[..., OnnxArray]:
    return lambda xp, *operands: xp.node(name, *operands)


def _of_floats(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A node on floats alone."""
    return lambda xp, x: xp.node(name, x) if x.dtype.kind == "f" else otherwise(xp, x)


def _of_bools(name: str) -> Callable[..., OnnxArray]:
    def run(xp: OnnxArrayTracer, *operands: Any) -> OnnxArray:
        if xp.promote(*operands) != BOOL:
            raise NotExpressible("the kernel works on bits")
        return xp.node(name, *operands)

    return run


def _divide(xp: OnnxArrayTracer, a: Any, b: Any) -> OnnxArray:
    if all(each.dtype.kind not in "fV" for each in (a, b) if isinstance(each, OnnxArray)):
        raise NotExpressible("the kernel turns integers into floats")
    return xp.node("Div", a, b)


def _builder_method(name: str) -> Callable[..., OnnxArray]:
    """A function that the builder writes by opset and dtype."""
    return lambda xp, a, b: OnnxArray(xp, getattr(xp.g, name)(*xp.values(a, b)))


def _or_equal(strict: str) -> Callable[..., OnnxArray]:
    """A comparison that is a node since opset 12."""

    def run(xp: OnnxArrayTracer, a: Any, b: Any) -> OnnxArray:
        if xp.g.opset >= 12:
            return xp.node(f"{strict}OrEqual", a, b)
        first, second = xp.values(a, b)
        return OnnxArray(xp, xp.g.Or(xp.g.make(strict, (first, second), {}), xp.g.equal(first, second)))

    return run


def _isinf(xp: OnnxArrayTracer, x: OnnxArray) -> Any:
    own = x.dtype.kind == "f" and x.dtype != np.float16 and xp.g.opset >= 10
    return xp.node("IsInf", x) if own else COMPOSED["isinf"](xp, x)


def _isnan(xp: OnnxArrayTracer, x: Any) -> Any:
    if x.dtype.kind != "f":
        return COMPOSED["isnan"](xp, x)
    return xp.node("IsNaN", x) if xp.g.opset >= 9 else ~((x < 1) | (x > 0))  # every number is one or the other


def _remainder(xp: OnnxArrayTracer, a: Any, b: Any) -> Any:
    first, second = (OnnxArray(xp, each) for each in xp.values(a, b))
    return xp.node("Mod", first, second) if first.dtype.kind != "f" else first - xp.floor(first / second) * second  # type: ignore[operator]


def _fmod(xp: OnnxArrayTracer, a: Any, b: Any) -> Any:
    if xp.g.opset >= 10:
        return xp.node("Mod", a, b, fmod=1)
    first, second = (OnnxArray(xp, each) for each in xp.values(a, b))
    return first - xp.trunc(first / second) * second  # type: ignore[operator]


OnnxArrayTracer.functions = {
    **{name: _node(node) for name, node in {
        "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "sinh": "Sinh",
        "cosh": "Cosh", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arcsinh": "Asinh", "arccosh": "Acosh",
        "arctanh": "Atanh", "negative": "Neg", "absolute": "Abs", "reciprocal": "Reciprocal", "sign": "Sign", "add": "Add",
        "subtract": "Sub", "multiply": "Mul", "power": "Pow", "less": "Less", "greater": "Greater",
    }.items()},
    "floor": _of_floats("Floor", COMPOSED["positive"]), "ceil": _of_floats("Ceil", COMPOSED["positive"]),
    "isnan": _isnan, "isinf": _isinf, "true_divide": _divide,
    "rint": lambda xp, x: xp.node("Round", x) if xp.g.opset >= 11 else COMPOSED["rint"](xp, x),
    "equal": _builder_method("equal"), "maximum": _builder_method("maximum"), "minimum": _builder_method("minimum"),
    "less_equal": _or_equal("Less"), "greater_equal": _or_equal("Greater"),
    "bitwise_and": _of_bools("And"), "bitwise_or": _of_bools("Or"), "bitwise_xor": _of_bools("Xor"), "invert": _of_bools("Not"),
    "remainder": _remainder, "fmod": _fmod,
}  # fmt: skip

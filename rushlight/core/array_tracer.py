"""The stand-in for NumPy in pointwise kernels: one tracer for every target.

A pointwise kernel is written with functions of ``xp`` and operators alone.  Called with an :class:`ArrayTracer` in the place of
NumPy and :class:`TracedArray` in the place of arrays, it builds what a target makes of it: an expression on one element, nodes
of an ONNX graph.  A target subclasses both, and gives the functions it has by name; those it lacks are composed of others here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

BOOL = np.dtype(np.bool_)


class NotExpressible(Exception):
    """A kernel that does more than pointwise functions can say, or that needs a function or dtype which the target lacks."""


class TracedArray:
    """A value of a target that behaves like an array in a kernel: operators are functions of its tracer."""

    __slots__ = ()
    __array_ufunc__ = None
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]
    size = 1  # kernels ask only whether it is large
    tracer: Any  # the ArrayTracer, of the class or of each array
    shape: Any
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def real(self) -> Any:
        return self

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> Any:
        return self.tracer.cast(self, np.dtype(dtype))

    def copy(self) -> Any:
        """Another array of the same value: what is written to one is not written to the other."""
        raise NotImplementedError

    def become(self, other: Any) -> Any:
        """Take the value of another array, in this one's dtype, as a write in place does."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise NotExpressible("the kernel depends on values")

    def __getattr__(self, name: str) -> Any:
        raise NotExpressible(f"the kernel uses array.{name}")

    def __getitem__(self, index: Any) -> Any:
        raise NotExpressible("the kernel indexes elements")

    __setitem__ = __getitem__

    def __pow__(self, other: Any) -> Any:
        if not self.tracer.is_operand(other):
            return NotImplemented
        return self.tracer.call("square", self) if type(other) is int and other == 2 else self.tracer.call("power", self, other)


def _operator(name: str, reflected: bool = False, in_place: bool = False) -> Any:
    def run(self: TracedArray, other: Any) -> Any:
        if not self.tracer.is_operand(other):
            return NotImplemented
        made = self.tracer.call(name, other, self) if reflected else self.tracer.call(name, self, other)
        return self.become(made) if in_place else made

    return run


for _name, _function in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "pow": "power", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "mod": "remainder", "floordiv": "floor_divide", "lshift": "left_shift", "rshift": "right_shift",
}.items():  # fmt: skip
    if _name != "pow":
        setattr(TracedArray, f"__{_name}__", _operator(_function))
    setattr(TracedArray, f"__r{_name}__", _operator(_function, reflected=True))
    setattr(TracedArray, f"__i{_name}__", _operator(_function, in_place=True))
for _name, _function in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(TracedArray, f"__{_name}__", _operator(_function))
for _name, _function in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
    setattr(TracedArray, f"__{_name}__", lambda self, name=_function: self.tracer.call(name, self))


class ArrayTracer:
    """Stands for NumPy in a kernel.

    ``functions`` has what a target makes of NumPy's functions, each called with the tracer and the operands: traced arrays and
    numbers.  A target also defines ``cast`` and ``where``, and ``copy`` and ``become`` of its arrays.
    """

    float32, float64, int64, int32, bool_ = np.float32, np.float64, np.int64, np.int32, np.bool_
    pi, inf, nan, e, newaxis = np.pi, np.inf, np.nan, np.e, None
    finfo, iinfo, dtype, errstate = np.finfo, np.iinfo, np.dtype, np.errstate
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self.functions and name not in COMPOSED:
            raise NotExpressible(f"the kernel uses numpy.{name}")

        def function(*operands: Any, out: Any = None) -> Any:
            if not any(isinstance(each, TracedArray) for each in operands):
                return getattr(np, name)(*operands)
            made = self.call(name, *operands)
            return made if out is None else out.become(made)

        return function

    def call(self, name: str, *operands: Any) -> Any:
        """One of NumPy's functions on operands of which one is a traced array."""
        found = self.functions.get(name) or COMPOSED.get(name)
        if found is None:
            raise NotExpressible(f"the kernel uses numpy.{name}")
        return found(self, *operands)

    def is_operand(self, value: Any) -> bool:
        """Whether operators take a value beside a traced array."""
        return isinstance(value, (TracedArray, int, float, np.generic, np.ndarray))

    def promote(self, *operands: Any) -> np.dtype[Any]:
        """The dtype that NumPy computes operands in: a Python number takes that of the arrays."""
        return np.result_type(*map(self.operand_dtype, operands))

    def operand_dtype(self, value: Any) -> Any:
        """What NumPy's rules for promotion take: a dtype, or a Python number as it is."""
        return value.dtype if hasattr(without_dimensions(value), "dtype") else value

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """An array in another dtype."""
        raise NotImplementedError

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """One of two values, by a condition."""
        raise NotImplementedError

    def truth(self, x: Any) -> Any:
        """Whether elements are not zero."""
        if not isinstance(x, TracedArray):
            return bool(x)
        return x if x.dtype == BOOL else self.not_equal(x, 0)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        return x if dtype is None or not isinstance(x, TracedArray) else x.astype(dtype)


def without_dimensions(value: Any) -> Any:
    """An operand that is a traced array or a number; an array of constants is neither."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise NotExpressible("the kernel uses an array of constants")
    return value


# -- functions made of others ------------------------------------------------------------------------------------


def _isinf(xp: Any, x: Any) -> Any:
    return abs(x) == np.inf if x.dtype.kind == "f" else x != x


def _trunc(xp: Any, x: Any) -> Any:
    return xp.where(x < 0, xp.ceil(x), xp.floor(x)) if x.dtype.kind == "f" else x.copy()


def _rint(xp: Any, x: Any) -> Any:
    down = xp.floor(x)
    rest = x - down
    odd = down - 2 * xp.floor(down / 2)  # halves go to the even neighbour
    up = (rest > 0.5) | ((rest == 0.5) & (odd == 1))
    return xp.where(up, down + 1, down)


def _expm1(xp: Any, x: Any) -> Any:
    # exp(x) - 1 loses digits near 0: there, 2 sinh(x/2) exp(x/2) does not
    half = x * 0.5
    sinh = xp.sinh(half)
    return xp.where(abs(x) < 0.5, 2.0 * sinh * xp.exp(half), xp.exp(x) - 1.0)


def _log1p(xp: Any, x: Any) -> Any:
    # log(u) * x / (u - 1) with u = 1 + x keeps the digits that 1 + x rounds away
    u = 1.0 + x
    near = u == 1.0
    scale = xp.where(near, x * 0 + 1.0, u - 1.0)
    result = xp.log(u) * (x / scale)
    exact = xp.where(near, x, result)
    return xp.where(abs(u) == np.inf, xp.log(u), exact)


def _signbit(xp: Any, x: Any) -> Any:
    return x < 0 if x.dtype.kind != "f" else (x < 0) | ((x == 0) & (1.0 / x < 0))


def _ignoring_nan(extreme: str) -> Callable[..., Any]:
    """fmax and fmin: of a number and a NaN, the number."""

    def run(xp: Any, a: Any, b: Any) -> Any:
        found = getattr(xp, extreme)(a, b)
        return found if found.dtype.kind != "f" else xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, found))

    return run


def _logaddexp2(xp: Any, a: Any, b: Any) -> Any:
    distance = xp.where(a == b, 0.0, abs(a - b))
    return xp.maximum(a, b) + xp.log1p(xp.exp2(-distance)) * float(1 / np.log(2))


def _arctan2(xp: Any, y: Any, x: Any) -> Any:
    height, width = abs(y), abs(x)
    equal = height == width  # also where both are 0, or both infinite
    slope = xp.where(equal, xp.sign(height), height / width)
    angle = xp.arctan(slope)
    angle = xp.where(xp.signbit(x), np.pi - angle, angle)
    return xp.where(xp.signbit(y), -angle, angle)


COMPOSED: dict[str, Callable[..., Any]] = {
    "positive": lambda xp, x: x.copy(), "conjugate": lambda xp, x: x.copy(), "conj": lambda xp, x: x.copy(), "square": lambda xp, x: x * x,
    "abs": lambda xp, x: xp.absolute(x), "fabs": lambda xp, x: xp.absolute(x), "divide": lambda xp, a, b: xp.true_divide(a, b),
    "not_equal": lambda xp, a, b: ~xp.equal(a, b), "logical_not": lambda xp, x: ~xp.truth(x),
    "logical_and": lambda xp, a, b: xp.bitwise_and(xp.truth(a), xp.truth(b)),
    "logical_or": lambda xp, a, b: xp.bitwise_or(xp.truth(a), xp.truth(b)),
    "logical_xor": lambda xp, a, b: xp.bitwise_xor(xp.truth(a), xp.truth(b)),
    "isnan": lambda xp, x: x != x, "isinf": _isinf, "isfinite": lambda xp, x: ~(xp.isnan(x) | xp.isinf(x)),
    "signbit": _signbit, "copysign": lambda xp, a, b: xp.where(xp.signbit(b), -abs(a), abs(a)), "trunc": _trunc, "rint": _rint,
    "fmax": _ignoring_nan("maximum"), "fmin": _ignoring_nan("minimum"),
    "exp2": lambda xp, x: xp.exp(x * float(np.log(2))), "log2": lambda xp, x: xp.log(x) * float(1 / np.log(2)),
    "log10": lambda xp, x: xp.log(x) * float(1 / np.log(10)), "expm1": _expm1, "log1p": _log1p,
    "hypot": lambda xp, a, b: xp.sqrt(a * a + b * b), "logaddexp2": _logaddexp2, "arctan2": _arctan2,
}  # fmt: skip

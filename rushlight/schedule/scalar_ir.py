"""Scalar IR: the computation of one element as an expression, traced from the kernel of a pointwise op.

A pointwise kernel uses functions of ``xp`` and operators alone.  Called with :class:`Functions` for NumPy and :class:`Array` for
arrays, it gives an :class:`Expression`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.declare import Op
from ..core.dtypes import HALF_PRECISION
from ..core.facets import Facet
from ..core.families import broadcast_shapes
from .symbolic_shape import Ratio, Size, differs, hint
from .target import Target

BOOL, FLOAT32, FLOAT64 = np.dtype(np.bool_), np.dtype(np.float32), np.dtype(np.float64)
FLOAT16 = np.dtype(np.float16)
_DTYPES = frozenset(np.dtype(each) for each in ("float32", "float64", "bool", "int8", "uint8", "int16", "int32", "int64"))
_MOVES = ("operand", "constant", "cast", "where")  # the only operations on half precision, which is computed in float32

# The functions of scalar IR that are no single instruction: of one number (some in single precision alone), and others.
UNARY_FUNCTIONS = ("exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "tanh", "erf", "sinh", "cosh")
SINGLE_FUNCTIONS = ("sin", "cos")
OTHER_FUNCTIONS = ("decay", "raised_decay", "growth", "power")  # exp of what is not positive, and what simplify.py makes
FUNCTIONS = frozenset((*UNARY_FUNCTIONS, *SINGLE_FUNCTIONS, *OTHER_FUNCTIONS))
_COSTLY = FUNCTIONS | {"fmod"}
EXPENSIVE = 20  # the cost of a function such as exp, in additions


class NotExpressible(Exception):
    """A kernel that scalar IR can't express, or that a target can't compute."""


class Expression:
    """An operation on expressions, a constant, or an operand."""

    __slots__ = ("args", "cost", "data", "dtype", "known_operands", "op")

    def __init__(self, op: str, args: tuple[Expression, ...], dtype: np.dtype[Any], data: Any = None) -> None:
        if dtype not in _DTYPES and not (dtype in HALF_PRECISION and op in _MOVES):
            raise NotExpressible(f"scalar IR has no {dtype}")
        self.op = op
        self.args = args
        self.dtype = dtype
        self.data = data  # the value of a constant; what an operand refers to
        self.known_operands: list[Any] | None = None
        own = 0 if op in ("constant", "operand") else EXPENSIVE if op in _COSTLY else 4 if op in ("div", "sqrt") else 1
        self.cost: int = own + sum(each.cost for each in args)  # as if nothing were shared: an upper bound

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})" if self.args else f"{self.op}:{self.data}"


def constant(value: Any, dtype: np.dtype[Any]) -> Expression:
    """A number of a dtype."""
    if value.__class__ is not int and differs(value):
        if dtype not in (FLOAT32, FLOAT64) and not (dtype == np.int64 and isinstance(value, Size)):
            raise NotExpressible(f"a symbolic number as {dtype}")
        return Expression("constant", (), dtype, value)
    return Expression("constant", (), dtype, np.asarray(value).astype(dtype).item())


def cast(a: Expression, dtype: np.dtype[Any]) -> Expression:
    """A value cast to a dtype."""
    if a.dtype == dtype:
        return a
    if a.op == "constant":
        return constant(a.data, dtype)
    if a.dtype == FLOAT64 and dtype == FLOAT16:
        raise NotExpressible("float64 is not rounded to float16 in one step")
    return Expression("cast", (a,), dtype)


def check_target(expression: Expression, target: Target) -> None:
    """Raise NotExpressible where a target does not have what an expression needs."""
    waiting, seen = [expression], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        waiting.extend(each.args)
        if each.dtype not in target.dtypes and each.dtype not in HALF_PRECISION:
            raise NotExpressible(f"{target.name} has no {each.dtype}")
        if each.op == "cast" and not target.half_conversion and FLOAT16 in (each.dtype, each.args[0].dtype):
            raise NotExpressible(f"{target.name} does not convert half precision")
        if each.op in FUNCTIONS and target.functions is not None and each.op not in target.functions:
            raise NotExpressible(f"{target.name} has no {each.op}")


class Array:
    """Stands for an array in a kernel; an in-place operation replaces its expression."""

    __slots__ = ("expression", "shape")
    __array_ufunc__ = None
    __array_priority__ = 1000
    size = 1  # kernels only ask whether it is large
    flags: Any

    def __init__(self, expression: Expression, shape: tuple[int, ...]) -> None:
        self.expression = expression
        self.shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.expression.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def real(self) -> Array:
        return self

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> Array:
        return Array(cast(self.expression, np.dtype(dtype)), self.shape)

    def copy(self) -> Array:
        return Array(self.expression, self.shape)

    def __bool__(self) -> bool:
        raise NotExpressible("the kernel branches on values")

    def __getattr__(self, name: str) -> Any:
        raise NotExpressible(f"the kernel uses array.{name}")

    def __getitem__(self, index: Any) -> Any:
        raise NotExpressible("the kernel indexes elements")

    __setitem__ = __getitem__
    __hash__ = None  # type: ignore[assignment]

    def become(self, other: Array) -> Array:
        """Take the value of another array, cast to this one's dtype, as an in-place operation does."""
        self.expression = cast(other.expression, self.dtype)
        return self


def _operator(name: str, reflected: bool = False, in_place: bool = False) -> Any:
    def run(self: Array, other: Any) -> Any:
        if not isinstance(other, (Array, int, float, np.generic, np.ndarray, Size, Ratio)):
            return NotImplemented
        made = BINARY[name](other, self) if reflected else BINARY[name](self, other)
        return self.become(made) if in_place else made

    return run


for _name, _function in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "pow": "power", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "mod": "remainder", "floordiv": "floor_divide", "lshift": "left_shift", "rshift": "right_shift",
}.items():  # fmt: skip
    setattr(Array, f"__{_name}__", _operator(_function))
    setattr(Array, f"__r{_name}__", _operator(_function, reflected=True))
    setattr(Array, f"__i{_name}__", _operator(_function, in_place=True))
for _name, _function in {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}.items():
    setattr(Array, f"__{_name}__", _operator(_function))
for _name, _function in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
    setattr(Array, f"__{_name}__", lambda self, name=_function: UNARY[name](self))


def typed(op: Any, operands: list[Any]) -> list[Any]:
    """Operands of a pointwise op with symbolic numbers as arrays of the dtype that the op computes in."""
    common, _ = op.family.dtypes(op, op.family.operands(op, [hint(each) for each in operands]))
    return [Array(constant(each, common), ()) if differs(each) else each for each in operands]


# -- operands ----------------------------------------------------------------------------------------------------


def kind_of(value: Any) -> Any:
    """What NumPy's promotion takes: a dtype, or a Python number."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise NotExpressible("the kernel uses an array of constants")
    return value.dtype if hasattr(value, "dtype") else hint(value)


def element(value: Any, dtype: np.dtype[Any]) -> Expression:
    """An operand as an expression of a dtype."""
    return cast(value.expression, dtype) if isinstance(value, Array) else constant(value, dtype)


def make(op: str, dtype: np.dtype[Any], *operands: Any, compute: np.dtype[Any] | None = None, data: Any = None) -> Array:
    """An operation on operands that are cast to one dtype."""
    given = tuple([element(each, dtype if compute is None else compute) for each in operands])
    return Array(
        Expression(op, given, dtype, data),
        broadcast_shapes([np.shape(each) if not isinstance(each, Array) else each.shape for each in operands]),
    )


def common(*operands: Any) -> np.dtype[Any]:
    """The dtype that NumPy computes operands in."""
    return np.result_type(*[kind_of(each) for each in operands])


def _arithmetic(op: str, of_bool: str = "") -> Any:
    def run(a: Any, b: Any) -> Array:
        dtype = common(a, b)
        if dtype == BOOL:
            if not of_bool:
                raise NotExpressible(f"NumPy has no {op} of bool")
            return make(of_bool, dtype, a, b)
        return make(op, dtype, a, b)

    return run


def _comparison(op: str) -> Any:
    def run(a: Any, b: Any) -> Array:
        compute = common(a, b)
        for number in (a, b):
            if isinstance(number, int) and compute.kind in "iu" and not np.iinfo(compute).min <= number <= np.iinfo(compute).max:
                raise NotExpressible("the kernel compares with a number outside the range of its dtype")
        return make(op, BOOL, a, b, compute=compute)

    return run


def _divide(a: Any, b: Any) -> Array:
    dtype = common(a, b)
    if dtype.kind in "iub":
        if dtype.itemsize < 4 and dtype != BOOL:
            raise NotExpressible("NumPy divides small integers in half precision")
        dtype = FLOAT64
    return make("div", dtype, a, b)


def _bitwise(op: str) -> Any:
    def run(a: Any, b: Any) -> Array:
        dtype = common(a, b)
        if dtype.kind == "f":
            raise NotExpressible("bits of floats")
        return make(op, dtype, a, b)

    return run


def _logical(op: str) -> Any:
    return lambda a, b: make(op, BOOL, truth(a), truth(b))


def truth(a: Any) -> Any:
    """Whether elements are not zero."""
    if not isinstance(a, Array):
        return bool(a)
    return a if a.dtype == BOOL else BINARY["not_equal"](a, 0)


def _float_only(op: str, *types: np.dtype[Any]) -> Any:
    def run(*operands: Any) -> Array:
        dtype = common(*operands)
        if dtype not in (types or (FLOAT32, FLOAT64)):
            raise NotExpressible(f"scalar IR has no {op} of {dtype}")
        return make(op, dtype, *operands)

    return run


def _whole(op: str) -> Any:
    """Rounding; integers stay as they are."""
    return lambda a: a.copy() if a.dtype.kind in "iub" else make(op, a.dtype, a)


def _number_extreme(name: str) -> Any:
    """fmax and fmin: of a number and a NaN, the number."""

    def run(a: Any, b: Any) -> Array:
        found = BINARY[name](a, b)
        if found.dtype.kind != "f":
            return found  # type: ignore[no-any-return]
        a, b = (Array(element(each, found.dtype), found.shape) for each in (a, b))
        return where(UNARY["isnan"](a), b, where(UNARY["isnan"](b), a, found))

    return run


def where(condition: Any, a: Any, b: Any) -> Array:
    """One of two values, by a condition."""
    if not isinstance(condition, Array):
        condition = Array(constant(condition, BOOL), ())
    dtype = common(a, b)
    shape = broadcast_shapes([each.shape if isinstance(each, Array) else np.shape(each) for each in (condition, a, b)])
    return Array(Expression("where", (truth(condition).expression, element(a, dtype), element(b, dtype)), dtype), shape)


def _sign(a: Any) -> Array:
    one = a.dtype.type(1)
    if a.dtype.kind in "ub":
        return where(a != 0, one, a.dtype.type(0))
    found = where(a < 0, -one, where(a == 0, a.dtype.type(0), a))
    return where(a > 0, one, found)


def _remainder(a: Any, b: Any) -> Array:
    """The remainder with the sign of the divisor."""
    rest = BINARY["fmod"](a, b)
    b = Array(element(b, rest.dtype), rest.shape)
    found = where((rest < 0) != (b < 0), rest + b, rest)
    return where(rest == 0, BINARY["copysign"](rest.dtype.type(0), b), found)


def _floor_divide(a: Any, b: Any) -> Array:
    """The quotient rounded down, computed from the exact remainder."""
    rest = BINARY["fmod"](a, b)
    a, b = (Array(element(each, rest.dtype), rest.shape) for each in (a, b))
    quotient = (a - rest) / b
    quotient = where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
    down = UNARY["floor"](quotient)
    down = where(quotient - down > 0.5, down + 1, down)
    found = where(quotient == 0, BINARY["copysign"](rest.dtype.type(0), a / b), down)
    return where(b == 0, a / b, found)


def _hypot(a: Any, b: Any) -> Array:
    if common(a, b) != FLOAT32:
        raise NotExpressible("scalar IR has hypot of float32 only")
    a, b = (Array(element(each, FLOAT64), each.shape if isinstance(each, Array) else ()) for each in (a, b))
    found = UNARY["sqrt"](a * a + b * b)
    return where(UNARY["isinf"](a) | UNARY["isinf"](b), np.inf, found).astype(FLOAT32)


def _shift(op: str) -> Any:
    def run(a: Any, b: Any) -> Array:
        dtype = common(a, b)
        a, b = (Array(element(each, dtype), each.shape if isinstance(each, Array) else ()) for each in (a, b))
        inside = (b >= 0) & (b < dtype.itemsize * 8)
        shifted = make(op, dtype, a, where(inside, b, dtype.type(0)))
        rest = where(a < 0, dtype.type(-1), dtype.type(0)) if op == "shr" and dtype.kind == "i" else dtype.type(0)
        return where(inside, shifted, rest)

    return run


BINARY: dict[str, Any] = {
    "add": _arithmetic("add", "or"), "subtract": _arithmetic("sub"), "multiply": _arithmetic("mul", "and"),
    "divide": _divide, "true_divide": _divide, "maximum": _arithmetic("max", "or"), "minimum": _arithmetic("min", "and"),
    "fmax": _number_extreme("maximum"), "fmin": _number_extreme("minimum"), "power": _float_only("power", FLOAT32),
    "fmod": _float_only("fmod"), "remainder": _remainder, "floor_divide": _floor_divide, "copysign": _float_only("copysign"),
    "hypot": _hypot, "left_shift": _shift("shl"), "right_shift": _shift("shr"),
    "equal": _comparison("eq"), "not_equal": _comparison("ne"), "less": _comparison("lt"), "less_equal": _comparison("le"),
    "greater": _comparison("gt"), "greater_equal": _comparison("ge"),
    "logical_and": _logical("and"), "logical_or": _logical("or"), "logical_xor": _logical("xor"),
    "bitwise_and": _bitwise("and"), "bitwise_or": _bitwise("or"), "bitwise_xor": _bitwise("xor"),
}  # fmt: skip


def _negative(a: Array) -> Array:
    if a.dtype == BOOL:
        raise NotExpressible("NumPy has no negative of bool")
    return make("neg", a.dtype, a)


UNARY: dict[str, Any] = {
    **{name: _float_only(name) for name in UNARY_FUNCTIONS}, **{name: _float_only(name, FLOAT32) for name in SINGLE_FUNCTIONS},
    "sqrt": _float_only("sqrt"), "floor": _whole("floor"), "ceil": _whole("ceil"), "trunc": _whole("trunc"), "rint": _whole("rint"),
    "negative": _negative, "absolute": lambda a: a.copy() if a.dtype.kind in "ub" else make("abs", a.dtype, a),
    "square": lambda a: a * a, "reciprocal": lambda a: _float_only("div")(a.dtype.type(1), a), "positive": lambda a: a.copy(),
    "conjugate": lambda a: a.copy(), "sign": _sign, "logical_not": lambda a: make("not", BOOL, truth(a)),
    "invert": lambda a: _bitwise("xor")(a, True if a.dtype == BOOL else a.dtype.type(-1) if a.dtype.kind == "i" else a.dtype.type(255)),
    "isnan": lambda a: a != a, "isinf": lambda a: abs(a) == np.inf if a.dtype.kind == "f" else a != a,
    "isfinite": lambda a: abs(a) < np.inf if a.dtype.kind == "f" else a == a,
    "signbit": lambda a: make("signbit", BOOL, a, compute=a.dtype) if a.dtype.kind == "f" else a < 0,
}  # fmt: skip
UNARY["abs"] = UNARY["fabs"] = UNARY["absolute"]
UNARY["conj"] = UNARY["conjugate"]


def _gelu(a: Array) -> Array:
    kind = a.dtype.type
    return a * kind(0.5) * (kind(1) + UNARY["erf"](a * kind(math.sqrt(0.5))))


def _normal_cdf(a: Array) -> Array:
    kind = a.dtype.type
    return kind(0.5) * (kind(1) + UNARY["erf"](a * kind(math.sqrt(0.5))))


def _sigmoid(a: Any) -> Array:
    """``1 / (1 + exp(-a))`` by an exp of a number that is not positive: it never overflows, so denormal results are right."""
    small, one = _float_only("decay")(-abs(a)), a.dtype.type(1)
    return BINARY["divide"](where(a < 0, small, one), one + small)  # type: ignore[no-any-return]


scalar_kernel: Facet[Callable[..., Array]] = Facet(
    "scalar kernel", "the op on one element, where its NumPy kernel can't be traced or loses digits"
)
scalar_kernel.set(UNARY["erf"], "erf")
scalar_kernel.set(_gelu, "gelu_exact")
scalar_kernel.set(_normal_cdf, "normal_share")
scalar_kernel.set(_sigmoid, "sigmoid")
scalar_kernel.set(lambda a: a * _sigmoid(a), "silu")


class Functions:
    """Stands for NumPy (``xp``) in a kernel."""

    float32, float64, int64, int32, bool_ = np.float32, np.float64, np.int64, np.int32, np.bool_
    pi, inf, nan, e, newaxis = np.pi, np.inf, np.nan, np.e, None
    finfo, iinfo, dtype, errstate = np.finfo, np.iinfo, np.dtype, np.errstate

    def __getattr__(self, name: str) -> Any:
        found: Any = UNARY.get(name) or BINARY.get(name)
        if found is None:
            raise NotExpressible(f"the kernel uses numpy.{name}")

        def run(*operands: Any, out: Any = None) -> Any:
            if not any(isinstance(each, Array) for each in operands):
                return getattr(np, name)(*operands)
            made = found(*operands)
            return made if out is None else out.become(made)

        return run

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return where(condition, a, b)

    def clip(self, a: Any, low: Any, high: Any, out: Any = None) -> Any:
        for limit, name in ((low, "less"), (high, "greater")):  # comparisons leave NaN and the sign of zero as they are
            if limit is not None:
                a = where(BINARY[name](a, limit), limit, a)
        return a

    def array(self, a: Any, order: Any = None, copy: bool = True) -> Any:
        return a.copy()

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        return a if dtype is None or not isinstance(a, Array) else a.astype(dtype)

    ascontiguousarray = asarray

    def full_like(self, a: Array, value: Any, dtype: Any = None) -> Array:
        return Array(element(value, a.dtype if dtype is None else np.dtype(dtype)), a.shape)

    def zeros_like(self, a: Array, dtype: Any = None) -> Array:
        return self.full_like(a, 0, dtype)

    def ones_like(self, a: Array, dtype: Any = None) -> Array:
        return self.full_like(a, 1, dtype)


_DTYPE_LIMITS = ("nan_to_num", "nextafter")  # kernels that depend on the limits of their dtype


def in_single_precision(op: Op, values: list[Any]) -> list[Any]:
    """Arguments with half-precision operands cast to float32; numbers are rounded to half precision first, as eager mode does."""
    common, _ = op.family.dtypes(op, op.family.operands(op, values))
    if common not in HALF_PRECISION:
        return values
    if op.name in _DTYPE_LIMITS:
        raise NotExpressible("it depends on the limits of the dtype")
    made = list(values)
    for position, _ in op.tensor_positions:
        value = values[position]
        if isinstance(value, Array):
            made[position] = value if value.dtype == BOOL else value.astype(common).astype(FLOAT32)
        elif value is not None and not op.family.wide_numbers:
            made[position] = np.float32(np.asarray(value).astype(common))
    return made

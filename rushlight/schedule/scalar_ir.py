"""Scalar IR: the computation of one element as an expression, traced from the kernel of a pointwise op.

A pointwise kernel uses functions of ``xp`` and operators alone.  Called with :class:`Functions` for NumPy and :class:`Array` for
arrays, it gives an :class:`ScalarExpression`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..core.array_tracer import BOOL, ArrayTracer, NotExpressible, TracedArray
from ..core.dtypes import HALF_PRECISION
from ..core.facets import Facet
from ..core.families import broadcast_shapes
from .symbolic_shape import Ratio, SymbolicNumber, SymbolicSize, hint
from .target import Target

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
FLOAT16 = np.dtype(np.float16)
_DTYPES = frozenset(np.dtype(each) for each in ("float32", "float64", "bool", "int8", "uint8", "int16", "int32", "int64"))
_DTYPE_LIMITS = ("nan_to_num", "nextafter")  # kernels that depend on the limits of their dtype
_MOVES = ("operand", "constant", "cast", "where")  # the only operations on half precision, which is computed in float32

# The functions of scalar IR that are no single instruction: of one number (some in single precision alone), and others.
UNARY_FUNCTIONS = ("exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "tanh", "erf", "sinh", "cosh")
SINGLE_FUNCTIONS = ("sin", "cos")
OTHER_FUNCTIONS = ("exp_nonpositive", "scaled_exp", "one_plus_exp", "power")  # exp of what is not positive, and what simplify.py makes
FUNCTIONS = frozenset((*UNARY_FUNCTIONS, *SINGLE_FUNCTIONS, *OTHER_FUNCTIONS))
_COSTLY = FUNCTIONS | {"fmod"}
EXPENSIVE = 20  # the cost of a function such as exp, in additions


class ScalarExpression:
    """An operation on expressions, a constant, or an operand."""

    __slots__ = ("args", "cost", "data", "dtype", "known_operands", "op")

    def __init__(self, op: str, args: tuple[ScalarExpression, ...], dtype: np.dtype[Any], data: Any = None) -> None:
        if dtype not in _DTYPES and not (dtype in HALF_PRECISION and op in _MOVES):
            raise NotExpressible(f"scalar IR has no {dtype}")
        self.op = op
        self.args = args
        self.dtype = dtype
        self.data = data  # the value of a constant; what an operand refers to
        self.known_operands: list[Any] | None = None
        own = 0 if op in ("constant", "operand") else EXPENSIVE if op in _COSTLY else 4 if op in ("div", "sqrt") else 1
        self.cost: int = own + sum(each.cost for each in args)  # as if nothing were shared: an upper bound

    def with_args(self, args: Sequence[ScalarExpression]) -> ScalarExpression:
        """The same operation on other arguments; the expression itself where none differs."""
        if all(one is other for one, other in zip(args, self.args)):
            return self
        return ScalarExpression(self.op, tuple(args), self.dtype, self.data)

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})" if self.args else f"{self.op}:{self.data}"


def subexpressions(roots: Iterable[ScalarExpression]) -> list[ScalarExpression]:
    """Expressions and everything they are made of, each once."""
    worklist, visited, found = list(roots), set(), []
    while worklist:
        each = worklist.pop()
        if id(each) not in visited:
            visited.add(id(each))
            worklist.extend(each.args)
            found.append(each)
    return found


def constant(value: Any, dtype: np.dtype[Any]) -> ScalarExpression:
    """A number of a dtype."""
    if value.__class__ is not int and isinstance(value, SymbolicNumber):
        if dtype not in (FLOAT32, FLOAT64) and not (dtype == np.int64 and isinstance(value, SymbolicSize)):
            raise NotExpressible(f"a symbolic number as {dtype}")
        return ScalarExpression("constant", (), dtype, value)
    return ScalarExpression("constant", (), dtype, np.asarray(value).astype(dtype).item())


def cast(a: ScalarExpression, dtype: np.dtype[Any]) -> ScalarExpression:
    """A value cast to a dtype."""
    if a.dtype == dtype:
        return a
    if a.op == "constant":
        return constant(a.data, dtype)
    if a.dtype == FLOAT64 and dtype == FLOAT16:
        raise NotExpressible("float64 is not rounded to float16 in one step")
    return ScalarExpression("cast", (a,), dtype)


def check_target(expression: ScalarExpression, target: Target) -> None:
    """Raise NotExpressible where a target does not have what an expression needs."""
    for each in subexpressions([expression]):
        if each.dtype not in target.dtypes and each.dtype not in HALF_PRECISION:
            raise NotExpressible(f"{target.name} has no {each.dtype}")
        if each.op == "cast" and not target.half_conversion and FLOAT16 in (each.dtype, each.args[0].dtype):
            raise NotExpressible(f"{target.name} does not convert half precision")
        if each.op in FUNCTIONS and target.functions is not None and each.op not in target.functions:
            raise NotExpressible(f"{target.name} has no {each.op}")


class Array(TracedArray):
    """Stands for an array in a kernel; an in-place operation replaces its expression."""

    __slots__ = ("dtype", "expression", "shape")
    tracer: Functions

    def __init__(self, expression: ScalarExpression, shape: tuple[int, ...]) -> None:
        self.expression = expression
        self.dtype = expression.dtype
        self.shape = shape

    def copy(self) -> Array:
        return Array(self.expression, self.shape)

    def become(self, other: Array) -> Array:
        self.expression = cast(other.expression, self.dtype)
        return self


class Functions(ArrayTracer):
    """Stands for NumPy (``xp``) in a kernel."""

    def is_operand(self, value: Any) -> bool:
        return isinstance(value, (TracedArray, int, float, np.generic, np.ndarray, SymbolicSize, Ratio))

    def operand_dtype(self, value: Any) -> Any:
        return value.dtype if isinstance(value, Array) else hint(super().operand_dtype(value))

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return Array(cast(array.expression, dtype), array.shape)

    def where(self, condition: Any, a: Any, b: Any) -> Array:
        if not isinstance(condition, Array):
            condition = Array(constant(condition, BOOL), ())
        dtype = self.promote(a, b)
        shape = broadcast_shapes([each.shape if isinstance(each, Array) else np.shape(each) for each in (condition, a, b)])
        return Array(ScalarExpression("where", (self.truth(condition).expression, element(a, dtype), element(b, dtype)), dtype), shape)

    def clip(self, a: Any, low: Any, high: Any, out: Any = None) -> Any:
        for limit, name in ((low, "less"), (high, "greater")):  # comparisons leave NaN and the sign of zero as they are
            if limit is not None:
                a = self.where(self.call(name, a, limit), limit, a)
        return a

    def array(self, a: Any, order: Any = None, copy: bool = True) -> Any:
        return a.copy()

    ascontiguousarray = ArrayTracer.asarray

    def full_like(self, a: Array, value: Any, dtype: Any = None) -> Array:
        return Array(element(value, a.dtype if dtype is None else np.dtype(dtype)), a.shape)

    def zeros_like(self, a: Array, dtype: Any = None) -> Array:
        return self.full_like(a, 0, dtype)

    def ones_like(self, a: Array, dtype: Any = None) -> Array:
        return self.full_like(a, 1, dtype)


Array.tracer = Functions()


def typed(op: Any, operands: list[Any]) -> list[Any]:
    """Operands of a pointwise op with symbolic numbers as arrays of the dtype that the op computes in."""
    common, _ = op.family.dtypes(op, op.family.operands(op, [hint(each) for each in operands]))
    return [Array(constant(each, common), ()) if isinstance(each, SymbolicNumber) else each for each in operands]


def in_single_precision(op: Any, values: list[Any]) -> list[Any]:
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


# -- operands ----------------------------------------------------------------------------------------------------


def element(value: Any, dtype: np.dtype[Any]) -> ScalarExpression:
    """An operand as an expression of a dtype."""
    return cast(value.expression, dtype) if isinstance(value, Array) else constant(value, dtype)


def make(op: str, dtype: np.dtype[Any], *operands: Any, compute: np.dtype[Any] | None = None, data: Any = None) -> Array:
    """An operation on operands that are cast to one dtype."""
    given = tuple([element(each, dtype if compute is None else compute) for each in operands])
    return Array(
        ScalarExpression(op, given, dtype, data),
        broadcast_shapes([np.shape(each) if not isinstance(each, Array) else each.shape for each in operands]),
    )


def _arithmetic(op: str, of_bool: str = "") -> Any:
    def run(xp: Functions, a: Any, b: Any) -> Array:
        dtype = xp.promote(a, b)
        if dtype == BOOL:
            if not of_bool:
                raise NotExpressible(f"NumPy has no {op} of bool")
            return make(of_bool, dtype, a, b)
        return make(op, dtype, a, b)

    return run


def _comparison(op: str) -> Any:
    def run(xp: Functions, a: Any, b: Any) -> Array:
        compute = xp.promote(a, b)
        for number in (a, b):
            if isinstance(number, int) and compute.kind in "iu" and not np.iinfo(compute).min <= number <= np.iinfo(compute).max:
                raise NotExpressible("the kernel compares with a number outside the range of its dtype")
        return make(op, BOOL, a, b, compute=compute)

    return run


def _divide(xp: Functions, a: Any, b: Any) -> Array:
    dtype = xp.promote(a, b)
    if dtype.kind in "iub":
        if dtype.itemsize < 4 and dtype != BOOL:
            raise NotExpressible("NumPy divides small integers in half precision")
        dtype = FLOAT64
    return make("div", dtype, a, b)


def _bitwise(op: str) -> Any:
    def run(xp: Functions, a: Any, b: Any) -> Array:
        dtype = xp.promote(a, b)
        if dtype.kind == "f":
            raise NotExpressible("bits of floats")
        return make(op, dtype, a, b)

    return run


def _logical(op: str) -> Any:
    return lambda xp, a, b: make(op, BOOL, xp.truth(a), xp.truth(b))


def _float_only(op: str, *types: np.dtype[Any]) -> Any:
    def run(xp: Functions, *operands: Any) -> Array:
        dtype = xp.promote(*operands)
        if dtype not in (types or (FLOAT32, FLOAT64)):
            raise NotExpressible(f"scalar IR has no {op} of {dtype}")
        return make(op, dtype, *operands)

    return run


def _whole(op: str) -> Any:
    """Rounding; integers stay as they are."""
    return lambda xp, a: a.copy() if a.dtype.kind in "iub" else make(op, a.dtype, a)


def _sign(xp: Functions, a: Any) -> Array:
    one = a.dtype.type(1)
    if a.dtype.kind in "ub":
        return xp.where(a != 0, one, a.dtype.type(0))
    found = xp.where(a < 0, -one, xp.where(a == 0, a.dtype.type(0), a))
    return xp.where(a > 0, one, found)


def _remainder(xp: Functions, a: Any, b: Any) -> Array:
    """The remainder with the sign of the divisor."""
    rest = xp.call("fmod", a, b)
    b = Array(element(b, rest.dtype), rest.shape)
    found = xp.where((rest < 0) != (b < 0), rest + b, rest)
    return xp.where(rest == 0, rest, found)  # a rest of 0 has the sign of the dividend


def _floor_divide(xp: Functions, a: Any, b: Any) -> Array:
    """The quotient rounded down, computed from the exact remainder."""
    rest = xp.call("fmod", a, b)
    a, b = (Array(element(each, rest.dtype), rest.shape) for each in (a, b))
    quotient = (a - rest) / b
    quotient = xp.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
    down = xp.call("floor", quotient)
    down = xp.where(quotient - down > 0.5, down + 1, down)
    found = xp.where(quotient == 0, xp.call("copysign", rest.dtype.type(0), a / b), down)
    return xp.where(b == 0, a / b, found)


def _hypot(xp: Functions, a: Any, b: Any) -> Array:
    if xp.promote(a, b) != FLOAT32:
        raise NotExpressible("scalar IR has hypot of float32 only")
    a, b = (Array(element(each, FLOAT64), each.shape if isinstance(each, Array) else ()) for each in (a, b))
    found = xp.call("sqrt", a * a + b * b)
    return xp.where(xp.call("isinf", a) | xp.call("isinf", b), np.inf, found).astype(FLOAT32)


def _shift(op: str) -> Any:
    def run(xp: Functions, a: Any, b: Any) -> Array:
        dtype = xp.promote(a, b)
        a, b = (Array(element(each, dtype), each.shape if isinstance(each, Array) else ()) for each in (a, b))
        inside = (b >= 0) & (b < dtype.itemsize * 8)
        shifted = make(op, dtype, a, xp.where(inside, b, dtype.type(0)))
        rest = xp.where(a < 0, dtype.type(-1), dtype.type(0)) if op == "shr" and dtype.kind == "i" else dtype.type(0)
        return xp.where(inside, shifted, rest)

    return run


_BINARY: dict[str, Any] = {
    "add": _arithmetic("add", "or"), "subtract": _arithmetic("sub"), "multiply": _arithmetic("mul", "and"),
    "true_divide": _divide, "maximum": _arithmetic("max", "or"), "minimum": _arithmetic("min", "and"),
    "power": _float_only("power", FLOAT32),
    "fmod": _float_only("fmod"), "remainder": _remainder, "floor_divide": _floor_divide, "copysign": _float_only("copysign"),
    "hypot": _hypot, "left_shift": _shift("shl"), "right_shift": _shift("shr"),
    "equal": _comparison("eq"), "not_equal": _comparison("ne"), "less": _comparison("lt"), "less_equal": _comparison("le"),
    "greater": _comparison("gt"), "greater_equal": _comparison("ge"),
    "logical_and": _logical("and"), "logical_or": _logical("or"), "logical_xor": _logical("xor"),
    "bitwise_and": _bitwise("and"), "bitwise_or": _bitwise("or"), "bitwise_xor": _bitwise("xor"),
}  # fmt: skip


def _negative(xp: Functions, a: Array) -> Array:
    if a.dtype == BOOL:
        raise NotExpressible("NumPy has no negative of bool")
    return make("neg", a.dtype, a)


_UNARY: dict[str, Any] = {
    **{name: _float_only(name) for name in UNARY_FUNCTIONS}, **{name: _float_only(name, FLOAT32) for name in SINGLE_FUNCTIONS},
    "sqrt": _float_only("sqrt"), "floor": _whole("floor"), "ceil": _whole("ceil"), "trunc": _whole("trunc"), "rint": _whole("rint"),
    "negative": _negative, "absolute": lambda xp, a: a.copy() if a.dtype.kind in "ub" else make("abs", a.dtype, a),
    "reciprocal": lambda xp, a: _float_only("div")(xp, a.dtype.type(1), a), "sign": _sign, "logical_not": lambda xp, a: make("not", BOOL, xp.truth(a)),
    "invert": lambda xp, a: _bitwise("xor")(xp, a, True if a.dtype == BOOL else a.dtype.type(-1 if a.dtype.kind == "i" else 255)),
    "isfinite": lambda xp, a: abs(a) < np.inf if a.dtype.kind == "f" else a == a,
    "signbit": lambda xp, a: make("signbit", BOOL, a, compute=a.dtype) if a.dtype.kind == "f" else a < 0,
}  # fmt: skip
Functions.functions = {**_BINARY, **_UNARY}


def _gelu(a: Array) -> Array:
    kind = a.dtype.type
    return a * kind(0.5) * (kind(1) + a.tracer.call("erf", a * kind(math.sqrt(0.5))))


def _normal_cdf(a: Array) -> Array:
    kind = a.dtype.type
    return kind(0.5) * (kind(1) + a.tracer.call("erf", a * kind(math.sqrt(0.5))))


def _sigmoid(a: Any) -> Array:
    """``1 / (1 + exp(-a))`` by an exp of a number that is not positive: it never overflows, so denormal results are right."""
    xp = a.tracer
    small, one = _float_only("exp_nonpositive")(xp, -abs(a)), a.dtype.type(1)
    return xp.call("true_divide", xp.where(a < 0, small, one), one + small)  # type: ignore[no-any-return]


scalar_kernel: Facet[Callable[..., Array]] = Facet(
    "scalar kernel", "the op on one element, where its NumPy kernel can't be traced or loses digits"
)
scalar_kernel.set(lambda a: a.tracer.call("erf", a), "erf")
scalar_kernel.set(_gelu, "gelu_exact")
scalar_kernel.set(_normal_cdf, "normal_share")
scalar_kernel.set(_sigmoid, "sigmoid")
scalar_kernel.set(lambda a: a * _sigmoid(a), "silu")

"""The lowering of scalar expressions to instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...schedule.scalar_ir import ScalarExpression
from . import vector_math
from .instructions import VectorVariant
from .ir import BITS, HALVES, STORED, TYPES, IRBuilder, Scalar
from .target import processor
from .vectors import Vectors, Wide

_COMPARISONS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_SINGLE = np.dtype(np.float32)
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul"}
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "sqrt": "sqrt"}


class Emission:
    """The emitter of expressions; shared subexpressions are emitted once.

    ``operand`` loads an operand on its first use.
    """

    def __init__(self, code: IRBuilder, operand: Callable[[Any], Scalar]) -> None:
        self.code = code
        self.operand = operand
        self.known: dict[int, tuple[ScalarExpression, Scalar]] = {}  # by id; the expression is kept alive, so that its id stays unique

    def value(self, expression: ScalarExpression) -> Scalar:
        """The value of an expression."""
        found = self.known.get(id(expression))
        if found is None:
            found = self.known[id(expression)] = (expression, self._make(expression))
        return found[1]

    def _make(self, expression: ScalarExpression) -> Scalar:
        c, op, dtype = self.code, expression.op, expression.dtype
        type = STORED[dtype]
        if op == "constant":
            return c.constant(
                type, np.asarray(expression.data).astype(dtype).view(np.int16) if dtype in HALVES and type == "i16" else expression.data
            )
        if op == "operand":
            return self.operand(expression.data)
        args = [self.value(each) for each in expression.args]
        if op == "cast":
            return convert(c, args[0], expression.args[0].dtype, dtype)
        if op == "where":
            return c.select(args[0], args[1], args[2])
        if op in vector_math.UNARY or op in vector_math.SINGLE_ONLY:
            return called(c, op, args[0]) if (op, dtype) in c.called else write_function(c, op, args[0])
        if op in vector_math.OTHERS:
            return vector_math.OTHERS[op](c, *args, *(() if expression.data is None else (expression.data,)))  # type: ignore[no-any-return]
        if op in _ROUNDING:
            return c.intrinsic(_ROUNDING[op], args[0])
        if op in _COMPARISONS:
            return compare(c, op, args[0], args[1], expression.args[0].dtype)
        if op in ("max", "min"):
            second = expression.args[1]
            return extreme(c, op, args[0], args[1], dtype, second.op == "constant" and second.data == second.data)
        floating = dtype.kind == "f"
        if op in _ARITHMETIC:
            return c.binary(("f" if floating else "") + op, args[0], args[1])
        if op == "div":
            return c.binary("fdiv", args[0], args[1])
        if op == "fmod":
            return c.binary("frem", args[0], args[1])
        if op == "neg":
            return c.neg(args[0]) if floating else c.binary("sub", c.like(args[0], 0), args[0])
        if op == "abs":
            if floating:
                return c.intrinsic("fabs", args[0])
            negative = c.compare("slt", args[0], c.like(args[0], 0))
            return c.select(negative, c.binary("sub", c.like(args[0], 0), args[0]), args[0])
        if op == "copysign":
            return c.intrinsic("copysign", *args)
        if op == "signbit":
            word = f"i{BITS[args[0].type]}"
            return c.compare("slt", c.convert("bitcast", args[0], word), c.constant(word, 0))
        if op == "not":
            return c.binary("xor", args[0], c.like(args[0], 1))
        if op in ("and", "or", "xor", "shl"):
            return c.binary(op, args[0], args[1])
        if op == "shr":
            return c.binary("lshr" if dtype.kind == "u" else "ashr", args[0], args[1])
        raise AssertionError(f"no instruction for {op}")


def write_function(c: IRBuilder, op: str, x: Scalar) -> Scalar:
    """exp or its like, written out."""
    return vector_math.UNARY.get(op, vector_math.SINGLE_ONLY.get(op))(c, x)  # type: ignore[no-any-return, misc]


def called(c: IRBuilder, op: str, x: Scalar) -> Scalar:
    """exp or its like by a call, with a vector variant for LLVM's vectorizer."""
    memo, key = c.module.memo, ("function", op, x.type)
    count = processor().vector_bits // BITS[x.type]
    if key not in memo:
        wide = Wide(c.module, count)
        memo[key] = c.module.add(
            f"{op}_of_many", wide.returning("", f"{wide.vector(x.type)} %x", write_function(wide, op, Scalar("%x", x.type)))
        )
    many = memo[key]
    if isinstance(c, Wide) and c.lanes > 1:
        return c.call_value(many, x.type, x)
    if (key, "one") not in memo:
        inner = IRBuilder(c.module)
        vector = Vectors(inner, x.type, count)
        given = inner.emit("insertelement", vector.type, (vector.zero(), Scalar("%x", x.type), inner.integer(0)))
        made = inner.emit("call", vector.type, (inner.symbol(many), given))
        function = inner.function("", f"{x.type} %x", vector.shuffle(made, [0]))
        function.variant = VectorVariant(f"{count}v", many)
        memo[key, "one"] = c.module.add(op, function, quick=True)
    return c.call_value(memo[key, "one"], x.type, x)


def compare(c: IRBuilder, op: str, a: Scalar, b: Scalar, dtype: np.dtype[Any]) -> Scalar:
    """A comparison of two values of one type."""
    if dtype.kind == "f":
        return c.compare(_COMPARISONS[op], a, b)
    return c.compare(op if op in ("eq", "ne") else ("u" if dtype.kind in "ub" else "s") + op, a, b)


def extreme(c: IRBuilder, op: str, a: Scalar, b: Scalar, dtype: np.dtype[Any], number: bool = False) -> Scalar:
    """The larger or smaller of two values; NaN where either is (the second can't be where it is a number)."""
    if dtype.kind != "f":
        return c.intrinsic(("u" if dtype.kind == "u" else "s") + op, a, b)
    found = c.select(c.compare("ugt" if op == "max" else "ult", a, b), a, b)
    return found if number else c.select(c.compare("uno", b, b), b, found)


def convert(c: IRBuilder, a: Scalar, source: np.dtype[Any], target: np.dtype[Any]) -> Scalar:
    """A value in another type, as NumPy casts it."""
    if source in HALVES:
        a, source = widened(c, a), _SINGLE
        if target == _SINGLE:
            return a
    if target in HALVES:
        return narrowed(c, a if source == _SINGLE else convert(c, a, source, _SINGLE), HALVES[target])
    type = TYPES[target]
    if target.kind == "b":
        return c.compare("une" if source.kind == "f" else "ne", a, c.like(a, 0))
    if source.kind == "f" and target.kind == "f":
        return c.convert("fpext" if target.itemsize > source.itemsize else "fptrunc", a, type)
    if target.kind == "f":
        return c.convert("uitofp" if source.kind in "ub" else "sitofp", a, type)
    if source.kind == "f":
        # Out-of-range values give the smallest integer, as on x86 (others differ, and NumPy there), before truncation.
        wide = "i64" if target.itemsize == 8 or target.kind == "u" else "i32"
        limit = 2.0 ** (BITS[wide] - 1)
        inside = c.binary("and", c.compare("oge", a, c.like(a, -limit)), c.compare("olt", a, c.like(a, limit)))
        whole = c.convert("fptosi", c.select(inside, a, c.like(a, 0.0)), wide)
        whole = c.select(inside, whole, c.constant(wide, -int(limit)))
        return whole if wide == type else c.convert("trunc", whole, type)
    if target.itemsize == source.itemsize and source.kind != "b":
        return a
    if target.itemsize < source.itemsize:
        return c.convert("trunc", a, type)
    return c.convert("zext" if source.kind in "ub" else "sext", a, type)


def widened(c: IRBuilder, a: Scalar) -> Scalar:
    """A value of half precision, or its like, in single precision."""
    if a.type == "half":
        return c.convert("fpext", a, "float")
    bits = c.convert("zext", a, "i32")  # a bfloat16 is the upper half of a float32
    return c.convert("bitcast", c.binary("shl", bits, c.like(bits, 16)), "float")


def narrowed(c: IRBuilder, a: Scalar, type: str) -> Scalar:
    """A value of single precision, rounded."""
    if type == "half":
        return c.convert("fptrunc", a, "half")
    bits = c.convert("bitcast", a, "i32")
    odd = c.binary("and", c.binary("lshr", bits, c.like(bits, 16)), c.like(bits, 1))
    rounded = c.binary("add", bits, c.binary("add", odd, c.like(bits, 0x7FFF)))
    quiet = c.binary("or", bits, c.like(bits, 0x400000))  # a NaN stays one
    upper = c.binary("lshr", c.select(c.compare("uno", a, a), quiet, rounded), c.like(bits, 16))
    return c.convert("trunc", upper, "i16")

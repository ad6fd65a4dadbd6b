"""Scalar IR as Triton's language: one expression becomes one line of text, or several where parts of it are shared or long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...core.dtypes import LOW_PRECISION
from ...schedule.scalar_ir import ScalarExpression

TYPES = {
    **{np.dtype(each): f"tl.{each}" for each in ("float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64")},
    np.dtype(np.bool_): "tl.int1",
    np.dtype(ml_dtypes.bfloat16): "tl.bfloat16",
}
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "fmod": "%",
}  # fmt: skip
_LANGUAGE = {"abs": "tl.abs", "floor": "tl.floor", "ceil": "tl.ceil", "exp_nonpositive": "tl.exp", "scaled_exp": "tl.exp"}
_LANGUAGE |= {each: f"tl.{each}" for each in ("exp", "exp2", "log", "log2", "sin", "cos", "erf")}
DEVICE_FUNCTIONS = ("copysign", "cosh", "expm1", "log10", "log1p", "power", "rint", "signbit", "sinh", "tanh", "trunc")
_WIDTH = 96  # characters of an expression from which on it gets a name
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def literal(value: Any) -> str:
    """A number as Triton reads it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def full(value: Any, dtype: np.dtype[Any]) -> str:
    """A number of a certain dtype, which a literal does not have."""
    if value == 0 and isinstance(value, float) and math.copysign(1, value) < 0:
        return f"(tl.full((1,), 0.0, {TYPES[dtype]}) * -1.0)"  # Triton makes no negative zero of a literal
    return f"tl.full((1,), {literal(value)}, {TYPES[dtype]})"


def is_literal(expression: ScalarExpression) -> bool:
    """Whether an expression is of numbers alone: it is a block of one element and one dimension, as :func:`full` makes it."""
    return expression.op != "operand" and all(map(is_literal, expression.args))


class Emission:
    """The printer of expressions at one point of a kernel: ``load`` gives the text of an operand, ``assign`` adds a line that names a value."""

    def __init__(self, load: Callable[[Any], str], assign: Callable[[str], str], use: Callable[[str], None]) -> None:
        self.load, self.assign, self.use = load, assign, use
        self.names: dict[int, str] = {}  # by id of an expression
        self.counts: dict[int, int] = {}
        self.kept: list[ScalarExpression] = []  # kept alive, so that ids stay unique

    def count(self, expressions: Sequence[ScalarExpression]) -> None:
        """Count the uses of subexpressions: shared ones get a name."""
        worklist = list(expressions)
        self.kept += expressions
        while worklist:
            each = worklist.pop()
            self.counts[id(each)] = self.counts.get(id(each), 0) + 1
            if self.counts[id(each)] == 1:
                worklist += each.args

    def __call__(self, expression: ScalarExpression) -> str:
        """The text of an expression, whose parts were counted before."""
        known = self.names.get(id(expression))
        if known is not None:
            return known
        text = self.text(expression)
        atomic = expression.op in ("constant", "operand")
        if expression.op == "operand" or (not atomic and (self.counts.get(id(expression), 0) > 1 or len(text) > _WIDTH)):
            text = text if text.isidentifier() else self.assign(text)
            self.names[id(expression)] = text
        return text

    def inner(self, expression: ScalarExpression) -> str:
        """The text as a part of a formula."""
        text = self(expression)
        compound = expression.op in _INFIX or expression.op in ("div", "neg", "not", "one_plus_exp")
        return f"({text})" if text.startswith("-") or (compound and not text.isidentifier()) else text

    def typed(self, expression: ScalarExpression) -> str:
        """The text with an explicit dtype, where a literal would take that of the other operand or none."""
        return full(expression.data, expression.dtype) if expression.op == "constant" else self(expression)

    def text(self, expression: ScalarExpression) -> str:
        """The text of the operation itself."""
        op, args, dtype = expression.op, expression.args, expression.dtype
        if op == "constant":
            return literal(expression.data)
        if op == "operand":
            return self.load(expression.data)
        constants = [each.op == "constant" for each in args]
        first = self.typed if all(constants) else self.inner  # a formula of literals alone would have no dtype
        if op in _INFIX:
            return f"{first(args[0])} {_INFIX[op]} {self.inner(args[1])}"
        if op == "div":
            if dtype == _FLOAT32:
                return f"tl.div_rn({(self.typed if all(constants) else self)(args[0])}, {self(args[1])})"
            return f"{first(args[0])} / {self.inner(args[1])}"
        if op == "neg":
            return f"{first(args[0])} * -1.0" if dtype.kind == "f" else f"-{first(args[0])}"  # 0 - x loses the negative zero
        if op == "not":
            return f"{first(args[0])} == 0"
        if op == "cast":
            narrow = dtype.kind in "iu" and dtype.itemsize < 8 and (args[0].dtype.kind == "f" or args[0].dtype in LOW_PRECISION)
            through = ".to(tl.int64)" if narrow else ""  # a GPU would make 0 of what is negative; so it wraps around, as in eager mode
            return f"{first(args[0])}{through}.to({TYPES[dtype]})"
        if op == "where":
            exact = all(constants[1:]) or any(
                each.op == "constant" and each.data == 0 and math.copysign(1, each.data) < 0 for each in args[1:]
            )
            one, other = (self.typed(each) if exact else self(each) for each in args[1:])
            return f"tl.where({self.typed(args[0])}, {one}, {other})"
        if op in ("max", "min"):
            more = ", propagate_nan=tl.PropagateNan.ALL" if dtype.kind == "f" else ""
            given = [self(each) if dtype == _FLOAT32 and not all(constants) else self.typed(each) for each in args]
            return f"tl.{op}imum({', '.join(given)}{more})"
        if op == "sqrt":
            return f"{'tl.sqrt_rn' if dtype == _FLOAT32 else 'tl.sqrt'}({self.typed(args[0])})"
        if op == "one_plus_exp":
            return f"1.0 + tl.exp({first(args[0])} * {literal(-2.0 if expression.data is None else expression.data)})"
        if op in _LANGUAGE:
            return f"{_LANGUAGE[op]}({self.typed(args[0])})"
        if op not in DEVICE_FUNCTIONS:
            raise NotImplementedError(f"Triton code has no {op}")
        self.use(op)
        return f"{op}({', '.join(self.typed(each) for each in args)})"

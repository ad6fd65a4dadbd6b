"""Scalar IR as CUDA C: each operation of an expression becomes one line that names its value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...core.array_tracer import NotExpressible
from ...schedule.scalar_ir import ScalarExpression

# How a dtype is stored, and as what it is computed with: half precision moves as 16 bits and is computed as float.
STORED = {
    np.dtype(name): kind
    for name, kind in {
        "float32": "float", "float64": "double", "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
        "int32": "int", "int64": "long long", "float16": "half16", ml_dtypes.bfloat16: "brain16",
    }.items()
}  # fmt: skip

PRELUDE = """\
struct half16 { unsigned short bits; };
struct brain16 { unsigned short bits; };
__device__ inline float value(half16 h) { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits)); return x; }
__device__ inline float value(brain16 h) { return __uint_as_float((unsigned int)h.bits << 16); }
template <class T> __device__ inline T value(T x) { return x; }
__device__ inline half16 as_half(float x) { half16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x)); return h; }
__device__ inline brain16 as_brain(float x) { brain16 h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(x)); return h; }
template <class T> __device__ inline T larger(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
template <class T> __device__ inline T smaller(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
"""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}  # fmt: skip
_FUNCTIONS = {
    **{name: name for name in ("exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "tanh", "erf", "sinh", "cosh", "sin", "cos", "sqrt", "floor",
                               "ceil", "trunc", "rint", "fmod", "copysign")},
    "power": "pow", "exp_nonpositive": "exp",
}  # fmt: skip


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as CUDA C writes it."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return f"(-{-int(value) - 1}LL - 1)" if value < 0 else f"{int(value)}LL"
    number = float(value)
    single = dtype != np.float64
    if math.isnan(number):
        return "__int_as_float(0x7fc00000)" if single else "__longlong_as_double(0x7ff8000000000000LL)"
    if math.isinf(number):
        bits = (
            ("0xff800000" if number < 0 else "0x7f800000")
            if single
            else ("0xfff0000000000000ULL" if number < 0 else "0x7ff0000000000000ULL")
        )
        return f"__int_as_float({bits})" if single else f"__longlong_as_double({bits})"
    return f"{number!r}{'f' if single else ''}"


def computed(dtype: np.dtype[Any]) -> str:
    """The type that values of a dtype have in registers."""
    kind = STORED.get(dtype)
    if kind is None:
        raise NotExpressible(f"CUDA C has no {dtype} here")
    return "float" if kind in ("half16", "brain16") else kind


def rounded(text: str, dtype: np.dtype[Any]) -> str:
    """A value in registers as it is stored."""
    return {"half16": f"as_half({text})", "brain16": f"as_brain({text})"}.get(STORED[dtype], text)


class ScalarText:
    """The lines that compute an expression; ``operand(data)`` gives the text of an operand's value."""

    def __init__(self, operand: Callable[[Any], str]) -> None:
        self.operand = operand
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._kept: list[ScalarExpression] = []  # ids stay theirs

    def value(self, expression: ScalarExpression) -> str:
        """The name (or literal) of an expression's value; its lines come before."""
        found = self._names.get(id(expression))
        if found is None:
            text = self._text(expression)
            if expression.op in ("constant", "operand"):
                found = text
            else:
                found = f"v{len(self.lines)}"
                self.lines.append(f"{computed(expression.dtype)} {found} = {text};")
            self._names[id(expression)] = found
            self._kept.append(expression)
        return found

    def _text(self, expression: ScalarExpression) -> str:
        op, dtype = expression.op, expression.dtype
        if op == "constant":
            return literal(expression.data, dtype)
        if op == "operand":
            return self.operand(expression.data)
        args = [self.value(each) for each in expression.args]
        if op == "cast":
            return self._cast(args[0], expression.args[0].dtype, dtype)
        if op in _INFIX:
            return self._wrapped(f"{args[0]} {_INFIX[op]} {args[1]}", dtype)
        if op == "where":
            kind = computed(dtype)
            return f"{args[0]} ? ({kind}){args[1]} : ({kind}){args[2]}"
        if op in ("max", "min"):
            kind = computed(dtype)
            return f"{'larger' if op == 'max' else 'smaller'}<{kind}>({args[0]}, {args[1]})"
        if op == "neg":
            return self._wrapped(f"-{args[0]}", dtype)
        if op == "not":
            return f"!{args[0]}"
        if op == "abs":
            return f"fabs({args[0]})" if dtype.kind == "f" else self._wrapped(f"{args[0]} < 0 ? -{args[0]} : {args[0]}", dtype)
        if op == "signbit":
            return f"(bool)signbit({args[0]})"
        if op in _FUNCTIONS and dtype.kind == "f":
            suffix = "f" if computed(dtype) == "float" else ""
            return f"{_FUNCTIONS[op]}{suffix}({', '.join(args)})"
        raise NotExpressible(f"CUDA C has no {op} here")

    @staticmethod
    def _wrapped(text: str, dtype: np.dtype[Any]) -> str:
        """Arithmetic of small integers, which C does as int."""
        return f"({computed(dtype)})({text})" if dtype.kind in "iu" and dtype.itemsize < 4 else text

    @staticmethod
    def _cast(text: str, found: np.dtype[Any], wanted: np.dtype[Any]) -> str:
        if wanted.kind == "b":
            return f"{text} != 0"
        # Small integers by way of int64, as NumPy and PyTorch wrap around; int32 is saturated, by the GPU and in PyTorch there.
        if wanted.kind in "iu" and found.kind == "f" and wanted.itemsize < (4 if wanted.kind == "i" else 8):
            return f"({computed(wanted)})(long long){text}"
        if STORED[wanted] in ("half16", "brain16"):  # rounded to 16 bits and computed with as float
            return f"value({rounded(text, wanted)})"
        return f"({computed(wanted)}){text}"


def instantiated(template: str, dtype: np.dtype[Any]) -> str:
    """The source of kernels for a dtype: ``@T@`` is the stored type, ``@A@`` that of the arithmetic, and ``@STORE@`` rounds from one to the other."""
    text = PRELUDE + template
    marks = {"T": STORED[dtype], "A": "double" if dtype == np.float64 else "float", "STORE": rounded("(x)", dtype)}
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text

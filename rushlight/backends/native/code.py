"""Text of LLVM's intermediate language: scalars with their types, arithmetic on them, loops.

All arithmetic is on scalars.  LLVM makes vectors of it, for whatever width the processor has, and a loop over what is left
at the end.  No flag lets LLVM take liberties with NaN, infinities or signed zeros.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

# The types of elements in memory; a bool is a byte there, and a bit where it is computed with.
TYPES = {
    np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
}  # fmt: skip
# Types that lie in memory, but are computed with in single precision; an expression can only move and convert them.
HALVES = {np.dtype(np.float16): "half", np.dtype(ml_dtypes.bfloat16): "bfloat"}
STORED = {**TYPES, **HALVES}
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}


class Scalar(NamedTuple):
    """A value in a register (or a constant), and its type."""

    name: str
    type: str


class Code:
    """The body of one function, as it is written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.count = 0
        self.block = "entry"
        self.slots: list[str] = []  # what the function keeps on its stack
        self.shared: dict[tuple[str, int], str] = {}
        self.loops = 0  # that were written
        self.scalar = False  # whether LLVM makes no vectors of loops either
        self.rolled = False  # whether loops stay as they are: LLVM does not repeat their bodies, which takes long to compile

    # -- instructions --------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def let(self, type: str, text: str) -> Scalar:
        """A register that holds the value of an instruction."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {text}")
        return Scalar(name, type)

    def do(self, text: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def binary(self, name: str, a: Scalar, b: Scalar) -> Scalar:
        """An instruction of two operands of one type."""
        return self.let(a.type, f"{name} {a.type} {a.name}, {b.name}")

    def compare(self, how: str, a: Scalar, b: Scalar) -> Scalar:
        """A comparison: ``olt``, ``une`` of floats, ``slt``, ``eq`` of integers."""
        kind = "fcmp" if is_float(a) else "icmp"
        return self.let("i1", f"{kind} {how} {a.type} {a.name}, {b.name}")

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """One of two values."""
        return self.let(a.type, f"select i1 {condition.name}, {a.type} {a.name}, {b.type} {b.name}")

    def convert(self, how: str, a: Scalar, type: str) -> Scalar:
        """A conversion: ``sext``, ``sitofp``, ``bitcast``, …"""
        return self.let(type, f"{how} {a.type} {a.name} to {type}")

    def intrinsic(self, name: str, *operands: Scalar) -> Scalar:
        """A call of one of LLVM's own functions, on operands of one type."""
        type = operands[0].type
        suffix = {"float": "f32", "double": "f64"}.get(type, type)
        given = ", ".join(f"{each.type} {each.name}" for each in operands)
        self.module.declare(f"declare {type} @llvm.{name}.{suffix}({', '.join(each.type for each in operands)})")
        return self.let(type, f"call {type} @llvm.{name}.{suffix}({given})")

    def fma(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def neg(self, a: Scalar) -> Scalar:
        return self.let(a.type, f"fneg {a.type} {a.name}")

    # -- constants -----------------------------------------------------------------------------------------------

    def constant(self, type: str, value: Any) -> Scalar:
        """A constant of a type."""
        if type in ("float", "double"):
            number = float(np.float32(value)) if type == "float" else float(value)
            return Scalar(f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}", type)
        if type in ("half", "bfloat"):
            kind, letter = (np.float16, "H") if type == "half" else (ml_dtypes.bfloat16, "R")
            with np.errstate(over="ignore"):
                return Scalar(f"0x{letter}{int(np.asarray(value).astype(kind).view(np.uint16)):04X}", type)
        if type == "i1":
            return Scalar("true" if value else "false", type)
        return Scalar(str(int(value)), type)

    def like(self, a: Scalar, value: Any) -> Scalar:
        """A constant of the type of another value."""
        return self.constant(a.type, value)

    def polynomial(self, x: Scalar, coefficients: tuple[float, ...]) -> Scalar:
        """A polynomial, highest power first."""
        result = self.like(x, coefficients[0])
        for each in coefficients[1:]:
            result = self.fma(result, x, self.like(x, each))
        return result

    # -- memory --------------------------------------------------------------------------------------------------

    def address(self, pointer: str, index: Scalar, type: str) -> str:
        """The address of an element."""
        return self.let("ptr", f"getelementptr inbounds {type}, ptr {pointer}, i64 {index.name}").name

    def load(self, pointer: str, index: Scalar, type: str) -> Scalar:
        """An element of an array."""
        stored = "i8" if type == "i1" else type
        value = self.let(stored, f"load {stored}, ptr {self.address(pointer, index, stored)}")
        return self.compare("ne", value, Scalar("0", "i8")) if type == "i1" else value

    def store(self, value: Scalar, pointer: str, index: Scalar) -> None:
        """Write an element of an array."""
        if value.type == "i1":
            value = self.convert("zext", value, "i8")
        self.do(f"store {value.type} {value.name}, ptr {self.address(pointer, index, value.type)}")

    def bound(self, name: str, address: int) -> str:
        """A pointer to something outside, which the code knows by a name: the address is put in when the code is loaded."""
        self.module.declare(f"@bound_{name} = global ptr null")
        self.module.bindings[name] = address
        return self.let("ptr", f"load ptr, ptr @bound_{name}").name

    def slot(self, type: str, length: int = 1) -> str:
        """Memory on the stack of the function."""
        name = "%" + self.fresh("s")
        self.slots.append(f"  {name} = alloca [{length} x {type}], align 64" if length > 1 else f"  {name} = alloca {type}")
        return name

    def number(self, value: int) -> Scalar:
        """A whole number that the text does not name, but that is put in when the code is loaded.

        So code for another size of a batch is the same, and need not be compiled again.  Equal numbers are one.
        """
        if value < 2:  # what is 0 or 1 is so in the structure of the code, too
            return self.integer(value)
        name = self.module.numbers.setdefault(value, f"number{len(self.module.numbers)}")
        self.module.declare(f"@bound_{name} = global i64 0")
        self.module.bindings[name] = value
        return self.let("i64", f"load i64, ptr @bound_{name}")

    def shared_slot(self, type: str, length: int) -> str:
        """Memory on the stack that is used for one thing after the other."""
        if (type, length) not in self.shared:
            self.shared[type, length] = self.slot(type, length)
        return self.shared[type, length]

    def read(self, slot: str, type: str) -> Scalar:
        return self.let(type, f"load {type}, ptr {slot}")

    def write(self, value: Scalar, slot: str) -> None:
        self.do(f"store {value.type} {value.name}, ptr {slot}")

    # -- indices and loops ---------------------------------------------------------------------------------------

    def integer(self, value: int) -> Scalar:
        return Scalar(str(value), "i64")

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """The sum of two indices, which never overflows."""
        if a.name == "0" or b.name == "0":
            return b if a.name == "0" else a
        return self.let("i64", f"add nsw i64 {a.name}, {b.name}")

    def scale(self, a: Scalar, factor: int) -> Scalar:
        """A multiple of an index."""
        if factor == 0 or a.name == "0":
            return self.integer(0)
        return a if factor == 1 else self.let("i64", f"mul nsw i64 {a.name}, {factor}")

    @contextmanager
    def loop(self, first: Scalar, last: Scalar) -> Iterator[Scalar]:
        """The block that follows runs for every index from the first to before the last."""
        head, body, done = self.fresh("head"), self.fresh("body"), self.fresh("done")
        before = self.block
        index, following = "%" + self.fresh("i"), "%" + self.fresh("n")
        self.do(f"br label %{head}")
        self.label(head)
        place = len(self.lines)
        self.lines.append("")  # the phi, which needs the name of the block at the end
        self.do(f"%{self.fresh('c')} = icmp slt i64 {index}, {last.name}")
        self.do(f"br i1 %c{self.count}, label %{body}, label %{done}")
        self.label(body)
        loops = self.loops
        yield Scalar(index, "i64")
        self.do(f"{following} = add nsw nuw i64 {index}, 1")
        rolled = self.rolled or self.scalar or self.loops > loops  # nothing is won by a loop that others are inside of
        self.loops += 1
        if rolled:
            self.module.declare('!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}')
        if self.scalar:
            self.module.declare('!2 = distinct !{!2, !1, !3}\n!3 = !{!"llvm.loop.vectorize.enable", i1 false}')
        self.do(f"br label %{head}{', !llvm.loop !2' if self.scalar else ', !llvm.loop !0' if rolled else ''}")
        self.lines[place] = f"  {index} = phi i64 [ {first.name}, %{before} ], [ {following}, %{self.block} ]"
        self.label(done)

    def function(self, name: str, parameters: str) -> str:
        """The whole function, which returns nothing."""
        lines = [f"define void @{name}({parameters}) #0 {{", "entry:", *self.slots, *self.lines, "  ret void", "}"]
        return "\n".join(lines)


_ATTRIBUTES = "attributes #0 = { nounwind }\nattributes #1 = { nounwind noinline }"
LONG = 100  # lines of a function that is worth compiling by itself


class Module:
    """The functions that are compiled together."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.names: dict[str, str] = {}
        self.memo: dict[Any, str] = {}  # functions that serve many callers, by what they do
        self.bindings: dict[str, int] = {}  # addresses of what is outside, and numbers
        self.numbers: dict[int, str] = {}
        self.apart: list[str] = []  # functions that are compiled by themselves

    def declare(self, text: str) -> None:
        """A function from elsewhere, or a table of constants; said once."""
        self.declarations[text] = None

    def add(self, name: str, text: str) -> str:
        """Add a function, written with ``NAME`` for its name; of functions that do the same there is one.  Its name."""
        if text not in self.names:
            if text.count("\n") > LONG and set(re.findall(r"@(\w+)", text)) <= {"NAME", "llvm"}:
                name = f"apart_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
                self.apart.append(name)
            self.names[text] = name
            # Not made part of the functions that call it, which would compile it once for each call.
            head, rest = text.split("\n", 1)
            self.functions.append(head.replace("void @NAME(", f"internal void @{name}(").replace("#0", "#1") + "\n" + rest)
        return self.names[text]

    def with_only(self, functions: list[str]) -> Module:
        """A module with these functions alone, for a look at them; they can be seen from outside, so that LLVM does not drop them."""
        made = Module()
        made.declarations = dict(self.declarations)
        made.functions = [each.replace("define internal", "define", 1) for each in functions]
        return made

    def parts(self) -> list[str]:
        """The text in parts that are compiled one by one: the module, and long functions that stand on their own.

        Those have names that follow from what they do, so that other programs find them compiled.
        """
        made: list[str] = []
        main: list[str] = []
        for function in self.functions:
            head = function.split("\n", 1)[0]
            name = head.split("@", 1)[1].split("(", 1)[0]
            if name not in self.apart:
                main.append(function)
                continue
            main.append(re.sub(r" %\w+", "", head).replace("define internal", "declare").rstrip(" {"))
            needs = [each for each in self.declarations if each.startswith("declare") and f"{_declared(each)}(" in function]
            used = needs + [each for each in self.declarations if each.startswith("!") and "!llvm.loop" in function]
            made.append("\n\n".join([*sorted(used), function.replace("define internal", "define", 1), _ATTRIBUTES]) + "\n")
        return ["\n\n".join([*self.declarations, *main, _ATTRIBUTES]) + "\n", *made]

    def __str__(self) -> str:
        return "\n\n".join([*self.declarations, *self.functions, _ATTRIBUTES]) + "\n"


def _declared(text: str) -> str:
    """The name in a declaration."""
    return "@" + text.split("@", 1)[1].split("(", 1)[0]


def is_float(a: Scalar) -> bool:
    """Whether a value is of a floating-point type."""
    return a.type in ("float", "double")

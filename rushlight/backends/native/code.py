"""Text of LLVM's intermediate language: scalars with their types, arithmetic on them, loops.

All arithmetic is on scalars.  LLVM makes vectors of it, for whatever width the processor has, and a loop over what is left
at the end.  No flag lets LLVM take liberties with NaN, infinities or signed zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

# The types of elements in memory; a bool is a byte there, and a bit where it is computed with.
TYPES = {
    np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
}  # fmt: skip
BITS = {"float": 32, "double": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}


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

    def slot(self, type: str, length: int = 1) -> str:
        """Memory on the stack of the function."""
        name = "%" + self.fresh("s")
        self.slots.append(f"  {name} = alloca [{length} x {type}], align 64" if length > 1 else f"  {name} = alloca {type}")
        return name

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
        yield Scalar(index, "i64")
        self.do(f"{following} = add nsw nuw i64 {index}, 1")
        self.do(f"br label %{head}")
        self.lines[place] = f"  {index} = phi i64 [ {first.name}, %{before} ], [ {following}, %{self.block} ]"
        self.label(done)

    def function(self, name: str, parameters: str) -> str:
        """The whole function, which returns nothing."""
        lines = [f"define void @{name}({parameters}) #0 {{", "entry:", *self.slots, *self.lines, "  ret void", "}"]
        return "\n".join(lines)


class Module:
    """The functions that are compiled together."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.names: dict[str, str] = {}

    def declare(self, text: str) -> None:
        """A function from elsewhere, or a table of constants; said once."""
        self.declarations[text] = None

    def add(self, name: str, text: str) -> str:
        """Add a function, written with ``NAME`` for its name; of functions that do the same there is one.  Its name."""
        if text not in self.names:
            self.names[text] = name
            # Not made part of the functions that call it, which would compile it once for each call.
            head, rest = text.split("\n", 1)
            self.functions.append(head.replace("void @NAME(", f"internal void @{name}(").replace("#0", "#1") + "\n" + rest)
        return self.names[text]

    def __str__(self) -> str:
        attributes = "attributes #0 = { nounwind }\nattributes #1 = { nounwind noinline }"
        return "\n\n".join([*self.declarations, *self.functions, attributes]) + "\n"


def is_float(a: Scalar) -> bool:
    """Whether a value is of a floating-point type."""
    return a.type in ("float", "double")

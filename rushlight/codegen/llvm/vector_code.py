"""Vectors written out by the functions that compute with scalars: every instruction is one for all elements at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .ir import BITS, Code, Module, Scalar, is_float

_SHORT = {"float": "f32", "double": "f64"}


class Wide(Code):
    """Code whose values are vectors of so many elements.  Types are those of elements: what is written for scalars need not know.

    Where there is ``one`` lane, values are scalars.
    """

    def __init__(self, module: Module, lanes: int) -> None:
        super().__init__(module)
        self.lanes = self.all = lanes

    @contextmanager
    def one(self) -> Iterator[None]:
        """What is written here is of scalars."""
        before, self.lanes = self.lanes, 1
        yield
        self.lanes = before

    @contextmanager
    def vectors(self) -> Iterator[None]:
        """What is written here is of vectors."""
        before, self.lanes = self.lanes, self.all
        yield
        self.lanes = before

    def vector(self, type: str) -> str:
        """The type of a vector."""
        return f"<{self.lanes} x {type}>" if self.lanes > 1 else type

    def constant(self, type: str, value: Any) -> Scalar:
        """A constant in all elements."""
        one = super().constant(type, value)
        return Scalar(f"splat ({type} {one.name})", type) if self.lanes > 1 else one

    def binary(self, name: str, a: Scalar, b: Scalar) -> Scalar:
        return self.let(a.type, f"{name} {self.vector(a.type)} {a.name}, {b.name}")

    def compare(self, how: str, a: Scalar, b: Scalar) -> Scalar:
        return self.let("i1", f"{'fcmp' if is_float(a) else 'icmp'} {how} {self.vector(a.type)} {a.name}, {b.name}")

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        return self.let(
            a.type, f"select {self.vector('i1')} {condition.name}, {self.vector(a.type)} {a.name}, {self.vector(b.type)} {b.name}"
        )

    def convert(self, how: str, a: Scalar, type: str) -> Scalar:
        return self.let(type, f"{how} {self.vector(a.type)} {a.name} to {self.vector(type)}")

    def neg(self, a: Scalar) -> Scalar:
        return self.let(a.type, f"fneg {self.vector(a.type)} {a.name}")

    def intrinsic(self, name: str, *operands: Scalar, flags: str = "") -> Scalar:
        if self.lanes == 1:
            return super().intrinsic(name, *operands, flags=flags)
        type = self.vector(operands[0].type)
        full = f"@llvm.{name}.v{self.lanes}{_SHORT.get(operands[0].type, operands[0].type)}"
        self.module.declare(f"declare {type} {full}({', '.join(self.vector(each.type) for each in operands)})")
        return self.let(
            operands[0].type, f"call {flags}{type} {full}({', '.join(f'{self.vector(each.type)} {each.name}' for each in operands)})"
        )

    # -- memory --------------------------------------------------------------------------------------------------

    def load(self, pointer: str, index: Scalar, type: str) -> Scalar:
        """Elements that lie side by side."""
        if self.lanes == 1:
            return super().load(pointer, index, type)
        stored = "i8" if type == "i1" else type
        return self.given(
            self.let(stored, f"load {self.vector(stored)}, ptr {self.address(pointer, index, stored)}, align {BITS[stored] // 8}"), type
        )

    def load_one(self, pointer: str, index: Scalar, type: str) -> Scalar:
        """One element, for all."""
        stored = "i8" if type == "i1" else type
        vector = self.vector(stored)
        one = self.let(stored, f"load {stored}, ptr {self.address(pointer, index, stored)}")
        first = self.let(stored, f"insertelement {vector} poison, {stored} {one.name}, i64 0")
        return self.given(
            self.let(stored, f"shufflevector {vector} {first.name}, {vector} poison, {self.vector('i32')} zeroinitializer"), type
        )

    def given(self, value: Scalar, type: str) -> Scalar:
        """What lies in memory as it is computed with."""
        return self.compare("ne", value, self.constant("i8", 0)) if type == "i1" else value

    def store(self, value: Scalar, pointer: str, index: Scalar) -> None:
        """Write elements side by side."""
        if self.lanes == 1:
            super().store(value, pointer, index)
            return
        if value.type == "i1":
            value = self.convert("zext", value, "i8")
        place = self.address(pointer, index, value.type)
        self.do(f"store {self.vector(value.type)} {value.name}, ptr {place}, align {BITS[value.type] // 8}")

    def folded(self, how: str, value: Scalar) -> Scalar:
        """All elements of a vector added up (in any order), multiplied, or the largest or smallest of them."""
        name = {"add": "fadd", "mul": "fmul", "max": "fmaximum", "min": "fminimum"}[how]
        start = {
            "fadd": f"{value.type} {super().constant(value.type, -0.0).name}, ",
            "fmul": f"{value.type} {super().constant(value.type, 1).name}, ",
        }.get(name, "")
        full = f"@llvm.vector.reduce.{name}.v{self.lanes}{_SHORT[value.type]}"
        self.module.declare(f"declare {value.type} {full}({f'{value.type}, ' if start else ''}{self.vector(value.type)})")
        flags = "reassoc " if start else "nsz "
        return self.let(value.type, f"call {flags}{value.type} {full}({start}{self.vector(value.type)} {value.name})")

    def returning(self, name: str, parameters: str, result: Scalar) -> str:
        """A function of vectors, with its result."""
        return self.function(name, parameters, Scalar(result.name, self.vector(result.type)))

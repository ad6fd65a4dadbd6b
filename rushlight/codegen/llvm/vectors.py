"""Vectors that are written out, for loops that LLVM would not make vectors of as they should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .ir import Code, Scalar
from .target import processor

BYTES = {"float": 4, "double": 8}
_SHORT = {"float": "f32", "double": "f64"}


def lanes(type: str) -> int:
    """How many numbers a vector has."""
    return processor().vector_bits // 8 // BYTES[type]


class Vectors:
    """Vector instructions of one type, written into code.

    Where only some elements of a vector are read or written, a mask says which: the number of the first ones that are, or
    what :meth:`first` gave.
    """

    def __init__(self, code: Code, type: str, count: int | None = None) -> None:
        self.code = code
        self.element = type
        self.count = count or lanes(type)
        self.type = f"<{self.count} x {type}>" if self.count > 1 else type
        self.flags = f"<{self.count} x i1>" if self.count > 1 else "i1"
        self.suffix = f"v{self.count}{_SHORT[type]}" if self.count > 1 else _SHORT[type]
        self.full: dict[str, str] = {}  # of masks: what says whether they leave nothing out

    def zero(self) -> Scalar:
        return Scalar("zeroinitializer", self.type) if self.count > 1 else self.code.constant(self.element, 0)

    def spread(self, value: Scalar) -> Scalar:
        """A number in all lanes."""
        if self.count == 1:
            return value
        c = self.code
        first = c.let(self.type, f"insertelement {self.type} poison, {value.type} {value.name}, i64 0")
        return c.let(self.type, f"shufflevector {self.type} {first.name}, {self.type} poison, <{self.count} x i32> zeroinitializer")

    # -- memory --------------------------------------------------------------------------------------------------

    def first(self, number: Scalar) -> str:
        """A mask of the first elements."""
        c = self.code
        several = c.convert("trunc", c.intrinsic("smin", number, c.integer(self.count)), "i32")
        full = c.compare("eq", several, Scalar(str(self.count), "i32")).name
        if self.count == 1:
            return full
        words = f"<{self.count} x i32>"
        one = c.let(words, f"insertelement {words} poison, i32 {several.name}, i64 0")
        all_of_it = c.let(words, f"shufflevector {words} {one.name}, {words} poison, {words} zeroinitializer")
        made = c.let(self.flags, f"icmp slt {words} <{', '.join(f'i32 {at}' for at in range(self.count))}>, {all_of_it.name}").name
        self.full[made] = full
        return made

    def masked(self, masks: list[str], write: Callable[[list[str | None]], None]) -> None:
        """Write code that uses the masks of neighbouring vectors, which are of the first elements.

        Where the processor has no masks, elements are read and written one by one, each by a choice of its own.  Then the code is
        written a second time without masks, for where all elements are there.
        """
        c = self.code
        if processor().masks or self.count == 1:
            write([*masks])
            return
        whole, part, done = c.fresh("whole"), c.fresh("part"), c.fresh("done")
        c.do(f"br i1 {self.full[masks[-1]]}, label %{whole}, label %{part}")
        for label in (whole, part):
            c.label(label)
            write([mask if label == part else None for mask in masks])
            c.do(f"br label %{done}")
        c.label(done)

    def mask(self, which: int | str) -> str:
        """A mask as an operand."""
        if isinstance(which, str):
            return f"{self.flags} {which}"
        return f"{self.flags} <{', '.join(f'i1 {str(at < which).lower()}' for at in range(self.count))}>"

    def load(self, pointer: str, index: Scalar, which: int | str | None = None) -> Scalar:
        """A vector from memory, of any alignment; zeros where a mask leaves elements out."""
        c, size = self.code, BYTES[self.element]
        place = c.address(pointer, index, self.element)
        if which is None or which == self.count:
            return c.let(self.type, f"load {self.type}, ptr {place}, align {size}")
        c.module.declare(f"declare {self.type} @llvm.masked.load.{self.suffix}.p0(ptr, i32, {self.flags}, {self.type})")
        given = f"ptr {place}, i32 {size}, {self.mask(which)}, {self.type} zeroinitializer"
        return c.let(self.type, f"call {self.type} @llvm.masked.load.{self.suffix}.p0({given})")

    def store(self, value: Scalar, pointer: str, index: Scalar, which: int | str | None = None) -> None:
        """Write a vector, or the elements that a mask names."""
        c, size = self.code, BYTES[self.element]
        place = c.address(pointer, index, self.element)
        if which is None or which == self.count:
            c.do(f"store {self.type} {value.name}, ptr {place}, align {size}")
            return
        c.module.declare(f"declare void @llvm.masked.store.{self.suffix}.p0({self.type}, ptr, i32, {self.flags})")
        c.do(f"call void @llvm.masked.store.{self.suffix}.p0({self.type} {value.name}, ptr {place}, i32 {size}, {self.mask(which)})")

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def multiply_add(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, in one step where the processor has it."""
        code = self.code
        code.module.declare(f"declare {self.type} @llvm.fmuladd.{self.suffix}({', '.join([self.type] * 3)})")
        given = ", ".join(f"{self.type} {each.name}" for each in (a, b, c))
        return code.let(self.type, f"call {self.type} @llvm.fmuladd.{self.suffix}({given})")

    def select(self, mask: str, a: Scalar, b: Scalar) -> Scalar:
        """Elements of the first vector where a mask has them, else of the second."""
        return self.code.let(self.type, f"select {self.flags} {mask}, {self.type} {a.name}, {self.type} {b.name}")

    def larger(self, a: Scalar, b: Scalar) -> Scalar:
        """The larger of two, element by element; the second where either is NaN."""
        return self.select(self.code.let(self.flags, f"fcmp ogt {self.type} {a.name}, {b.name}").name, a, b)

    def sum(self, a: Scalar) -> Scalar:
        """All elements added up, in halves."""
        return self._folded(a, lambda v, x, y: self.code.let(v.type, f"fadd {v.type} {x.name}, {y.name}"))

    def largest(self, a: Scalar) -> Scalar:
        """The largest element; NaN may be passed over."""
        return self._folded(a, lambda v, x, y: v.larger(x, y))

    def _folded(self, a: Scalar, combine: Any) -> Scalar:
        """A vector whose length is a power of two, folded into one element."""
        c, v = self.code, self
        while v.count > 1:
            half = Vectors(c, self.element, v.count // 2)
            words = f"<{half.count} x i32>"
            parts = []
            for first in (0, half.count):
                places = ", ".join(f"i32 {first + at}" for at in range(half.count))
                if half.count == 1:
                    parts.append(c.let(half.type, f"extractelement {v.type} {a.name}, i64 {first}"))
                else:
                    parts.append(c.let(half.type, f"shufflevector {v.type} {a.name}, {v.type} poison, {words} <{places}>"))
            v, a = half, combine(half, *parts)
        return a

    def turned(self, lines: list[Scalar]) -> list[Scalar]:
        """A square of as many vectors as each has elements, with rows as columns."""
        c, distance, made = self.code, self.count // 2, list(lines)
        while distance:  # exchange what is off the diagonal: of halves, then of quarters, ...
            low = [lane if not lane & distance else self.count + lane - distance for lane in range(self.count)]
            high = [lane + distance if not lane & distance else self.count + lane for lane in range(self.count)]
            for at in range(self.count):
                if not at & distance:
                    pair = f"{self.type} {made[at].name}, {self.type} {made[at + distance].name}"
                    for place, which in ((at, low), (at + distance, high)):
                        order = ", ".join(f"i32 {each}" for each in which)
                        made[place] = c.let(self.type, f"shufflevector {pair}, <{self.count} x i32> <{order}>")
            distance //= 2
        return made

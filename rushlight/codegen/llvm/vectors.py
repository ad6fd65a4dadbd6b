"""Explicit vectors, for loops that LLVM's vectorizer handles badly.

:class:`Vectors` writes vector instructions among scalar ones, for values whose types are vectors.  :class:`Wide` is a builder for what is written for
scalars: every value is a vector there, and the types of values are those of their elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .instructions import LlvmFunction, Scalar
from .ir import BITS, IRBuilder, Module, suffix
from .target import processor

BYTES = {"float": 4, "double": 8}
Mask = int | Scalar  # the number of leading lanes that take part, or a vector of flags


def lanes(type: str) -> int:
    """The number of lanes of a vector register."""
    return processor().vector_bits // BITS[type]


def fitting_lanes(type: str, length: int) -> int:
    """The lanes of the widest vector that is no longer than so many elements."""
    count = lanes(type)
    while count > length:
        count //= 2
    return count


def vector_type(type: str, count: int) -> str:
    """The type of a vector; of one lane, the element's."""
    return f"<{count} x {type}>" if count > 1 else type


class Vectors:
    """The emitter of vector instructions of one type."""

    def __init__(self, code: IRBuilder, type: str, count: int | None = None) -> None:
        self.code = code
        self.element = type
        self.count = count or lanes(type)
        self.type = vector_type(type, self.count)
        self.flags = vector_type("i1", self.count)
        self.suffix = suffix(self.type)
        self.full: dict[str, Scalar] = {}  # of masks: whether all lanes take part

    def zero(self) -> Scalar:
        return Scalar("zeroinitializer", self.type) if self.count > 1 else self.code.constant(self.element, 0)

    def splat(self, value: Scalar) -> Scalar:
        """A scalar in all lanes."""
        if self.count == 1:
            return value
        first = self.code.emit("insertelement", self.type, (Scalar("poison", self.type), value, Scalar("0", "i64")))
        return self._shuffle(first, Scalar("poison", self.type), "zeroinitializer", self.count)

    def constant(self, value: float) -> Scalar:
        """A number in all lanes."""
        return self.splat(self.code.constant(self.element, value))

    def shuffle(self, a: Scalar, order: Sequence[int], b: Scalar | None = None) -> Scalar:
        """A shuffle of a vector (concatenated with another one of its type)."""
        if len(order) == 1:
            return self.code.emit("extractelement", a.type, (a, Scalar(str(order[0]), "i64")), "", self.element)
        mask = f"<{', '.join([f'i32 {each}' for each in order])}>"
        return self._shuffle(a, b or Scalar("poison", a.type), mask, len(order))

    def _shuffle(self, a: Scalar, b: Scalar, mask: str, count: int) -> Scalar:
        operands = (a, Scalar(b.name, a.type), Scalar(mask, f"<{count} x i32>"))
        return self.code.emit("shufflevector", a.type, operands, "", vector_type(self.element, count))

    # -- memory --------------------------------------------------------------------------------------------------

    def first(self, number: Scalar) -> Scalar:
        """A mask of the leading lanes."""
        c = self.code
        several = c.convert("trunc", c.min(number, self.count), "i32")
        full = c.compare("eq", several, Scalar(str(self.count), "i32"))
        if self.count == 1:
            return full
        words = Vectors(c, "i32", self.count)
        numbers = Scalar(f"<{', '.join([f'i32 {at}' for at in range(self.count)])}>", words.type)
        made = c.compare("slt", numbers, words.splat(several))
        self.full[made.name] = full
        return made

    def masked(self, masks: list[Scalar], write: Callable[[list[Mask | None]], None]) -> None:
        """Write code that uses the masks of adjacent vectors, each of leading lanes.

        A target without masked instructions accesses lane by lane, with a branch for each: there the code is written twice, once without masks for
        where all lanes take part.
        """
        c = self.code
        if processor().masks or self.count == 1:
            write([*masks])
            return
        whole, part, done = c.fresh("whole"), c.fresh("part"), c.fresh("done")
        c.branch(self.full[masks[-1].name], whole, part)
        for label in (whole, part):
            c.label(label)
            write([mask if label == part else None for mask in masks])
            c.jump(done)
        c.label(done)

    def mask(self, which: Mask) -> Scalar:
        """A mask as an operand."""
        if isinstance(which, Scalar):
            return which
        return Scalar(f"<{', '.join([f'i1 {str(at < which).lower()}' for at in range(self.count)])}>", self.flags)

    def load(self, pointer: str, index: Any, which: Mask | None = None) -> Scalar:
        """A vector from memory, of any alignment; zeros in the lanes that a mask leaves out."""
        c, size = self.code, BITS[self.element] // 8
        offset = Scalar(c.address(pointer, index, self.element), "ptr")
        if which is None or which == self.count:
            return c.emit("load", self.type, (offset,), f", align {size}")
        operands = (offset, Scalar(str(size), "i32"), self.mask(which), Scalar("zeroinitializer", self.type))
        return c.call_external(f"@llvm.masked.load.{self.suffix}.p0", self.type, operands)

    def store(self, value: Scalar, pointer: str, index: Any, which: Mask | None = None) -> None:
        """Write a vector, or the lanes that a mask names."""
        c, size = self.code, BITS[self.element] // 8
        offset, value = Scalar(c.address(pointer, index, self.element), "ptr"), Scalar(value.name, self.type)
        if which is None or which == self.count:
            c.effect("store", self.type, (value, offset), f", align {size}")
        else:
            c.call_external(f"@llvm.masked.store.{self.suffix}.p0", "void", (value, offset, Scalar(str(size), "i32"), self.mask(which)))

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def multiply_add(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, fused where the target has it."""
        return self.code.call_external(f"@llvm.fmuladd.{self.suffix}", self.type, (a, b, c))

    def maximum(self, a: Scalar, b: Scalar) -> Scalar:
        """The larger of two, lane by lane; the second where either is NaN."""
        return self.code.select(self.code.compare("ogt", a, b), a, b)

    def reduce_add(self, a: Scalar) -> Scalar:
        """The sum of all lanes, in halves."""
        return self._reduced(a, lambda v, x, y: self.code.binary("fadd", x, y))

    def reduce_max(self, a: Scalar) -> Scalar:
        """The largest lane; NaN may be ignored."""
        return self._reduced(a, lambda v, x, y: v.maximum(x, y))

    def _reduced(self, a: Scalar, combine: Callable[[Vectors, Scalar, Scalar], Scalar]) -> Scalar:
        """A vector whose length is a power of two, reduced to one element."""
        v = self
        while v.count > 1:
            half = Vectors(self.code, self.element, v.count // 2)
            parts = [v.shuffle(a, range(first, first + half.count)) for first in (0, half.count)]
            v, a = half, combine(half, *parts)
        return a

    def reduce(self, how: str, value: Scalar) -> Scalar:
        """All lanes reduced by LLVM, sums and products in any order: ``fadd``, ``fmul``, ``fmaximum``, ``fminimum``, ``or``."""
        start = {"fadd": -0.0, "fmul": 1.0}.get(how)
        given = () if start is None else (IRBuilder.constant(self.code, self.element, start),)
        flags = "" if how == "or" else "nsz " if start is None else "reassoc "
        return self.code.call_external(
            f"@llvm.vector.reduce.{how}.{self.suffix}", self.element, (*given, Scalar(value.name, self.type)), flags
        )

    def transposed(self, rows: Sequence[Scalar]) -> list[Scalar]:
        """A square of as many vectors as each has lanes, transposed."""
        distance, made = self.count // 2, list(rows)
        while distance:  # exchange off-diagonal blocks: halves, then quarters, ...
            low = [lane if not lane & distance else self.count + lane - distance for lane in range(self.count)]
            high = [lane + distance if not lane & distance else self.count + lane for lane in range(self.count)]
            for at in range(self.count):
                if not at & distance:
                    a, b = made[at], made[at + distance]
                    made[at], made[at + distance] = self.shuffle(a, low, b), self.shuffle(a, high, b)
            distance //= 2
        return made

    def interleaved(self, parts: Sequence[Scalar]) -> Scalar:
        """Two or four vectors interleaved, as one vector."""
        count, kind, joined = len(parts), self, list(parts)
        while len(joined) > 1:  # concatenated first
            double = Vectors(self.code, self.element, 2 * kind.count)
            joined = [double.shuffle(a, range(double.count), b) for a, b in zip(joined[::2], joined[1::2])]
            kind = double
        return kind.shuffle(joined[0], [lane // count + lane % count * self.count for lane in range(kind.count)])


class Wide(IRBuilder):
    """A builder whose values are vectors of ``lanes`` elements; within :meth:`one`, scalars."""

    def __init__(self, module: Module, lanes: int) -> None:
        super().__init__(module)
        self.lanes = self.all = lanes

    @contextmanager
    def one(self) -> Iterator[None]:
        """A context of scalar code."""
        before, self.lanes = self.lanes, 1
        yield
        self.lanes = before

    @contextmanager
    def vectors(self) -> Iterator[None]:
        """A context of vector code."""
        before, self.lanes = self.lanes, self.all
        yield
        self.lanes = before

    def vector(self, type: str) -> str:
        return vector_type(type, self.lanes)

    def constant(self, type: str, value: Any) -> Scalar:
        """A constant in all lanes."""
        one = super().constant(type, value)
        if self.lanes == 1:
            return one
        if one.is_number or one.name in ("true", "false"):
            return Scalar(f"splat ({type} {one.name})", type)
        return Scalar(Vectors(self, type, self.lanes).splat(one).name, type)  # a symbolic number

    def load(self, pointer: str, index: Any, type: str) -> Scalar:
        """Consecutive elements."""
        if self.lanes == 1:
            return super().load(pointer, index, type)
        stored = "i8" if type == "i1" else type
        return self._loaded(Vectors(self, stored, self.lanes).load(pointer, index), stored, type)

    def load_one(self, pointer: str, index: Any, type: str) -> Scalar:
        """One element, in all lanes."""
        stored = "i8" if type == "i1" else type
        with self.one():
            one = super().load(pointer, index, stored)
        return self._loaded(Vectors(self, stored, self.lanes).splat(one), stored, type)

    def _loaded(self, value: Scalar, stored: str, type: str) -> Scalar:
        value = Scalar(value.name, stored)
        return self.compare("ne", value, self.constant("i8", 0)) if type == "i1" else value

    def store(self, value: Scalar, pointer: str, index: Any) -> None:
        """Write consecutive elements."""
        if self.lanes == 1:
            super().store(value, pointer, index)
            return
        if value.type == "i1":
            value = self.convert("zext", value, "i8")
        Vectors(self, value.type, self.lanes).store(value, pointer, index)

    def reduced(self, how: str, value: Scalar) -> Scalar:
        """All lanes of a vector added up (in any order), multiplied, or the largest or smallest of them."""
        name = {"add": "fadd", "mul": "fmul", "max": "fmaximum", "min": "fminimum"}[how]
        return Vectors(self, value.type, self.lanes).reduce(name, value)

    def returning(self, name: str, parameters: str, result: Scalar) -> LlvmFunction:
        """A function of vectors, with its result."""
        return self.function(name, parameters, Scalar(result.name, self.vector(result.type)))

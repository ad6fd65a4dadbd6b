"""The IR builder: appends instructions to the blocks of a function.

Arithmetic is on scalars unless a vector type says otherwise: LLVM vectorizes the loops, for the target's vector width, with a remainder loop.
No flag lets LLVM take liberties with NaN, infinities or signed zeros.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from ...schedule.symbolic_shape import SymbolicNumber, SymbolicSize, written
from .instructions import BasicBlock, FunctionParameter, LlvmFunction, LlvmInstruction, Scalar
from .module import Module, Part, alone

__all__ = ["BITS", "HALVES", "STORED", "TYPES", "IRBuilder", "Module", "Part", "Scalar", "alone", "is_float"]

# The types of elements; a bool is a byte in memory and a bit in a register.
TYPES = {
    np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
}  # fmt: skip
# Storage types, computed with in single precision: an expression can only move and convert them.  A bfloat16 is moved by its bits: with LLVM's own
# type for it, even values that are only copied would be rounded again, by a runtime function that targets without such numbers do not have.
HALVES = {np.dtype(np.float16): "half", np.dtype(ml_dtypes.bfloat16): "i16"}
STORED = {**TYPES, **HALVES}
BITS = {"half": 16, "float": 32, "double": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}
SHORT = 64  # the trip count up to which LLVM may unroll a loop fully
FIRST, LAST = Scalar("%first", "i64"), Scalar("%last", "i64")  # the range of work that a function is called for
ZERO = Scalar("0", "i64")
_new: Any = tuple.__new__  # makes a named tuple without a call of Python code
_MEMORY = frozenset(("load", "store"))
_SUFFIXES = {"float": "f32", "double": "f64", "ptr": "p0"}


def is_float(a: Scalar) -> bool:
    """Whether a value is of a floating-point type."""
    return a.type in ("float", "double")


@functools.cache
def suffix(type: str) -> str:
    """How the name of an intrinsic spells a type: ``f32``, ``v8f32``."""
    if type[0] == "<":
        lanes, element = type[1:-1].split(" x ")
        return f"v{lanes}{suffix(element)}"
    return _SUFFIXES.get(type, type)


def pointers(names: Sequence[str], noalias: bool = False) -> list[FunctionParameter]:
    """The parameters of a function on buffers and a range of work."""
    return [
        *[FunctionParameter("ptr", each, noalias) for each in names],
        FunctionParameter("i64", "%first"),
        FunctionParameter("i64", "%last"),
    ]


class IRBuilder:
    """The builder of one function's body.

    Methods for indices (:meth:`add`, :meth:`scale`, :meth:`loop`, …) take plain and symbolic integers as well as registers.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.blocks = [BasicBlock("entry")]
        self.instructions = self.blocks[0].instructions  # of the current block
        self.count = 0
        self.stack: list[tuple[str, str, int]] = []
        self.shared: dict[tuple[str, int], str] = {}
        self.variables: dict[str, str] = {}
        self.numbers: dict[int, int] = {}  # numbers bound when the code is loaded, and their indices
        self.sizes: dict[int, int] = {}  # symbolic sizes: from indices in the program's table to indices in this function's
        self.size_loads: dict[tuple[str, int], None] = {}
        self.uses: set[str] = set()
        self.hints = False
        self.loops = 0  # that were built
        self.called: set[Any] = set()  # functions like exp that are called, not inlined: names and dtypes
        self.vectorized = True  # whether LLVM has no loop to vectorize
        self.scalar = False  # whether LLVM must not vectorize loops
        self.rolled = False  # whether LLVM must not unroll loops, which takes long to compile

    # -- instructions --------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, opcode: str, type: str, operands: tuple[Scalar, ...], detail: str = "", result: str = "") -> Scalar:
        """Append an instruction with a value of a type (``type``, unless said otherwise)."""
        self.count += 1
        name = f"%v{self.count}"
        self.instructions.append(_new(LlvmInstruction, (opcode, name, type, operands, detail)))
        return _new(Scalar, (name, result or type))  # type: ignore[no-any-return]

    def effect(self, opcode: str, type: str, operands: tuple[Scalar, ...], detail: str = "") -> None:
        """Append an instruction without a value."""
        self.instructions.append(_new(LlvmInstruction, (opcode, "", type, operands, detail)))

    def let(self, type: str, text: str) -> Scalar:
        """The register of an instruction given as text."""
        name = "%" + self.fresh()
        self.instructions.append(LlvmInstruction("raw", name, type, (), self._raw(text)))
        return Scalar(name, type)

    def do(self, text: str) -> None:
        """An instruction without a value given as text."""
        self.instructions.append(LlvmInstruction("raw", "", "", (), self._raw(text)))

    def _raw(self, text: str) -> str:
        """Text with its symbols recorded, and symbolic sizes as registers of this function."""
        for each in text.split("@")[1:]:
            length = next((at for at, mark in enumerate(each) if not (mark.isalnum() or mark in "._")), len(each))
            self.uses.add(f"@{each[:length]}")
        if "%size." in text:
            first, *rest = text.split("%size.")
            for each in rest:
                length = next((at for at, mark in enumerate(each) if not mark.isdigit()), len(each))
                first += self._symbolic("i64", int(each[:length])).name + each[length:]
            return first
        return text

    def vector(self, type: str) -> str:
        """The type that operations on elements of a type have here: the type itself, where code is of scalars."""
        return type

    def binary(self, name: str, a: Scalar, b: Scalar, flags: str = "") -> Scalar:
        """An instruction of two operands of one type; ``flags`` as in ``reassoc``."""
        return self.emit(name, self.vector(a.type), (a, b), f"{flags} " if flags else "", a.type)

    def compare(self, how: str, a: Scalar, b: Scalar) -> Scalar:
        """A comparison: ``olt``, ``une`` of floats, ``slt``, ``eq`` of integers."""
        if a.type[0] == "<":
            count, _, element = a.type.rpartition(" ")
            return self.emit("fcmp" if element in ("float>", "double>") else "icmp", a.type, (a, b), f"{how} ", f"{count} i1>")
        return self.emit("fcmp" if a.type in ("float", "double") else "icmp", self.vector(a.type), (a, b), f"{how} ", "i1")

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """One of two values."""
        type = self.vector(a.type)
        return self.emit(
            "select", type, (Scalar(condition.name, self.vector(condition.type)), Scalar(a.name, type), Scalar(b.name, type)), "", a.type
        )

    def convert(self, how: str, a: Scalar, type: str) -> Scalar:
        """A conversion: ``sext``, ``sitofp``, ``bitcast``, …"""
        return self.emit(how, self.vector(type), (Scalar(a.name, self.vector(a.type)),), "", type)

    def neg(self, a: Scalar) -> Scalar:
        type = self.vector(a.type)
        return self.emit("fneg", type, (Scalar(a.name, type),), "", a.type)

    def intrinsic(self, name: str, *operands: Scalar, flags: str = "") -> Scalar:
        """A call of an overloaded intrinsic on operands of one type."""
        type = self.vector(operands[0].type)
        given = tuple([Scalar(each.name, self.vector(each.type)) for each in operands])
        return self.call_external(f"@llvm.{name}.{suffix(type)}", type, given, flags, operands[0].type)

    def call_external(self, symbol: str, type: str, operands: tuple[Scalar, ...], flags: str = "", result: str = "") -> Scalar:
        """A call of an intrinsic by its full name, which is declared by its operands."""
        if symbol not in self.module.declarations:
            self.module.declare(symbol, f"declare {type} {symbol}({', '.join([each.type for each in operands])})")
        operands = (self.symbol(symbol[1:]), *operands)
        if type == "void":
            self.effect("call", type, operands, flags)
            return operands[0]
        return self.emit("call", type, operands, flags, result)

    def call_function(self, function: str, *arguments: Any) -> None:
        """Call a function of the module, or one at an address (``%v1``), with pointers (strings) and sizes (plain, symbolic or registers)."""
        callee = Scalar(function, "ptr") if function[0] == "%" else self.symbol(function)
        given = [Scalar(each, "ptr") if each.__class__ is str else self.whole(each) for each in arguments]
        self.effect("call", "void", (callee, *given))

    def symbol(self, name: str) -> Scalar:
        """A function or constant of the module as an operand."""
        self.uses.add(f"@{name}")
        return Scalar(f"@{name}", "ptr")

    def call_value(self, function: str, type: str, *arguments: Scalar) -> Scalar:
        """The result of a function of the module; where code is of vectors, registers of floating-point types are."""
        given = [Scalar(each.name, self.vector(each.type)) if each.type in ("float", "double") else each for each in arguments]
        return self.emit("call", self.vector(type), (self.symbol(function), *given), "", type)

    def fma(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, rounded once."""
        return self.intrinsic("fma", a, b, c)

    # -- constants -----------------------------------------------------------------------------------------------

    def constant(self, type: str, value: Any) -> Scalar:
        """A constant of a type."""
        if isinstance(value, SymbolicNumber):
            if type == "i64":
                return self.integer(value)
            return self._symbolic(type, value.sizes.slot(f"bits({written(value)})"))
        if type in ("float", "double"):
            number = float(np.float32(value)) if type == "float" else float(value)
            return Scalar(f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}", type)
        if type == "half":
            with np.errstate(over="ignore"):
                return Scalar(f"0xH{int(np.asarray(value).astype(np.float16).view(np.uint16)):04X}", type)
        if type == "i1":
            return Scalar("true" if value else "false", type)
        return Scalar(str(int(value)), type)

    def like(self, a: Scalar, value: Any) -> Scalar:
        """A constant of the type of another value."""
        return self.constant(a.type, value)

    def integer(self, value: Any) -> Scalar:
        """A plain or symbolic integer as an operand."""
        if isinstance(value, SymbolicSize):
            return self._symbolic("i64", value.sizes.slot(str(value.expression)))
        return Scalar(str(value), "i64")

    def whole(self, value: Any) -> Scalar:
        """An index of any form as an operand."""
        if value.__class__ is Scalar:
            return value  # type: ignore[no-any-return]
        return _new(Scalar, (str(value), "i64")) if value.__class__ is int else self.integer(value)  # type: ignore[no-any-return]

    def _symbolic(self, type: str, offset: int) -> Scalar:
        """The register that holds a number of the program's table."""
        at = self.sizes.setdefault(offset, len(self.sizes))
        self.size_loads[type, at] = None
        return Scalar(f"%dim.{at}" if type == "i64" else f"%dim.{at}.{type}", type)

    def number(self, value: Any) -> Scalar:
        """An integer that is bound when the code is loaded.

        So the code for another batch size is the same, and is not compiled again.  Equal numbers are one variable.
        """
        if value.__class__ is not int and isinstance(value, SymbolicNumber) or value < 2:  # 0 and 1 shape the code
            return self.integer(value)
        return self.variable("i64", f"number{self.numbers.setdefault(value, len(self.numbers))}")

    def polynomial(self, x: Scalar, coefficients: tuple[float, ...]) -> Scalar:
        """A polynomial, highest power first."""
        result = self.like(x, coefficients[0])
        for each in coefficients[1:]:
            result = self.fma(result, x, self.like(x, each))
        return result

    # -- memory --------------------------------------------------------------------------------------------------

    def address(self, pointer: str, index: Any, type: str) -> str:
        """The address of an element."""
        index = self.whole(index)
        return self.emit("getelementptr", type, (Scalar(pointer, "ptr"), index), "inbounds ", "ptr").name

    def load(self, pointer: str, index: Any, type: str) -> Scalar:
        """An element of an array."""
        stored = "i8" if type == "i1" else type
        value = self.emit("load", stored, (Scalar(self.address(pointer, index, stored), "ptr"),))
        return self.compare("ne", value, Scalar("0", "i8")) if type == "i1" else value

    def store(self, value: Scalar, pointer: str, index: Any) -> None:
        """Write an element of an array."""
        if value.type == "i1":
            value = self.convert("zext", value, "i8")
        self.effect("store", value.type, (value, Scalar(self.address(pointer, index, value.type), "ptr")))

    def read(self, slot: str, type: str) -> Scalar:
        return self.emit("load", type, (Scalar(slot, "ptr"),))

    def write(self, value: Scalar, slot: str) -> None:
        self.effect("store", value.type, (value, Scalar(slot, "ptr")))

    def zero_fill(self, type: str, pointer: str, index: Any, length: int) -> None:
        """Zeros in consecutive elements."""
        if length > 0:
            to = Scalar(self.address(pointer, index, type), "ptr")
            size = self.integer(BITS[type] // 8 * length)
            self.call_external("@llvm.memset.p0.i64", "void", (to, Scalar("0", "i8"), size, Scalar("false", "i1")))

    def bound(self, name: str, address: int) -> str:
        """A pointer to something outside, bound by its name when the code is loaded."""
        self.module.addresses[name] = address
        return self.variable("ptr", name).name

    def variable(self, type: str, name: str) -> Scalar:
        """The value of a global variable of the function's own, loaded on entry."""
        self.variables[name] = type
        return Scalar(f"%its.{name}", type)

    def slot(self, type: str, length: int = 1) -> str:
        """A stack slot."""
        name = "%" + self.fresh("s")
        self.stack.append((name, type, length))
        return name

    def shared_slot(self, type: str, length: int) -> str:
        """A stack slot that is reused within the function."""
        if (type, length) not in self.shared:
            self.shared[type, length] = self.slot(type, length)
        return self.shared[type, length]

    # -- indices -------------------------------------------------------------------------------------------------

    def add(self, a: Any, b: Any) -> Scalar:
        """The sum of two indices, which never overflows."""
        a, b = self.whole(a), self.whole(b)
        if a.name == "0" or b.name == "0":
            return b if a.name == "0" else a
        return self.emit("add", "i64", (a, b), "nsw ")

    def sub(self, a: Any, b: Any) -> Scalar:
        """The difference of two indices."""
        a, b = self.whole(a), self.whole(b)
        return a if b.name == "0" else self.emit("sub", "i64", (a, b), "nsw ")

    def scale(self, a: Any, factor: Any) -> Scalar:
        """A multiple of an index."""
        a = self.whole(a)
        if a.name == "0" or factor.__class__ is int and not factor:
            return ZERO
        return a if factor.__class__ is int and factor == 1 else self.emit("mul", "i64", (a, self.integer(factor)), "nsw ")

    def mul(self, a: Any, b: Any) -> Scalar:
        """The product of two indices."""
        a, b = self.whole(a), self.whole(b)
        if a.name in ("0", "1"):
            return a if a.name == "0" else b
        return self.emit("mul", "i64", (a, b), "nsw ")

    def div(self, a: Any, b: Any) -> Scalar:
        """The quotient of two indices that are not negative."""
        return self.emit("udiv", "i64", (self.whole(a), self.whole(b)))

    def rem(self, a: Any, b: Any) -> Scalar:
        """The remainder of two indices that are not negative."""
        return self.emit("urem", "i64", (self.whole(a), self.whole(b)))

    def ceil_div(self, a: Any, b: int) -> Scalar:
        """The quotient of an index, rounded up."""
        return self.div(self.add(a, b - 1), b)

    def min(self, a: Any, b: Any) -> Scalar:
        """The smaller of two indices."""
        return self.intrinsic("smin", self.whole(a), self.whole(b))

    def max(self, a: Any, b: Any) -> Scalar:
        """The larger of two indices."""
        return self.intrinsic("smax", self.whole(a), self.whole(b))

    def less(self, a: Any, b: Any) -> Scalar:
        """Whether an index is less than another."""
        return self.compare("slt", self.whole(a), self.whole(b))

    def in_range(self, index: Scalar, size: Any) -> Scalar:
        """Whether an index is in ``[0, size)``."""
        return self.compare("ult", index, self.whole(size))

    def invert(self, condition: Scalar) -> Scalar:
        """The negation of a condition."""
        return self.binary("xor", condition, Scalar("true", "i1"))

    # -- control flow --------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        """Begin a block."""
        block = BasicBlock(name)
        self.blocks.append(block)
        self.instructions = block.instructions

    def jump(self, target: str, detail: str = "") -> None:
        """Branch to a block."""
        self.effect("br", "label", (Scalar(f"%{target}", "label"),), detail)

    def branch(self, condition: Scalar, then: str, otherwise: str) -> None:
        """Branch to one of two blocks."""
        self.effect("br", "label", (condition, Scalar(f"%{then}", "label"), Scalar(f"%{otherwise}", "label")))

    @contextmanager
    def when(self, condition: Scalar) -> Iterator[None]:
        """A conditional block: its code runs where a condition holds."""
        inside, after = self.fresh("then"), self.fresh("after")
        self.branch(condition, inside, after)
        self.label(inside)
        yield
        self.jump(after)
        self.label(after)

    @contextmanager
    def not_vectorized(self) -> Iterator[None]:
        """A context whose loops are not vectorized: those of a remainder, or over strided elements."""
        before, self.scalar = self.scalar, True
        yield
        self.scalar = before

    @contextmanager
    def loop(self, first: Any, last: Any = None) -> Iterator[Scalar]:
        """A counted loop over ``range(first, last)``; given one number, over ``range(number)``."""
        if last is None:
            first, last = 0, first
        first, last = self.whole(first), self.whole(last)
        head, body, done = self.fresh("head"), self.fresh("body"), self.fresh("done")
        index, following = Scalar("%" + self.fresh("i"), "i64"), Scalar("%" + self.fresh("n"), "i64")
        before = self.blocks[-1].name
        self.jump(head)
        self.label(head)
        block, offset = self.blocks[-1], len(self.blocks) - 1
        self.branch(self.compare("slt", index, last), body, done)
        self.label(body)
        loops = self.loops
        yield index
        self.instructions.append(LlvmInstruction("add", following.name, "i64", (index, Scalar("1", "i64")), "nsw nuw "))
        block.innermost = self.loops == loops
        if not self.scalar and block.innermost and _accesses_elements(self.blocks[offset:]):
            self.vectorized = False
        rolled = self.rolled or self.scalar or not block.innermost  # unrolling outer loops gains nothing
        self.loops += 1
        if self.scalar:
            hint: int | None = 2
        elif rolled:
            hint = 0
        elif last.name.isdigit() and int(last.name) <= SHORT:
            hint = None
        else:  # interleaved by two: more run no faster (measured), and take half as long again to compile
            hint = 0 if self.called else 4
        self.hints = self.hints or hint is not None
        end = self.blocks[-1].name
        self.jump(head, "" if hint is None else f", !llvm.loop !{hint}")
        entries = (first, Scalar(f"%{before}", "label"), following, Scalar(f"%{end}", "label"))
        block.instructions.insert(0, LlvmInstruction("phi", index.name, "i64", entries))
        self.label(done)

    def function(
        self, name: str, parameters: str | Sequence[FunctionParameter], result: Scalar | None = None, numbers: Sequence[str] | None = None
    ) -> LlvmFunction:
        """The finished function, which returns a result or nothing.

        Symbolic sizes are read from a table of the function's own, whose address is one more parameter, the first; or ``numbers`` are instructions
        that find it.
        """
        if isinstance(parameters, str):
            words = [each.rpartition(" ") for each in parameters.split(", ")] if parameters else []
            parameters = [FunctionParameter(type.removesuffix(" noalias"), name, type.endswith(" noalias")) for type, _, name in words]
        self.effect("ret", "void", () if result is None else (result,))
        if self.sizes and not numbers:
            parameters = [FunctionParameter("ptr", "%numbers"), *parameters]
        made = LlvmFunction(name, parameters, self.blocks, "void" if result is None else result.type)
        made.stack, made.variables, made.numbers = self.stack, self.variables, list(self.numbers)
        made.sizes, made.size_loads, made.uses = list(self.sizes), list(self.size_loads), self.uses
        made.preamble = list(numbers) if self.sizes and numbers else []
        made.hints, made.vectorized = self.hints, self.vectorized
        return made


def _accesses_elements(blocks: list[BasicBlock]) -> bool:
    """Whether code accesses memory by scalars only."""
    found = False
    for block in blocks:
        for each in block.instructions:
            if each.is_vector or (each.opcode == "raw" and "<" in each.detail):
                return False
            found = found or each.opcode in _MEMORY
    return found

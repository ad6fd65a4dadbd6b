"""Text of LLVM's intermediate language: scalars with their types, arithmetic on them, loops.

All arithmetic is on scalars.  LLVM makes vectors of it, for whatever width the processor has, and a loop over what is left
at the end.  No flag lets LLVM take liberties with NaN, infinities or signed zeros.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...schedule.symbolic_shape import differs, real, same
from .outline import is_plain, merged, name_of

# The types of elements in memory; a bool is a byte there, and a bit where it is computed with.
TYPES = {
    np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
}  # fmt: skip
# Types that lie in memory, but are computed with in single precision; an expression can only move and convert them.  A bfloat16 goes by its bits:
# of LLVM's own type for it, even values that are only moved would be rounded again, by a function that is nowhere on processors without such numbers.
HALVES = {np.dtype(np.float16): "half", np.dtype(ml_dtypes.bfloat16): "i16"}
STORED = {**TYPES, **HALVES}
BITS = {"half": 16, "float": 32, "double": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}


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
        self.slots: list[str] = []  # how the function begins: what it keeps on its stack, and variables
        self.numbers: dict[int, int] = {}  # that the text does not name, and which is which
        self.shared: dict[tuple[str, int], str] = {}
        self.loops = 0  # that were written
        self.called: set[Any] = set()  # functions like exp that are called, not written out: names and types
        self.plain = True  # whether LLVM can't make vectors of loops: there are none, or vectors are there already
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

    def intrinsic(self, name: str, *operands: Scalar, flags: str = "") -> Scalar:
        """A call of one of LLVM's own functions, on operands of one type."""
        type = operands[0].type
        suffix = {"float": "f32", "double": "f64"}.get(type, type)
        given = ", ".join(f"{each.type} {each.name}" for each in operands)
        self.module.declare(f"declare {type} @llvm.{name}.{suffix}({', '.join(each.type for each in operands)})")
        return self.let(type, f"call {flags}{type} @llvm.{name}.{suffix}({given})")

    def fma(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """``a * b + c``, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def neg(self, a: Scalar) -> Scalar:
        return self.let(a.type, f"fneg {a.type} {a.name}")

    # -- constants -----------------------------------------------------------------------------------------------

    def constant(self, type: str, value: Any) -> Scalar:
        """A constant of a type."""
        if differs(value):
            return Scalar(str(value) if type == "i64" else real(value, type), type)
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
        self.module.addresses[name] = address
        return self.variable("ptr", name).name

    def slot(self, type: str, length: int = 1) -> str:
        """Memory on the stack of the function."""
        name = "%" + self.fresh("s")
        self.slots.append(f"  {name} = alloca [{length} x {type}], align 64" if length > 1 else f"  {name} = alloca {type}")
        return name

    def number(self, value: int) -> Scalar:
        """A whole number that the text does not name, but that is put in when the code is loaded.

        So code for another size of a batch is the same, and need not be compiled again.  Equal numbers are one.
        """
        if differs(value) or value < 2:  # what is 0 or 1 is so in the structure of the code, too
            return self.integer(value)
        return self.variable("i64", f"number{self.numbers.setdefault(value, len(self.numbers))}")

    def variable(self, type: str, name: str) -> Scalar:
        """What a variable of the function's own holds, read at its beginning."""
        line = f"  %its.{name} = load {type}, ptr @NAME.{name}"
        if line not in self.slots:
            self.slots.append(line)
        return Scalar(f"%its.{name}", type)

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
        if same(factor, 0) or a.name == "0":
            return self.integer(0)
        return a if same(factor, 1) else self.let("i64", f"mul nsw i64 {a.name}, {factor}")

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
        if not self.scalar and self.loops == loops and is_scalar(self.lines[place:]):
            self.plain = False
        self.loops += 1
        if self.scalar:
            hint = 2
        elif rolled:
            hint = 0
        elif last.name.isdigit() and int(last.name) <= SHORT:
            hint = None
        else:  # two vectors at a time: more of them run no faster by measurement, and take half as long again to compile
            hint = 0 if self.called else 4
        if hint is not None:
            self.module.declare('!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}')
        if hint == 2:
            self.module.declare('!2 = distinct !{!2, !1, !3}\n!3 = !{!"llvm.loop.vectorize.enable", i1 false}')
        elif hint == 4:
            self.module.declare('!4 = distinct !{!4, !1, !5}\n!5 = !{!"llvm.loop.interleave.count", i32 2}')
        self.do(f"br label %{head}{'' if hint is None else f', !llvm.loop !{hint}'}")
        self.lines[place] = f"  {index} = phi i64 [ {first.name}, %{before} ], [ {following}, %{self.block} ]"
        self.label(done)

    def function(self, name: str, parameters: str, result: Scalar | None = None, numbers: list[str] | None = None) -> str:
        """The whole function, which returns a result or nothing; its numbers stand in comments at the end.

        Sizes that may differ are read from a table of the function's own, whose address is one more parameter, the first; or ``numbers`` are lines that find it.
        """
        type, end = ("void", "  ret void") if result is None else (result.type, f"  ret {result.type} {result.name}")
        lines, loads, sizes = read_sizes(self.lines)
        if sizes and numbers:
            loads = [*numbers, *loads]
        elif sizes:
            parameters = f"{TAKES_SIZES}, {parameters}"
        lines = [f"define {type} @{name}({parameters}) #{2 if self.plain else 0} {{", "entry:", *loads, *self.slots, *lines, end, "}"]
        lines += [f"{_NUMBERS}{' '.join(map(str, self.numbers))}"] if self.numbers else []
        return "\n".join([*lines, f"{_SIZES}{' '.join(map(str, sizes))}"] if sizes else lines)


TAKES_SIZES = "ptr %numbers"  # the parameter
_SIZE = re.compile(r"%(size|float|double)\.([0-9]+)\b")


def read_sizes(lines: list[str]) -> tuple[list[str], list[str], list[int]]:
    """Lines with the sizes that they name counted from the first on; how these are read; and which they are.

    A fraction is in the table in double precision.
    """
    places: dict[int, int] = {}
    kinds: dict[tuple[str, int], None] = {}

    def counted(found: re.Match[str]) -> str:
        at = places.setdefault(int(found[2]), len(places))
        kinds[found[1], at] = None
        return f"%{found[1]}.{at}"

    made = [_SIZE.sub(counted, each) if "%size." in each or "%float." in each or "%double." in each else each for each in lines]
    loads: list[str] = []
    for kind, at in kinds:
        name, whole = f"%{kind}.{at}", kind == "size"
        loads.append(f"  {name}.p = getelementptr inbounds i64, ptr %numbers, i64 {at}")
        loads.append(f"  {name}{'.wide' if kind == 'float' else ''} = load {'i64' if whole else 'double'}, ptr {name}.p")
        if kind == "float":
            loads.append(f"  {name} = fptrunc double {name}.wide to float")
    return made, loads, list(places)


_NUMBERS, _SIZES = "; numbers ", "; sizes "
# Of functions that call others, of those that are called (and not made part of the others), and of both where there are no loops to make vectors of.
_ATTRIBUTES = "\n".join(f"attributes #{at} = {{ nounwind{each} }}" for at, each in enumerate(("", " noinline", "", " noinline")))
_SYMBOL = re.compile(r"(?:@[\w.]+|![0-9]+\b)")
_DEFINED = re.compile(r"^(?:declare [^@]*)?(@[\w.]+|![0-9]+)(?: =|\()", re.MULTILINE)
_VARIANT = re.compile(r'abi-variant"="\w+\((\w+)\)')
SHORT = 64  # steps of a loop that LLVM may write out
LONG = 24  # lines of a function that is compiled by itself


class Part(NamedTuple):
    """Text that is compiled by itself, and how much effort LLVM makes: none for what runs too shortly to be worth it, little for
    what has its vectors already, or much."""

    text: str
    effort: int = 2


class Module:
    """The functions of a program.

    A function has a name that follows from its text, and no address or number in it, so that it is compiled once for all programs.
    """

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.names: dict[bytes, str] = {}  # of functions, by digests of their texts
        self.memo: dict[Any, str] = {}  # functions that serve many callers, by what they do
        self.addresses: dict[str, int] = {}  # of what is outside
        self.bindings: dict[str, int] = {}  # what variables of the code are: such addresses, and numbers
        self.heads: dict[str, str] = {}  # of functions: how others declare them
        self.quick: set[str] = set()  # functions that are not worth optimising
        self.sizes: list[int] = []  # sizes that may differ, in the order in which functions read them from a table ...
        self.sized: dict[str, int] = {}  # ... by whose address, their first parameter, these begin so far from its start
        self.same: dict[str, str] = {}  # of functions that are others, for other sizes: those

    def declare(self, text: str) -> None:
        """A function from elsewhere, or a table of constants; said once."""
        self.declarations[text] = None

    def add(self, name: str, text: str, quick: bool = False) -> str:
        """Add a function, written with ``NAME`` for its name; of functions that do the same there is one.  Its name."""
        key = hashlib.sha256(text.encode()).digest()
        if key not in self.names:
            code, numbers, sizes = taken_apart(text)
            chosen = f"{name.rstrip('0123456789')}_{hashlib.sha256(code.encode()).hexdigest()[:16]}"
            first = chosen
            while chosen in self.heads or chosen in self.same:
                chosen += "_"  # the same code with other numbers
            self.names[key] = chosen
            if first in self.heads and sizes and not numbers:
                self.same[chosen] = first
                self.keep_sizes(chosen, sizes)
                return chosen
            # Not made part of the functions that call it, which would compile it once for each call.
            self.put(chosen, text.replace(") #0 ", ") #1 ", 1).replace(") #2 ", ") #3 ", 1), quick)
        return self.names[key]

    def put(self, name: str, text: str, quick: bool = False) -> None:
        """Add a function under a name; variables of its own hold the numbers and the addresses that it needs."""
        code, values, sizes = taken_apart(text)
        variables = []
        for each in dict.fromkeys(re.findall(r"@NAME\.(\w+)", code)):
            number = each.startswith("number")
            self.bindings[f"{name}.{each}"] = values[int(each[6:])] if number else self.addresses[each]
            variables.append(f"@{name}.{each} = global {'i64 0' if number else 'ptr null'}\n")
        code = code.rstrip("\n").replace("@NAME", f"@{name}").replace("v_NAME(", f"v_{name}(", 1)
        self.heads[name] = declared(code)
        if sizes:
            self.keep_sizes(name, sizes)
        self.functions.append("".join(variables) + code)
        if quick:
            self.quick.add(name)

    def keep_sizes(self, name: str, sizes: list[int]) -> None:
        """Have a function find its sizes in the table."""
        self.sized[name] = len(self.sizes)
        self.sizes += sizes

    def parts(self) -> list[Part]:
        """The functions as texts that are compiled one by one: long functions by themselves, short ones together."""
        efforts: dict[int, list[str]] = {0: [], 1: [], 2: []}
        long: dict[int, list[str]] = {0: [], 1: [], 2: []}
        shared = set(self.names.values())  # by other programs too
        for function in self.functions:
            name = name_of(function)
            effort = 0 if name in self.quick else 1 if is_plain(function) else 2
            (long if name in shared and function.count("\n") >= LONG else efforts)[effort].append(function)
        kernels = [
            each for each in long[1] if name_of(each).startswith("kernel")
        ]  # other functions have their numbers as parameters already
        made, calls = merged(long[2] + kernels)
        long[1] = [each for each in long[1] if each not in kernels] + [each for each in made if is_plain(each)]
        long[2] = [each for each in made if not is_plain(each)]
        efforts[0] += calls
        known = self.known()
        known.update((f"@{name_of(each)}", declared(each)) for each in made)
        apart = [Part(alone([each], known), effort) for effort, functions in long.items() for each in functions]
        return apart + [Part(alone(functions, known), effort) for effort, functions in efforts.items() if functions]

    def known(self) -> dict[str, str]:
        """The declarations of all that functions may need, by the names in them."""
        found = {f"@{name}": head for name, head in self.heads.items()}
        for each in self.declarations:
            found.update(dict.fromkeys(_DEFINED.findall(each), each))
        return found

    def packed(self) -> bytes:
        """All of it in little memory, for who wants to read it later."""
        self.memo.clear()  # says how to write more
        return zlib.compress(pickle.dumps(self), 1)

    @staticmethod
    def unpacked(data: bytes) -> Module:
        """What was packed."""
        return pickle.loads(zlib.decompress(data))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return "\n\n".join([*self.declarations, *kept(vector_functions(self.functions)), *self.functions, _ATTRIBUTES]) + "\n"


def taken_apart(text: str) -> tuple[str, list[int], list[int]]:
    """The code of a function, its numbers, and its sizes that may differ."""
    text, _, sizes = text.partition(_SIZES)
    code, _, numbers = text.partition(_NUMBERS)
    return code.rstrip("\n"), [int(each) for each in numbers.split()], [int(each) for each in sizes.split()]


def alone(functions: list[str], known: dict[str, str]) -> str:
    """Text of some functions with the declarations of what they need, and no others."""
    own = {f"@{name_of(each)}" for each in functions}
    needs: dict[str, None] = {}
    waiting = list(functions)
    while waiting:
        for symbol in _SYMBOL.findall(waiting.pop()):
            if symbol in known and symbol not in own and known[symbol] not in needs:
                needs[known[symbol]] = None
                waiting.append(known[symbol])
    used = vector_functions([*needs, *functions])
    needs.update((known[f"@{each}"], None) for each in used if f"@{each}" not in own)
    return "\n\n".join([*sorted(needs), *kept(used), *functions, _ATTRIBUTES]) + "\n"


def vector_functions(texts: Iterable[str]) -> list[str]:
    """The names of functions of vectors that LLVM may call: nothing else says that they are used."""
    return sorted({each for text in texts for each in _VARIANT.findall(text)})


def kept(names: list[str]) -> list[str]:
    """What tells LLVM to keep functions."""
    pointers = ", ".join(f"ptr @{each}" for each in names)
    return [f'@llvm.compiler.used = appending global [{len(names)} x ptr] [{pointers}], section "llvm.metadata"'] if names else []


def declared(function: str) -> str:
    """How other texts declare a function."""
    head = next(line for line in function.split("\n") if line.startswith("define "))
    return re.sub(r" %[\w.]+", "", head).replace("define ", "declare ", 1).rstrip(" {")


def is_scalar(lines: list[str]) -> bool:
    """Whether code goes through memory element by element."""
    return any((" load " in each or " store " in each) for each in lines) and not any(" x " in each for each in lines)


def is_float(a: Scalar) -> bool:
    """Whether a value is of a floating-point type."""
    return a.type in ("float", "double")

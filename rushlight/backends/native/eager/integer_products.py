"""Products of 8-bit integers with real results: float rows, quantized on the fly, times the rows of an int8 weight.

Sums are exact, in 32 bits.  A processor with VNNI multiplies and adds four pairs of bytes in a lane by one instruction; others do the same in several steps.
The weight is packed once: four adjacent elements of a row per lane, one row per lane of a vector, vectors contiguous.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ....codegen.llvm.ir import FIRST, LAST, IRBuilder, Module, Scalar
from ....codegen.llvm.target import processor
from ....codegen.llvm.vectors import Vectors, lanes
from ....core.process_safety import free_after_fork
from ....runtime.cpu.arena import address
from ....runtime.cpu.jit import jit, log
from ....runtime.cpu.thread_pool import pool

ACROSS = 2  # vectors of columns of a tile
TILES = (8, 4, 2, 1)  # rows of tiles: full ones, then those of the remainder
MANY = 1 << 14  # elements of rows that are quantized by several threads
WORDS = (
    "integers", "made", "rows", "bias", "scale", "weight", "scales", "totals", "count", "width", "depth", "padded", "zero_point", "most",
)  # fmt: skip
DEEPEST = 1 << 16  # products of bytes whose sum is less than 2 ** 31
_lock = free_after_fork(threading.Lock())
_products: dict[bool, ByteProduct | None] = {}
_BOTH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)


def packed(weight: Any) -> Any:
    """The packed form of an int8 matrix: columns of its transpose in groups of vectors, padded with zeros."""
    wide = lanes("i32") * ACROSS
    width, depth = (-(-size // unit) * unit for size, unit in zip(weight.shape, (wide, 4)))
    whole = np.zeros((width, depth), np.int8)
    whole[: weight.shape[0], : weight.shape[1]] = weight
    return np.ascontiguousarray(whole.reshape(-1, wide, depth // 4, 4).transpose(0, 2, 1, 3))


def run(rows: Any, weight: Any, bias: Any, scale: float, zero_point: int, most: int, relu: bool) -> Any:
    """``(rows in integers - zero_point) @ weight.T * scales + bias``, at least 0 with ``relu``; None where there is no native code.

    ``rows`` are float32 of a scale, and their integers are from 0 to ``most``.  The weight is ``PackedRows``: its integers, ``packed``, and numbers for each of
    its rows, of which ``totals`` are the sums of elements (int32), and ``scales`` (float64) are still to be multiplied by that of the rows.
    """
    (count, depth), width = rows.shape, len(weight.scales)
    both = product(relu)
    if depth > DEEPEST or not rows.size or not width or both is None:
        return None
    padded = -(-depth // 4) * 4
    integers, made, number = np.empty((count, padded), np.uint8), np.empty((count, width), np.float32), ctypes.c_double(scale)
    if weight.places is None:
        weight.places = [address(each) for each in (weight.integers, weight.scales, weight.totals)]
    both(
        address(integers), address(made), address(rows), 0 if bias is None else address(bias), ctypes.addressof(number), *weight.places,
        count, width, depth, padded, zero_point, most, len(weight.integers),
    )  # fmt: skip
    return made


def product(relu: bool) -> Callable[..., None] | None:
    """The compiled function, or None where it can't be compiled."""
    if relu not in _products:
        with _lock:
            try:
                _products[relu] = ByteProduct(relu)
            except Exception as error:  # falls back to NumPy
                log.info("no native code for products of integers: %s: %s", type(error).__name__, error)
                _products[relu] = None
    return _products[relu]


class ByteProduct:
    """Quantizes rows and multiplies them, in one call from Python: of a layer of few rows, that is half of its time."""

    def __init__(self, relu: bool) -> None:
        module = Module()
        self.workers = pool() if pool().compiled is not None else None
        names = [
            module.add(name, emit(IRBuilder(module), relu)) for name, emit in (("quantize", quantization), ("multiply", multiplication))
        ]
        loads = [f"  %p{at} = getelementptr ptr, ptr %table, i64 {at}\n  %a{at} = load ptr, ptr %p{at}" for at in range(len(WORDS))]
        given = ", ".join(f"ptr %a{at}" for at in range(len(WORDS)))
        lines = []
        for name in names:
            lines += [f"define void @{name}_task(ptr %table, i64 %first, i64 %last) {{", *loads]
            lines += [f"  call void @{name}({given}, i64 %first, i64 %last)", "  ret void", "}"]
        lines += ["define void @both(ptr %parallel, ptr %pool, ptr %table, i64 %rows, i64 %groups, i64 %split) {"]
        lines += ["  %few = icmp eq i64 %split, 0", "  br i1 %few, label %one, label %many"]
        lines += ["one:", f"  call void @{names[0]}_task(ptr %table, i64 0, i64 %rows)", "  br label %go"]
        lines += ["many:", f"  call void %parallel(ptr %pool, ptr @{names[0]}_task, ptr %table, i64 %rows)", "  br label %go"]
        lines += ["go:", "  %alone = icmp eq ptr %pool, null", "  br i1 %alone, label %here, label %shared"]
        lines += ["here:", f"  call void @{names[1]}_task(ptr %table, i64 0, i64 %groups)", "  ret void"]
        lines += ["shared:", f"  call void %parallel(ptr %pool, ptr @{names[1]}_task, ptr %table, i64 %groups)", "  ret void", "}", ""]
        self.compiled = jit().compile(str(module) + "\n" + "\n".join(lines))
        self.function = _BOTH(self.compiled.address("both"))
        self.table = ctypes.c_int64 * len(WORDS)

    def __call__(self, *words: int) -> None:
        """Run it: the words, and the number of groups of columns."""
        table, workers, rows, depth = self.table(*words[:-1]), self.workers, words[8], words[10]
        if workers is None:
            self.function(None, None, table, rows, words[-1], 0)
        else:
            workers.prepare()
            self.function(workers.parallel, workers.address, table, rows, words[-1], rows > 1 and rows * depth > MANY)


def numbers(c: IRBuilder) -> dict[str, Scalar]:
    """The arguments that are numbers, of a function whose words are pointers."""
    return {name: c.convert("ptrtoint", Scalar(f"%a{at}", "ptr"), "i64") for at, name in enumerate(WORDS) if at >= 8}


def function(c: IRBuilder) -> Any:
    """A function of the words and a range."""
    given = ", ".join(f"ptr {'noalias ' if at < 3 else ''}%a{at}" for at in range(len(WORDS)))
    return c.function("", f"{given}, i64 %first, i64 %last")


def quantization(c: IRBuilder, relu: bool) -> Any:
    """Rows as bytes, with zeros to the end of a vector."""
    size = numbers(c)
    depth, padded = size["depth"], size["padded"]
    scale = c.convert("fptrunc", c.load("%a4", 0, "double"), "float")
    inverse = c.binary("fdiv", c.constant("float", 1), scale)
    zero_point, most = (c.convert("sitofp", size[each], "float") for each in ("zero_point", "most"))
    with c.loop(FIRST, LAST) as row:
        begin, to = c.mul(row, depth), c.mul(row, padded)
        with c.loop(depth) as at:
            scaled = c.binary("fadd", c.binary("fmul", c.load("%a2", c.add(begin, at), "float"), inverse), zero_point)
            whole = c.intrinsic("minnum", c.intrinsic("rint", scaled), most)
            positive = c.intrinsic("maxnum", whole, c.constant("float", 0))
            c.store(c.convert("trunc", c.convert("fptosi", positive, "i32"), "i8"), "%a0", c.add(to, at))
        with c.loop(depth, padded) as at:
            c.store(Scalar("0", "i8"), "%a0", c.add(to, at))
    return function(c)


def multiplication(c: IRBuilder, relu: bool) -> Any:
    """The product of bytes."""
    ProductWriter(c, relu).emit()
    return function(c)


class ProductWriter:
    """Writes a product over a range of groups of columns."""

    def __init__(self, c: IRBuilder, relu: bool) -> None:
        self.c = c
        self.relu = relu
        self.sums = Vectors(c, "i32")
        self.bytes = Vectors(c, "i8", 4 * self.sums.count)
        self.double = Vectors(c, "double", self.sums.count)
        self.single = Vectors(c, "float", self.sums.count)
        size = numbers(c)
        self.count, self.width, self.padded, self.zero_point = (size[each] for each in ("count", "width", "padded", "zero_point"))

    def emit(self) -> None:
        """All rows, one group of columns at a time: the group's weights stay in the cache."""
        c, wide = self.c, self.sums.count
        with c.loop(FIRST, LAST) as group:
            column = c.scale(group, wide * ACROSS)
            weight = c.address("%a5", c.mul(column, self.padded), "i8")
            columns = [c.add(column, at * wide) for at in range(ACROSS)]
            masks = [self.single.first(c.max(c.sub(self.width, each), 0)) for each in columns]
            zero = self.sums.splat(c.convert("trunc", self.zero_point, "i32"))
            scale = self.double.splat(c.load("%a4", 0, "double"))
            given = []
            for first, mask in zip(columns, masks):
                shift = c.binary("mul", self.sums.load("%a7", first, mask), zero)
                given.append((first, mask, shift, c.binary("fmul", self.double.load("%a6", first, mask), scale), self.bias(first, mask)))
            done = c.integer(0)
            for high in TILES:
                tiles = c.div(c.sub(self.count, done), high)
                with c.loop(tiles) as tile:
                    self.tile(c.add(done, c.scale(tile, high)), high, weight, given)
                done = c.add(done, c.scale(tiles, high))

    def bias(self, first: Scalar, mask: Scalar) -> Scalar:
        """The bias of some columns; zeros, where there is none."""
        c = self.c
        place = c.slot(self.single.type)
        c.write(self.single.zero(), place)
        with c.when(c.compare("ne", c.convert("ptrtoint", Scalar("%a3", "ptr"), "i64"), c.integer(0))):
            c.write(self.single.load("%a3", first, mask), place)
        return c.convert("fpext", c.read(place, self.single.type), self.double.type)

    def tile(self, row: Scalar, high: int, weight: str, given: list[Any]) -> None:
        """Some rows with the columns of a group."""
        c, wide = self.c, self.sums.count
        rows = [c.address("%a0", c.mul(c.add(row, at), self.padded), "i8") for at in range(high)]
        slots = [[c.slot(self.sums.type) for _ in range(ACROSS)] for _ in range(high)]
        for slot in [each for line in slots for each in line]:
            c.write(self.sums.zero(), slot)
        with c.loop(c.div(self.padded, 4)) as step:
            start = c.scale(step, 4 * wide * ACROSS)
            right = [self.bytes.load(weight, c.add(start, at * 4 * wide)) for at in range(ACROSS)]
            for line, address_ in zip(slots, rows):
                left = self.sums.splat(c.load(address_, step, "i32"))
                for slot, other in zip(line, right):
                    c.write(self.dot(c.read(slot, self.sums.type), left, other), slot)
        for at, line in enumerate(slots):
            begin = c.mul(c.add(row, at), self.width)
            for slot, (first, mask, *numbers) in zip(line, given):
                self.single.store(self.real(c.read(slot, self.sums.type), *numbers), "%a1", c.add(begin, first), mask)

    def dot(self, sums: Scalar, left: Scalar, right: Scalar) -> Scalar:
        """Sums with the products of four unsigned bytes (in a lane of 32 bits) and four signed ones added in each lane."""
        c, count, has = self.c, self.sums.count, processor().has
        if {"avx512vnni", "avx512vl"} <= has:
            other = c.convert("bitcast", right, self.sums.type)
            return c.call_external(f"@llvm.x86.avx512.vpdpbusd.{count * 32}", self.sums.type, (sums, left, other))
        left = c.convert("bitcast", left, self.bytes.type)
        for at in range(4):
            order = range(at, 4 * count, 4)
            a, b = (c.convert(how, self.bytes.shuffle(each, order), self.sums.type) for how, each in (("zext", left), ("sext", right)))
            sums = c.binary("add", sums, c.binary("mul", a, b))
        return sums

    def real(self, sums: Scalar, shift: Scalar, scales: Scalar, bias: Scalar) -> Scalar:
        """Results of sums."""
        c, double = self.c, self.double
        made = c.convert("sitofp", c.binary("sub", sums, shift), double.type)
        made = c.binary("fadd", c.binary("fmul", made, scales), bias)
        if self.relu:
            made = c.call_external(f"@llvm.maximum.{double.suffix}", double.type, (made, double.zero()))
        return c.convert("fptrunc", made, self.single.type)

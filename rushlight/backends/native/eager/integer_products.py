"""Products of 8-bit integers with real results: float rows, quantized on the way, times the rows of an int8 weight.

Sums are exact, in 32 bits.  A processor with VNNI multiplies and adds four pairs of bytes in a lane by one instruction; others do the same in several steps.
The weight is packed once: four neighbours of a row to a lane, and as many rows as there are lanes to a vector, one after the other.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ....codegen.llvm.ir import FIRST, LAST, Code, Module, Scalar
from ....codegen.llvm.target import processor
from ....codegen.llvm.vectors import Vectors, lanes
from ....core.fork_safety import free_after_fork
from ....runtime.cpu.arena import address
from ....runtime.cpu.jit import log
from ....runtime.cpu.parallel_task import Task

ACROSS = 2  # vectors of columns of a tile
TILES = (8, 4, 1)  # rows of tiles: of as many as there are, then of what is left
DEEPEST = 1 << 16  # products of bytes whose sum is less than 2 ** 31
_lock = free_after_fork(threading.Lock())
_tasks: dict[Any, Task | None] = {}


def packed(weight: Any) -> Any:
    """An int8 matrix as it is multiplied by: columns of its transpose in groups of vectors, padded with zeros."""
    wide = lanes("i32") * ACROSS
    width, depth = (-(-size // unit) * unit for size, unit in zip(weight.shape, (wide, 4)))
    whole = np.zeros((width, depth), np.int8)
    whole[: weight.shape[0], : weight.shape[1]] = weight
    return np.ascontiguousarray(whole.reshape(-1, wide, depth // 4, 4).transpose(0, 2, 1, 3))


def run(rows: Any, weight: Any, totals: Any, scales: Any, bias: Any, inverse: Any, zero_point: int, most: int, relu: bool) -> Any:
    """``(rows in integers - zero_point) @ weight.T * scales + bias``, at least 0 with ``relu``; None where there is no native code.

    ``rows`` are float32, ``inverse`` is 1 / their scale, and their integers are from 0 to ``most``; the weight is ``packed``.  There is a number for each of
    its rows in ``totals``, which are the sums of its elements (int32), and in ``scales`` and ``bias`` (float64).
    """
    (count, depth), width = rows.shape, len(scales)
    quantize, multiply = task("quantize"), task("multiply", relu)
    if depth > DEEPEST or not rows.size or not width or quantize is None or multiply is None:
        return None
    padded = -(-depth // 4) * 4
    integers, made = np.empty((count, padded), np.uint8), np.empty((count, width), np.float32)
    numbers = np.array([inverse, zero_point, most], np.float32)
    quantize([address(rows), address(integers), address(numbers), depth, padded], count)
    words = [address(each) for each in (integers, weight, made, scales, bias, totals)]
    multiply([*words, count, width, padded, zero_point], len(weight))
    return made


def task(kind: str, *options: Any) -> Task | None:
    """A compiled function, or None where it can't be compiled."""
    key = (kind, *options)
    if key not in _tasks:
        with _lock:
            try:
                module = Module()
                _tasks[key] = Task(module, *(multiplication(module, *options) if options else quantization(module)))
            except Exception as error:  # nothing is lost: NumPy computes it
                log.info("no native code for products of integers: %s: %s", type(error).__name__, error)
                _tasks[key] = None
    return _tasks[key]


def words(c: Code, names: str, first: int) -> list[Scalar]:
    """Arguments that are numbers, of a function whose words are pointers."""
    return [c.convert("ptrtoint", Scalar(f"%a{at}", "ptr"), "i64") for at, _ in enumerate(names.split(), first)]


def quantization(module: Module) -> tuple[str, int]:
    """Rows as bytes, with zeros to the end of a vector: the function's name and the number of its words."""
    c = Code(module)
    depth, padded = words(c, "depth padded", 3)
    inverse, zero_point, most = (c.load("%a2", at, "float") for at in range(3))
    with c.loop(FIRST, LAST) as row:
        begin, to = c.mul(row, depth), c.mul(row, padded)
        with c.loop(depth) as at:
            scaled = c.binary("fadd", c.binary("fmul", c.load("%a0", c.add(begin, at), "float"), inverse), zero_point)
            whole = c.intrinsic("minnum", c.intrinsic("rint", scaled), most)
            positive = c.intrinsic("maxnum", whole, c.constant("float", 0))
            c.store(c.convert("trunc", c.convert("fptosi", positive, "i32"), "i8"), "%a1", c.add(to, at))
        with c.loop(depth, padded) as at:
            c.store(Scalar("0", "i8"), "%a1", c.add(to, at))
    return module.add("quantize", c.function("", "ptr noalias %a0, ptr noalias %a1, ptr %a2, ptr %a3, ptr %a4, i64 %first, i64 %last")), 5


def multiplication(module: Module, relu: bool) -> tuple[str, int]:
    """The product of bytes: the function's name and the number of its words."""
    c = Code(module)
    Product(c, relu).emit()
    given = ", ".join(f"ptr {'noalias ' if at < 3 else ''}%a{at}" for at in range(10))
    return module.add("multiply", c.function("", f"{given}, i64 %first, i64 %last")), 10


class Product:
    """Writes a product over a range of groups of columns."""

    def __init__(self, c: Code, relu: bool) -> None:
        self.c = c
        self.relu = relu
        self.sums = Vectors(c, "i32")
        self.bytes = Vectors(c, "i8", 4 * self.sums.count)
        self.double = Vectors(c, "double", self.sums.count)
        self.single = Vectors(c, "float", self.sums.count)
        self.count, self.width, self.padded, self.zero_point = words(c, "count width padded zero_point", 6)

    def emit(self) -> None:
        """All rows, for one group of columns after another: what is read of the weight stays in the cache."""
        c, wide = self.c, self.sums.count
        with c.loop(FIRST, LAST) as group:
            column = c.scale(group, wide * ACROSS)
            weight = c.address("%a1", c.mul(column, self.padded), "i8")
            columns = [c.add(column, at * wide) for at in range(ACROSS)]
            masks = [self.single.first(c.max(c.sub(self.width, each), 0)) for each in columns]
            zero = self.sums.splat(c.convert("trunc", self.zero_point, "i32"))
            given = []
            for first, mask in zip(columns, masks):
                shift = c.binary("mul", self.sums.load("%a5", first, mask), zero)
                given.append((first, mask, shift, *[self.double.load(f"%a{at}", first, mask) for at in (3, 4)]))
            done = c.integer(0)
            for high in TILES:
                tiles = c.div(c.sub(self.count, done), high)
                with c.loop(tiles) as tile:
                    self.tile(c.add(done, c.scale(tile, high)), high, weight, given)
                done = c.add(done, c.scale(tiles, high))

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
                self.single.store(self.real(c.read(slot, self.sums.type), *numbers), "%a2", c.add(begin, first), mask)

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

"""The choices of a GEMM: the register tile of a micro-kernel, and whether a product is generated or left to BLAS.

Every number here comes from measurements on the targets it names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ....schedule.symbolic_shape import SymbolicNumber
from ..target import processor
from ..vectors import lanes

LATENCY = 8  # accumulators that hide the latency of a fused multiply-add
MOST_ACCUMULATORS = 16  # of a tile for known sizes: each is code that has to be compiled
CACHE_BYTES = 1 << 20  # of a right matrix that a generated product reads from the cache
DEEPEST = 2048
PACKED_BYTES = 32 << 20  # of a matrix that is packed as a whole
LARGE = 1 << 24  # multiplications of a product in blocks of two dimensions
SHARED_BYTES = 1 << 19  # of a right matrix that threads pack together
TINY = 140_000  # multiplications: for fewer, BLAS has a fast path, slow only if the right matrix is transposed
DEPTH_PARTS, DEEP = 2, 512  # split-k: the number of parts, and the depth from which on a product is split
PART_BYTES = 2 << 20  # of the result of a part of the depth
LIGHT = 512  # elements of the result per step of the depth: with more, summing the parts costs more than it saves


class Tile(NamedTuple):
    """The part of a result that a micro-kernel holds in registers: rows, and vectors of a row."""

    rows: int
    vectors: int


def choose_tile(rows: int | None = None, vectors: int | None = None, constant: bool = False) -> Tile:
    """The tile for a product; ``vectors`` is the number of vectors in a row of the result.

    Where both sizes are constants of the code, it is the tile that finishes soonest; where they are arguments, one without a remainder (``rows`` is
    None where the left matrix is packed); where nothing is known, one that fills the registers.
    """
    if vectors is None:
        return _full_tile()
    if constant and rows is not None:
        return fastest_tile(rows, vectors, processor().registers)
    return _dividing_tile(vectors, rows)


def _full_tile() -> Tile:
    chosen = processor()
    if chosen.vector_bits == 512:
        return Tile(8, 2)
    if chosen.is_arm:
        return Tile(6, 4)
    return Tile(4, 3) if chosen.vector_bits == 256 else Tile(4, 2)


def _dividing_tile(vectors: int, rows: int | None) -> Tile:
    if processor().registers < 32:  # LLVM may load the factors of all rows before it multiplies: then they take a register each
        width = 2 if vectors % 2 == 0 else 3 if vectors % 3 == 0 else 1
        return Tile({1: 7, 2: 4, 3: 3}[width], width)
    width = 4 if vectors % 4 == 0 else 2 if vectors % 2 == 0 else 1
    height = 16 // width
    if rows is not None:  # each row takes a register for its address; where 3 x 3 taps are rows, tiles of 9 leave no remainder
        height = min(height, 8)
        height += height == 8 and rows % 8 > 0 and rows % 9 == 0
    return Tile(height, width)


def fastest_tile(rows: int, vectors: int, registers: int) -> Tile:
    """The tile that computes a result of a known size soonest.

    A step of the depth takes a multiplication for each accumulator and loads for the rows and vectors; a tile that is too small waits for its own sums.

    Each size of tile, and each accumulator of it, is code that has to be compiled.
    """
    best, chosen = float("inf"), Tile(1, 1)
    for width in range(1, min(vectors, 4) + 1):
        for height in range(1, min(rows, registers) + 1):
            if height * width > MOST_ACCUMULATORS or height * width + width + 1 > registers:
                break
            down, across = divmod(rows, height), divmod(vectors, width)
            cost, code = 0.0, 0
            for high, times in ((height, down[0]), (down[1], 1)):
                for wide, repeated in ((width, across[0]), (across[1], 1)):
                    if high and wide:
                        cost += times * repeated * (max(high * wide, 0.6 * (high + wide), LATENCY) + 0.5)
                        code += high * wide + 8
            cost *= 1 + code / 1000
            if cost < best:
                best, chosen = cost, Tile(height, width)
    return chosen


def panel_width(type: str) -> int:
    """The columns of a packed panel."""
    return lanes(type) * _full_tile().vectors


@functools.lru_cache(1024)
def balanced_block(size: tuple[int, int], unit: tuple[int, int], most: int, threads: int, packing: float) -> tuple[int, int]:
    """The rows and columns of a block, multiples of a unit, with which threads finish a result soonest.

    A block packs its rows and columns, an element of which takes as long as so many multiplications (``packing``), so large blocks pack less; but a last
    round of blocks in which few threads have one takes as long as a full one.  Half a round is added: threads are not equally fast, and those that are done take
    blocks from others, so there should be several for each.
    """
    best, chosen = float("inf"), unit
    for high in range(unit[0], most + 1, unit[0]):
        for wide in range(unit[1], most + 1, unit[1]):
            down, across = -(-size[0] // high), -(-size[1] // wide)
            rows, columns = -(-size[0] // (down * unit[0])) * unit[0], -(-size[1] // (across * unit[1])) * unit[1]  # of even blocks
            time = (-(-down * across // threads) + 0.5) * (rows * columns + packing * (rows + columns))
            if time < best:
                best, chosen = time, (rows, columns)
    return chosen


# -- BLAS or generated -------------------------------------------------------------------------------------------


def generated_wins(rows: int, depth: int, width: int, itemsize: int, transposed: bool) -> bool:
    """Whether a product with a packed right matrix is faster generated than by BLAS, which is at its best with thousands of rows."""
    if rows < 8 or width < 16 or depth < 8 or depth > DEEPEST or depth * width * itemsize > CACHE_BYTES:
        return False
    return (transposed and rows >= 16 and width >= 32) if rows * depth * width <= TINY else True


def blocks_win(rows: Any, depth: Any, width: Any, itemsize: int) -> bool:
    """Whether a product is so large that packing both matrices pays, and not so large that their copies take much memory."""
    if any(isinstance(each, SymbolicNumber) for each in (rows, depth, width)) or rows < 64 or width < 64 or depth < 64:
        return False
    if depth * max(rows, width) * itemsize > PACKED_BYTES or rows * depth * width < LARGE:
        return False
    return not generated_wins(rows, depth, width, itemsize, False)


def many_threads_pack(rows: Any, depth: Any, width: Any, itemsize: int) -> bool:
    """Whether the right matrix of a generated product is so large that each of many threads packs what its blocks need of it.

    All rows need all of it: what other threads have packed would be fetched from their caches.
    """
    known = not any(isinstance(each, SymbolicNumber) for each in (rows, depth, width))
    return known and rows >= 64 and bool(depth * width * itemsize >= SHARED_BYTES)


def unpacked_wins(type: str, rows: Any, depth: Any, width: Any) -> bool:
    """Whether a product is so small that packing the right matrix costs more than it saves, and as wide as some panels."""
    if any(isinstance(each, SymbolicNumber) for each in (rows, depth, width)) or rows < 8 or depth < 8 or rows * depth * width > TINY:
        return False
    return bool(width % panel_width(type) == 0)


def depth_is_split(rows: int, depth: int, width: int) -> bool:
    """Whether the depth of a product, like that of a weight's gradient, is so large that split-k pays."""
    return depth >= DEEP and rows * width <= depth * LIGHT


def deep_wins(rows: Any, depth: Any, width: Any, itemsize: int) -> bool:
    """Whether a product is so deep, and its result so small, that threads split its depth."""
    if any(isinstance(each, SymbolicNumber) for each in (rows, depth, width)) or rows < 16 or width < 64:
        return False
    return bool(depth >= DEEPEST * 4 and rows * width * itemsize <= PART_BYTES and depth * max(rows, width) * itemsize > PACKED_BYTES)


def decide(rule: Callable[..., bool], *arguments: Any) -> Any:
    """The outcome of a rule, 0 or 1; for symbolic sizes on which it depends, a symbolic size."""
    known = next((each.sizes for each in arguments if isinstance(each, SymbolicNumber)), None)
    if known is None:
        return int(rule(*arguments))
    samples = [[sample if isinstance(each, SymbolicNumber) else each for each in arguments] for sample in (16, 128, 1024)]
    return known.found_by(rule, *arguments, bounds=(0, 1)) if any(rule(*each) for each in samples) else 0


def is_possible(outcome: Any) -> bool:
    """Whether an outcome is 1, or may be."""
    return isinstance(outcome, SymbolicNumber) or outcome == 1

"""The loop over time of a recurrent layer, as native functions on named buffers: ``rnn.py`` writes the formulas of each kind of layer into it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

from ...core.parallel import pool as eager_pool
from ...schedule.routines.recurrent import RecurrentLayer
from ...schedule.symbolic_shape import SymbolicNumber
from ...schedule.tensor_ir import Reference, Value
from .gemm.choose import choose_tile, panel_width
from .gemm.panels import Panels
from .instructions import FunctionParameter
from .ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from .native_call import Lowering, NativeCall

LARGE = 1 << 20  # bytes of weights that exceed the cache: more sequences then share a read
FLOPS_PER_NANOSECOND = 80
MEETING = 3000  # nanoseconds of a barrier over all threads
DEEP = 256  # steps of a product that are done at a time
BLOCK = 32  # sequences of a piece of work at a time, where threads have columns


def are_columns_split(op: RecurrentLayer, batch: Any, size: int, projected: bool = False) -> bool:
    """Whether threads split the columns of the hidden states, not sequences: where the parallelism gained outweighs a barrier per time step."""
    sizes, dtype = op.sizes, op.dtype
    times = len(sizes) if isinstance(sizes, (list, tuple)) else sizes
    if (
        projected
        or isinstance(batch, SymbolicNumber)
        or isinstance(times, SymbolicNumber)
        or (isinstance(sizes, (list, tuple)) and sizes[-1] != sizes[0])
    ):
        return False
    if size % panel_width(TYPES[dtype]):
        return False
    threads, blocks = eager_pool.threads, -(-batch // sharing(op))
    if threads <= blocks:
        return False
    work = 2.0 * op.weight.value.size * batch / FLOPS_PER_NANOSECOND
    units = -(-size // panel_width(TYPES[dtype])) * -(-batch // choose_tile().rows)
    return bool(work / min(units, threads) + MEETING < work / min(blocks, threads))


def sharing(op: RecurrentLayer) -> int:
    """How many sequences should share a read of the weights."""
    return choose_tile().rows * (4 if op.weight.value.size * op.dtype.itemsize > LARGE else 1)


def rows_of_block(op: RecurrentLayer, batch: Any) -> int:
    """How many sequences a thread runs through all time steps: fewer than should share the weights where threads would be idle."""
    rows = sharing(op)
    while rows > choose_tile().rows and not isinstance(batch, SymbolicNumber) and -(-batch // rows) < eager_pool.threads:
        rows //= 2
    return rows


class TimeLoop:
    """A loop over time, as a function on named buffers: for blocks of sequences, or ``across`` columns as three functions (before, at each time, after)."""

    def __init__(
        self, program: Lowering, module: Module, op: RecurrentLayer, rows: Value, states: Reference, descending: bool, across: bool = False
    ) -> None:  # fmt: skip
        """``rows`` has a row for each sequence at each time, ``states`` one for each sequence."""
        self.program = program
        self.module = module
        sizes, several = op.sizes, isinstance(op.sizes, (list, tuple))
        self.sizes: list[int] | None = list(sizes) if several and sizes[-1] != sizes[0] else None  # None: all sequences run at all times
        self.times_in_all: Any = len(sizes) if several else sizes
        self.rows_in_all: Any = rows.shape[0]
        self.descending = descending
        self.type = TYPES[op.dtype]
        self.batch: Any = states.shape[0]
        self.across = across
        self.width = states.shape[1]
        self.unit = panel_width(self.type)  # columns of a piece of work, where there are several
        self.block = rows_of_block(op, self.batch)
        if across:
            self.block = choose_tile().rows
            while self.block < BLOCK and -(-self.batch // (2 * self.block)) * (self.width // self.unit) >= 2 * eager_pool.threads:
                self.block *= 2
        self.buffers: dict[str, Value] = {}
        self.native_calls: list[NativeCall] = []
        self.flops = 0.0
        self.c = IRBuilder(module)
        self.row0 = self.rows = self.column0 = self.c.integer(0)  # of the block that is being written
        self.doubled: set[str] = set()  # states that other threads read while they are written: double-buffered
        self.read = self.written = self.c.integer(0)  # the first rows of those to read, and to write
        self.stack = ExitStack()

    def has(self, name: str) -> bool:
        return name in self.buffers

    def name(self, **values: Value | None) -> None:
        """Name the buffers; an unused result has none."""
        for name, value in values.items():
            if value is not None and value in self.program.slots:
                self.buffers[name] = value

    def packed(self, name: str, source: Reference, transposed: bool, panels: Panels, target: Value) -> None:
        """Pack a weight, as a separate call before the loop."""
        strides = (source.strides[1], source.strides[0]) if transposed else (source.strides[0], source.strides[1])
        c = IRBuilder(self.module)
        where = c.address("%b1", source.offset, self.type)
        panels.pack(c, strides, "%b0", where, FIRST, LAST)
        function = self.module.add("pack_weight", c.function("", pointers(("%b0", "%b1"))))
        self.native_calls.append(NativeCall(function, [target, source.value], panels.count, panels.size * 0.4))
        self.buffers[name] = target
        self.flops += 2.0 * panels.depth * panels.width * self.rows_in_all

    def time(self, step: Scalar) -> tuple[Scalar, Scalar]:
        """The first row and the row count of a time step."""
        c = self.c
        if self.descending:
            step = c.sub(c.number(self.times_in_all - 1), step)
        if self.sizes is None:
            batch = c.number(self.batch)
            return c.mul(step, batch), batch
        count = len(self.sizes)
        starts = [sum(self.sizes[:at]) for at in range(count)]
        found = []
        for numbers in (starts, self.sizes):
            text = ", ".join(f"i64 {each}" for each in numbers)
            name = f"@times{zlib.crc32(text.encode())}"
            self.module.declare(name, f"{name} = internal constant [{count} x i64] [{text}]")
            c.uses.add(name)
            found.append(c.load(name, step, "i64"))
        return found[0], found[1]

    @contextmanager
    def blocks(self) -> Any:
        """A context emitted for a block of sequences, ``rows`` from ``row0`` on, and for some columns of their states."""
        self.begin_block()
        yield
        self.stack.close()

    def begin_block(self) -> None:
        """Begin the loop over blocks in a function."""
        c = self.c
        block = self.stack.enter_context(c.loop(FIRST, LAST))
        if self.across:  # the blocks of a thread are adjacent: of the same columns
            count = -(-self.batch // self.block)
            self.column0, block = c.scale(c.div(block, count), self.unit), c.rem(block, count)
        self.row0 = c.scale(block, self.block)
        self.rows = self.at_most(c.number(self.batch))

    def begin_function(self, name: str, times: Any = None) -> None:
        """End the function that is being written, and begin another."""
        self.stack.close()
        self.end_function(name, times)
        self.c = IRBuilder(self.module)
        self.begin_block()

    def end_function(self, name: str, times: Any = None) -> None:
        parameters = pointers([f"%{each}" for each in self.buffers], noalias=True)
        parameters += [] if times is None else [FunctionParameter("i64", "%step")]
        function = self.module.add(name, self.c.function("", parameters))
        blocks = -(-self.batch // self.block) * (self.width // self.unit if self.across else 1)
        work = self.flops / FLOPS_PER_NANOSECOND if times is not None or not self.across else 0.0
        self.native_calls.append(NativeCall(function, list(self.buffers.values()), blocks, work, times))

    def at_most(self, count: Scalar) -> Scalar:
        """The rows of the block, of so many sequences."""
        c = self.c
        left = c.sub(count, self.row0)
        return c.max(c.min(left, self.block), 0)

    @contextmanager
    def times(self, after: Callable[[Scalar, Scalar], None] | None = None) -> Any:
        """A context emitted for every time step: yields the first row of the block, and the number of its rows.

        ``after`` emits the code after it, given the same: a product that needs all columns of its results.
        """
        if not self.across:
            with self.c.loop(self.c.number(self.times_in_all)) as step:
                start, count = self.time(step)
                base, rows = self.c.add(start, self.row0), self.at_most(count)
                yield base, rows
                if after is not None:
                    after(base, rows)
            return
        self.begin_function("before_times")
        c, step = self.c, Scalar("%step", "i64")
        self.read, self.written = (self.turn(each) for each in (step, c.add(step, 1)))
        if after is not None:
            with c.when(c.less(0, step)):
                after(c.add(self.time(c.sub(step, 1))[0], self.row0), self.rows)
        yield c.add(self.time(step)[0], self.row0), self.rows
        self.begin_function("at_time", self.times_in_all)
        self.read = self.turn(self.c.number(self.times_in_all))
        if after is not None:
            after(self.c.add(self.time(self.c.number(self.times_in_all - 1))[0], self.row0), self.rows)

    def turn(self, step: Scalar) -> Scalar:
        """The first row of the states that a time step reads, double-buffered."""
        return self.c.mul(self.c.binary("and", step, self.c.integer(1)), self.c.number(self.batch))

    @contextmanager
    def elements(self, rows: Scalar, base: Scalar, width: int) -> Any:
        """A context emitted for every element: yields its row among all, its row among the sequences, its column."""
        c = self.c
        with c.loop(rows) as row:
            whole, own = c.add(base, row), c.add(self.row0, row)
            with c.loop(self.unit) if self.across else c.loop(width) as column:
                yield whole, own, c.add(self.column0, column)

    def load(self, name: str, row: Scalar, width: int, column: Scalar, part: int = 0, size: int = 0) -> Scalar:
        row = self.c.add(row, self.read) if name in self.doubled else row
        return self.c.load(f"%{name}", self.offset_of(row, width, column, part * size), self.type)

    def store(self, value: Scalar, name: str, row: Scalar, width: int, column: Scalar, part: int = 0, size: int = 0) -> None:
        """Store an element, where it is used."""
        if self.has(name):
            row = self.c.add(row, self.written) if name in self.doubled else row
            self.c.store(value, f"%{name}", self.offset_of(row, width, column, part * size))

    def offset_of(self, row: Scalar, width: int, column: Scalar, extra: int) -> Scalar:
        c = self.c
        return c.add(c.add(c.scale(row, width), column), extra)

    def pointer(self, name: str, row: Scalar, width: int) -> str:
        return self.c.address(f"%{name}", self.c.scale(row, width), self.type)

    def copy(self, source: str, target: str, width: int) -> None:
        """Copy the states of the block's sequences."""
        if self.has(target):
            with self.elements(self.rows, self.row0, width) as (_, own, column):
                self.store(self.load(source, own, width, column), target, own, width, column)

    def multiply(
        self, panels: Panels, name: str, left: tuple[str, Scalar, int], result: tuple[str, Scalar, int], rows: Scalar,
        start: tuple[str, Scalar, int] | None = None, how: str = "zero",
    ) -> None:  # fmt: skip
        """Some rows times a packed weight; each of the others is a buffer, a row and a width.  Of columns, those of each gate."""
        c = self.c
        source, first, wide = left
        rows_of_left = (self.pointer(source, c.add(first, self.read) if source in self.doubled else first, wide), wide)
        for part in range(0, panels.width, self.width) if self.across else (0,):
            column = c.add(self.column0, part)
            begin = None
            if start is not None:
                begin = (c.address(f"%{start[0]}" if how == "row" else self.pointer(*start), column, self.type), start[2])
            to = (c.address(self.pointer(*result), column, self.type), result[2])
            weights = c.address(f"%{name}", c.scale(column, panels.depth), self.type)
            if not self.across:
                panels.multiply(c, rows_of_left, weights, to, rows, begin, how)
                continue
            # In parts of the depth, so that the weights of all rows stay in L1; each accumulates onto the one before.
            panels.multiply(c, rows_of_left, weights, to, rows, begin, how, width=self.unit, depth=min(DEEP, panels.depth))
            with c.loop(1, -(-panels.depth // DEEP)) as number:
                first_step = c.scale(number, DEEP)
                more = (c.address(rows_of_left[0], first_step, self.type), rows_of_left[1])
                below = c.address(weights, c.scale(first_step, panels.columns), self.type)
                deep = c.min(DEEP, c.sub(panels.depth, first_step))
                panels.multiply(c, more, below, to, rows, to, "matrix", width=self.unit, depth=deep)

    def finish(self, name: str) -> list[NativeCall]:
        """The native calls: weights are packed, then the loop runs."""
        self.end_function(f"after_{name}" if self.across else name)
        return self.native_calls

"""The Triton emitter of kernel plans: one plan becomes one kernel.

Rows (all loops that are not reduced) are the first dimension of a block, ``x``; the elements of a row are the second, ``r``.  A kernel without reductions has
rows alone.  Where a row fits in registers the kernel is *persistent*: all passes run on the same block, and values stay in registers between them.
Longer rows are *looped* over, pass by pass; what is kept between passes is in memory.  Partial sums of blocks of rows are accumulated over the rows of a program.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...schedule.kernel_plan import (
    Accumulate,
    Axis,
    BlockElement,
    Element,
    KernelPlan,
    Location,
    Pass,
    RowElement,
    RowStage,
    ScratchElement,
    Store,
    identity,
    locations,
)
from ...schedule.scalar_ir import ScalarExpression
from ...schedule.tensor_ir import Value
from . import PERSISTENT
from .expressions import DEVICE_FUNCTIONS, TYPES, Emission, is_literal, literal

PROGRAMS = 264  # programs that fill a GPU: two per SM
_WRAPPED = 100  # characters from which on a reduced element is assigned on its own line
_RESERVED = frozenset(("tl", "triton", "x", "r", "run", "memory", "call", "start", "first", "block", *keyword.kwlist, *dir(__builtins__)))
_INT32 = (1 << 31) - 1
_SMALL = 128  # programs of a reduction that may be combined with others


def power_of_two(number: int) -> int:
    """The smallest power of two that is not below a number."""
    return 1 << max(number - 1, 0).bit_length()


def identifier(text: str) -> str:
    """A name for Python, made of the name of a node."""
    name = re.sub(r"\W", "_", text)
    return f"v{name}" if not name or name[0].isdigit() or name in _RESERVED else name


class TritonKernel:
    """One kernel: its text, and how it is launched."""

    def __init__(self, plan: KernelPlan, name: str, comments: list[str], programs: int = PROGRAMS, part: int = 0) -> None:
        """``programs`` is how many programs there should be at least, where there are enough rows.

        ``part`` is the block size of a device function called by a combined kernel: its block index is a parameter, and its values have generic names.
        """
        self.plan, self.name, self.comments, self.programs, self.part = plan, name, comments, programs, part
        self.rows = [each for each in plan.axes if not each.reduced]
        self.columns = [each for each in plan.axes if each.reduced]
        self.row_count, self.length = (math.prod([each.size for each in axes]) for axes in (self.rows, self.columns))
        self.accumulates = any(each.reductions for each in plan.passes)
        self.flat = not self.columns and not self.accumulates and not plan.partials
        self.used: dict[str, None] = {}  # device functions
        self.taken = {*DEVICE_FUNCTIONS, *(each.name for each in plan.axes), "x_mask", "r_mask"}
        self.own: dict[str, str] = {}  # names of this kernel's values, each with a generic one
        self.pointers = {value: self.unique(f"{self.value_name(value)}_ptr") for value in plan.buffers}
        self.choose_blocks()
        self.lines: list[str] = []
        self.depth = 1
        self.row_names: dict[Value, str] = {}  # row values
        self.in_registers: dict[Value, str] = {}  # of a persistent kernel: values of the whole block
        self.loaded: dict[Any, str] = {}  # elements loaded in this block, by location
        self.shapes: dict[int, tuple[bool, bool]] = {}  # by id of an expression of the plan
        self.register_shapes: dict[Value, tuple[bool, bool]] = {}
        self.sums: dict[Value, str] = {}  # accumulators of partial sums
        self.written: set[Value] = set()  # buffers
        self.index_type = "tl.int64" if self.is_wide() else "tl.int32"
        self.emit()

    # -- launching -----------------------------------------------------------------------------------------------------

    def choose_blocks(self) -> None:
        """Block sizes, the grid, and the number of warps."""
        plan, rows, length = self.plan, self.row_count, self.length
        self.persistent = True
        self.r_block = self.tiles = 1
        if self.flat:
            self.x_block = self.part or min(power_of_two(rows), 1024 if rows >= 1024 * self.programs else 256)
        elif plan.partials:
            # Where nothing is reduced along rows, they are split into parts that leave no thread idle.
            part = min(length & -length, 1024)
            self.tiles = length // part if part >= 128 and not self.accumulates else 1
            self.r_block = power_of_two(length // self.tiles)
            self.x_block = max(1, min(power_of_two(plan.partials[0].rows), 2048 // self.r_block))
        else:
            several_passes = len(plan.passes) > 1
            tile = 8 if plan.tile is not None else 1  # rows that are adjacent in memory
            self.persistent = power_of_two(length) * tile <= (PERSISTENT if several_passes or plan.scratch else PERSISTENT // 4)
            if self.persistent:
                self.r_block = power_of_two(length)
                self.x_block = max(tile, 2048 // self.r_block)
            else:
                self.r_block, self.x_block = (32, 64) if plan.tile is not None else (2048, 1)
            self.x_block = min(self.x_block, power_of_two(rows))
            while self.x_block > tile and rows < self.programs * self.x_block:
                self.x_block //= 2
        self.grid = (plan.extent * self.tiles if plan.partials else -(-rows // self.x_block),)
        elements = self.x_block * self.r_block
        self.warps = min(max(power_of_two(elements // (256 if self.flat else 512)), 1), 16)
        if plan.partials and not self.accumulates:  # warps along r only: row sums are per thread, without cross-warp reductions
            self.warps = min(self.warps, max(self.r_block // 256, 1))
        if self.grid[0] * 4 < self.programs and not plan.partials:  # where few programs run, one element per thread
            self.warps = max(self.warps, min(max(elements // 32, 1), 4))

    @property
    def constants(self) -> dict[str, int]:
        """The constants of a launch."""
        sizes = {"XBLOCK": self.x_block} if self.flat else {"XBLOCK": self.x_block, "RBLOCK": self.r_block}
        return {**sizes, "num_warps": self.warps}

    @property
    def options(self) -> str:
        """The constants of a launch, as text."""
        return ", ".join(f"{name}={value}" for name, value in self.constants.items())

    @property
    def combines(self) -> bool:
        """Whether it may be combined with others into one launch: a single pass over blocks of rows, of few programs."""
        small = self.persistent and not self.plan.partials and self.grid[0] <= _SMALL and len(self.plan.passes) == 1
        return (self.flat or small) and not self.is_wide()

    @property
    def empty(self) -> bool:
        """Whether it has no elements."""
        return not self.row_count

    def is_wide(self) -> bool:
        """Whether indices need 64 bits."""
        spans = [self.row_count * max(self.length, 1)]
        for location in self.locations():
            spans.append(location.offset + sum(max(0, step) * (size - 1) for step, size in zip(location.strides, self.plan.space)))
        return max(spans) > _INT32

    def locations(self) -> Iterator[Element]:
        """The elements in memory that are read or written."""
        for part in self.plan.body:
            for to in [each.to for each in part.stores] if isinstance(part, Pass) else [each.to for each in part.values]:
                if isinstance(to, Element):
                    yield to
            for expression in expressions_of(part):
                yield from (found for found in locations(expression) if isinstance(found, Element))

    # -- text ----------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The source of the kernel."""
        sizes = "XBLOCK: tl.constexpr" if self.flat else "XBLOCK: tl.constexpr, RBLOCK: tl.constexpr"
        head = [f"# {line}" for line in self.comments]
        parameters = [*(["block"] if self.part else []), *self.pointers.values(), sizes]
        return "\n".join([*head, "@triton.jit", f"def {self.name}({', '.join(parameters)}):", *self.lines])

    @property
    def canonical(self) -> str:
        """The kernel's body with generic names, by which equal kernels are deduplicated."""
        types = [str(each.dtype) for each in self.plan.buffers]
        lines = re.sub(r"\b[A-Za-z_]\w*\b", lambda found: self.own.get(found[0], found[0]), "\n".join(self.lines))
        return f"{self.options} {' '.join(types)}\n{lines}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def unique(self, name: str) -> str:
        """A unique name."""
        name = taken = identifier(name)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{taken}_{count}"
        self.taken.add(name)
        self.own[name] = f"n{len(self.own)}"
        return name

    def value_name(self, value: Value) -> str:
        """A name for a value, by its node."""
        if self.part:
            return "v"
        return identifier(str(value.node.name) if value.node is not None else f"value_{value.index}")

    def assign(self, text: str, name: str = "t") -> str:
        """A line that names a value."""
        name = self.unique(name)
        self.line(f"{name} = {text}")
        return name

    # -- indices -------------------------------------------------------------------------------------------------------

    def set_rows(self, start: str) -> None:
        """The indices of the rows of this block."""
        wide = f".to({self.index_type})" if self.index_type == "tl.int64" else ""
        self.line(f"x = {start}{wide} + tl.arange(0, XBLOCK){'' if self.flat else '[:, None]'}")
        self.take_apart("x", self.rows)

    def set_columns(self, start: str) -> None:
        """The indices of the elements of a row in this block."""
        self.line(f"r = {start}tl.arange(0, RBLOCK)[None, :]")
        self.take_apart("r", self.columns)

    def take_apart(self, index: str, axes: list[Axis]) -> None:
        """A linear index decomposed into one index per axis."""
        if len(axes) < 2:
            return
        step = 1
        for axis in reversed(axes):
            quotient = index if step == 1 else f"{index} // {step}"
            self.line(f"{axis.name} = {quotient if axis is axes[0] else f'{quotient} % {axis.size}'}")
            step *= axis.size

    @property
    def row_masked(self) -> bool:
        """Whether rows of a block may be out of range."""
        if self.plan.partials:
            return self.plan.partials[0].rows % self.x_block != 0 or self.row_count % self.plan.partials[0].rows != 0
        return self.row_count % self.x_block != 0

    @property
    def column_masked(self) -> bool:
        return self.length % self.r_block != 0

    def mask(self, rows: bool, columns: bool) -> str:
        """The mask of the elements of a block that are in range, or nothing."""
        parts = [name for name, wanted in (("x_mask", rows and self.row_masked), ("r_mask", columns and self.column_masked)) if wanted]
        return " & ".join(parts)

    def address(self, at: Element, whole: bool, stored: bool = False) -> tuple[str, str]:
        """The pointer to an element, and the mask; of one element per row where it is not ``whole``."""
        terms, rows, columns = [], False, False
        for axis in self.plan.axes:
            if not axis.dims or (axis.reduced and not whole):
                continue
            step = at.strides[axis.dims[-1]]
            if step:
                axes, index = (self.columns, "r") if axis.reduced else (self.rows, "x")
                name = axis.name if len(axes) > 1 else index
                terms.append(name if step == 1 else f"{step} * {name}")
                rows, columns = rows or not axis.reduced, columns or axis.reduced
        if stored:  # what is stored has the shape of the block, even where there is one element
            terms += [] if rows else ["x"]
            terms += [] if columns or not whole or self.flat else ["r"]
            rows, columns = True, whole and not self.flat
        terms += [str(at.offset)] if at.offset else []
        return " + ".join([self.pointers[at.buffer], *terms]), self.mask(rows, columns)

    # -- the body ------------------------------------------------------------------------------------------------------

    def emit(self) -> None:
        """The lines of the kernel."""
        if self.plan.partials:
            self.emit_blocks()
            return
        self.set_rows("block * XBLOCK" if self.part else "tl.program_id(0) * XBLOCK")
        if self.row_masked:
            self.line(f"x_mask = x < {self.row_count}")
        if not self.flat and self.persistent:
            self.emit_columns("")
        for part in self.plan.body:
            self.emit_part(part)

    def emit_blocks(self) -> None:
        """The body of a program per block of rows, with partial sums over its rows."""
        rows = self.plan.partials[0].rows
        self.line(f"block = tl.program_id(0){f' // {self.tiles}' if self.tiles > 1 else ''}")
        start = f"tl.program_id(0) % {self.tiles} * RBLOCK + " if self.tiles > 1 else ""
        self.emit_columns(start)
        for each in self.plan.partials:
            self.sums[each] = self.assign(f"tl.zeros([RBLOCK], {TYPES[each.dtype]})", f"{self.value_name(each)}_sum")
        with self.indented(f"for first in range(0, {rows}, XBLOCK):"):
            self.set_rows(f"block * {rows} + first")
            if self.row_masked:
                self.line(f"x_mask = (x < {self.row_count}) & (x < (block + 1) * {rows})")
            for part in self.plan.body:
                self.emit_part(part)
        for each in self.plan.partials:
            mask = f", tl.arange(0, RBLOCK) < {self.length}" if self.column_masked else ""
            self.line(f"tl.store({self.pointers[each]} + block * {self.length} + {start}tl.arange(0, RBLOCK), {self.sums[each]}{mask})")

    def emit_columns(self, start: str) -> None:
        self.set_columns(start)
        if self.column_masked:
            self.line(f"r_mask = r < {self.length}")

    def emit_part(self, part: Pass | RowStage) -> None:
        if isinstance(part, RowStage):
            self.emit_rows(part)
        elif self.flat or self.persistent:
            found = self.emit_pass(part, {})
            for each, text in zip(part.reductions, found):
                self.reduce(each, text)
        else:
            if any(at.buffer in self.written for at in self.reads(part)):
                self.line("tl.debug_barrier()  # what a pass before has stored is read")
            shape = "[XBLOCK, RBLOCK]"
            sums = {
                each.value: self.assign(
                    f"tl.full({shape}, {literal(identity(each.value))}, {TYPES[each.value.dtype]})", self.value_name(each.value)
                )
                for each in part.reductions
            }
            with self.indented(f"for start in range(0, {self.length}, RBLOCK):"):
                self.emit_columns("start + ")
                rows = dict(self.loaded)
                self.emit_pass(part, sums)
                self.loaded = rows
            for each in part.reductions:
                self.reduce(each, sums[each.value])

    def reads(self, part: Pass) -> list[Element]:
        """What a pass loads from memory."""
        found = [each for expression in expressions_of(part) for each in locations(expression)]
        return [each for each in found if isinstance(each, Element) and each.value not in self.in_registers]

    def emission(self, whole: bool) -> Emission:
        return Emission(lambda at: self.load(at, whole), self.assign, lambda name: self.used.setdefault(name))

    def emit_rows(self, stage: RowStage) -> None:
        """Row values, one for each row."""
        emission = self.emission(False)
        emission.count(expressions_of(stage))
        for each in stage.values:
            if each.expression is not None:
                text = emission(each.expression)
                self.row_names[each.value] = text if text.isidentifier() else self.assign(text, self.value_name(each.value))
            if each.to is not None:
                self.store(each.to, self.row_names[each.value], False)

    def emit_pass(self, part: Pass, sums: dict[Any, str]) -> list[str]:
        """One pass over a block; the names of the elements that are reduced, or nothing where they are added to ``sums``."""
        emission = self.emission(True)
        emission.count(expressions_of(part))
        read = {at.buffer for at in self.reads(part)}
        waiting: list[tuple[Store, str]] = []
        for store in part.stores:
            text = emission(store.expression)
            name = text if text.isidentifier() or store.expression.op == "constant" else self.assign(text, self.value_name(store.value))
            emission.names[id(store.expression)] = name
            waiting.append((store, name))
        elements = [self.masked(each, emission(each.expression)) for each in part.reductions]
        if not self.flat and any(isinstance(store.to, Element) and store.to.buffer in read for store, _ in waiting):
            self.line("tl.debug_barrier()  # results are stored where operands were read")
        for store, name in waiting:
            self.put(store, name)
        if not sums:
            return elements
        for each, text in zip(part.reductions, elements):
            total = sums[each.value]
            self.line(f"{total} = {self.combined(each, total, text)}")
        return []

    def masked(self, each: Accumulate, text: str) -> str:
        """An element of a reduction over the whole block: the identity where it is masked."""
        mask, value = self.mask(True, True), self.whole_block(each.expression, text, each.value.dtype)
        if mask:
            value = value if len(value) < _WRAPPED else self.assign(value, f"{self.value_name(each.value)}_element")
            return f"tl.where({self.whole_mask(mask)}, {value}, {literal(identity(each.value))})"
        return value

    def whole_block(self, expression: ScalarExpression, text: str, dtype: Any) -> str:
        """A value with the shape of the block."""
        if expression.op == "constant":
            return f"tl.full([XBLOCK, RBLOCK], {text}, {TYPES[dtype]})"
        if self.shape(expression) == (True, True):
            return text
        return f"tl.broadcast_to({f'({text})[None, :]' if is_literal(expression) else text}, [XBLOCK, RBLOCK])"

    def whole_mask(self, mask: str) -> str:
        """A mask with the shape of the block."""
        return mask if "&" in mask else f"tl.broadcast_to({mask}, [XBLOCK, RBLOCK])"

    def shape(self, expression: ScalarExpression) -> tuple[bool, bool]:
        """Whether a value differs from row to row, and within a row."""
        found = self.shapes.get(id(expression))
        if found is None:
            if expression.op != "operand":
                parts = [self.shape(each) for each in expression.args]
                found = any(each[0] for each in parts), any(each[1] for each in parts)
            elif isinstance(expression.data, Element) and expression.data.value not in self.in_registers:
                steps = [(axis.reduced, expression.data.strides[axis.dims[-1]]) for axis in self.plan.axes if axis.dims]
                found = any(step and not reduced for reduced, step in steps), any(step and reduced for reduced, step in steps)
            elif isinstance(expression.data, RowElement):
                found = True, False
            else:
                found = self.register_shapes[expression.data.value]
            self.shapes[id(expression)] = found
        return found

    def combined(self, each: Accumulate, total: str, text: str) -> str:
        """A reduction of two blocks, element by element."""
        how = each.value.how
        if how in ("max", "min"):
            more = ", propagate_nan=tl.PropagateNan.ALL" if each.value.dtype.kind == "f" else ""
            return f"tl.{how}imum({total}, {text}{more})"
        return f"{total} {dict(add='+', mul='*', **{'and': '&', 'or': '|'})[how]} {text}"

    def reduce(self, each: Accumulate, text: str) -> None:
        """The result of a reduction: a row value."""
        how, dtype = each.value.how, each.value.dtype
        if how == "add":
            narrow = dtype.kind in "iu" and dtype.itemsize < 4  # Triton sums those in 32 bits
            found = f"tl.sum({text}, 1)[:, None]{f'.to({TYPES[dtype]})' if narrow else ''}"
        else:
            self.used.setdefault(f"reduce_{how}")
            found = f"reduce_{how}({text})"
        self.row_names[each.value] = self.assign(found, self.value_name(each.value))

    def put(self, store: Store, name: str) -> None:
        """Store a value, or keep it in registers where the kernel is persistent and nothing else reads it."""
        to = store.to
        if isinstance(to, BlockElement):
            mask = self.mask(True, True)
            value = self.whole_block(store.expression, name, to.value.dtype)
            value = f"tl.where({self.whole_mask(mask)}, {value}, 0.0)" if mask else value
            self.line(f"{self.sums[to.value]} += tl.sum({value}, 0)")
            return
        if self.persistent and not self.flat:
            self.in_registers[store.value] = name
            self.register_shapes[store.value] = self.shape(store.expression)
            own = isinstance(to, Element) and to.buffer is (store.value.alias_of or store.value)
            if not own:
                return
        if isinstance(to, ScratchElement):
            raise NotImplementedError("a looped kernel keeps nothing in registers")
        assert isinstance(to, Element)
        self.store(to, name, True)

    def store(self, to: Element, name: str, whole: bool) -> None:
        pointer, mask = self.address(to, whole, stored=True)
        self.written.add(to.buffer)
        self.loaded = {key: each for key, each in self.loaded.items() if key[0] is not to.buffer}
        self.line(f"tl.store({pointer}, {name}{f', {mask}' if mask else ''})")

    def load(self, at: Location, whole: bool) -> str:
        """The text of an operand."""
        if isinstance(at, RowElement):
            return self.row_names[at.value]
        if at.value in self.in_registers:
            return self.in_registers[at.value]
        assert isinstance(at, Element), "what is kept between passes is in registers"
        pointer, mask = self.address(at, whole)
        key = (at.buffer, pointer)
        if key not in self.loaded:
            text = f"tl.load({pointer}{f', {mask}' if mask else ''})"
            if not any(each in pointer for each in (" + ", " * ")) or pointer.split(" + ")[1:] == [str(at.offset)]:
                text = f"tl.broadcast_to({text}, {[1] if self.flat else [1, 1]})"  # a block of one: the interpreter mishandles scalars
            self.loaded[key] = self.assign(text, self.value_name(at.value))
        return self.loaded[key]


def expressions_of(part: Pass | RowStage) -> list[ScalarExpression]:
    """What a part of a plan computes."""
    if isinstance(part, RowStage):
        return [each.expression for each in part.values if each.expression is not None]
    return [*[each.expression for each in part.stores], *[each.expression for each in part.reductions]]


class CombinedKernel:
    """A combined kernel: several independent kernels of one block size as one launch; each program computes a block of one of them.

    Parts with the same function are one call, whose pointers are selected by the block index: Triton compiles each function once.
    """

    def __init__(self, name: str, parts: list[tuple[TritonKernel, str]], comments: list[str]) -> None:
        """``parts`` are kernels with the names of their functions."""
        self.name, self.comments = name, comments
        self.functions: dict[str, list[TritonKernel]] = {}
        for part, function in parts:
            self.functions.setdefault(function, []).append(part)
        self.buffers = list(dict.fromkeys(value for part, _ in parts for value in part.plan.buffers))
        first = parts[0][0]
        self.options, self.constants = first.options, first.constants
        self.grid = (sum(part.grid[0] for part, _ in parts),)

    @property
    def canonical(self) -> str:
        """What the kernel does."""
        return f"{self.options} {' '.join(str(each.dtype) for each in self.buffers)}\n" + "\n".join(
            self.text.splitlines()[len(self.comments) + 2 :]
        )

    @property
    def text(self) -> str:
        """The source of the kernel."""
        names = {value: f"p{at}" for at, value in enumerate(self.buffers)}
        sizes = [each for each in self.constants if each.isupper()]
        lines = [
            *[f"# {line}" for line in self.comments],
            "@triton.jit",
            f"def {self.name}({', '.join([*names.values(), *(f'{each}: tl.constexpr' for each in sizes)])}):",
        ]
        lines.append("    block = tl.program_id(0)")
        start = 0
        for at, (function, parts) in enumerate(self.functions.items()):
            end = start + sum(part.grid[0] for part in parts)
            if len(self.functions) > 1:
                lines.append("    else:" if at == len(self.functions) - 1 else f"    {'elif' if at else 'if'} block < {end}:")
            indent = "    " * (2 if len(self.functions) > 1 else 1)
            rows = [[names[value] for value in part.plan.buffers] for part in parts]
            chosen = [column for column, given in enumerate(zip(*rows)) if len(set(given)) > 1]
            block = f"block - {start}" if start else "block"
            own = {column: f"a{at}_{column}" for column in chosen}  # unique per function: equal names elsewhere may have other types
            if chosen:
                block = f"block - first{at}"
                for number, (part, row) in enumerate(zip(parts, rows)):
                    condition = "else:" if number == len(parts) - 1 else f"{'elif' if number else 'if'} block < {start + part.grid[0]}:"
                    lines += [f"{indent}{condition}", f"{indent}    first{at} = {start}"]
                    lines += [f"{indent}    {own[column]} = {row[column]}" for column in chosen]
                    start += part.grid[0]
            given = [own.get(column, name) for column, name in enumerate(rows[0])]
            lines.append(f"{indent}{function}({', '.join([block, *given, *sizes])})")
            start = end
        return "\n".join(lines)


__all__ = ["CombinedKernel", "TritonKernel"]

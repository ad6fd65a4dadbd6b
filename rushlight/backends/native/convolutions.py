"""Convolutions as native code: panels of windows, strip by strip, times the weights.

A panel is small enough for the cache and is multiplied where it lies (``tiles.py``).  The transpose of a convolution, which is the gradient
of its input too, is a few convolutions with some of the taps each.  The gradient of the weights is a panel times the gradient, turned.
Images, groups and strips are units of work; what one unit computes does not depend on how many threads share them.
"""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack, nullcontext
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.parallel import pool as eager_pool
from ...graph import Node
from ...ops.sliding import expand_ints
from . import cost, direct
from .code import TYPES, Code, Module, Scalar
from .products import FLOPS_PER_NANOSECOND
from .program import Piece
from .tiles import BYTES, Multiplication, fill_run, lanes, transpose
from .values import ROUTINES, Builder, Reference, Routine, strides_of
from .windows import (
    UNROLLED,
    Strip,
    Sweep,
    forward_sweep,
    give_slot,
    odd_step,
    size_in_bytes,
    take_slot,
    transposed_sweep,
    when,
)

PARTIAL_BYTES = 8 << 20  # that sums of parts of a batch may take
FIRST, LAST = Scalar("%first", "i64"), Scalar("%last", "i64")
CODE_LIMIT = 64  # phases: for each there is code


class Decoder:
    """The number of a unit as numbers along several dimensions."""

    def __init__(self, c: Code, unit: Scalar) -> None:
        self.c = c
        self.rest = unit

    def take(self, size: int) -> Scalar:
        """The number along the next dimension, the last one first."""
        if size == 1:
            return self.c.integer(0)
        whole, self.rest = self.rest, self.c.let("i64", f"udiv i64 {self.rest.name}, {size}")
        return self.c.let("i64", f"urem i64 {whole.name}, {size}")


def simple(builder: Builder, reference: Reference) -> Reference:
    """The reference, or a copy of what does not lie row by row."""
    return reference if reference.strides == strides_of(reference.shape) else builder.copy(reference, None)


def slots_for(units: int) -> int:
    """How many pieces of scratch memory there are: as many as threads that may ask at once."""
    return max(1, min(units, 64, max(8, eager_pool.threads)))


def offset(c: Code, pointer: str, reference: Reference) -> str:
    """Where a reference begins, in the memory of its value."""
    return pointer if not reference.offset else c.address(pointer, c.integer(reference.offset), TYPES[reference.dtype])


class Convolution:
    """A convolution, or its transpose: results from a source and weights of ``rows`` by ``channels`` and taps for each group."""

    def __init__(
        self, source: Reference, weight: Reference, bias: Reference | None, sweep: Sweep, groups: int, rows: int, turned: bool
    ) -> None:
        self.source, self.weight, self.bias, self.sweep, self.groups, self.rows = source, weight, bias, sweep, groups, rows
        self.images, self.channels = source.shape[0], source.shape[1] // groups
        self.type = TYPES[source.dtype]
        self.blocks = cost.blocks(sweep, self.channels, BYTES[self.type], self.images * groups)
        self.strips = self.blocks.strips(sweep)
        self.parts = 1
        units = self.images * groups * math.prod(self.strips)
        if units < cost.UNITS and rows > 16:
            self.parts = cost.divisor(rows, min(cost.UNITS / units, rows / 16))
        self.units = units * self.parts
        self.turned = turned  # whether weights are put in another order first
        taps = max(phase.depth for phase in sweep.phases)
        self.directly = cost.directly(rows, taps)  # without panels
        self.plain_product = sweep.plain and taps == 1 and sweep.stride == (1, 1, 1) and sweep.size == sweep.counts  # the image is the panel
        whole = Strip(Code(Module()), self.type, sweep, self.blocks.axis, self.blocks.length)
        if self.directly:  # all channels at once, since results are not read again
            self.blocks = self.blocks._replace(channels=self.channels)
        panel = 0 if self.directly else self.blocks.channels * taps * whole.panel_step
        self.border = size_in_bytes(self.type, whole.border_elements(self.blocks.channels))
        self.panel = size_in_bytes(self.type, panel)
        self.temporary = 0 if sweep.plain else size_in_bytes(self.type, rows // self.parts * whole.panel_step)
        self.slot = self.border + self.panel + self.temporary * len(sweep.phases)
        whole_image = size_in_bytes(self.type, groups * rows * math.prod(sweep.target))
        self.joins = self.images >= cost.UNITS and whole_image <= cost.IMAGE_BYTES  # whether an image is a unit, if that is asked for
        self.image = self.slot
        if self.joins:
            self.slot += whole_image
        self.slots = slots_for(self.units)

    def scratch(self) -> list[Spec]:
        """Memory to work in: a pool of slots, and weights in another order."""
        found = [Spec((64 + self.slots * self.slot,), np.dtype(np.uint8))]
        if self.turned:
            found.append(Spec((math.prod(self.weight.shape),), self.source.dtype))
        return found

    @property
    def nanoseconds(self) -> float:
        products = sum(phase.depth for phase in self.sweep.phases) * math.prod(self.sweep.counts)
        return 2.0 * products * self.images * self.groups * self.channels * self.rows / FLOPS_PER_NANOSECOND

    # -- code ----------------------------------------------------------------------------------------------------

    def write(self, program: Any, module: Module, routine: Routine) -> list[Any]:
        """The pieces: weights in another order, then the units."""
        values = [each.value for each in routine.sources] + routine.others
        pieces = [Piece(clear(module), [routine.others[1]], 1, 0.0)]
        if self.turned:
            units = self.groups * (self.rows // cost.divisor(self.rows, 16))
            pieces.append(Piece(self.turn(module), [self.weight.value, routine.others[2]], units, math.prod(self.weight.shape) * 1.0))
        if routine.epilogue is None:
            pieces.append(Piece(self.main(module, routine), values, self.units, self.nanoseconds))
        else:
            name, others, nanoseconds = self.with_epilogue(program, module, routine)
            pieces.append(Piece(name, [*values, *others], self.images, self.nanoseconds + nanoseconds))
        return pieces

    def turn(self, module: Module) -> str:
        """Weights of ``(groups * channels, rows, taps)`` as matrices of ``rows`` by channels and taps, one for each phase."""
        c = Code(module)
        c.scalar = True  # elements that lie apart: vectors would take long to compile, and gain nothing
        given = offset(c, "%weight", self.weight)
        kernel = self.weight.shape[2:]
        sizes = (*[1] * (3 - len(kernel)), *kernel)
        taps = math.prod(kernel)
        block = cost.divisor(self.rows, 16)  # rows that are read side by side
        with c.loop(FIRST, LAST) as unit:
            decoder = Decoder(c, unit)
            start, group = c.scale(decoder.take(self.rows // block), block), decoder.rest
            begin = 0
            for phase in self.sweep.phases:
                if not phase.depth:
                    continue
                with c.loop(c.integer(0), c.integer(self.channels)) as channel, c.loop(c.integer(0), c.integer(block)) as number:
                    row = c.add(start, number)
                    at = c.add(c.scale(c.add(c.scale(group, self.channels), channel), self.rows * taps), c.scale(row, taps))
                    to = c.add(c.scale(c.add(c.scale(row, self.channels), channel), phase.depth), c.integer(begin))
                    to = c.add(to, c.scale(group, self.rows * self.channels * taps))
                    for place, numbers in enumerate(itertools.product(*[range(each.count) for each in phase.taps])):
                        tap = 0
                        for each, size, at_ in zip(phase.taps, sizes, numbers):
                            tap = tap * size + each.number + at_ * each.stride
                        c.store(c.load(given, c.add(at, c.integer(tap)), self.type), "%turned", c.add(to, c.integer(place)))
                begin += self.rows * self.channels * phase.depth
        return module.add(f"turn{len(module.names)}", c.function("NAME", "ptr %weight, ptr %turned, i64 %first, i64 %last"))

    def main(self, module: Module, routine: Routine) -> str:
        """The function that does units of work."""
        c = Code(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        slot, bit = take_slot(c, scratch, self.slots, self.slot)
        with c.loop(FIRST, LAST) as unit:
            decoder = Decoder(c, unit)
            part = decoder.take(self.parts)
            places = [decoder.take(each) for each in reversed(self.strips)][::-1]
            group, image = decoder.take(self.groups), decoder.rest
            self.strip(c, module, source, weight, bias, result, slot, image, image, group, places, part)
        give_slot(c, scratch, bit)
        return module.add(f"convolution{routine.index}", c.function("NAME", parameters(names)))

    def with_epilogue(self, program: Any, module: Module, routine: Routine) -> tuple[str, list[Any], float]:
        """The same, image by image; from each image a group is computed, and the image itself is kept only for others."""
        piece = program.kernel(module, routine.epilogue)
        runs = program.kernels[-1].parallel  # the loop over images, and over what was made one with it
        factor = math.prod(routine.epilogue.space[place] for place in runs.places[1:])
        others = [each for each in piece.buffers if each is not routine]
        c = Code(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        more = {each: f"%b{len(names) + at}" for at, each in enumerate(others)}
        slot, bit = take_slot(c, scratch, self.slots, self.slot)
        target = result if routine.kept else c.address(slot, c.integer(self.image), "i8")
        with c.loop(FIRST, LAST) as image:
            with ExitStack() as nest:
                group, *numbers = (nest.enter_context(c.loop(c.integer(0), c.integer(each))) for each in (self.groups, *self.strips))
                places = [c.integer(0) if many == 1 else number for number, many in zip(numbers, self.strips)]
                self.strip(c, module, source, weight, bias, target, slot, image, image if routine.kept else c.integer(0), group, places, c.integer(0))
            more[routine] = result
            if not routine.kept:  # as if all images were there
                back = c.let("i64", f"mul nsw i64 {image.name}, {-self.groups * self.rows * math.prod(self.sweep.target)}")
                more[routine] = c.let("ptr", f"getelementptr {self.type}, ptr {target}, i64 {back.name}").name
            ends = c.scale(image, factor), c.scale(c.add(image, c.integer(1)), factor)
            given = [f"ptr {more[each]}" for each in piece.buffers] + [f"i64 {each.name}" for each in ends]
            c.do(f"call void @{piece.name}({', '.join(given)})")
        give_slot(c, scratch, bit)
        names = [*names, *(more[each] for each in others)]
        name = module.add(f"convolution{routine.index}", c.function("NAME", parameters(names)))
        return name, others, piece.nanoseconds

    def buffers(self, c: Code, routine: Routine) -> tuple[str, str, str, str, str, list[str]]:
        """The parameters of the function: source, weight, bias, result, scratch memory, and all of them."""
        names = [f"%b{at}" for at in range(len(routine.sources) + len(routine.others))]
        at = len(routine.sources)
        source, weight = offset(c, names[0], self.source), offset(c, names[1], self.weight)
        bias = offset(c, names[2], self.bias) if self.bias is not None else ""
        result, scratch = names[at], names[at + 1]
        if self.turned:
            weight = names[at + 2]
        return source, weight, bias, result, scratch, names

    def strip(self, c: Code, module: Module, source: str, weight: str, bias: str, result: str, slot: str,
              image: Scalar, goal: Scalar, group: Scalar, places: list[Scalar], part: Scalar) -> None:  # fmt: skip
        """One unit, given the number of its strip along each dimension; the last strip may be shorter."""
        axis, length = self.blocks.axis, self.blocks.length
        number, count, strips = places[axis], self.sweep.counts[axis], self.strips[axis]
        places = [c.scale(each, length) if at == axis else each for at, each in enumerate(places)]
        sizes: list[tuple[Scalar | None, int]] = [(None, length)]
        if strips * length != count:
            last = c.compare("eq", number, c.integer(strips - 1))
            sizes = [(c.binary("xor", last, c.constant("i1", True)), length), (last, count - (strips - 1) * length)]
        for condition, size in sizes:
            with when(c, condition) if condition is not None else nullcontext():
                strip = Strip(c, self.type, self.sweep, axis, size)
                self.unit(c, module, strip, source, weight, bias, result, slot, image, goal, group, places, part)

    def unit(self, c: Code, module: Module, strip: Strip, source: str, weight: str, bias: str, result: str, slot: str,
             image: Scalar, target_image: Scalar, group: Scalar, places: list[Scalar], part: Scalar) -> None:  # fmt: skip
        """One strip of one image, for one group (or a part of its rows)."""
        sweep, type = self.sweep, self.type
        rows = self.rows // self.parts
        border, panel = slot, c.address(slot, c.integer(self.border), "i8")
        at = self.border + self.panel
        temporaries = [c.address(slot, c.integer(at + number * self.temporary), "i8") for number in range(len(sweep.phases))]
        base = c.scale(c.add(c.scale(image, self.groups), group), self.channels * math.prod(sweep.size))
        row = c.add(c.scale(group, self.rows), c.scale(part, rows))
        goal = c.scale(c.add(c.scale(target_image, self.groups * self.rows), row), math.prod(sweep.target))
        start = c.address(bias, row, type) if bias else "null"
        blocks = self.channels // self.blocks.channels
        for first in sorted({0, min(1, blocks - 1)}):  # the first block of channels begins the sums, the others go on with them
            last = 1 if first == 0 else blocks
            with c.loop(c.integer(first), c.integer(last)) as block:
                here = c.add(base, c.scale(block, self.blocks.channels * math.prod(sweep.size)))
                if strip.direct:
                    begin = strip.start(places)
                    window = c.add(here, c.add(c.scale(begin[0], strip.steps[1]), c.add(c.scale(begin[1], strip.steps[2]), begin[2])))
                    pointer = source
                else:
                    strip.fill(source, here, self.blocks.channels, border, places)
                    window, pointer = c.integer(0), border
                begin_weight = 0
                for number, phase in enumerate(sweep.phases):
                    if not phase.depth:
                        continue
                    step = self.channels * phase.depth
                    column = c.scale(block, self.blocks.channels * phase.depth)
                    if self.turned:
                        row_at = c.add(c.scale(group, self.rows * self.channels * math.prod(self.weight.shape[2:])),
                                       c.add(c.integer(begin_weight), c.scale(c.scale(part, rows), step)))  # fmt: skip
                    else:
                        row_at = c.scale(row, step)
                    begin_weight += self.rows * step
                    target = c.address(result, c.add(goal, pixel_of(c, sweep, places)), type) if sweep.plain else temporaries[number]
                    target_step = math.prod(sweep.target) if sweep.plain else strip.panel_step
                    left = c.address(weight, c.add(row_at, column), type)
                    if self.directly:
                        begin_at = start if first == 0 else "null"
                        direct.convolve(strip, phase, pointer, window, self.blocks.channels, left, rows, target, target_step, begin_at, first > 0)
                        continue
                    right, right_step = panel, strip.panel_step
                    if self.plain_product and strip.direct:
                        right, right_step = c.address(pointer, window, type), strip.steps[0]
                    else:
                        strip.pack(phase, pointer, window, self.blocks.channels, panel)
                    product = Multiplication(
                        type, rows, strip.pixels, self.blocks.channels * phase.depth, step, right_step, target_step,
                        first > 0, bool(bias) and first == 0, right is panel,
                    )  # fmt: skip
                    given = (left, right, target, start)
                    c.do(f"call void @{product.write(module)}({', '.join(f'ptr {each}' for each in given)})")
        for number, phase in enumerate(sweep.phases):
            if not phase.depth:
                self.begin(c, strip, rows, temporaries[number], start)
        if not sweep.plain:
            strip.place(temporaries, strip.panel_step, rows, result, goal, places)

    def begin(self, c: Code, strip: Strip, rows: int, target: str, start: str) -> None:
        """The results of a phase that no tap reaches."""
        with c.loop(c.integer(0), c.integer(rows)) as row:
            value = c.constant(self.type, 0) if start == "null" else c.load(start, row, self.type)
            with c.loop(c.integer(0), c.integer(strip.pixels)) as pixel:
                c.store(value, target, c.add(c.scale(row, strip.panel_step), pixel))


def parameters(names: list[str]) -> str:
    """Of a function that is a piece."""
    return ", ".join([f"ptr {each}" for each in names] + ["i64 %first", "i64 %last"])


def pixel_of(c: Code, sweep: Sweep, places: list[Scalar]) -> Scalar:
    """The number of a result, from its places along the dimensions."""
    _, height, width = sweep.counts
    return c.add(c.scale(places[0], height * width), c.add(c.scale(places[1], width), places[2]))


def clear(module: Module) -> str:
    """A function that marks all slots of a pool as free."""
    c = Code(module)
    c.rolled = True
    c.do("store i64 0, ptr %pool, align 64")
    return module.add(f"clear{len(module.names)}", c.function("NAME", "ptr %pool, i64 %first, i64 %last"))


class WeightGradient:
    """The gradient of a convolution's weights: for each part of the batch a sum, then the sum of these."""

    def __init__(self, source: Reference, grad: Reference, sweep: Sweep, groups: int) -> None:
        self.source, self.grad, self.sweep, self.groups = source, grad, sweep, groups
        self.type = TYPES[source.dtype]
        self.images, self.channels, self.rows = source.shape[0], source.shape[1] // groups, grad.shape[1] // groups
        self.taps = sweep.phases[0].depth
        self.depth = self.channels * self.taps
        self.directly = cost.directly(self.rows, self.taps)
        self.blocks = cost.blocks(sweep, self.channels, BYTES[self.type], cost.UNITS)
        channels = self.blocks.channels
        weights = groups * self.depth * self.rows
        self.chunks = max(1, min(self.images, 2 * cost.UNITS, PARTIAL_BYTES // (weights * BYTES[self.type])))
        wanted = 2 * cost.UNITS / (self.chunks * groups)
        self.block = cost.divisor(self.channels, min(channels, max(1.0, self.channels / max(1.0, wanted), 64 / self.taps)))
        self.units = self.chunks * groups * (self.channels // self.block)
        self.weights = weights
        whole = Strip(Code(Module()), self.type, sweep, self.blocks.axis, self.blocks.length)
        self.turned_step = odd_step(self.type, self.rows)
        self.border = size_in_bytes(self.type, whole.border_elements(self.block))
        self.panel = size_in_bytes(self.type, self.block * self.taps * whole.panel_step)
        self.slot = self.border + self.panel + size_in_bytes(self.type, whole.pixels * self.turned_step)
        self.slots = slots_for(self.units)

    def scratch(self) -> list[Spec]:
        return [Spec((64 + self.slots * self.slot,), np.dtype(np.uint8)), Spec((self.chunks * self.weights,), self.source.dtype)]

    def write(self, program: Any, module: Module, routine: Routine) -> list[Any]:
        source, grad = (each.value for each in routine.sources)
        result, pool, parts = routine.others
        work = 2.0 * self.images * math.prod(self.sweep.counts) * self.weights / FLOPS_PER_NANOSECOND
        pieces = [
            Piece(clear(module), [pool], 1, 0.0),
            Piece(self.main(module), [source, grad, pool, parts], self.units, work),
        ]
        name, extent = self.sum(module)
        pieces.append(Piece(name, [parts, result], extent, (self.chunks + 1.0) * self.weights * 0.3))
        return pieces

    def main(self, module: Module) -> str:
        c = Code(module)
        c.rolled = True
        source, grad = offset(c, "%source", self.source), offset(c, "%grad", self.grad)
        slot, bit = take_slot(c, "%pool", self.slots, self.slot)
        sweep = self.sweep
        axis, length = self.blocks.axis, self.blocks.length
        whole, rest = divmod(sweep.counts[axis], length)
        with c.loop(FIRST, LAST) as unit:
            decoder = Decoder(c, unit)
            block = decoder.take(self.channels // self.block)
            group, chunk = decoder.take(self.groups), decoder.rest
            at = c.add(c.scale(chunk, self.weights), c.scale(group, self.depth * self.rows))
            at = c.add(at, c.scale(block, self.block * self.taps * self.rows))
            target = c.address("%parts", at, self.type)
            fill_run(c, self.type, target, c.integer(0), self.block * self.taps * self.rows)
            images = c.number(self.images)
            first, last = (
                c.let("i64", f"udiv i64 {c.binary('mul', each, images).name}, {self.chunks}") for each in (chunk, c.add(chunk, c.integer(1)))
            )
            with ExitStack() as nest:
                image = nest.enter_context(c.loop(first, last))
                places = [nest.enter_context(c.loop(c.integer(0), c.integer(each))) for each in sweep.counts[:axis]]
                after = [c.integer(0)] * (2 - axis)
                for size, begin, many in ((length, 0, whole), (rest, whole * length, 1)):
                    if size and many:
                        with c.loop(c.integer(0), c.integer(many)) as number:
                            place = c.add(c.integer(begin), c.scale(number, length))
                            self.strip(c, module, size, source, grad, slot, target, image, group, block, [*places, place, *after])
        give_slot(c, "%pool", bit)
        return module.add(f"gradient{len(module.names)}", c.function("NAME", "ptr %source, ptr %grad, ptr %pool, ptr %parts, i64 %first, i64 %last"))

    def strip(self, c: Code, module: Module, length: int, source: str, grad: str, slot: str, target: str,
              image: Scalar, group: Scalar, block: Scalar, places: list[Scalar]) -> None:  # fmt: skip
        """What one strip of an image adds."""
        sweep, type = self.sweep, self.type
        strip = Strip(c, type, sweep, self.blocks.axis, length)
        border, panel, turned = slot, *(c.address(slot, c.integer(at), "i8") for at in (self.border, self.border + self.panel))
        size, pixels = math.prod(sweep.size), math.prod(sweep.target)
        channel = c.add(c.scale(c.add(c.scale(image, self.groups), group), self.channels), c.scale(block, self.block))
        here = c.scale(channel, size)
        if strip.direct:
            begin = strip.start(places)
            window = c.add(here, c.add(c.scale(begin[0], strip.steps[1]), c.add(c.scale(begin[1], strip.steps[2]), begin[2])))
            pointer = source
        else:
            strip.fill(source, here, self.block, border, places)
            window, pointer = c.integer(0), border
        row = c.scale(c.add(c.scale(image, self.groups), group), self.rows * pixels)
        at = c.add(row, pixel_of(c, sweep, places))
        if self.directly:
            direct.correlate(strip, sweep.phases[0], pointer, window, self.block, grad, at, pixels, self.rows, target)
            return
        strip.pack(sweep.phases[0], pointer, window, self.block, panel)
        if self.rows % lanes(type):
            fill_run(c, type, turned, c.integer(0), strip.pixels * self.turned_step)
        transpose(c, type, grad, at, pixels, turned, c.integer(0), self.turned_step, self.rows, strip.pixels)
        product = Multiplication(type, self.block * self.taps, self.rows, strip.pixels, strip.panel_step, self.turned_step, self.rows, True, False, True)
        c.do(f"call void @{product.write(module)}(ptr {panel}, ptr {turned}, ptr {target}, ptr null)")

    def sum(self, module: Module) -> tuple[str, int]:
        """Add up the parts of the batch, and put the weights in their order."""
        c, rows = Code(module), cost.divisor(self.depth, 64)
        c.rolled = True
        blocks = self.depth // rows
        with c.loop(FIRST, LAST) as unit:
            decoder = Decoder(c, unit)
            block, group = decoder.take(blocks), decoder.rest
            at = c.add(c.scale(group, self.depth * self.rows), c.scale(block, rows * self.rows))
            with c.loop(c.integer(1), c.integer(self.chunks)) as chunk, c.loop(c.integer(0), c.integer(rows * self.rows)) as index:
                here = c.add(at, index)
                value = c.binary("fadd", c.load("%parts", here, self.type), c.load("%parts", c.add(here, c.scale(chunk, self.weights)), self.type))
                c.store(value, "%parts", here)
            to = c.add(c.scale(group, self.rows * self.depth), c.scale(block, rows))
            transpose(c, self.type, "%parts", at, self.rows, "%result", to, self.depth, rows, self.rows)
        name = module.add(f"sum{len(module.names)}", c.function("NAME", "ptr noalias %parts, ptr noalias %result, i64 %first, i64 %last"))
        return name, self.groups * blocks


# -- from ops ----------------------------------------------------------------------------------------------------


def possible(sweep: Sweep) -> bool:
    """Whether code for a sweep is of a reasonable size."""
    return len(sweep.phases) <= CODE_LIMIT and not any(phase.taps[2].count > UNROLLED and sweep.stride[2] > 1 for phase in sweep.phases)


def convolution(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """The routine of a convolution or a transposed one."""
    source, weight, bias, stride, padding, dilation, transposed, _, groups = args
    ndim = len(weight.shape) - 2
    if source.dtype.char not in "fd" or not 1 <= ndim <= 3 or not spec.size or not weight.value.size or 0 in source.shape or 0 in weight.shape:
        return NotImplemented
    steps, pads, apart = (expand_ints(each, ndim, "convolution", "") for each in (stride, padding, dilation))
    make = transposed_sweep if transposed else forward_sweep
    sweep = make(source.shape[2:], weight.shape[2:], spec.shape[2:], steps, pads, apart)
    if not possible(sweep):
        return NotImplemented
    source, weight = simple(builder, source), simple(builder, weight)
    bias = None if bias is None else simple(builder, bias)
    rows = weight.shape[1] if transposed else weight.shape[0] // groups
    work = Convolution(source, weight, bias, sweep, groups, rows, bool(transposed))
    sources = [source, weight] + ([] if bias is None else [bias])
    made = builder.routine(sources, [spec], node, work.write, work.scratch())[0]
    made.value.joins = work.joins
    return made


def weight_gradient(builder: Builder, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """The routine of the gradient of a convolution's weights."""
    source, grad, kernel, stride, padding, dilation, groups = args
    ndim = len(kernel)
    if source.dtype.char not in "fd" or not 1 <= ndim <= 3 or not spec.size or 0 in source.shape or 0 in grad.shape:
        return NotImplemented
    steps, pads, apart = (expand_ints(each, ndim, "convolution", "") for each in (stride, padding, dilation))
    sweep = forward_sweep(source.shape[2:], tuple(kernel), grad.shape[2:], steps, pads, apart)
    if not possible(sweep):
        return NotImplemented
    source, grad = simple(builder, source), simple(builder, grad)
    work = WeightGradient(source, grad, sweep, groups)
    return builder.routine([source, grad], [spec], node, work.write, work.scratch())[0]


ROUTINES["convolution"] = convolution
ROUTINES["convolution_weight_gradient"] = weight_gradient

"""Work on images that falls into units, which threads share: images, groups of channels, strips of an image, parts of the results' rows.

What one unit computes does not depend on how many threads there are.  Memory to work in is taken from a pool of slots.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.parallel import pool as eager_pool
from ...schedule.symbolic_shape import at_most, may_reach
from ...schedule.tensor_ir import Builder, Reference, Routine, strides_of
from .ir import TYPES, Code, Module, Scalar
from .piece import Piece, SizesFrom
from .vectors import BYTES

FIRST, LAST = Scalar("%first", "i64"), Scalar("%last", "i64")


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


def offset(c: Code, pointer: str, reference: Reference) -> str:
    """Where a reference begins, in the memory of its value."""
    return pointer if not reference.offset else c.address(pointer, c.integer(reference.offset), TYPES[reference.dtype])


def parameters(names: list[str]) -> str:
    """Of a function that is a piece."""
    return ", ".join([f"ptr {each}" for each in names] + ["i64 %first", "i64 %last"])


def size_in_bytes(type: str, elements: int) -> int:
    """Of an array, to the end of a line of the cache."""
    return -(-elements * BYTES[type] // 64) * 64


# -- slots -------------------------------------------------------------------------------------------------------


def slots_for(units: int) -> int:
    """How many pieces of scratch memory there are: as many as threads that may ask at once."""
    return max(1, at_most(units, min(64, max(8, eager_pool.threads))))


def pool_of(slots: int, bytes: int) -> Spec:
    """The memory of a pool of slots."""
    return Spec((64 + slots * bytes,), np.dtype(np.uint8))


def clear(module: Module) -> str:
    """A function that marks all slots of a pool as free."""
    c = Code(module)
    c.rolled = True
    c.do("store i64 0, ptr %pool, align 64")
    return module.add(f"clear{len(module.names)}", c.function("NAME", "ptr %pool, i64 %first, i64 %last"))


def take_slot(c: Code, pool: str, slots: int, bytes: int) -> tuple[str, Scalar]:
    """Memory to work in that nobody else uses at the moment: its address, and what gives it back.

    The first word of the pool has a bit for each piece that is in use.
    """
    head, body, done = c.fresh("head"), c.fresh("body"), c.fresh("done")
    c.do(f"br label %{head}")
    c.label(head)
    used = c.let("i64", f"load atomic i64, ptr {pool} monotonic, align 64")
    free = c.binary("xor", used, c.integer(-1))
    c.module.declare("declare i64 @llvm.cttz.i64(i64, i1)")
    number = c.let("i64", f"call i64 @llvm.cttz.i64(i64 {free.name}, i1 false)")
    c.do(f"br i1 {c.compare('ult', number, c.integer(slots)).name}, label %{body}, label %{head}")
    c.label(body)
    bit = c.let("i64", f"shl i64 1, {number.name}")
    pair = c.let("{ i64, i1 }", f"cmpxchg ptr {pool}, i64 {used.name}, i64 {c.binary('or', used, bit).name} seq_cst seq_cst")
    mine = c.let("i1", f"extractvalue {pair.type} {pair.name}, 1")
    c.do(f"br i1 {mine.name}, label %{done}, label %{head}")
    c.label(done)
    place = c.add(c.integer(64), c.scale(number, bytes))
    return c.address(pool, place, "i8"), bit


def give_slot(c: Code, pool: str, bit: Scalar) -> None:
    """Give memory back."""
    c.let("i64", f"atomicrmw xor ptr {pool}, i64 {bit.name} seq_cst")


class ImageRoutine:
    """A routine that computes images from images, weights and perhaps a bias.

    Those who inherit say how work falls into units, and write one of them (:meth:`strip`).
    """

    source: Reference
    weight: Reference
    bias: Reference | None
    type: str
    images: int
    groups: int
    strips: list[int]  # along each dimension
    parts = 1  # of the rows
    slot: int  # bytes that a unit works in
    target: int  # elements of an image of the result
    nanoseconds: float  # that it takes
    weights = 0  # elements of the weights in another form, if they are to have one
    joins = False  # whether an image can be a unit, if that is asked for
    image = 0  # where in a slot the image is then

    @property
    def units(self) -> int:
        """How many there are."""
        return self.images * self.groups * math.prod(self.strips) * self.parts

    def room_for_images(self, least: int, limit: int) -> None:
        """Say whether an image can be a unit, and make room for it."""
        size = size_in_bytes(self.type, self.target)
        self.joins, self.image = may_reach(self.images, least) and size <= limit, self.slot
        if self.joins:
            self.slot += size

    def scratch(self) -> list[Spec]:
        """Memory to work in: a pool of slots, and weights in another form."""
        found = [pool_of(slots_for(self.units), self.slot)]
        if self.weights:
            found.append(Spec((self.weights,), self.source.dtype))
        return found

    def turn(self, module: Module) -> tuple[str, int]:
        """The function that puts weights in another form, and into how many units that falls."""
        raise NotImplementedError

    def strip(self, c: Code, module: Module, source: str, weight: str, bias: str, result: str, slot: str,
              image: Scalar, goal: Scalar, group: Scalar, places: list[Scalar], part: Scalar) -> None:  # fmt: skip
        """Write one unit, given the number of its strip along each dimension; ``goal`` is the number of the image in the result."""
        raise NotImplementedError

    def write(self, program: Any, module: Module, routine: Routine) -> list[Any]:
        """The pieces: weights in another form, then the units."""
        values = [each.value for each in routine.sources] + routine.others
        pieces = [Piece(clear(module), [routine.others[1]], 1, 0.0)]
        if self.weights:
            name, units = self.turn(module)
            pieces.append(Piece(name, [self.weight.value, routine.others[2]], units, self.weights * 1.0))
        if routine.epilogue is None:
            pieces.append(Piece(self.main(module, routine), values, self.units, self.nanoseconds))
        else:
            name, others, nanoseconds = self.with_epilogue(program, module, routine)
            pieces.append(Piece(name, [*values, *others], self.images, self.nanoseconds + nanoseconds))
        return pieces

    def main(self, module: Module, routine: Routine) -> str:
        """The function that does units of work."""
        c = Code(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        slot, bit = take_slot(c, scratch, slots_for(self.units), self.slot)
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
        piece = program.kernel(module, routine.epilogue, whole=False)
        runs = program.latest.parallel  # the loop over images, and over what was made one with it
        factor = math.prod(routine.epilogue.space[place] for place in runs.dims[1:])
        others = [each for each in piece.buffers if each is not routine]
        if piece.name in module.sized:
            others.append(SizesFrom(module.sized[piece.name]))
            piece = piece._replace(name=module.same.get(piece.name, piece.name), buffers=[others[-1], *piece.buffers])
        c = Code(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        more = {each: f"%b{len(names) + at}" for at, each in enumerate(others)}
        slot, bit = take_slot(c, scratch, slots_for(self.units), self.slot)
        target = result if routine.kept else c.address(slot, c.integer(self.image), "i8")
        with c.loop(FIRST, LAST) as image:
            with ExitStack() as nest:
                group, *numbers = (nest.enter_context(c.loop(c.integer(0), c.integer(each))) for each in (self.groups, *self.strips))
                places = [c.integer(0) if many == 1 else number for number, many in zip(numbers, self.strips)]
                goal = image if routine.kept else c.integer(0)
                self.strip(
                    c,
                    module,
                    source,
                    weight,
                    bias,
                    target,
                    slot,
                    image,
                    goal,
                    c.integer(0) if self.groups == 1 else group,
                    places,
                    c.integer(0),
                )
            more[routine] = result
            if not routine.kept:  # as if all images were there
                back = c.let("i64", f"mul nsw i64 {image.name}, {-self.target}")
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
        return source, names[at + 2] if self.weights else weight, bias, names[at], names[at + 1], names

"""The frame of a convolution: units of work (images, groups of channels, strips of an image, parts of the output channels) that threads share.

What one unit computes does not depend on how many threads there are.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any, NamedTuple

from ....core.base import Spec
from ....schedule.symbolic_shape import may_reach
from ....schedule.tensor_ir import Reference, Routine, TensorIRBuilder, strides_of
from ..ir import FIRST, LAST, TYPES, IRBuilder, Module, Scalar, pointers
from ..native_call import Lowering, NativeCall, SizesFrom
from ..scratch_pool import ScratchPool, cache_lines


class UnitIndices:
    """The linear index of a unit, decomposed along several dimensions."""

    def __init__(self, c: IRBuilder, unit: Scalar) -> None:
        self.c = c
        self.rest = unit

    def take(self, size: int) -> Scalar:
        """The index along the next dimension, the last one first."""
        if size == 1:
            return self.c.integer(0)
        whole, self.rest = self.rest, self.c.div(self.rest, size)
        return self.c.rem(whole, size)


def contiguous(builder: TensorIRBuilder, reference: Reference) -> Reference:
    """The reference, or a contiguous copy."""
    return reference if reference.strides == strides_of(reference.shape) else builder.copy(reference, None)


def begin_of(c: IRBuilder, pointer: str, reference: Reference) -> str:
    """The address where a reference begins, in the memory of its value."""
    return pointer if not reference.offset else c.address(pointer, reference.offset, TYPES[reference.dtype])


class ImageUnit(NamedTuple):
    """The operands of one unit: addresses, and the indices of its image, group, strip (along each dimension) and part of the output channels."""

    source: str
    weight: str
    bias: str  # "" where there is none
    result: str
    slot: str  # scratch memory
    image: Scalar
    goal: Scalar  # the index of the image in the result
    group: Scalar
    position: list[Scalar]
    part: Scalar


class ImageRoutine:
    """A routine that computes images from images, weights and perhaps a bias.

    A subclass defines the units of its work, and emits one of them (:meth:`strip`).
    """

    source: Reference
    weight: Reference
    bias: Reference | None
    type: str
    images: int
    groups: int
    strips: list[int]  # along each dimension
    parts = 1  # of the output channels
    slot: int  # bytes of scratch memory of a unit
    target: int  # elements of an image of the result
    nanoseconds: float  # estimated
    weights = 0  # elements of the transformed weights, if there are any
    takes_epilogue = False  # whether an image can be a unit, so that an epilogue is computed from it
    image = 0  # the offset of that image in a slot

    @property
    def units(self) -> int:
        """The number of units."""
        return self.images * self.groups * math.prod(self.strips) * self.parts

    @property
    def pool(self) -> ScratchPool:
        return ScratchPool(self.units, self.slot)

    def allow_epilogue(self, least: int, limit: int) -> None:
        """Reserve an image in a slot, where there are enough images and each fits in the cache."""
        size = cache_lines(self.type, self.target)
        self.takes_epilogue, self.image = may_reach(self.images, least) and size <= limit, self.slot
        if self.takes_epilogue:
            self.slot += size

    def scratch(self) -> list[Spec]:
        """Scratch memory: a pool of slots, and transformed weights."""
        return [self.pool.spec] + ([Spec((self.weights,), self.source.dtype)] if self.weights else [])

    def transform_weights(self, module: Module) -> tuple[str, int]:
        """The function that transforms the weights, and its number of units."""
        raise NotImplementedError

    def strip(self, c: IRBuilder, unit: ImageUnit) -> None:
        """Emit one unit."""
        raise NotImplementedError

    def write(self, program: Lowering, module: Module, routine: Routine) -> list[NativeCall]:
        """The native calls: transformed weights, then the units."""
        values = [each.value for each in routine.inputs] + routine.others
        native_calls = [self.pool.clear(module, routine.others[1])]
        if self.weights:
            name, units = self.transform_weights(module)
            native_calls.append(NativeCall(name, [self.weight.value, routine.others[2]], units, self.weights * 1.0))
        if routine.epilogue is None:
            native_calls.append(NativeCall(self.main(module, routine), values, self.units, self.nanoseconds))
        else:
            name, others, nanoseconds = self.with_epilogue(program, module, routine)
            native_calls.append(NativeCall(name, [*values, *others], self.images, self.nanoseconds + nanoseconds))
        return native_calls

    def main(self, module: Module, routine: Routine) -> str:
        """The function that does units of work."""
        c = IRBuilder(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        with self.pool.slot(c, scratch) as slot, c.loop(FIRST, LAST) as unit:
            indices = UnitIndices(c, unit)
            part = indices.take(self.parts)
            position = [indices.take(each) for each in reversed(self.strips)][::-1]
            group, image = indices.take(self.groups), indices.rest
            self.strip(c, ImageUnit(source, weight, bias, result, slot, image, image, group, position, part))
        return module.add("convolution", c.function("", pointers(names)))

    def with_epilogue(self, program: Lowering, module: Module, routine: Routine) -> tuple[str, list[Any], float]:
        """The same image by image, each followed by its epilogue; the image itself is stored only if something else reads it."""
        native_call = program.kernel(module, routine.epilogue, whole=False)
        runs = program.latest.parallel  # the loop over images, and over what was merged with it
        assert runs is not None
        factor = math.prod(routine.epilogue.space[offset] for offset in runs.dims[1:])
        others = [each for each in native_call.buffers if each is not routine]
        if native_call.name in module.sized:
            others.append(SizesFrom(module.sized[native_call.name]))
            native_call = native_call._replace(
                name=module.same.get(native_call.name, native_call.name), buffers=[others[-1], *native_call.buffers]
            )
        c = IRBuilder(module)
        c.rolled = True
        source, weight, bias, result, scratch, names = self.buffers(c, routine)
        more = {each: f"%b{len(names) + at}" for at, each in enumerate(others)}
        with self.pool.slot(c, scratch) as slot:
            target = result if routine.kept else c.address(slot, self.image, "i8")
            with c.loop(FIRST, LAST) as image:
                with ExitStack() as nest:
                    loops = [nest.enter_context(c.loop(each)) for each in (self.groups, *self.strips)]
                    group, *position = (c.integer(0) if many == 1 else each for each, many in zip(loops, (self.groups, *self.strips)))
                    goal = image if routine.kept else c.integer(0)
                    self.strip(c, ImageUnit(source, weight, bias, target, slot, image, goal, group, position, c.integer(0)))
                more[routine] = result
                if not routine.kept:  # addressed as in the array of all images
                    back = Scalar(c.emit("mul", "i64", (image, c.integer(-self.target)), "nsw ").name, "i64")
                    more[routine] = c.emit("getelementptr", self.type, (Scalar(target, "ptr"), back), "", "ptr").name
                ends = c.scale(image, factor), c.scale(c.add(image, 1), factor)
                c.call_function(native_call.name, *[more[each] for each in native_call.buffers], *ends)
        name = module.add("convolution", c.function("", pointers([*names, *(more[each] for each in others)])))
        return name, others, native_call.nanoseconds

    def buffers(self, c: IRBuilder, routine: Routine) -> tuple[str, str, str, str, str, list[str]]:
        """The parameters of the function: source, weight, bias, result, scratch memory, and all of them."""
        names = [f"%b{at}" for at in range(len(routine.inputs) + len(routine.others))]
        at = len(routine.inputs)
        source, weight = begin_of(c, names[0], self.source), begin_of(c, names[1], self.weight)
        bias = begin_of(c, names[2], self.bias) if self.bias is not None else ""
        return source, names[at + 2] if self.weights else weight, bias, names[at], names[at + 1], names

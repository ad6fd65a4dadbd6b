"""Arenas: the memory that programs work in, and the general call of a program from Python, array by array."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from ...core.base import TensorBase, make
from ...core.parallel import return_memory
from ...schedule.lowering import direct_kernel, operand_memory
from ...schedule.memory_plan import ALIGNMENT
from ...schedule.tensor_ir import SIZES, Call, Constant, Input, Reference, Value
from ...schedule.view_strides import address as asked_address
from ..call import launcher
from ..call.object_layout import OFFSETS
from .thread_pool import pool

NUMBERS = ctypes.c_int64


def read_address(array: Any) -> int:
    """The address of an array, read from NumPy's struct: in a fifth of :func:`asked_address`'s time."""
    return NUMBERS.from_address(id(array) + _DATA).value


_DATA = 0 if OFFSETS is None else OFFSETS.data
address = asked_address if OFFSETS is None else read_address


class Arena:
    """An arena that programs share.  While a call uses it, its flag is set, and other calls use another."""

    def __init__(self) -> None:
        self.flag = NUMBERS()
        self.users: weakref.WeakSet[CallArena] = weakref.WeakSet()
        self.memory = np.empty(0, np.uint8)

    def take(self) -> bool:
        """Whether the arena was free: then this call owns it until it clears the flag."""
        return pool().compiled is not None and not pool().take(ctypes.addressof(self.flag))

    def join(self, space: CallArena) -> None:
        """Bind a call to this arena; where it must grow, all other users are rebound."""
        self.users.add(space)
        moved = [space]
        if space.program.arena + ALIGNMENT > self.memory.size:
            self.memory = np.empty(0, np.uint8)
            if space.program.arena >= HUGE:  # what was captured has left tensors behind, of a step that was computed op by op
                return_memory()
            self.memory = np.empty(space.program.arena + ALIGNMENT, np.uint8)
            moved = list(self.users)
        start = -(-address(self.memory) // ALIGNMENT) * ALIGNMENT
        for each in moved:
            for value, offset in each.program.offsets.items():
                each.table[each.program.slots[value]] = start + offset

    def leave(self, space: CallArena) -> None:
        """Free the memory when its last user is gone."""
        self.users.discard(space)
        if not self.users:
            self.memory = np.empty(0, np.uint8)


LARGE = 1 << 18  # bytes: programs that need as much share their memory
HUGE = 1 << 26  # bytes: before as much is allocated, what can be freed is
_shared = Arena()


class CallArena:
    """The table of addresses and the arena of one call at a time.

    Large programs share an arena, so that those of a training step take as much memory as the largest of them; so do the instances of a template.
    """

    def __init__(self, program: Any, alone: bool) -> None:
        self.program = program
        self.table = (NUMBERS * (launcher.status_of(program) + 1))()
        together = not alone and (program.arena >= LARGE or program.filled) and _shared.take()  # no call may run while addresses change
        self.arena = _shared if together else Arena()
        try:
            self.arena.join(self)
        finally:
            self.arena.flag.value = 0
        for value in program.constants:
            self.table[program.slots[value]] = address(value.array)
        if program.numbers is not None:
            self.table[program.slots[SIZES]] = address(program.numbers)
        self.kernels: dict[Call, Any] = {}  # of ops that are called past dispatch
        self.borrowed: list[tuple[Call, Any, list[tuple[int, Value]]]] = []  # values that are computed in the memory of an op
        for part in program.parts:
            if isinstance(part, Call):
                self.prepare(part)
        self.place = ctypes.addressof(self.table)
        self.busy = ctypes.addressof(self.arena.flag)  # the address of the flag

    def __del__(self) -> None:
        self.arena.leave(self)

    def prepare(self, part: Call) -> None:
        """Record how an op is called, and which operands can be computed in the op's own memory: whole values that share memory with no other."""
        op = getattr(part.target, "op", None)
        if op is None:
            return
        kernel, lend = direct_kernel.of(op), operand_memory.of(op)
        if kernel is not None:
            self.kernels[part] = kernel
        if lend is not None:
            taken = {each.alias_of for each in self.program.slots if isinstance(each, Value) and each.alias_of is not None}
            values = [
                (at, each.value)
                for at, each in enumerate(part.args[0])
                if each.value in self.program.offsets and each.value not in taken
                and each.shape == each.value.shape and each.strides == each.value.strides and not each.offset
            ]  # fmt: skip
            self.borrowed.append((part, lend, values))

    def borrow(self, made: dict[Value, Any]) -> None:
        """Place values in the memory of the ops that take them, or in the arena where those provide none."""
        program, table = self.program, self.table
        start = -(-address(self.arena.memory) // ALIGNMENT) * ALIGNMENT
        for part, give, values in self.borrowed:
            arrays = give(*part.args[1:])
            for at, value in values:
                array = None if arrays is None else arrays[at]
                if array is not None and array.shape == value.shape and array.dtype == value.dtype and array.flags.c_contiguous:
                    made[value] = array
                    table[program.slots[value]] = address(array)
                else:
                    table[program.slots[value]] = start + program.offsets[value]

    def run(self, arrays: list[Any]) -> list[Any]:
        """The outputs of the program for some inputs; the caller must own the arena."""
        program, table = self.program, self.table
        for at, value in enumerate(program.inputs):
            table[at] = address(arrays[value.position])
        made: dict[Value, Any] = {}
        for root in program.roots:
            array = made[root] = np.empty(root.shape, root.dtype)
            table[program.slots[root]] = address(array)
        if self.borrowed:
            self.borrow(made)
        for part in program.parts:
            if isinstance(part, Call):
                self.call(part, arrays, made)
            else:
                part(self.place)
                if table[launcher.status_of(program)]:
                    table[launcher.status_of(program)] = 0
                    raise launcher.Refused
        results = [None if each is None else self.resolve_reference(each, arrays, made) for each in program.outputs]
        if program.copies:
            copied = [np.array(self.resolve_reference(each, arrays, made)) for each, _ in program.copies if each is not None]
            for array, (_, position) in zip(copied, program.copies, strict=True):
                arrays[position][...] = array
        return results

    def array_of(self, value: Any, arrays: list[Any], made: dict[Value, Any]) -> Any:
        """The array of a value that has one of its own, or None."""
        if isinstance(value, Input):
            return arrays[value.position]
        if isinstance(value, Constant):
            return value.array
        return made.get(value)

    def resolve_reference(self, reference: Reference, arrays: list[Any], made: dict[Value, Any]) -> Any:
        """The array of a reference."""
        value = reference.value
        array = self.array_of(value, arrays, made)
        if array is not None and reference.shape == value.shape and reference.strides == value.strides and not reference.offset:
            return array
        if 0 in reference.shape:
            return np.empty(reference.shape, value.dtype)
        size = value.dtype.itemsize
        steps = [each * size for each in reference.strides]
        if array is not None:
            return launcher.resolve_reference(array, reference)
        low = sum(min(0, step * (count - 1)) for step, count in zip(steps, reference.shape))
        length = sum(abs(step) * (count - 1) for step, count in zip(steps, reference.shape)) + size
        start = self.table[self.program.slots[value]] + reference.offset * size + low
        memory: Any = (ctypes.c_char * length).from_address(start)
        return np.ndarray(reference.shape, value.dtype, memory, -low, steps)

    def argument(self, argument: Any, arrays: list[Any], made: dict[Value, Any], given: list[Any]) -> Any:
        """An argument of an op with tensors for references, whose arrays are collected (not a closure of `call`: its cycle would keep them alive)."""
        if isinstance(argument, Reference):
            given.append(self.resolve_reference(argument, arrays, made))
            return make(given[-1])
        if isinstance(argument, (tuple, list)):
            return type(argument)([self.argument(each, arrays, made, given) for each in argument])
        return argument

    def call(self, value: Call, arrays: list[Any], made: dict[Value, Any]) -> None:
        """Run an op on tensors over the arrays of its operands."""
        given: list[Any] = []
        args = self.argument(value.args, arrays, made, given)
        target = self.kernels.get(value, value.target) if self.kernels else value.target
        result = target(*args, **{name: self.argument(each, arrays, made, given) for name, each in value.kwargs.items()})
        for each, output in zip(value.others, result if value.part is not None else (result,)):
            array = output._array if isinstance(output, TensorBase) else np.asarray(output)
            if array.shape != each.shape or array.dtype != each.dtype:
                raise launcher.Refused(f"{value.node}: expected {each!r}, but got {array.shape} {array.dtype}")
            if not array.flags.c_contiguous or (array.base is not None and any(np.may_share_memory(array, one) for one in given)):
                array = np.array(array, order="C")
            made[each] = array
            self.table[self.program.slots[each]] = address(array)

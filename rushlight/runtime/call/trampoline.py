"""The trampoline: a built-in function, made of machine code, that checks tensors, calls native code and makes the result tensors.

Reading a tensor's array, shape, dtype and strides takes longer in Python than a small kernel runs, and so does making a tensor.
Here a function of CPython's own calling convention reads those fields where CPython and NumPy keep them, compares them with what a program
was compiled for, and calls the program.  The offsets of the fields are found by experiment (``object_layout.py``); where they are not found,
or where ``RUSHLIGHT_TRAMPOLINE=0``, ``python_trampoline.py`` does the same.  ``bench/call_overhead.py`` measures the difference.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...codegen.llvm.ir import Part, Scalar
from ...core.base import runtime
from ...nn import Parameter
from .object_layout import OFFSETS, PLAIN, WRITABLE, Offsets
from .pyobject_code import FASTCALL, NULL, BuiltinFunction, ObjectCode, table_of

_ANY = -(1 << 63)  # a stride that is not compared
_NEW_FROM_DESCR = 94  # the index in NumPy's C API table of the function that makes arrays
LONG = 60_000  # nanoseconds: programs that take longer release the GIL
NEW, BLOCK, INSIDE = range(3)  # results: a tensor of its own, memory for several values, one of those

# The words of a table: the header, then a record for each tensor, each result and each value in an array argument.
_COUNT, _TENSORS, _RESULTS, _VALUES, _ARRAY_VALUES, _RANK, _WRITTEN, _SPACE, _PROGRAM, _BUSY, _LONGER, _HEAD = range(12)
# The words of a tensor's record, before sizes and strides; of a result's, before its sizes; of an array value's.
_TYPE, _REQUIRES, _DTYPE, _SLOT, _MASK, _WRITES, _DIMENSIONS, _STORAGE, _FOUND, _RECORD = range(10)
_KIND, _RESULT_SLOT, _OFFSET, _RESULT_DTYPE, _RESULT_DIMENSIONS, _NUMBER, _OWNER, _REUSES, _REUSED, _RESULT = range(10)
_VALUE_PLACE, _VALUE_SLOT, _VALUE_OFFSET, _VALUE = range(4)
_DONE, _DECLINED, _FAILED = (Scalar(str(each), "i32") for each in range(3))  # how a program ends; a Python error


class TensorGuard(NamedTuple):
    """What a tensor among the arguments must be for a program."""

    slot: int  # of the program's addresses
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]  # in elements
    writes: bool = False
    requires_grad: bool | None = None  # None: it does not matter
    type: Any = None  # None: Tensor or Parameter


class Result(NamedTuple):
    """A value that is made: as a tensor (NEW), or INSIDE of the BLOCK before it; a block comes out as an array of bytes.

    A tensor may become the gradient of an argument, its ``owner``, and is assigned in the end.  Where the owner's present gradient may be
    overwritten (``reuses``), and nothing else references it, it is reused.
    """

    kind: int
    slot: int
    shape: tuple[int, ...] = ()
    dtype: Any = None
    offset: int = 0
    owner: int | None = None
    reuses: bool = False


class ArrayValue(NamedTuple):
    """A value in the memory of an array argument, at a byte offset."""

    position: int  # of the argument
    slot: int
    offset: int = 0


def make_trampoline(
    address: int,
    space: Any,
    tensors: Sequence[TensorGuard],
    results: Sequence[Result],
    array_values: Sequence[ArrayValue],
    arrays: int,
    nanoseconds: float,
) -> Callable[..., Any]:
    """A built-in function of tensors and then of some arrays: it gives a tuple of what is made, or NotImplemented where it did nothing.

    ``address`` is that of the program's function, and ``space`` the memory in which it works, one call at a time.
    """
    assert OFFSETS is not None
    rank = max([*(len(each.shape) for each in tensors), *(len(each.shape) for each in results)], default=0)
    words = [0] * _HEAD
    outside = [each for each in results if each.kind != INSIDE]
    words[_COUNT], words[_TENSORS], words[_RESULTS], words[_ARRAY_VALUES], words[_RANK] = (
        len(tensors) + arrays,
        len(tensors),
        len(results),
        len(array_values),
        rank,
    )
    words[_SPACE], words[_PROGRAM], words[_LONGER], words[_VALUES] = space.place, address, int(nanoseconds > LONG), len(outside)
    words[_BUSY], words[_WRITTEN] = space.busy, sum(each.writes for each in tensors)
    for each in tensors:
        record = [0] * (_RECORD + 2 * rank)
        record[_SLOT], record[_DTYPE], record[_MASK], record[_WRITES] = each.slot, id(each.dtype), each.dtype.itemsize - 1, int(each.writes)
        record[_TYPE] = 0 if each.type is None else id(each.type)
        record[_REQUIRES] = 0 if each.requires_grad is None else id(each.requires_grad)
        record[_DIMENSIONS] = len(each.shape)
        record[_RECORD : _RECORD + len(each.shape)] = each.shape
        strides = [step * each.dtype.itemsize if size > 1 else _ANY for size, step in zip(each.shape, each.strides)]
        record[_RECORD + rank : _RECORD + rank + len(strides)] = strides
        words += record
    may_reuse = OFFSETS.own and nanoseconds <= LONG  # the program runs with the GIL held, so that no thread sees the old gradient
    for result in results:
        record = [0] * (_RESULT + rank)
        record[_KIND], record[_RESULT_SLOT], record[_OFFSET], record[_RESULT_DIMENSIONS] = (
            result.kind,
            result.slot,
            result.offset,
            len(result.shape),
        )
        record[_RESULT_DTYPE], record[_NUMBER] = id(result.dtype), outside.index(result) if result.kind != INSIDE else 0
        record[_OWNER], record[_REUSES] = -1 if result.owner is None else result.owner, int(bool(result.reuses and may_reuse))
        record[_RESULT : _RESULT + len(result.shape)] = result.shape
        words += record
    for value in array_values:
        words += [value.position, value.slot, value.offset]
    return _function().of(words, (space, list(tensors), list(results)))


def _numpy_function(number: int) -> int:
    """The address of a function of NumPy's C API."""
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    table: Any = pointer_of(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return int(ctypes.c_int64.from_address(table + 8 * number).value)


@functools.cache
def _function() -> BuiltinFunction:
    assert OFFSETS is not None
    writer = TrampolineCode(OFFSETS)
    return BuiltinFunction("enter", writer.c, "ptr %self, ptr %arguments, i64 %count", writer.write(), FASTCALL, 1)


def code() -> list[Part]:
    """The function; nothing where it can't be."""
    return [_function().part] if OFFSETS is not None else []


class TrampolineCode:
    """The emitter of the function.  It holds the GIL, except around long-running programs."""

    def __init__(self, offsets: Offsets) -> None:
        self.at = offsets
        self.c = c = ObjectCode()
        self.zero = c.integer(0)
        self.table = table_of(c)
        self.arguments = Scalar("%arguments", "ptr")
        self.grad = c.object("grad", sys.intern("_grad"))
        self.nothing, self.false = c.object("none", None), c.object("false", False)
        self.tensor, self.array = c.object("tensor", runtime.tensor_type), c.object("ndarray", np.ndarray)
        self.tensors, self.results, self.array_values, rank, space = (
            c.word(self.table, each) for each in (_TENSORS, _RESULTS, _ARRAY_VALUES, _RANK, _SPACE)
        )
        self.rank = rank
        self.space = c.convert("inttoptr", space, "ptr")
        self.record = c.add(c.integer(_RECORD), c.scale(rank, 2))
        self.records = c.words_from(self.table, _HEAD)
        self.result = c.add(c.integer(_RESULT), rank)
        self.result_records = c.words_from(self.records, self.times(self.tensors, self.record))
        self.value_records = c.words_from(self.result_records, self.times(self.results, self.result))

    def times(self, a: Scalar, b: Scalar) -> Scalar:
        return self.c.binary("mul", a, b)

    def tensor_record(self, index: Scalar) -> Scalar:
        """The record of a tensor."""
        return self.c.words_from(self.records, self.times(index, self.record))

    def result_record(self, index: Scalar) -> Scalar:
        """The record of a result."""
        return self.c.words_from(self.result_records, self.times(index, self.result))

    def argument(self, index: Scalar) -> Scalar:
        return self.c.word(self.arguments, index, "ptr")

    def write(self) -> Scalar:
        """Emit the body; the value that its last block, the refusal, returns."""
        c = self.c
        busy = c.word(self.table, _BUSY, "ptr")
        right = c.same(Scalar("%count", "i64"), c.word(self.table, _COUNT))
        c.need(c.both(right, c.same(c.word(busy, 0), self.zero)), "away")
        c.put(c.integer(1), busy)
        outcome = c.slot("i32")
        c.write(_FAILED, outcome)
        with c.loop(self.zero, self.tensors) as index:
            self.check_tensor(self.argument(index), self.tensor_record(index))
        with c.when(c.compare("sgt", c.word(self.table, _WRITTEN), self.zero)):
            self.check_storages()
        with c.loop(self.zero, self.array_values) as index:
            self.locate(c.words_from(self.value_records, c.scale(index, _VALUE)))
        with c.loop(
            self.zero, self.tensors
        ) as index:  # what follows may run the garbage collector, and so arbitrary code: tensors may get other arrays
            c.keep(c.word(self.tensor_record(index), _FOUND, "ptr"))
        made = c.call("PyTuple_New", c.word(self.table, _VALUES))
        c.need(c.differ(made, NULL), "finish")
        block = c.slot("i64")
        c.write(self.zero, block)
        with c.loop(self.zero, self.results) as index:
            self.make(self.result_record(index), made, block)
        with c.loop(self.zero, self.results) as index:
            reused = c.word(self.result_record(index), _REUSED, "ptr")
            with c.when(c.differ(reused, NULL)):  # no new reference to it was made in the meantime
                c.need(c.same(c.field(reused, 0, "i64"), c.integer(2)), "declined")
                c.need(self.is_private(reused), "declined")
        self.run(outcome)
        c.jump("finish")
        c.label("declined")
        c.write(_DECLINED, outcome)
        c.jump("finish")
        c.label("broken")
        c.drop(made)
        c.jump("finish")
        c.label("finish")
        with c.loop(self.zero, self.tensors) as index:
            c.drop(c.word(self.tensor_record(index), _FOUND, "ptr"))
        end = c.read(outcome, "i32")
        c.need(c.differ(end, _FAILED), "fail")
        c.need(c.same(end, _DONE), "refused")
        with c.loop(self.zero, self.tensors) as index, c.when(c.differ(c.word(self.tensor_record(index), _WRITES), self.zero)):
            self.count(self.argument(index))
        with c.loop(self.zero, self.results) as index:
            self.hand_over(self.result_record(index), made)
        c.put(self.zero, busy)
        c.give(made)
        c.label("unfinished")
        c.drop(made)
        c.jump("fail")
        c.label("fail")
        c.put(self.zero, busy)
        c.give(NULL)
        c.label("refused")
        c.drop(made)
        c.jump("refuse")
        c.label("refuse")
        c.put(self.zero, busy)
        c.jump("away")
        c.label("away")
        refused = c.object("refused", NotImplemented)
        c.keep(refused)
        return refused

    def check_tensor(self, thing: Scalar, record: Scalar) -> None:
        """Compare an argument with what it has to be, and store the address of its elements."""
        c, at = self.c, self.at
        kind, type = c.field(thing, at.kind), c.word(record, _TYPE, "ptr")
        usual = c.either(c.same(kind, self.tensor), c.same(kind, c.object("parameter", Parameter)))
        c.need(c.either(c.same(kind, type), c.both(c.same(type, NULL), usual)), "refuse")
        array = c.field(thing, at.array)
        c.need(c.differ(array, NULL), "refuse")
        requires = c.word(record, _REQUIRES, "ptr")
        needs = c.either(c.same(requires, NULL), c.same(requires, c.field(thing, at.requires_grad)))
        c.need(c.both(needs, c.same(c.field(array, at.kind), self.array)), "refuse")
        self.same_layout(array, c.word(record, _DTYPE, "ptr"), c.word(record, _DIMENSIONS), "refuse")
        sizes, steps = c.field(array, at.sizes), c.field(array, at.strides)
        wanted_sizes = c.words_from(record, _RECORD)
        wanted_steps = c.words_from(wanted_sizes, self.rank)
        with c.loop(self.zero, c.word(record, _DIMENSIONS)) as dim:
            wanted = c.word(wanted_steps, dim)
            step = c.either(c.same(c.word(steps, dim), wanted), c.same(wanted, c.integer(_ANY)))
            c.need(c.both(c.same(c.word(sizes, dim), c.word(wanted_sizes, dim)), step), "refuse")
        data = c.field(array, at.data, "i64")
        c.put(data, self.space, c.word(record, _SLOT))
        c.put(array, record, _FOUND)
        storage = c.field(thing, at.storage)
        stored = c.differ(storage, self.nothing)
        c.put(c.select(stored, storage, thing), record, _STORAGE)
        straight = c.same(c.binary("and", data, c.word(record, _MASK)), self.zero)
        writable = c.differ(c.binary("and", c.field(array, at.flags, "i32"), Scalar(str(WRITABLE), "i32")), Scalar("0", "i32"))
        reads = c.same(c.word(record, _WRITES), self.zero)
        c.need(c.both(straight, c.either(reads, c.both(writable, stored))), "refuse")  # writes to a storage are counted

    def same_layout(self, array: Scalar, dtype: Scalar, dimensions: Scalar, otherwise: str) -> None:
        """An array has elements of a type, and so many dimensions."""
        c, at = self.c, self.at
        rank = c.convert("sext", c.field(array, at.rank, "i32"), "i64")
        c.need(c.both(c.same(c.field(array, at.dtype), dtype), c.same(rank, dimensions)), otherwise)

    def check_storages(self) -> None:
        """Tensors that are written to share no storage with others."""
        c = self.c
        with c.loop(self.zero, self.tensors) as one:
            mine = self.tensor_record(one)
            with c.when(c.differ(c.word(mine, _WRITES), self.zero)), c.loop(self.zero, self.tensors) as other:
                apart = c.differ(c.word(mine, _STORAGE), c.word(self.tensor_record(other), _STORAGE))
                c.need(c.either(c.same(one, other), apart), "refuse")

    def locate(self, record: Scalar) -> None:
        """Store the address of a value inside an array."""
        c = self.c
        data = c.field(self.argument(c.word(record, _VALUE_PLACE)), self.at.data, "i64")
        c.put(c.add(data, c.word(record, _VALUE_OFFSET)), self.space, c.word(record, _VALUE_SLOT))

    def make(self, record: Scalar, made: Scalar, block: str) -> None:
        """Memory for a result, and where it is."""
        c, at = self.c, self.at
        inside, other, fresh, tensor, ready = (c.fresh(each) for each in ("inside", "other", "fresh", "tensor", "ready"))
        place = c.slot("i64")
        c.put(NULL, record, _REUSED)
        c.switch(c.word(record, _KIND), other, {INSIDE: inside})
        c.label(inside)
        c.write(c.add(c.read(block, "i64"), c.word(record, _OFFSET)), place)
        c.jump(ready)
        c.label(other)
        if at.own:
            c.need(c.differ(c.word(record, _REUSES), self.zero), fresh)
            old = self.old_gradient(record, fresh)
            c.keep(old)
            c.put(old, record, _REUSED)
            self.put(made, record, old)
            c.write(c.field(c.field(old, at.array), at.data, "i64"), place)
            c.jump(ready)
        else:
            c.jump(fresh)
        c.label(fresh)
        dtype = c.word(record, _RESULT_DTYPE, "ptr")
        c.keep(dtype)
        dimensions = c.convert("trunc", c.word(record, _RESULT_DIMENSIONS), "i32")
        no_flags = Scalar("0", "i32")
        new = c.outside("new_from_descr", _numpy_function(_NEW_FROM_DESCR))
        array = c.call_at(new, self.array, dtype, dimensions, c.words_from(record, _RESULT), NULL, NULL, no_flags, NULL)
        c.need(c.differ(array, NULL), "broken")
        data = c.field(array, at.data, "i64")
        c.write(data, place)
        c.need(c.same(c.word(record, _KIND), c.integer(BLOCK)), tensor)
        c.write(data, block)
        self.put(made, record, array)
        c.jump(ready)
        c.label(tensor)
        self.put(made, record, self.tensor_of(array, record))
        c.jump(ready)
        c.label(ready)
        c.put(c.read(place, "i64"), self.space, c.word(record, _RESULT_SLOT))

    def put(self, made: Scalar, record: Scalar, thing: Scalar) -> None:
        """Store a result in the tuple."""
        self.c.call("PyTuple_SetItem", made, self.c.word(record, _NUMBER), thing, type="i32")

    def tensor_of(self, array: Scalar, record: Scalar) -> Scalar:
        """A new tensor with an array."""
        c, at = self.c, self.at
        lost, there = c.fresh("lost"), c.fresh("there")
        tensor = c.call("PyType_GenericAlloc", self.tensor, self.zero)
        c.branch(c.differ(tensor, NULL), there, lost)
        c.label(lost)
        c.drop(array)
        c.jump("broken")
        c.label(there)
        c.put(array, c.beyond(tensor, at.array))
        fields = ((at.requires_grad, self.false), (at.storage, self.nothing), (at.history, self.nothing), (at.output, c.object("zero", 0)))
        for offset, value in fields:
            c.keep(value)
            c.put(value, c.beyond(tensor, offset))
        if at.own:  # materialize the dict, so that a reuse can check it for attributes
            with c.when(c.differ(c.word(record, _REUSES), self.zero)):
                own = c.call("PyObject_GenericGetDict", tensor, NULL)
                with c.when(c.differ(own, NULL)):
                    c.drop(own)
                with c.when(c.same(own, NULL)):
                    c.call("PyErr_Clear", type="void")
        return tensor

    def old_gradient(self, record: Scalar, otherwise: str) -> Scalar:
        """The gradient of an argument, where it matches the result to be made, and nothing else references it."""
        c, at = self.c, self.at
        fields = c.field(self.argument(c.word(record, _OWNER)), at.own)
        c.need(c.is_object(fields), otherwise)
        old = c.call("PyDict_GetItemWithError", fields, self.grad)
        c.need(c.differ(old, NULL), otherwise)
        c.need(c.both(c.same(c.field(old, 0, "i64"), c.integer(1)), c.same(c.field(old, at.kind), self.tensor)), otherwise)
        array = c.field(old, at.array)
        c.need(c.differ(array, NULL), otherwise)
        c.need(self.is_private(old), otherwise)
        self.same_layout(array, c.word(record, _RESULT_DTYPE, "ptr"), c.word(record, _RESULT_DIMENSIONS), otherwise)
        sizes, wanted = c.field(array, at.sizes), c.words_from(record, _RESULT)
        with c.loop(self.zero, c.word(record, _RESULT_DIMENSIONS)) as dim:
            c.need(c.same(c.word(sizes, dim), c.word(wanted, dim)), otherwise)
        return old

    def is_private(self, tensor: Scalar) -> Scalar:
        """Whether a tensor's array is unshared, and it has no attributes, weak references or history."""
        c, at = self.c, self.at
        array, own = c.field(tensor, at.array), c.field(tensor, at.own)
        answer, inspect, after = c.slot("i1"), c.fresh("inspect"), c.fresh("after")
        c.write(Scalar("false", "i1"), answer)
        c.branch(c.is_object(own), inspect, after)
        c.label(inspect)
        flags = c.binary("and", c.field(array, at.flags, "i32"), Scalar(str(PLAIN), "i32"))
        conditions = [
            c.same(c.field(array, 0, "i64"), c.integer(1)), c.same(c.field(array, at.kind), self.array), c.same(flags, Scalar(str(PLAIN), "i32")),
            c.same(c.field(own, object.__basicsize__, "i64"), self.zero), c.same(c.field(tensor, at.weak), NULL),
            c.same(c.field(tensor, at.requires_grad), self.false), c.same(c.field(tensor, at.storage), self.nothing),
            c.same(c.field(tensor, at.history), self.nothing),
        ]  # fmt: skip
        c.write(c.both(*conditions), answer)
        c.jump(after)
        c.label(after)
        return c.read(answer, "i1")

    def hand_over(self, record: Scalar, made: Scalar) -> None:
        """Assign a tensor its new gradient, unless it has it already."""
        c = self.c
        owner = c.word(record, _OWNER)
        with c.when(c.both(c.compare("sge", owner, self.zero), c.same(c.word(record, _REUSED, "ptr"), NULL))):
            gradient = c.call("PyTuple_GetItem", made, c.word(record, _NUMBER))
            failed = c.call("PyObject_SetAttr", self.argument(owner), self.grad, gradient, type="i32")
            c.need(c.same(failed, Scalar("0", "i32")), "unfinished")

    def run(self, outcome: str) -> None:
        """The program."""
        c = self.c
        program, longer = c.word(self.table, _PROGRAM, "ptr"), c.fresh("longer")
        c.need(c.same(c.word(self.table, _LONGER), self.zero), longer)
        c.write(c.call_at(program, self.space, type="i32"), outcome)
        c.jump("finish")
        c.label(longer)
        thread = c.call("PyEval_SaveThread")
        c.write(c.call_at(program, self.space, type="i32"), outcome)
        c.call("PyEval_RestoreThread", thread, type="void")

    def count(self, thing: Scalar) -> None:
        """Count a write to a tensor's memory."""
        c, at = self.c, self.at
        storage = c.field(thing, at.storage)
        with c.when(c.differ(storage, self.nothing)):
            version = c.field(storage, at.version)
            number = c.call("PyLong_AsLongLong", version, type="i64")
            following = c.call("PyLong_FromLongLong", c.add(number, c.integer(1)))
            c.need(c.differ(following, NULL), "unfinished")
            c.put(following, c.beyond(storage, at.version))
            c.drop(version)

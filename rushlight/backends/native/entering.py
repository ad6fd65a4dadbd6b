"""The way into native code: a built-in function, made of machine code, that looks at tensors and makes tensors itself.

Asking a tensor for its array, and that for its shape, type and strides, takes longer in Python than a small kernel runs, and so does making
a tensor.  Here a function of CPython's own calling convention reads those fields where CPython and NumPy keep them, compares them with what
a program was compiled for, and calls the program.  Where the fields lie is found out by trying; where they are not found, programs are
called in the general way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.base import runtime
from ...nn import Parameter
from .code import Part
from .fields import OFFSETS, WRITABLE
from .machine import machine

_ANY = -(1 << 63)  # of a stride: it does not matter
_WRITABLE = WRITABLE  # by such names `text` finds what it fills in
_FASTCALL = 0x80  # how the function takes its arguments: an array of objects, and their number
_NEW_FROM_DESCR = 94  # where NumPy's table of functions has the one that makes arrays
LONG = 60_000  # nanoseconds: other threads of Python may run while a program does that takes as long
NEW, BLOCK, INSIDE = range(3)  # results: a tensor of its own, memory for several values, one of those

# The words of a table: what is the same for all, then a record for each tensor, each result and each value in memory that is given.
(
    _COUNT, _TENSORS, _RESULTS, _VALUES, _GIVEN, _RANK, _SPACE, _PROGRAM, _BUSY, _LONGER, _SAVE, _RESTORE, _KEEP, _DROP, _TUPLE, _PUT, _ALLOCATE, _ARRAY_OF,
    _REFUSED, _FIRST, _SECOND, _NONE, _FALSE, _ZERO, _ARRAY, _NUMBER, _OF_NUMBER, _HEAD,
) = range(28)  # fmt: skip
# The words of a tensor's record, before sizes and strides; of a result's, before its sizes; of a given value's.
_PLACE, _TYPE, _REQUIRES, _DTYPE, _SLOT, _MASK, _WRITES, _DIMENSIONS, _STORAGE, _FOUND, _RECORD = range(11)
_KIND, _RESULT_SLOT, _OFFSET, _RESULT_DTYPE, _RESULT_DIMENSIONS, _RESULT_NUMBER, _RESULT = range(7)
_VALUE_PLACE, _VALUE_SLOT, _VALUE_OFFSET, _VALUE = range(4)


class Table(ctypes.Array):  # type: ignore[type-arg]
    """What the built-in function of a program knows; it is the function's ``__self__``, and holds what that needs."""

    _type_ = ctypes.c_int64
    _length_ = 1
    kept: Any


class Expected(NamedTuple):
    """What an argument must be for a program: an array of such a shape and type in a tensor."""

    slot: int  # of the program's addresses
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]  # in elements
    writes: bool = False
    requires_grad: bool | None = None  # None: it does not matter
    type: Any = None  # None: Tensor or Parameter


class Result(NamedTuple):
    """A value that is made: as a tensor (NEW), or INSIDE of the BLOCK before it; a block comes out as an array of bytes."""

    kind: int
    slot: int
    shape: tuple[int, ...] = ()
    dtype: Any = None
    offset: int = 0


class Given(NamedTuple):
    """A value that lies in an array which is among the arguments, so many bytes from its beginning."""

    place: int
    slot: int
    offset: int = 0


def way_in(address: int, space: Any, tensors: Sequence[Expected], results: Sequence[Result], given: Sequence[Given], arrays: int, nanoseconds: float) -> Callable[..., Any]:
    """A built-in function of tensors and then of some arrays: it gives a tuple of what is made, or NotImplemented where it did nothing.

    ``address`` is that of the program's function, and ``space`` the memory in which it works, one call at a time.
    """
    rank = max([len(each.shape) for each in (*tensors, *results)], default=0)
    words = [0] * _HEAD
    outside = [each for each in results if each.kind != INSIDE]
    words[_COUNT], words[_TENSORS], words[_RESULTS], words[_GIVEN], words[_RANK] = len(tensors) + arrays, len(tensors), len(results), len(given), rank
    words[_SPACE], words[_PROGRAM], words[_LONGER], words[_VALUES] = space.place, address, int(nanoseconds > LONG), len(outside)
    words[_BUSY] = space.busy
    for word, name in _FUNCTIONS.items():
        words[word] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    words[_ARRAY_OF] = _numpy_function(_NEW_FROM_DESCR)
    words[_REFUSED], words[_NONE], words[_FALSE], words[_ZERO], words[_ARRAY] = (id(each) for each in (NotImplemented, None, False, 0, np.ndarray))
    words[_FIRST], words[_SECOND] = id(runtime.tensor_type), id(Parameter)
    for at, each in enumerate(tensors):
        one = [0] * (_RECORD + 2 * rank)
        one[_PLACE], one[_SLOT], one[_DTYPE], one[_MASK], one[_WRITES] = at, each.slot, id(each.dtype), each.dtype.itemsize - 1, int(each.writes)
        one[_TYPE] = 0 if each.type is None else id(each.type)
        one[_REQUIRES] = 0 if each.requires_grad is None else id(each.requires_grad)
        one[_DIMENSIONS] = len(each.shape)
        one[_RECORD : _RECORD + len(each.shape)] = each.shape
        steps = [step * each.dtype.itemsize if size > 1 else _ANY for size, step in zip(each.shape, each.strides)]
        one[_RECORD + rank : _RECORD + rank + len(steps)] = steps
        words += one
    for result in results:
        one = [0] * (_RESULT + rank)
        one[_KIND], one[_RESULT_SLOT], one[_OFFSET], one[_RESULT_DIMENSIONS] = result.kind, result.slot, result.offset, len(result.shape)
        one[_RESULT_DTYPE], one[_RESULT_NUMBER] = id(result.dtype), outside.index(result) if result.kind != INSIDE else 0
        one[_RESULT : _RESULT + len(result.shape)] = result.shape
        words += one
    for value in given:
        words += [value.place, value.slot, value.offset]
    table = type("Table", (Table,), {"_length_": len(words)})(*words)
    function, compiled = _machine_code()
    definition = _Definition(b"program", function, _FASTCALL, None)
    table.kept = (space, compiled, definition, list(tensors), list(results))
    return _new_function(ctypes.byref(definition), table, None)  # type: ignore[no-any-return]


_FUNCTIONS = {
    _SAVE: "PyEval_SaveThread", _RESTORE: "PyEval_RestoreThread", _KEEP: "Py_IncRef", _DROP: "Py_DecRef", _TUPLE: "PyTuple_New", _PUT: "PyTuple_SetItem",
    _ALLOCATE: "PyType_GenericAlloc", _NUMBER: "PyLong_AsLongLong", _OF_NUMBER: "PyLong_FromLongLong",
}  # fmt: skip


class _Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("documentation", ctypes.c_char_p))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_compiled: list[tuple[int, Any]] = []


def _numpy_function(number: int) -> int:
    """The address of a function of NumPy's interface for C."""
    table: Any = _pointer_of(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return int(ctypes.c_int64.from_address(table + 8 * number).value)


def _machine_code() -> tuple[int, Any]:
    if not _compiled:
        compiled = machine().compile([Part(text(), 0)])  # as it is: there is little in it to be made better
        _compiled.append((compiled.address("enter"), compiled))
    return _compiled[0]


# It holds Python's lock, but for the program itself where that takes long.  The arrays are kept, since tensors may get others meanwhile.
_TEXT = """
define ptr @enter(ptr %self, ptr %arguments, i64 %count) {
entry:
  %memoryp = getelementptr i8, ptr %self, i64 OFFSET_memory
  %table = load ptr, ptr %memoryp
  %wanted = WORD_COUNT
  %right = icmp eq i64 %count, %wanted
  %busyp = POINTER_BUSY
  %busy = load i64, ptr %busyp
  %free = icmp eq i64 %busy, 0
  %may = and i1 %right, %free
  %keep = POINTER_KEEP
  %drop = POINTER_DROP
  br i1 %may, label %begin, label %away
begin:
  store i64 1, ptr %busyp
  %tensors = WORD_TENSORS
  %rank = WORD_RANK
  %two = shl i64 %rank, 1
  %record = add i64 %two, RECORD
  %records = getelementptr i64, ptr %table, i64 HEAD
  %allrecords = mul i64 %tensors, %record
  %resultrecords = getelementptr i64, ptr %records, i64 %allrecords
  %resultrecord = add i64 %rank, RESULT
  %resultcount = WORD_RESULTS
  %allresults = mul i64 %resultcount, %resultrecord
  %valuerecords = getelementptr i64, ptr %resultrecords, i64 %allresults
  %first = WORD_FIRST
  %firstp = POINTER_FIRST
  %second = WORD_SECOND
  %none = WORD_NONE
  %nonep = POINTER_NONE
  %falsep = POINTER_FALSE
  %zerop = POINTER_ZERO
  %array = WORD_ARRAY
  %arrayp_ = POINTER_ARRAY
  %space = POINTER_SPACE
  %newtuple = POINTER_TUPLE
  %put = POINTER_PUT
  %allocate = POINTER_ALLOCATE
  %newarray = POINTER_ARRAY_OF
  %values = WORD_VALUES
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i1, %storing ]
  %written = phi i64 [ 0, %begin ], [ %written1, %storing ]
  %more = icmp slt i64 %i, %tensors
  br i1 %more, label %look, label %apart
look:
  %shift = mul i64 %i, %record
  %r = getelementptr i64, ptr %records, i64 %shift
  %place = FIELD_PLACE
  %objectp = getelementptr ptr, ptr %arguments, i64 %place
  %object = load ptr, ptr %objectp
  %kindp = getelementptr i8, ptr %object, i64 OFFSET_kind
  %kind = load i64, ptr %kindp
  %type = FIELD_TYPE
  %exact = icmp eq i64 %kind, %type
  %anytype = icmp eq i64 %type, 0
  %isfirst = icmp eq i64 %kind, %first
  %issecond = icmp eq i64 %kind, %second
  %either = or i1 %isfirst, %issecond
  %known = and i1 %anytype, %either
  %typed = or i1 %exact, %known
  br i1 %typed, label %inner1, label %refuse
inner1:
  %arrayp = getelementptr i8, ptr %object, i64 OFFSET_array
  %a = load ptr, ptr %arrayp
  %there = icmp ne ptr %a, null
  br i1 %there, label %fields, label %refuse
fields:
  %requiresp = getelementptr i8, ptr %object, i64 OFFSET_requires_grad
  %requires = load i64, ptr %requiresp
  %needed = FIELD_REQUIRES
  %anyneed = icmp eq i64 %needed, 0
  %sameneed = icmp eq i64 %needed, %requires
  %needs = or i1 %anyneed, %sameneed
  %akindp = getelementptr i8, ptr %a, i64 OFFSET_kind
  %akind = load i64, ptr %akindp
  %isarray = icmp eq i64 %akind, %array
  %ok1 = and i1 %needs, %isarray
  br i1 %ok1, label %layout, label %refuse
layout:
  %dtypep = getelementptr i8, ptr %a, i64 OFFSET_dtype
  %dtype = load i64, ptr %dtypep
  %wanteddtype = FIELD_DTYPE
  %samedtype = icmp eq i64 %dtype, %wanteddtype
  %rankp = getelementptr i8, ptr %a, i64 OFFSET_rank
  %narrow = load i32, ptr %rankp
  %dimensions = sext i32 %narrow to i64
  %wanteddimensions = FIELD_DIMENSIONS
  %samerank = icmp eq i64 %dimensions, %wanteddimensions
  %ok2 = and i1 %samedtype, %samerank
  br i1 %ok2, label %shape, label %refuse
shape:
  %sizesp = getelementptr i8, ptr %a, i64 OFFSET_sizes
  %sizes = load ptr, ptr %sizesp
  %stepsp = getelementptr i8, ptr %a, i64 OFFSET_strides
  %steps = load ptr, ptr %stepsp
  %wantedsizes = getelementptr i64, ptr %r, i64 RECORD
  %wantedsteps = getelementptr i64, ptr %wantedsizes, i64 %rank
  br label %dimension
dimension:
  %d = phi i64 [ 0, %shape ], [ %d1, %compare ]
  %moredimensions = icmp slt i64 %d, %dimensions
  br i1 %moredimensions, label %compare, label %storing
compare:
  %sizep = getelementptr i64, ptr %sizes, i64 %d
  %size = load i64, ptr %sizep
  %wantedsizep = getelementptr i64, ptr %wantedsizes, i64 %d
  %wantedsize = load i64, ptr %wantedsizep
  %samesize = icmp eq i64 %size, %wantedsize
  %stepp = getelementptr i64, ptr %steps, i64 %d
  %step = load i64, ptr %stepp
  %wantedstepp = getelementptr i64, ptr %wantedsteps, i64 %d
  %wantedstep = load i64, ptr %wantedstepp
  %samestep = icmp eq i64 %step, %wantedstep
  %anystep = icmp eq i64 %wantedstep, ANY
  %steps1 = or i1 %samestep, %anystep
  %ok3 = and i1 %samesize, %steps1
  %d1 = add i64 %d, 1
  br i1 %ok3, label %dimension, label %refuse
storing:
  %datap = getelementptr i8, ptr %a, i64 OFFSET_data
  %data = load i64, ptr %datap
  %slot = FIELD_SLOT
  %slotp = getelementptr i64, ptr %space, i64 %slot
  store i64 %data, ptr %slotp
  %foundp = getelementptr i64, ptr %r, i64 FOUND
  store ptr %a, ptr %foundp
  %storagep = getelementptr i8, ptr %object, i64 OFFSET_storage
  %storage = load i64, ptr %storagep
  %hasstorage = icmp ne i64 %storage, %none
  %self_ = ptrtoint ptr %object to i64
  %identity = select i1 %hasstorage, i64 %storage, i64 %self_
  %keptp = getelementptr i64, ptr %r, i64 STORAGE
  store i64 %identity, ptr %keptp
  %mask = FIELD_MASK
  %askew = and i64 %data, %mask
  %flagsp = getelementptr i8, ptr %a, i64 OFFSET_flags
  %flags = load i32, ptr %flagsp
  %protected = and i32 %flags, WRITABLE
  %writable = icmp ne i32 %protected, 0
  %writes = FIELD_WRITES
  %reads = icmp eq i64 %writes, 0
  %straight = icmp eq i64 %askew, 0
  %counts = and i1 %writable, %hasstorage       ; of memory that is written to, writes are counted
  %allowed = or i1 %reads, %counts
  %ok4 = and i1 %straight, %allowed
  %written1 = add i64 %written, %writes
  %i1 = add i64 %i, 1
  br i1 %ok4, label %next, label %refuse
apart:                                            ; what is written to lies in no other's memory
  %any = icmp sgt i64 %written, 0
  br i1 %any, label %outer, label %lying
outer:
  %w = phi i64 [ 0, %apart ], [ %w1, %outernext ]
  %morew = icmp slt i64 %w, %tensors
  br i1 %morew, label %whether, label %lying
whether:
  %wshift = mul i64 %w, %record
  %wr = getelementptr i64, ptr %records, i64 %wshift
  %wwritesp = getelementptr i64, ptr %wr, i64 WRITES
  %wwrites = load i64, ptr %wwritesp
  %wstoragep = getelementptr i64, ptr %wr, i64 STORAGE
  %wstorage = load i64, ptr %wstoragep
  %doeswrite = icmp ne i64 %wwrites, 0
  br i1 %doeswrite, label %inner, label %outernext
inner:
  %o = phi i64 [ 0, %whether ], [ %o1, %other ]
  %moreo = icmp slt i64 %o, %tensors
  br i1 %moreo, label %other, label %outernext
other:
  %oshift = mul i64 %o, %record
  %or = getelementptr i64, ptr %records, i64 %oshift
  %ostoragep = getelementptr i64, ptr %or, i64 STORAGE
  %ostorage = load i64, ptr %ostoragep
  %shared = icmp eq i64 %ostorage, %wstorage
  %itself = icmp eq i64 %o, %w
  %differs = xor i1 %shared, true
  %fine = or i1 %itself, %differs
  %o1 = add i64 %o, 1
  br i1 %fine, label %inner, label %refuse
outernext:
  %w1 = add i64 %w, 1
  br label %outer
lying:                                            ; values in arrays that are given
  %givencount = WORD_GIVEN
  br label %lie
lie:
  %v = phi i64 [ 0, %lying ], [ %v1, %lieone ]
  %morev = icmp slt i64 %v, %givencount
  br i1 %morev, label %lieone, label %keepnext
lieone:
  %vshift = mul i64 %v, VALUE
  %r3 = getelementptr i64, ptr %valuerecords, i64 %vshift
  %vplace = VALUE_VALUE_PLACE
  %vslot = VALUE_VALUE_SLOT
  %voffset = VALUE_VALUE_OFFSET
  %vobjectp = getelementptr ptr, ptr %arguments, i64 %vplace
  %vobject = load ptr, ptr %vobjectp
  %vdatap = getelementptr i8, ptr %vobject, i64 OFFSET_data
  %vdata = load i64, ptr %vdatap
  %vaddress = add i64 %vdata, %voffset
  %vp = getelementptr i64, ptr %space, i64 %vslot
  store i64 %vaddress, ptr %vp
  %v1 = add i64 %v, 1
  br label %lie
keepnext:                                         ; what follows may run the collector of garbage, and so anything
  %k = phi i64 [ 0, %lie ], [ %k1, %keepone ]
  %morek = icmp slt i64 %k, %tensors
  br i1 %morek, label %keepone, label %making
keepone:
  %kshift = mul i64 %k, %record
  %kr = getelementptr i64, ptr %records, i64 %kshift
  %kfoundp = getelementptr i64, ptr %kr, i64 FOUND
  %kfound = load ptr, ptr %kfoundp
  call void %keep(ptr %kfound)
  %k1 = add i64 %k, 1
  br label %keepnext
making:
  %tuple = call ptr %newtuple(i64 %values)
  %hastuple = icmp ne ptr %tuple, null
  br i1 %hastuple, label %result, label %dropnext
result:
  %j = phi i64 [ 0, %making ], [ %j1, %made ]
  %block = phi i64 [ 0, %making ], [ %block1, %made ]
  %morej = icmp slt i64 %j, %resultcount
  br i1 %morej, label %one, label %go
one:
  %jshift = mul i64 %j, %resultrecord
  %r2 = getelementptr i64, ptr %resultrecords, i64 %jshift
  %jkind = RESULT_KIND
  %jslot = RESULT_RESULT_SLOT
  %joffset = RESULT_OFFSET
  %inside = icmp eq i64 %jkind, 2
  br i1 %inside, label %within, label %newone
within:
  %place2 = add i64 %block, %joffset
  br label %made
newone:
  %jdtype = RESULTPOINTER_RESULT_DTYPE
  %jdimensions = RESULT_RESULT_DIMENSIONS
  %jnumber = RESULT_RESULT_NUMBER
  %jnarrow = trunc i64 %jdimensions to i32
  %jsizes = getelementptr i64, ptr %r2, i64 RESULT
  call void %keep(ptr %jdtype)
  %fresh = call ptr %newarray(ptr %arrayp_, ptr %jdtype, i32 %jnarrow, ptr %jsizes, ptr null, ptr null, i32 0, ptr null)
  %hasarray = icmp ne ptr %fresh, null
  br i1 %hasarray, label %hold, label %fail2
hold:
  %freshdatap = getelementptr i8, ptr %fresh, i64 OFFSET_data
  %freshdata = load i64, ptr %freshdatap
  %isblock = icmp eq i64 %jkind, 1
  br i1 %isblock, label %asarray, label %astensor
asarray:
  %putarray = call i32 %put(ptr %tuple, i64 %jnumber, ptr %fresh)
  br label %made
astensor:
  %tensor = call ptr %allocate(ptr %firstp, i64 0)
  %hastensor = icmp ne ptr %tensor, null
  br i1 %hastensor, label %fill, label %fail3
fill:
  %tarray = getelementptr i8, ptr %tensor, i64 OFFSET_array
  store ptr %fresh, ptr %tarray
  call void %keep(ptr %falsep)
  %trequires = getelementptr i8, ptr %tensor, i64 OFFSET_requires_grad
  store ptr %falsep, ptr %trequires
  call void %keep(ptr %nonep)
  %tstorage = getelementptr i8, ptr %tensor, i64 OFFSET_storage
  store ptr %nonep, ptr %tstorage
  call void %keep(ptr %nonep)
  %thistory = getelementptr i8, ptr %tensor, i64 OFFSET_history
  store ptr %nonep, ptr %thistory
  call void %keep(ptr %zerop)
  %toutput = getelementptr i8, ptr %tensor, i64 OFFSET_output
  store ptr %zerop, ptr %toutput
  %puttensor = call i32 %put(ptr %tuple, i64 %jnumber, ptr %tensor)
  br label %made
made:
  %address = phi i64 [ %place2, %within ], [ %freshdata, %asarray ], [ %freshdata, %fill ]
  %block1 = phi i64 [ %block, %within ], [ %freshdata, %asarray ], [ %block, %fill ]
  %jp = getelementptr i64, ptr %space, i64 %jslot
  store i64 %address, ptr %jp
  %j1 = add i64 %j, 1
  br label %result
go:
  %program = POINTER_PROGRAM
  %longer = WORD_LONGER
  %short = icmp eq i64 %longer, 0
  br i1 %short, label %runs, label %released
runs:
  %status = call i32 %program(ptr %space)
  br label %dropnext
released:
  %save = POINTER_SAVE
  %restore = POINTER_RESTORE
  %thread = call ptr %save()
  %longstatus = call i32 %program(ptr %space)
  call void %restore(ptr %thread)
  br label %dropnext
fail3:
  call void %drop(ptr %fresh)
  br label %fail2
fail2:
  call void %drop(ptr %tuple)
  br label %dropnext
dropnext:                                         ; 0: it is done; 1: the program refused; 2: an error of Python's
  %outcome = phi i32 [ %status, %runs ], [ %longstatus, %released ], [ 2, %making ], [ 2, %fail2 ], [ %outcome, %dropone ]
  %m = phi i64 [ 0, %runs ], [ 0, %released ], [ 0, %making ], [ 0, %fail2 ], [ %m1, %dropone ]
  %morem = icmp slt i64 %m, %tensors
  br i1 %morem, label %dropone, label %end
dropone:
  %mshift = mul i64 %m, %record
  %mr = getelementptr i64, ptr %records, i64 %mshift
  %mfoundp = getelementptr i64, ptr %mr, i64 FOUND
  %mfound = load ptr, ptr %mfoundp
  call void %drop(ptr %mfound)
  %m1 = add i64 %m, 1
  br label %dropnext
end:
  switch i32 %outcome, label %fail [ i32 0, label %counting
                                     i32 1, label %refused_inside ]
counting:
  %number = POINTER_NUMBER
  %ofnumber = POINTER_OF_NUMBER
  br label %countnext
countnext:
  %u = phi i64 [ 0, %counting ], [ %u1, %counted ]
  %moreu = icmp slt i64 %u, %tensors
  br i1 %moreu, label %countone, label %done
countone:
  %ushift = mul i64 %u, %record
  %ur = getelementptr i64, ptr %records, i64 %ushift
  %uwritesp = getelementptr i64, ptr %ur, i64 WRITES
  %uwrites = load i64, ptr %uwritesp
  %u1 = add i64 %u, 1
  %uwritten = icmp ne i64 %uwrites, 0
  br i1 %uwritten, label %countup, label %counted
countup:
  %uobjectp = getelementptr ptr, ptr %arguments, i64 %u
  %uobject = load ptr, ptr %uobjectp
  %ustoragep = getelementptr i8, ptr %uobject, i64 OFFSET_storage
  %ustorage = load ptr, ptr %ustoragep
  %uthere = icmp ne ptr %ustorage, %nonep
  br i1 %uthere, label %increase, label %counted
increase:
  %versionp = getelementptr i8, ptr %ustorage, i64 OFFSET_version
  %version = load ptr, ptr %versionp
  %times = call i64 %number(ptr %version)
  %times1 = add i64 %times, 1
  %newversion = call ptr %ofnumber(i64 %times1)
  %hasnumber = icmp ne ptr %newversion, null
  br i1 %hasnumber, label %replace, label %fail1
replace:
  store ptr %newversion, ptr %versionp
  call void %drop(ptr %version)
  br label %counted
counted:
  br label %countnext
done:
  store i64 0, ptr %busyp
  ret ptr %tuple
refused_inside:
  call void %drop(ptr %tuple)
  br label %refuse
refuse:
  store i64 0, ptr %busyp
  br label %away
away:
  %refused = POINTER_REFUSED
  call void %keep(ptr %refused)
  ret ptr %refused
fail1:
  call void %drop(ptr %tuple)
  br label %fail
fail:
  store i64 0, ptr %busyp
  ret ptr null
}
"""
_BASES = {"WORD": "%table", "POINTER": "%table", "FIELD": "%r", "RESULT": "%r2", "RESULTPOINTER": "%r2", "VALUE": "%r3"}


def text() -> str:
    """The function, with the places of fields filled in."""
    assert OFFSETS is not None
    places = {name[1:]: value for name, value in globals().items() if name.startswith("_") and name[1:2].isupper() and isinstance(value, int)}
    lines: list[str] = []
    for line in _TEXT.splitlines():
        name, _, content = line.strip().partition(" = ")
        kind, _, field = content.partition("_")
        if kind in _BASES and field in places:  # a word of the table, or of a record
            lines.append(f"  {name}.p = getelementptr i64, ptr {_BASES[kind]}, i64 {places[field]}")
            lines.append(f"  {name} = load {'ptr' if kind.endswith('POINTER') else 'i64'}, ptr {name}.p")
            continue
        offset = line.partition("OFFSET_")[2]
        if offset:
            line = line.replace(f"OFFSET_{offset}", str(getattr(OFFSETS, offset)))
        last = line.rpartition(" ")[2].rstrip(",")
        if last in places:
            line = line.replace(f" {last}", f" {places[last]}")
        lines.append(line)
    return "\n".join(lines)

"""The layout of CPython's and NumPy's objects: the offsets of the fields of tensors and arrays, found by experiment at import."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
import weakref
from typing import Any, NamedTuple

import numpy as np

from ...core.base import Storage, make, runtime

WRITABLE = 0x400  # of an array's flags
PLAIN = 0x505  # of an array's flags: C-contiguous, owning its data, aligned and writable
_MANAGED, _BEFORE = 1 << 4, -24  # Py_TPFLAGS_MANAGED_DICT, and the dict's offset before an instance


class Offsets(NamedTuple):
    """Offsets of fields, in bytes from the beginning of an object."""

    kind: int  # of any object: its type
    array: int  # of a tensor
    requires_grad: int
    storage: int
    history: int
    output: int
    data: int  # of an array
    rank: int
    sizes: int
    strides: int
    dtype: int
    flags: int
    memory: int  # of an array of ctypes: where its elements are
    version: int  # of a storage
    own: int  # of a tensor: the dict of its attributes, once there is one; 0 where that is not known
    weak: int  # and the list of its weak references


def word_of(thing: Any, offset: int) -> int:
    """A word of an object's memory."""
    return ctypes.c_int64.from_address(id(thing) + offset).value


def own_of(kind: type) -> int:
    """The offset of the dict of a type's instances; 0 where they have none."""
    return _BEFORE if kind.__flags__ & _MANAGED else kind.__dictoffset__


def find_offsets() -> Offsets | None:
    """The offsets in this Python; None where they are not found."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    head = object.__basicsize__

    def words(thing: Any, size: int) -> list[int]:
        return list((ctypes.c_int64 * (size // 8)).from_address(id(thing)))

    tensor: Any = make(np.empty(2))
    marks = {
        "_array": tensor._array,
        "_requires_grad": Ellipsis,
        "_storage": Storage(tensor._array),
        "_grad_fn": object(),
        "_output_index": object(),
    }
    for name, mark in marks.items():
        setattr(tensor, name, mark)
    seen = words(tensor, runtime.tensor_type.__basicsize__)
    places = [[8 * at for at, word in enumerate(seen) if word == id(mark)] for mark in marks.values()]
    probe = np.empty((3, 5), np.float32)[:, ::2]
    elements = (ctypes.c_int64 * 2)(7, 9)
    stored = Storage(tensor._array)
    stored.version = mark = 1 << 77  # type: ignore[misc]
    versions = [8 * at for at, word in enumerate(words(stored, Storage.__basicsize__)) if word == id(mark)]
    if any(len(each) != 1 for each in (*places, versions)) or words(elements, head + 8)[-1] != ctypes.addressof(elements):
        return None
    array, requires_grad, storage, history, output = (each[0] for each in places)
    own, reference = vars(tensor), weakref.ref(tensor)
    place, weak = own_of(runtime.tensor_type), runtime.tensor_type.__weakrefoffset__
    known = word_of(tensor, place) == id(own) and word_of(tensor, weak) == id(reference)
    count = ctypes.c_int64.from_address(id(reference))
    before, several = count.value, [reference] * 5
    known = known and count.value - before == len(several) and before == 1
    found = Offsets(
        head - 8, array, requires_grad, storage, history, output, head, head + 8, head + 16, head + 24, head + 40, head + 48, head, versions[0],
        place if known else 0, weak,
    )  # fmt: skip
    at = id(probe)
    for writable in (False, True):
        probe.setflags(write=writable)
        if bool(ctypes.c_int.from_address(at + found.flags).value & WRITABLE) is not writable:
            return None

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(at + offset).value

    def pair(offset: int) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * 2).from_address(word(offset)))

    right = word(found.kind) == id(np.ndarray) and word(found.data) == probe.ctypes.data and word(found.dtype) == id(probe.dtype)
    right = right and ctypes.c_int.from_address(at + found.rank).value == 2
    return found if right and pair(found.sizes) == probe.shape and pair(found.strides) == probe.strides else None


OFFSETS = find_offsets()

"""The trampoline in plain Python: used where the layout of CPython's objects is not known, or where ``RUSHLIGHT_TRAMPOLINE=0``."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.base import make, runtime
from ...nn import Parameter
from ...schedule.view_strides import address
from .trampoline import BLOCK, INSIDE, LONG, ArrayValue, Result, TensorGuard


def make_python_trampoline(
    entry: int,
    space: Any,
    tensors: Sequence[TensorGuard],
    results: Sequence[Result],
    array_values: Sequence[ArrayValue],
    arrays: int,
    nanoseconds: float,
) -> Callable[..., Any]:
    """A function with the contract of :func:`.trampoline.make_trampoline`."""
    kind = ctypes.CFUNCTYPE if nanoseconds > LONG else ctypes.PYFUNCTYPE  # the second keeps the GIL
    program = kind(ctypes.c_int32, ctypes.c_void_p)(entry)
    count = len(tensors) + arrays
    written = [at for at, each in enumerate(tensors) if each.writes]
    owned = [(each.owner, at) for at, each in enumerate(each for each in results if each.kind != INSIDE) if each.owner is not None]

    def enter(*args: Any) -> Any:
        if len(args) != count or not all(map(matches, args, tensors)) or share_storage(args, written, len(tensors)):
            return NotImplemented
        if not space.arena.take():
            return NotImplemented
        try:
            table = space.table
            for each, wanted in zip(args, tensors):
                table[wanted.slot] = address(each._array)
            for value in array_values:
                table[value.slot] = address(args[value.position]) + value.offset
            made = []
            block = 0
            for result in results:
                if result.kind == INSIDE:
                    table[result.slot] = block + result.offset
                    continue
                array = np.empty(result.shape, result.dtype)
                table[result.slot] = address(array)
                if result.kind == BLOCK:
                    block = address(array)
                made.append(array if result.kind == BLOCK else make(array))
            refused = program(space.place)
        finally:
            space.arena.flag.value = 0
        if refused:
            return NotImplemented
        for at in written:
            args[at]._storage.version += 1
        for owner, at in owned:
            args[owner]._grad = made[at]
        return tuple(made)

    return enter


def matches(tensor: Any, wanted: TensorGuard) -> bool:
    """Whether an argument is what a program was compiled for."""
    kind = type(tensor)
    if kind is not wanted.type and (wanted.type is not None or kind is not runtime.tensor_type and kind is not Parameter):
        return False
    array = tensor._array
    if type(array) is not np.ndarray or array.dtype is not wanted.dtype or array.shape != wanted.shape:
        return False
    if wanted.requires_grad is not None and tensor._requires_grad is not wanted.requires_grad:
        return False
    size = wanted.dtype.itemsize
    if any(count > 1 and have != want * size for count, have, want in zip(wanted.shape, array.strides, wanted.strides)):
        return False
    if wanted.writes and (not array.flags.writeable or tensor._storage is None):  # writes to a storage are counted
        return False
    return bool(array.flags.aligned)


def share_storage(args: Sequence[Any], written: Sequence[int], count: int) -> bool:
    """Whether one of the tensors that are written to shares its storage with another."""
    if not written:
        return False
    storages = [id(each) if each._storage is None else id(each._storage) for each in args[:count]]
    return any(storages.count(storages[at]) > 1 for at in written)

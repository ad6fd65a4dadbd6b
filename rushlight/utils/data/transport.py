"""Transport of batches from a worker process to its parent.

A batch is pickled with its arrays beside the pickle.  Small ones travel through the pipe; large ones are laid into a nameless
file in memory, whose descriptor goes through the pipe: the parent maps it, and nothing is copied there.  Since the file has no
name, nothing is left behind when a process dies.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import struct
import sys
import tempfile
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

from ...core.base import Spec, make, storage_of
from ...tensor import Tensor
from ...tensor.storage import span

_INLINE = 1 << 16  # from this many bytes on, a file in memory is cheaper than the pipe
_ALIGNMENT = 64
_MOST_MAPPED = 200  # a mapping may hold a descriptor, of which a process has not many
_mapped: weakref.WeakSet[Any] = weakref.WeakSet()
CAN_PASS_DESCRIPTORS = sys.platform != "win32" and hasattr(reduction, "send_handle")


class BatchPickler(pickle.Pickler):
    """Pickles tensors with the memory they need: of a small view of a large storage, its elements alone."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Tensor and value._array.__class__ is not Spec and value._storage is not None:
            if span(storage_of(value).array) * value.itemsize > 2 * value._array.nbytes + 1024:
                copied = make(np.ascontiguousarray(value._array).reshape(value._array.shape).copy())
                copied._requires_grad = value.requires_grad
                return copied.__reduce_ex__(5)
        return NotImplemented


def dump(value: Any) -> tuple[bytes, list[Any]]:
    """A pickle and the memory that belongs to it."""
    buffers: list[Any] = []
    file = io.BytesIO()
    BatchPickler(file, 5, buffer_callback=lambda buffer: buffers.append(buffer.raw())).dump(value)
    return file.getvalue(), buffers


def _places(sizes: list[int]) -> tuple[list[int], int]:
    """Where each of several buffers begins, and where the last one ends."""
    places, position = [], 0
    for size in sizes:
        places.append(position)
        position += size + -size % _ALIGNMENT
    return places, position


def send(connection: Any, value: Any) -> None:
    """Send a value through a pipe."""
    pickled, buffers = dump(value)
    sizes = [buffer.nbytes for buffer in buffers]
    places, total = _places(sizes)
    shared = CAN_PASS_DESCRIPTORS and total >= _INLINE
    connection.send_bytes(struct.pack(f"<?{len(sizes)}Q", shared, *sizes))
    connection.send_bytes(pickled)
    if not shared:
        for buffer in buffers:
            connection.send_bytes(buffer)
        return
    with memory_file() as file:
        for buffer, place in zip(buffers, places):
            _write_all(file, buffer, place)
        os.truncate(file, total)
        reduction.send_handle(connection, file, None)


def receive(connection: Any) -> tuple[bytes, list[Any]]:
    """The pickle that comes next through a pipe, and its memory: ``pickle.loads(pickled, buffers=buffers)`` is the value."""
    header = connection.recv_bytes()
    shared, *sizes = struct.unpack(f"<?{len(header) // 8}Q", header)
    pickled = connection.recv_bytes()
    if not shared:
        return pickled, [bytearray(connection.recv_bytes()) for _ in sizes]
    places, total = _places(sizes)
    file = reduction.recv_handle(connection)
    try:
        memory = memoryview(_map(file, total))
    finally:
        os.close(file)
    return pickled, [memory[place : place + size] for place, size in zip(places, sizes)]


@contextlib.contextmanager
def memory_file() -> Any:
    """The descriptor of a new file without a name, in memory where the system offers that."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("batch")
        try:
            yield file
        finally:
            os.close(file)
    else:
        with tempfile.TemporaryFile() as temporary:
            yield temporary.fileno()


def _write_all(file: int, buffer: Any, place: int) -> None:
    while len(buffer):
        count = os.pwrite(file, buffer, place)
        buffer, place = buffer[count:], place + count


def _map(file: int, size: int) -> Any:
    if sys.version_info >= (3, 13):
        return mmap.mmap(file, size, trackfd=False)
    if len(_mapped) < _MOST_MAPPED:
        found = mmap.mmap(file, size)
        _mapped.add(found)
        return found
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as found:  # it keeps its descriptor as long as it is open
        return bytearray(found)

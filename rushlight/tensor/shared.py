"""Memory that processes share: a file without a name, mapped; whoever has its descriptor can map it, too."""

from __future__ import annotations

import importlib
import mmap
import os
import weakref
from typing import Any

import numpy as np


class SharedMemory(mmap.mmap):
    """A mapping that keeps the descriptor of its file, by which other processes map the same memory."""

    descriptor: int


def _memory_file(size: int) -> int:
    """The descriptor of a new file without a name, in memory where the system offers that."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("rushlight")
    else:
        with importlib.import_module("tempfile").TemporaryFile() as temporary:  # rarely needed, and slow to import
            file = os.dup(temporary.fileno())
    os.truncate(file, size)
    return file


def map_descriptor(file: int, size: int) -> SharedMemory:
    """The memory of a descriptor, which belongs to the mapping from now on."""
    memory = SharedMemory(file, size)
    memory.descriptor = file
    weakref.finalize(memory, os.close, file)
    return memory


def shared_bytes(size: int) -> SharedMemory:
    """New memory that other processes can map."""
    return map_descriptor(_memory_file(max(size, 1)), max(size, 1))


def memory_of(array: Any) -> SharedMemory | None:
    """The shared memory that holds an array, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, SharedMemory) else None

"""PyTorch's format before 1.6: a magic number, a version, the system, the object and the storages' keys as pickles one behind
the other, and then the storages."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from ..core.errors import NotSupported, OperationError
from .identities import check_identity, typed
from .rebuild import array_storage
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION
from .unpickler import PlainUnpickler

_COUNT = struct.Struct("<q")


def _plain(data: Any, position: int) -> tuple[Any, int]:
    reader = PlainUnpickler(data, position)
    return reader.load(), reader.position


def read_stream(
    data: Any, position: int, restore: Callable[[Any, str], Any], unpickle: Callable[[int, Any], tuple[Any, int]]
) -> tuple[Any, int]:
    """The object in a stream, and where the stream ends."""
    if data[position + 257 : position + 262] == b"ustar":
        raise NotSupported("this is a tar file of PyTorch before 0.1.10: load and save it with a later PyTorch first")
    magic, position = _plain(data, position)
    if magic != MAGIC_NUMBER:
        raise OperationError("Invalid magic number; corrupt file?")
    version, position = _plain(data, position)
    if version != PROTOCOL_VERSION:
        raise OperationError(f"Invalid protocol version: {version}")
    system, position = _plain(data, position)
    little = system.get("little_endian", True) if isinstance(system, dict) else True
    return _Stream(data, little == (sys.byteorder == "little"), restore).read(position, unpickle)


class _Stream:
    """The storages of a stream: the pickle names them before their data come."""

    def __init__(self, data: Any, native: bool, restore: Callable[[Any, str], Any]) -> None:
        self.data = data
        self.native = native
        self.restore = restore
        self.arrays: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.kinds: dict[str, Any] = {}
        self.later: list[Callable[[], None]] = []
        self.allocated = 0

    def load_storage(self, identity: Any) -> Any:
        """A storage whose data come later."""
        if isinstance(identity, tuple) and identity[:1] == ("module",):
            return identity[1]  # a class with its source, which is of no use
        kind, key, location, count = check_identity(identity, 6)
        if key not in self.found:
            size = count * (kind.itemsize if kind is not None else 1)
            self.allocated += size
            if self.allocated > len(self.data):
                raise UnpicklingError(f"storage {key!r} is to have {size} bytes, more than the file has")
            self.arrays[key] = np.empty(size, np.uint8)
            self.kinds[key] = kind
            self.found[key] = self.restore(array_storage(self.arrays[key]), location)
            self.found[key].later = self.later
        elif self.kinds[key] is not kind:
            raise OperationError(f"storage {key!r} appears in the file under two types")
        view = identity[5]
        whole = self.found[key]
        if view is None:
            return typed(whole, kind)
        step = kind.itemsize if kind is not None else 1
        view_key, offset, length = _part(view, self.arrays[key].size // step)  # as PyTorch had them once
        return self.found.setdefault(view_key, typed(whole[offset * step : (offset + length) * step], kind))

    def read(self, position: int, unpickle: Callable[[int, Any], tuple[Any, int]]) -> tuple[Any, int]:
        """The object, once its storages are filled."""
        value, position = unpickle(position, self.load_storage)
        keys, position = _plain(self.data, position)
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(self.arrays):
            raise OperationError("the storages in this file are not those that its pickle names; corrupt file?")
        for key in keys:
            array, kind = self.arrays[key], self.kinds[key]
            if position + _COUNT.size > len(self.data):
                raise OperationError("the file ends too early; corrupt file?")
            (count,) = _COUNT.unpack_from(self.data, position)
            position += _COUNT.size
            if count * (kind.itemsize if kind is not None else 1) != array.size or position + array.size > len(self.data):
                raise OperationError(f"storage {key!r} has another size in the file than its pickle says; corrupt file?")
            array[...] = np.frombuffer(self.data, np.uint8, array.size, position)
            if not self.native and kind is not None:
                array.view(kind.numpy).byteswap(inplace=True)
            position += array.size
        for compute in self.later:
            compute()
        return value, position


def _part(view: Any, count: int) -> tuple[str, int, int]:
    """The key, offset and length of a part of a storage of ``count`` elements."""
    if isinstance(view, tuple) and len(view) == 3 and isinstance(view[0], str) and type(view[1]) is int and type(view[2]) is int:
        key, offset, length = view
        if 0 <= offset <= offset + length <= count:
            return key, offset, length
    raise UnpicklingError("the pickle has a part of a storage whose key, offset or length makes no sense")

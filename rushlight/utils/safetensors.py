"""The safetensors format, read and written in plain Python: a length, a JSON header, and the tensors' bytes.

>>> import rushlight
>>> load(save({"weight": rushlight.ones(2)}))
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.base import Spec, Storage, make
from ..core.devices import as_device
from ..core.dtypes import BY_NAME, BY_NUMPY
from ..core.errors import ArgumentError, DeviceError, OperationError, ValueRangeError
from ..core.size import Size
from ..serialization.saving import replacing
from ..tensor import Tensor

_TYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip
_NAMES = {name: kind for kind, name in _TYPES.items()}
_LONGEST_HEADER = 100_000_000
_MOST_DIMENSIONS = 64
_METADATA = "__metadata__"


class SafetensorError(OperationError):
    """A file that is damaged, is no safetensors file, or does not have what it is asked for."""

    code = "RL114"


# -- writing -----------------------------------------------------------------------------------------------------


def _layout(tensors: Any, metadata: dict[str, str] | None) -> tuple[bytes, list[Any]]:
    """The header, with its length in front, and the arrays that follow it."""
    if not isinstance(tensors, dict):
        raise ArgumentError(f"Expected a dict of [str, Tensor] but received {type(tensors).__name__}")
    if metadata is not None and not all(isinstance(part, str) for pair in metadata.items() for part in pair):
        raise ArgumentError("metadata must be a dict from strings to strings")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == _METADATA or not isinstance(tensor, Tensor):
            raise ArgumentError(f"Key {name!r} is invalid, expected a string with a Tensor but received {type(tensor).__name__}")
        if tensor._array.__class__ is Spec:
            raise ValueRangeError(f"tensor {name!r} is on the meta device and has no data")
        if tensor.dtype.name not in _NAMES:
            raise ValueRangeError(f"tensor {name!r} is of {tensor.dtype}, which the format does not have")
    # Wide types first, so that every tensor begins at a multiple of its element's size.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, Any] = {} if metadata is None else {_METADATA: dict(metadata)}
    arrays, position = [], 0
    for name in order:
        array = np.ascontiguousarray(tensors[name]._array)
        header[name] = {
            "dtype": _NAMES[tensors[name].dtype.name],
            "shape": list(tensors[name].shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
        arrays.append(array)
    encoded = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    encoded += b" " * (-len(encoded) % 8)
    return len(encoded).to_bytes(8, "little") + encoded, arrays


def _bytes(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors."""
    header, arrays = _layout(tensors, metadata)
    return b"".join([header, *(_bytes(array) for array in arrays)])


def save_file(tensors: dict[str, Any], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file, which appears when all of it is written, or not at all."""
    header, arrays = _layout(tensors, metadata)
    with replacing(filename) as file:
        file.write(header)
        for array in arrays:
            file.write(memoryview(_bytes(array)))


# -- reading -----------------------------------------------------------------------------------------------------


class _Entry:
    """The byte range of a tensor, from the start of the data."""

    __slots__ = ("begin", "end", "kind", "shape")

    def __init__(self, name: str, described: Any, size: int) -> None:
        try:
            self.kind = BY_NAME[_TYPES[described["dtype"]]]
            self.shape = tuple(described["shape"])
            self.begin, self.end = described["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise SafetensorError(f"the header describes tensor {name[:60]!r} in a way that makes no sense: {repr(error)[:100]}") from error
        if not all(type(each) is int and each >= 0 for each in (*self.shape, self.begin, self.end)):
            raise SafetensorError(f"the shape or the place of tensor {name!r} is not made of natural numbers")
        count = Size(self.shape).numel()
        if self.end > size or self.end - self.begin != count * self.kind.itemsize:
            raise SafetensorError(
                f"tensor {name!r} of {count} elements of {self.kind} can't be at bytes {self.begin} to {self.end} of {size}"
            )
        volume = math.prod(filter(None, self.shape))  # strides have to fit into 64 bits where a size is 0, too
        if len(self.shape) > _MOST_DIMENSIONS or volume * self.kind.itemsize >= 2**63:
            raise SafetensorError(f"tensor {name!r} has a shape that no tensor can have, of {len(self.shape)} dimensions")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SafetensorError("the header has the same name twice")
    return found


def _parse(data: Any) -> tuple[dict[str, _Entry], dict[str, str] | None, int]:
    """The entries, the metadata, and where the data begin."""
    if len(data) < 8:
        raise SafetensorError("the file is too short to have a header")
    length = int.from_bytes(bytes(data[:8]), "little")
    start = 8 + length
    if length > _LONGEST_HEADER or start > len(data):
        raise SafetensorError(f"the file says that its header has {length} bytes, and it has {len(data)} itself")
    try:
        header = json.loads(bytes(data[8:start]).decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise SafetensorError("the header is no JSON object")
    metadata = header.pop(_METADATA, None)
    if metadata is not None and not (isinstance(metadata, dict) and all(isinstance(each, str) for each in metadata.values())):
        raise SafetensorError("the metadata are not strings")
    entries = {name: _Entry(name, described, len(data) - start) for name, described in header.items()}
    # The tensors fill the data without gaps: nothing can hide between them, and no two overlap.
    position = 0
    for name, entry in sorted(entries.items(), key=lambda each: (each[1].begin, each[1].end)):
        if entry.begin != position:
            raise SafetensorError(f"tensor {name!r} does not begin where the one before it ends")
        position = entry.end
    if position != len(data) - start:
        raise SafetensorError(f"the tensors have {position} bytes, but {len(data) - start} follow the header")
    return entries, metadata, start


def _tensor(data: Any, start: int, entry: _Entry, copied: bool) -> Any:
    memory = np.frombuffer(data, np.uint8, entry.end - entry.begin, start + entry.begin)
    # A header of odd length, as the format allows, may leave elements at addresses that are not multiples of their size.
    if copied or memory.ctypes.data % entry.kind.itemsize:
        memory = memory.copy()
    result = make(memory.view(entry.kind.numpy).reshape(entry.shape))
    result._storage = Storage(memory)
    return result


def _check_device(device: Any) -> None:
    place = as_device(device)
    if place.type != "cpu":
        raise DeviceError(f"device '{place}' is not available: tensors are loaded to the cpu here")


def load(data: bytes) -> dict[str, Any]:
    """The tensors in the bytes of a file."""
    entries, _, start = _parse(data)
    return {name: _tensor(data, start, entry, True) for name, entry in entries.items()}


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Any]:
    """The tensors in a file.  They map the file copy-on-write: a write to a tensor does not change the file."""
    with safe_open(filename, device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


class safe_open:
    """A file whose tensors are read one by one.

    >>> import rushlight, tempfile
    >>> path = tempfile.mktemp()
    >>> save_file({"weight": rushlight.arange(4)}, path)
    >>> with safe_open(path) as file:
    ...     file.get_slice("weight")[1:3]
    tensor([1, 2])
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueRangeError(f"framework must be 'pt', not {framework!r}")
        _check_device(device)
        with open(filename, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise SafetensorError(f"{os.fspath(filename)}: the file is empty")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        try:
            self._entries, self._metadata, self._start = _parse(self._data)
        except SafetensorError as error:
            raise SafetensorError(f"{os.fspath(filename)}: {error}") from error

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exception: Any) -> None:
        """Tensors keep the memory that they need."""

    def metadata(self) -> dict[str, str] | None:
        """The strings that were saved with the tensors."""
        return self._metadata

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The names in the order of the file."""
        return sorted(self._entries, key=lambda name: self._entries[name].begin)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def places(self) -> dict[str, tuple[Any, tuple[int, ...], int, int]]:
        """Of each tensor its dtype and shape, where in the file its bytes begin, and how many they are."""
        start = self._start
        return {name: (each.kind, each.shape, start + each.begin, each.end - each.begin) for name, each in self._entries.items()}

    def get_tensor(self, name: str) -> Any:
        """One tensor."""
        entry = self._entries.get(name)
        if entry is None:
            raise SafetensorError(f"File does not contain tensor {name}")
        return _tensor(self._data, self._start, entry, False)

    def get_slice(self, name: str) -> SafeSlice:
        """A tensor of which only what is indexed is read."""
        return SafeSlice(self.get_tensor(name))


class SafeSlice:
    """A tensor in a file that answers for its shape without being read; an index of it is copied out."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def get_shape(self) -> list[int]:
        """The shape."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """The type, by the format's name."""
        return _NAMES[BY_NUMPY[self._tensor._array.dtype].name]

    def __getitem__(self, index: Any) -> Any:
        return self._tensor[index].clone()


def save_model(model: Any, filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write the state of a module; of tensors that share memory, the first is written and the others are noted."""
    kept: dict[str, Any] = {}
    seen: dict[Any, str] = {}
    notes = dict(metadata or {})
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape, tensor.dtype) if tensor.numel() else name
        if place in seen:
            notes[name] = seen[place]
        else:
            seen[place] = name
            kept[name] = tensor.contiguous()
    save_file(kept, filename, notes or None)


def load_model(model: Any, filename: Any, strict: bool = True, device: Any = "cpu") -> tuple[list[str], list[str]]:
    """Load the state of a module that :func:`save_model` wrote; returns the names that are missing and those that are too many."""
    with safe_open(filename, device=device) as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        for name, same in (file.metadata() or {}).items():
            if same in state and name not in state:
                state[name] = state[same]
    result = model.load_state_dict(state, strict=strict)
    return list(result.missing_keys), list(result.unexpected_keys)

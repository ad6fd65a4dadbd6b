"""From a file to its protobuf message and the arrays of its weights, which stay where they are in the file.

Nothing of the file is trusted: sizes are checked before anything is allocated, and external tensors are read from the file's own folder alone.
"""

from __future__ import annotations

import math
import mmap
import os
from typing import Any

import numpy as np

from ...core.dtypes import BY_NAME
from ..errors import ModelFileError, UnsupportedModelError
from ..files import check_external, first_line
from ..types import NUMPY_TYPES
from .registry import HOLDERS, STRING
from .strings import Strings

LARGE = 4096  # bytes of a tensor that is left in the file
MOST = 1 << 46  # elements that a tensor may have
DENSE = 1 << 31  # bytes that a sparse tensor may take as a dense one
_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL
_GRAPH, _INITIALIZER, _RAW = 7, 5, 9  # numbers of fields: ModelProto.graph, GraphProto.initializer, TensorProto.raw_data
_NAMES = {10: "float16", 1: "float32", 11: "float64"}


class ModelSource:
    """A model that is being read: its message, and where the bytes of its large tensors are."""

    def __init__(
        self, model: Any, folder: str | None = None, path: str = "", mapped: Any = None, places: dict[int, tuple[int, int]] | None = None
    ) -> None:
        self.model = model
        self.path = path
        self.folder = folder
        self.mapped = mapped
        self.places = places or {}
        self.files: dict[str, Any] = {}

    def initializer(self, position: int) -> Any:
        """The array (or strings) of an initializer of the main graph."""
        tensor = self.model.graph.initializer[position]
        place = self.places.get(position)
        if place is None:
            return self.array(tensor)
        return self._from_bytes(tensor, self.mapped, *place, self.path)

    def array(self, tensor: Any) -> Any:
        """The array (or strings) of a tensor."""
        if tensor.data_location == _EXTERNAL:
            return self._external(tensor)
        if tensor.data_type == STRING:
            return Strings(_shaped(tensor, np.array([_text(each) for each in tensor.string_data], dtype=object)))
        if tensor.HasField("raw_data"):
            raw = tensor.raw_data
            return self._from_bytes(tensor, raw, 0, len(raw))
        _count(tensor)
        import onnx

        try:
            array = onnx.numpy_helper.to_array(tensor)
        except Exception as error:  # whatever it says of values that do not fit the type and the sizes
            raise ModelFileError(f"the tensor '{tensor.name}' is damaged: {first_line(error)}") from None
        return held(array, tensor.data_type)

    def sparse(self, tensor: Any) -> Any:
        """A sparse tensor as a dense array."""
        values, indices = self.array(tensor.values), self.array(tensor.indices)
        dims = tuple(tensor.dims)
        size = _product(dims, tensor.values.name)
        if size * values.itemsize > DENSE:
            raise ModelFileError(f"the sparse tensor '{tensor.values.name}' would take {size * values.itemsize} bytes as a dense one")
        dense = np.zeros(size, values.dtype)
        flat = (
            indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dims, mode="raise") if indices.size else indices[:, 0]
        )
        if flat.size != values.size or (flat.size and not (flat.min() >= 0 and flat.max() < size)):
            raise ModelFileError(f"the sparse tensor '{tensor.values.name}' has indices that do not fit its values or its sizes")
        dense[flat] = values
        return dense.reshape(dims)

    def _external(self, tensor: Any) -> Any:
        if self.folder is None:
            raise ModelFileError(
                f"the tensor '{tensor.name}' is stored outside the model, which has no folder: load the model from its file"
            )
        facts = {each.key: each.value for each in tensor.external_data}
        place = os.path.realpath(os.path.join(self.folder, facts["location"]))
        if place not in self.files:
            self.files[place] = _map(place)
        start = int(facts.get("offset") or 0)
        mapped = self.files[place]
        return self._from_bytes(tensor, mapped, start, int(facts.get("length") or 0) or len(mapped) - start, place)

    def _from_bytes(self, tensor: Any, buffer: Any, start: int, length: int, path: str = "") -> Any:
        """An array over the bytes themselves, or where they are not aligned of its own; of element types that NumPy lacks, a copy in the one that holds them."""
        kind = NUMPY_TYPES.get(tensor.data_type)
        size = _count(tensor)
        if kind is None:
            import onnx

            if tensor.data_type not in HOLDERS:
                raise UnsupportedModelError(f"the tensor '{tensor.name}' has the element type {tensor.data_type}, which is not known here")
            copied = onnx.TensorProto()
            copied.CopyFrom(tensor)
            copied.ClearField("data_location")
            copied.raw_data = bytes(buffer[start : start + length])
            try:
                return held(onnx.numpy_helper.to_array(copied), tensor.data_type)
            except ValueError as error:
                raise ModelFileError(f"the tensor '{tensor.name}' is damaged: {first_line(error)}") from None
        if size * kind.itemsize != length:
            raise ModelFileError(
                f"the tensor '{tensor.name}' has {length} bytes, but its sizes {tuple(tensor.dims)} need {size * kind.itemsize}: the file is damaged"
            )
        array = np.frombuffer(buffer, kind, size, start).reshape(tuple(tensor.dims))
        if array.flags.aligned and array.flags.writeable:
            return array
        if not path or length < LARGE:
            return array.copy()
        made = np.empty(array.shape, kind)  # read, and not copied from the mapped file: its pages need not come into this process
        left: Any = memoryview(made.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        with open(path, "rb", buffering=0) as file:
            file.seek(start)
            while left:
                count = file.readinto(left)
                if not count:
                    raise ModelFileError(f"the file '{path}' became shorter while it was read")
                left = left[count:]
        return made


def held(array: Any, number: int) -> Any:
    """An array of ``onnx``'s in the dtype of the tensors that hold its element type."""
    name = HOLDERS.get(number)
    if name is not None:
        return np.array(array, BY_NAME[name].numpy)
    kind = NUMPY_TYPES.get(number)
    if kind is None:
        raise UnsupportedModelError(f"the element type {number} of ONNX has no tensors here")
    if array.dtype == kind:
        return array if array.flags.writeable else array.copy()
    # The same bits under another name: the types that both this package and onnx take from elsewhere.
    return array.view(kind).copy() if array.dtype.itemsize == kind.itemsize and array.dtype.kind == "V" else array.astype(kind)


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _product(dims: Any, name: str) -> int:
    if any(each < 0 for each in dims):
        raise ModelFileError(f"the tensor '{name}' has a size below zero: {tuple(dims)}")
    if math.prod(each for each in dims if each) > MOST:  # a size of 0 makes no array of strides that overflow
        raise ModelFileError(f"the tensor '{name}' has sizes {tuple(dims)}, more elements than any memory holds")
    return math.prod(dims)


def _count(tensor: Any) -> int:
    return _product(tensor.dims, tensor.name)


def _shaped(tensor: Any, array: Any) -> Any:
    if array.size != _count(tensor):
        raise ModelFileError(
            f"the tensor '{tensor.name}' has {array.size} elements, but its sizes are {tuple(tensor.dims)}: the file is damaged"
        )
    return array.reshape(tuple(tensor.dims))


def _map(path: str) -> Any:
    """The bytes of a file as memory: changes stay in this process."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return bytearray()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def read(source: Any) -> ModelSource:
    """The model of a path, of bytes, or of an ``onnx.ModelProto``."""
    try:
        import onnx
    except ImportError:
        raise ImportError("reading ONNX files needs the package onnx: pip install onnx") from None

    folder: str | None = None
    path, mapped = "", None
    places: dict[int, tuple[int, int]] = {}
    if isinstance(source, onnx.ModelProto):
        model, what = source, "the model"
    elif hasattr(source, "model_proto"):  # an ONNXProgram
        model, what = source.model_proto, "the model"
    else:
        if isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "read"):
            mapped, what = source.read() if hasattr(source, "read") else source, "the model"
        else:
            path = os.path.abspath(os.fspath(source))
            what = f"'{path}'"
            if os.path.isdir(path):
                raise ModelFileError(f"{what} is a folder, not an ONNX file")
            folder = os.path.dirname(path)
            try:
                mapped = _map(path)
            except OSError as error:
                raise ModelFileError(f"can't read {what}: {error.strerror or error}") from error
        model = onnx.ModelProto()
        try:
            found = without_weights(mapped) if folder is not None else None
            content, places = (bytes(mapped), {}) if found is None else found
            model.ParseFromString(content)
        except Exception as error:
            if type(error).__name__ not in ("DecodeError", "ValueError", "RecursionError"):  # the first is protobuf's
                raise
            raise ModelFileError(f"{what} is no ONNX file, or is cut off: its bytes are no complete message") from None
    if not model.ir_version or not model.HasField("graph") or not model.opset_import:
        raise ModelFileError(f"{what} is no complete ONNX file: it has no graph, or does not say which operators it uses")
    if folder is not None:
        check_external(model, folder)
    return ModelSource(model, folder, path, mapped, places)


# -- the wire format ---------------------------------------------------------------------------------------------------


def _varint(buffer: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _fields(buffer: Any, at: int, end: int) -> Any:
    """The fields of a message: number, where it begins with its key, where its content begins and ends."""
    while at < end:
        start = at
        key, at = _varint(buffer, at)
        kind = key & 7
        if kind == 2:
            length, at = _varint(buffer, at)
        elif kind == 0:
            begin = at
            _, at = _varint(buffer, at)
            yield key >> 3, start, begin, at
            continue
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError("a group, or no field")
        if at + length > end:
            raise ValueError("cut off")
        yield key >> 3, start, at, at + length
        at += length


def _key(number: int, length: int) -> bytes:
    made = bytearray([number << 3 | 2])
    while length > 127:
        made.append(length & 127 | 128)
        length >>= 7
    made.append(length)
    return bytes(made)


def without_weights(buffer: Any) -> tuple[bytes, dict[int, tuple[int, int]]] | None:
    """The bytes of a model without those of its large initializers, and for each of these (by position) where its bytes are.

    None where the message has no such form; an IndexError of a message that is cut off is a ValueError.
    """
    try:
        graphs = [each for each in _fields(buffer, 0, len(buffer)) if each[0] == _GRAPH]
        if len(graphs) != 1:
            return None
        _, graph_start, begin, end = graphs[0]
        parts: list[bytes] = []
        places: dict[int, tuple[int, int]] = {}
        position, kept = 0, begin
        for number, start, first, last in _fields(buffer, begin, end):
            if number != _INITIALIZER:
                continue
            if last - first >= LARGE:
                raws = [each for each in _fields(buffer, first, last) if each[0] == _RAW]
                if len(raws) == 1:
                    _, at, raw, stop = raws[0]
                    places[position] = (raw, stop - raw)
                    content = buffer[first:at] + buffer[stop:last]
                    parts += [bytes(buffer[kept:start]), _key(_INITIALIZER, len(content)), bytes(content)]
                    kept = last
            position += 1
        parts.append(bytes(buffer[kept:end]))
        content = b"".join(parts)
        return b"".join((bytes(buffer[:graph_start]), _key(_GRAPH, len(content)), content, bytes(buffer[end:]))), places
    except IndexError:
        raise ValueError("cut off") from None

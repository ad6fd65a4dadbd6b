"""``save``: a pickle with PyTorch's names, and the storages beside it."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
import stat
import struct
import sys
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..core.base import Spec, make, storage_of
from ..core.devices import CPU
from ..core.dtypes import dtype, legacy_name
from ..core.errors import OperationError, ValueRangeError
from ..core.node import HookTable
from ..core.quantized import qscheme
from ..core.size import Size
from ..core.sparse import SPARSE
from ..nn.parameter import Buffer, Parameter, UninitializedTensorMixin
from ..tensor import Tensor
from ..tensor.generator import Generator
from ..tensor.interop import user_attributes, user_slots
from ..tensor.layout import layout
from ..tensor.quantized import quantizer_of
from ..tensor.sparse import parts_of
from ..tensor.storage import STORAGE_TYPES, TypedStorage, UntypedStorage
from .locations import location_tag
from .names import path_of
from .options import options
from .rebuild import (
    get_layout,
    rebuild_from_type_v2,
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_qtensor,
    rebuild_sparse_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
)
from .records import ALIGNMENT, SMALL, ArchiveWriter

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
DEFAULT_PROTOCOL = 2
# Types for which PyTorch has storages with a name; those of the others are bytes.
_NAMED_STORAGES = frozenset(
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 quint8 qint8 qint32".split()
)


class _HeldStorage:
    """The storage of a tensor that is being saved, and the dtype by which the file refers to it."""

    __slots__ = ("kind", "storage")

    def __init__(self, storage: Any, kind: dtype | None) -> None:
        self.storage = storage
        self.kind = kind


class StorageTable:
    """The storages of one file, each under a key of its own."""

    def __init__(self, legacy: bool) -> None:
        self.keys: dict[Any, str] = {}
        self.kinds: dict[str, dtype | None] = {}
        self.storages: dict[str, Any] = {}
        self.legacy = legacy

    def identity(self, held: _HeldStorage) -> tuple[Any, ...]:
        """The persistent id of a storage in the pickle."""
        storage, kind = held.storage, held.kind
        untyped = UntypedStorage(storage)
        size = untyped.nbytes()
        # Several storage objects may share memory: `tensor.data` makes a second one.
        place: Any = (str(untyped.device), untyped.data_ptr(), size) if size and storage.array.__class__ is not Spec else id(storage)
        if not size:
            place = (place, kind)  # memory that there is not may be of any type
        key = self.keys.get(place)
        if key is None:
            number = len(self.keys)
            key = self.keys[place] = str(id(storage)) if self.legacy else str(number)
            self.storages[key] = storage
            self.kinds[key] = kind
        elif self.kinds[key] is not kind:
            raise OperationError("Cannot save multiple tensors or storages that view the same data as different types")
        name: Any = UntypedStorage if kind is None else STORAGE_TYPES[f"{legacy_name(kind)}Storage"]
        count = size if kind is None else size // kind.itemsize
        tag = location_tag(untyped)
        return ("storage", name, key, tag, count, None) if self.legacy else ("storage", name, key, tag, count)

    def data(self, key: str) -> Any:
        """The bytes of a storage."""
        return UntypedStorage(self.storages[key])._host_bytes


def held_storage(tensor: Any) -> _HeldStorage:
    """The storage of a tensor, as the table of a file takes it."""
    kind = tensor.dtype
    return _HeldStorage(storage_of(tensor), kind if kind.name in _NAMED_STORAGES else None)


def _warn_of_hooks(tensor: Any) -> None:
    for hook in tensor._backward_hooks.values() if hasattr(tensor._backward_hooks, "values") else ():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


def _reduce_data(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """A function and its arguments, which make a tensor of the same elements."""
    if tensor._array.__class__ is Spec:
        return rebuild_meta_tensor, (tensor.dtype, tuple(tensor.size()), tuple(tensor.stride()), tensor.requires_grad)
    if tensor._array.__class__ in SPARSE:
        array = tensor._array
        parts = (*parts_of(array), Size(array.shape))
        return rebuild_sparse_tensor, (tensor.layout, (*parts, array.coalesced) if tensor.is_sparse else parts)
    quantizer = quantizer_of(tensor)
    held = held_storage(tensor)
    offset = tensor.storage_offset()
    if not 0 <= offset * tensor.itemsize <= UntypedStorage(held.storage).nbytes():
        offset = 0  # the address of a tensor without elements says nothing
    common: Any = (
        held, offset, tuple(tensor._array.shape), tuple(tensor.stride()), tensor.requires_grad, OrderedDict(),
    )  # fmt: skip
    if quantizer is not None:
        parameters: tuple[Any, ...] = (quantizer.scheme, quantizer.scale, quantizer.zero_point)
        if quantizer.axis is not None:
            scheme, *arrays = parameters
            parameters = (scheme, *[make(each.copy()) for each in arrays], quantizer.axis)
        return rebuild_qtensor, (*common[:4], parameters, *common[4:])
    marks = {"conj": tensor.is_conj(), "neg": tensor.is_neg()}
    metadata = ({name: True for name, wanted in marks.items() if wanted},) if any(marks.values()) else ()
    return (rebuild_tensor_v3, (*common, tensor.dtype, *metadata)) if held.kind is None else (rebuild_tensor_v2, (*common, *metadata))


def reduce_tensor(tensor: Any) -> Any:
    """How a tensor is pickled: a function and its arguments."""
    if tensor._backward_hooks:
        _warn_of_hooks(tensor)
    if isinstance(tensor, UninitializedTensorMixin):
        return type(tensor), (tensor._requires_grad,)
    kind = getattr(type(tensor), "_saved_as", type(tensor))  # a class that only says how a tensor was made is not in files
    attributes = user_attributes(tensor)
    if isinstance(tensor, Parameter) and issubclass(kind, Parameter):
        data = tensor.detach()
        if attributes:
            return rebuild_parameter_with_state, (data, tensor.requires_grad, OrderedDict(), attributes)
        return rebuild_parameter, (data, tensor.requires_grad, OrderedDict())
    function, arguments = _reduce_data(tensor)
    if kind is Buffer:
        kind, attributes = Tensor, {**attributes, "_is_buffer": True}
    if kind is Tensor and not attributes:
        return function, arguments
    own, slots = kind.__dict__.get("__getstate__"), user_slots(tensor)
    return rebuild_from_type_v2, (
        function,
        kind,
        arguments,
        own(tensor) if own is not None else (attributes, slots) if slots else attributes,
    )


def reduce_generator(generator: Any) -> Any:
    """How a random generator is pickled."""
    return Generator, (CPU,), (generator.initial_seed(), None, generator.get_state())


def _own_reduction(value: Any) -> Any:
    """How a value of ours is pickled; NotImplemented for everything else."""
    kind = type(value)
    if issubclass(kind, Tensor):
        own = kind.__reduce_ex__ is not Tensor.__reduce_ex__ and not issubclass(kind, Parameter)
        return NotImplemented if own else reduce_tensor(value)
    if kind is dtype or kind is qscheme:
        return value.name
    if kind is Generator:
        return reduce_generator(value)
    if kind is HookTable:
        return OrderedDict, (), None, None, iter(value.items())
    if kind is layout:
        return get_layout, (repr(value),)
    return NotImplemented


# Values of these types are never ours; the question would cost more than the answer.
_PLAIN = frozenset((str, int, float, bool, bytes, type(None), tuple, list, dict, OrderedDict, complex))


def _pickler(pickle_module: Any, file: Any, protocol: int, table: StorageTable) -> Any:
    """A pickler that writes PyTorch's names, made of the one that a module offers.

    Python's own is taken in its form written in Python: the one in C can't be told to write another name.
    """
    base: Any = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler  # type: ignore[attr-defined]

    class Pickler(base):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> Any:
            kind = type(value)
            if kind in _PLAIN:
                return None
            if kind is _HeldStorage:
                return table.identity(value)
            if isinstance(value, TypedStorage):
                return table.identity(_HeldStorage(value.untyped()._storage, value.dtype))
            if kind is UntypedStorage:
                return table.identity(_HeldStorage(value._storage, None))
            return None

        def reducer_override(self, value: Any) -> Any:
            return NotImplemented if type(value) in _PLAIN else _own_reduction(value)

        def save_global(self, value: Any, name: str | None = None) -> None:
            path = path_of(value, name)
            if path is None:
                super().save_global(value, name)
                return
            if self.proto >= 4:
                self.save(path[0])
                self.save(path[1])
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{path[0]}\n{path[1]}\n".encode())
            self.memoize(value)

    if hasattr(base, "dispatch"):
        Pickler.dispatch = {**base.dispatch, FunctionType: Pickler.save_global, BuiltinFunctionType: Pickler.save_global}
    return Pickler(file, protocol)


# -- the two formats ---------------------------------------------------------------------------------------------


def write_archive(value: Any, file: Any, root: str, pickle_module: Any, protocol: int, byte_order: bool) -> None:
    """PyTorch's format since 1.6."""
    table = StorageTable(legacy=False)
    buffer = io.BytesIO()
    _pickler(pickle_module, buffer, protocol, table).dump(value)
    archive = ArchiveWriter(file, root, options.checksums)
    pickled = buffer.getvalue()
    archive.write("data.pkl", pickled)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    if byte_order:
        archive.write("byteorder", sys.byteorder.encode())
    combined = zlib.crc32(pickled)
    keys = list(table.storages)
    data: list[Any] = [table.data(key) for key in keys]
    if options.skip_data:
        data = [np.zeros_like(each) for each in data]
    # The checksums of large storages are computed ahead in a second thread while this one writes.
    with ThreadPoolExecutor(1) as threads:
        checks = [threads.submit(zlib.crc32, each) if each.size > SMALL and options.checksums else None for each in data]
        for key, each, check in zip(keys, data, checks):
            checksum = check.result() if check is not None else zlib.crc32(each) if options.checksums else 0
            combined = zlib.crc32(checksum.to_bytes(4, "little"), combined)
            archive.write(f"data/{key}", each, checksum)
    archive.write("version", b"3\n")
    archive.write(".data/serialization_id", f"{zlib.crc32(root.encode()):020d}{combined:020d}".encode())
    archive.close()


def write_stream(value: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """PyTorch's format before 1.6: pickles one behind the other, then the storages."""
    table = StorageTable(legacy=True)
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle_module.dump(part, file, protocol=protocol)
    _pickler(pickle_module, file, protocol, table).dump(value)
    keys = sorted(table.storages)
    pickle_module.dump(keys, file, protocol=protocol)
    if hasattr(file, "flush"):
        file.flush()
    for key in keys:
        data = table.data(key)
        kind = table.kinds[key]
        file.write(struct.pack("<q", data.size // (kind.itemsize if kind is not None else 1)))
        file.write(memoryview(data))


# -- save --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[Any]:
    """A file to write in place of the one at ``path``: it appears there when all is written, or not at all.

    The new file has a temporary name until then.  What is no regular file (a pipe, a device) is written to directly.
    """
    target = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise OperationError(f"Parent directory {os.path.dirname(os.fsdecode(path))} does not exist.")
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.isfile(target) else None
    if mode is None and os.path.exists(target):
        with open(target, "wb") as file:
            yield file
        return
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.partial")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(handle, "wb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object with its tensors to a file that :func:`load`, and PyTorch's ``torch.load``, read.

    ``f`` is a path or a file object.  A file at a path is replaced as a whole, or not at all where something fails.
    Tensors that share memory do so again when they are loaded.
    """
    if pickle_protocol == 0:
        raise ValueRangeError("pickle_protocol 0 can't refer to storages beside the pickle: use 2, which PyTorch reads best")
    if not isinstance(f, (str, bytes, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        _write(obj, f, "archive", pickle_module, pickle_protocol, _use_new_zipfile_serialization, not _disable_byteorder_record)
        if hasattr(f, "flush"):
            f.flush()  # another reader of the file finds all of it
        return
    root = os.path.splitext(os.path.basename(os.fsdecode(f)))[0].replace("\\", "_") or "archive"
    with replacing(f) as file:
        _write(obj, file, root, pickle_module, pickle_protocol, _use_new_zipfile_serialization, not _disable_byteorder_record)


def _write(value: Any, file: Any, root: str, module: Any, protocol: int, as_archive: bool, byte_order: bool) -> None:
    if as_archive:
        write_archive(value, file, root, module, protocol, byte_order)
    else:
        write_stream(value, file, module, protocol)

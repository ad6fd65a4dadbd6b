"""Storages: the memory behind tensors, as bytes (``UntypedStorage``) or as elements of a type (``TypedStorage``)."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from ..core.base import Spec, Storage, TensorBase, contiguous_strides, storage_of
from ..core.devices import CPU, META, accelerator, as_device, available, device, device_of, device_type_of, device_types, on_device, strided
from ..core.dtypes import ALL, QUANTIZED, default, legacy_name
from ..core.dtypes import dtype as dtype_class
from ..core.errors import ArgumentError, DimensionError, NotSupported, OperationError, ShapeError, ValueRangeError
from ..core.in_place import check_inference
from ..core.lazy_views import memory_of
from ..core.sparse import SPARSE
from ..core.state import state
from ..ops.shape.memory import element_strides
from .construct import array_of
from .shared import SharedMemory

_UINT8 = np.dtype(np.uint8)


def span(array: Any) -> int:
    """The number of elements of memory from the first to the last element of an array (or Spec)."""
    if not array.size:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(array.shape, element_strides(array)))


def bytes_of(storage: Storage) -> Any:
    """The whole memory of a storage, as an array of bytes on its device that shares it."""
    array = storage.array
    return strided(array, (span(array) * array.itemsize,), (1,), 0, _UINT8)


class UntypedStorage:
    """A block of memory, byte by byte; ``tensor.untyped_storage()`` gives that of a tensor."""

    foreign_order = False  # of one that was read from a file: whether its elements have the other byte order

    def __init__(self, data: Any = 0, *, device: Any = "cpu") -> None:
        if isinstance(data, Storage):
            self._storage = data
        elif isinstance(data, int):
            place = available(device)
            self._storage = Storage(device_types[place.type].empty((data,), _UINT8, place))
        else:
            self._storage = Storage(on_device(array_of(data, _UINT8), available(device)))

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *, dtype: Any) -> UntypedStorage:
        """The bytes of elements of a type that a buffer holds in a byte order, in the order of this machine."""
        part = memoryview(buffer).cast("B")[offset:]
        return TypedStorage.from_buffer(part if count < 0 else part[: count * dtype.itemsize], byte_order, dtype=dtype)._untyped_storage

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped; with ``shared`` what is written goes to the file, which grows to ``nbytes`` bytes if it is shorter."""
        with open(filename, "r+b" if shared else "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if shared and length < nbytes:
                file.truncate(nbytes)
            elif length < nbytes:
                raise RuntimeError(f"file <{filename}> of {length} bytes is too small for {nbytes} bytes")
            memory = (
                mmap.mmap(file.fileno(), nbytes or length, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
                if nbytes or length
                else b""
            )
        return cls(Storage(np.frombuffer(memory, _UINT8)))

    @property
    def device(self) -> device:
        """Where the memory is."""
        return device_of(self._storage.array)

    is_hpu = is_sparse = False

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """The index of the GPU; -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    filename = None

    @property
    def _bytes(self) -> Any:
        if self._storage.array.__class__ is Spec:
            raise NotSupported("Not available for 'meta' device type")
        return bytes_of(self._storage)

    @property
    def _host_bytes(self) -> Any:
        """The bytes as a NumPy array: a copy, if they are not in the memory of the CPU."""
        return device_type_of(self._storage.array).to_host(self._bytes)

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def nbytes(self) -> int:
        """How many bytes there are."""
        array = self._storage.array
        return span(array) * int(array.dtype.itemsize)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return device_type_of(self._storage.array).address(self._storage.array) if self.nbytes() else 0

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return self._host_bytes.tolist()  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage(Storage(self._bytes[index]))
        if self.device == META:
            raise NotSupported("Not available for 'meta' device type")
        self._check(index)
        return int(self._host_bytes[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check(index)
        self._bytes[index] = value

    def _check(self, index: int) -> None:
        if not -len(self) <= index < len(self):
            raise DimensionError(f"index {index} out of range for storage of size {len(self)}")

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __bytes__(self) -> bytes:
        return bytes(self._host_bytes.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)

    def __repr__(self) -> str:
        shown = "...\n" if self.device == META else "".join(f" {byte}\n" for byte in self.tolist())
        return f"{shown}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def clone(self) -> UntypedStorage:
        """A copy."""
        if self.device == META:
            return UntypedStorage(len(self), device=META)
        return UntypedStorage(Storage(self._bytes.copy()))

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of each element of a type, in place; of each part of a complex number."""
        if self.device.type != "cpu":
            raise NotSupported(f"byteswap of a storage on {self.device}: move it to the CPU first")
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        data = self._bytes[: len(self) // dtype.itemsize * dtype.itemsize].reshape(-1, width)
        data[...] = data[:, ::-1].copy()

    def cpu(self) -> UntypedStorage:
        """The storage in the memory of the CPU: itself, if it is there."""
        return self if self.device == CPU else UntypedStorage(Storage(self._host_bytes))

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a device: itself, if it is there."""
        place = available(device)
        return self if self.device == place else UntypedStorage(Storage(on_device(self._bytes, place)))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a GPU, by default the current one; itself, if it is there already."""
        return self.to(device="cuda" if device is None else device)

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """The storage in memory that copies to a GPU can read directly: itself, if it is there."""
        if self.is_pinned():
            return self
        return UntypedStorage(Storage((accelerator() or device_types["cpu"]).pinned(self._host_bytes)))

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Write another storage's bytes here."""
        if len(source) != len(self):
            raise OperationError(f"size does not match, self was {len(self)} bytes but src was {len(source)} bytes")
        self._bytes[...] = on_device(source._bytes, self.device)
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Write one value to every byte."""
        self._bytes[...] = value
        return self

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return is_shared_memory(self._storage.array)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self.device == CPU and "cuda" in device_types and device_types["cuda"].is_pinned(self._bytes)

    def resize_(self, size: int) -> Any:
        """Raise: the memory of a NumPy array keeps its size."""
        raise OperationError("Trying to resize storage that is not resizable")

    def type(self) -> str:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    def __reduce__(self) -> tuple[Any, ...]:
        return (UntypedStorage, (self._storage,))


def is_shared_memory(array: Any) -> bool:
    """Whether the memory of an array was made by ``share_memory_``."""
    while isinstance(array, np.ndarray):
        array = array.base
    return type(array.obj if isinstance(array, memoryview) else array) in (mmap.mmap, SharedMemory)


class TypedStorage:
    """A block of memory as elements of a dtype; ``tensor.storage()`` gives that of a tensor."""

    dtype: dtype_class

    def __init__(
        self, data: Any = 0, *, dtype: Any = None, device: Any = None, wrap_storage: UntypedStorage | None = None, _internal: bool = False
    ) -> None:
        self.dtype = dtype or getattr(type(self), "dtype", None) or default.floating
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
        elif isinstance(data, int):
            self._untyped_storage = UntypedStorage(data * self.dtype.itemsize, device=device)
        elif device is not None and as_device(device) == META:
            self._untyped_storage = UntypedStorage(len(data) * self.dtype.itemsize, device=device)
        else:
            self._untyped_storage = UntypedStorage(Storage(array_of(data, self.dtype.numpy)))

    @property
    def _elements(self) -> Any:
        whole = len(self) * self.dtype.itemsize
        return self._untyped_storage._bytes[:whole].view(self.dtype.numpy)

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self._untyped_storage.device

    is_hpu = is_sparse = False

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self._untyped_storage.is_cuda

    filename = None

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def get_device(self) -> int:
        """The number of the device: -1 of the CPU."""
        return -1 if self.device == CPU else (self.device.index or 0)

    def untyped(self) -> UntypedStorage:
        """The same memory, byte by byte."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        elements = device_type_of(self._untyped_storage._storage.array).to_host(self._elements)
        if elements.dtype.kind not in "biufc":
            elements = elements.astype(np.float32)
        return elements.tolist()  # type: ignore[no-any-return]

    def __getitem__(self, index: int) -> Any:
        if self.device == META:
            raise NotSupported("Not available for 'meta' device type")
        if isinstance(index, slice):
            raise OperationError("slices are only supported in UntypedStorage.__getitem__")
        self._check(index)
        return self.tolist()[index] if self.dtype.numpy.kind not in "biufc" or self.device != CPU else self._elements[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check(index)
        if self.device != META:
            self._elements[index] = value

    def _check(self, index: int) -> None:
        if not -len(self) <= index < len(self):
            raise DimensionError(f"index {index} out of range for storage of size {len(self)}")

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        shown = "...\n" if self.device == META else "".join(f" {each}\n" for each in self.tolist())
        return f"{shown}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def clone(self) -> TypedStorage:
        """A copy."""
        return TypedStorage(dtype=self.dtype, wrap_storage=self._untyped_storage.clone())

    def cpu(self) -> TypedStorage:
        """The storage in the memory of the CPU: itself, if it is there."""
        return self if self.device == CPU else TypedStorage(dtype=self.dtype, wrap_storage=self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on a GPU, by default the current one; itself, if it is there already."""
        return TypedStorage(dtype=self.dtype, wrap_storage=self._untyped_storage.cuda(device))

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """The storage in memory that copies to a GPU can read directly."""
        return TypedStorage(dtype=self.dtype, wrap_storage=self._untyped_storage.pin_memory())

    def to(self, dtype: dtype_class) -> TypedStorage:
        """The elements in another type."""
        if self.device == META:
            return TypedStorage(len(self), dtype=dtype, device=META)
        return self if dtype is self.dtype else TypedStorage(self.cpu()._elements, dtype=dtype)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", *, dtype: Any = None) -> TypedStorage:
        """The elements that a buffer of bytes holds, in a byte order: ``"native"``, ``"little"`` or ``"big"``."""
        kind = dtype or getattr(cls, "dtype", None) or default.floating
        order: Any = {"native": "=", "little": "<", "big": ">"}.get(byte_order)
        if order is None:
            raise ValueRangeError(f"invalid byte order '{byte_order}': expected native, little or big")
        return TypedStorage(np.frombuffer(buffer, kind.numpy.newbyteorder(order)).astype(kind.numpy), dtype=kind)

    _from_buffer = from_buffer

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0, *, dtype: Any = None) -> TypedStorage:
        """The elements of a file, mapped; with ``shared`` what is written goes to the file."""
        kind = dtype or getattr(cls, "dtype", None) or default.floating
        return TypedStorage(dtype=kind, wrap_storage=UntypedStorage.from_file(filename, shared, size * kind.itemsize))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Write another storage's elements here."""
        if len(source) != len(self):
            raise OperationError(f"size does not match, self has {len(self)} elements but src has {len(source)}")
        if self.device != META:
            self._elements[...] = on_device(source._elements, self.device)
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Write one value to every element."""
        if self.device != META:
            self._elements[...] = value
        return self

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self._untyped_storage.is_pinned()

    def type(self) -> str:
        """The name of the class for storages of this type."""
        return f"torch.{legacy_name(self.dtype)}Storage"

    def pickle_storage_type(self) -> str:
        """The name under which PyTorch's files know storages of this type."""
        return f"{legacy_name(self.dtype)}Storage"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_typed, (self._untyped_storage, self.dtype))


def _cast_to(name: str) -> Any:
    kind = next(each for each in ALL if each.name == name)

    def cast(self: TypedStorage) -> TypedStorage:
        return self.to(kind)

    cast.__doc__ = f"The elements as {kind}."
    return cast


for _name, _kind in (
    ("double", "float64"), ("float", "float32"), ("half", "float16"), ("bfloat16", "bfloat16"), ("long", "int64"), ("int", "int32"),
    ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"), ("complex_double", "complex128"),
    ("complex_float", "complex64"),
):  # fmt: skip
    setattr(TypedStorage, _name, _cast_to(_kind))


def _typed(untyped: UntypedStorage, dtype: dtype_class) -> TypedStorage:
    return TypedStorage(dtype=dtype, wrap_storage=untyped)


class _LegacyStorageType(type):
    """``isinstance(storage, FloatStorage)`` asks for the type of the elements."""

    def from_buffer(cls, buffer: Any, byte_order: str = "native", **named: Any) -> TypedStorage:
        """The elements of this type that a buffer of bytes holds."""
        return TypedStorage.from_buffer(buffer, byte_order, dtype=cls.dtype)  # type: ignore[attr-defined]

    _from_buffer = from_buffer

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The elements of this type of a file, mapped."""
        return TypedStorage.from_file(filename, shared, size, dtype=cls.dtype)  # type: ignore[attr-defined]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype  # type: ignore[attr-defined]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)  # type: ignore[attr-defined]


# FloatStorage, LongStorage, ...: by name.
STORAGE_TYPES: dict[str, Any] = {
    f"{legacy_name(each)}Storage": _LegacyStorageType(f"{legacy_name(each)}Storage", (), {"dtype": each, "__module__": "torch"})
    for each in (*ALL, *QUANTIZED)
}


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


# -- methods of Tensor -------------------------------------------------------------------------------------------


def untyped_storage(self: Any) -> UntypedStorage:
    """The memory behind the tensor, which its views share, byte by byte."""
    if self._array.__class__ in SPARSE:
        raise NotSupported("Cannot access storage of SparseTensorImpl")
    return UntypedStorage(storage_of(self))


def storage(self: Any) -> TypedStorage:
    """The memory behind the tensor, as elements of its type."""
    if self._array.__class__ in SPARSE:
        raise NotSupported("Cannot access storage of SparseTensorImpl")
    return TypedStorage(dtype=self.dtype, wrap_storage=UntypedStorage(storage_of(self)))


def storage_type(self: Any) -> Any:
    """The class for storages of the tensor's type."""
    return STORAGE_TYPES[f"{legacy_name(self.dtype)}Storage"]


def over(storage: Storage, numpy_type: Any, offset: int, shape: Any, strides: Any) -> Any:
    """An array over the memory of a storage; offset and strides are in elements."""
    if storage.array.__class__ is Spec:
        return Spec(shape, numpy_type, tuple(strides), storage.array.device)
    memory = bytes_of(storage)
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides)) if 0 not in shape else -1
    if offset < 0 or any(stride < 0 for stride in strides) or (last + 1) * numpy_type.itemsize > memory.size:
        raise ShapeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{numpy_type.itemsize} are out of bounds for storage of size {memory.size}"
        )
    if 0 in shape:  # an empty array has an offset into the memory too: its end, at most
        offset = min(offset, memory.size // numpy_type.itemsize)
    return strided(memory, tuple(shape), tuple(strides), offset, numpy_type)


def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Make the tensor one over another tensor's memory, or over a storage."""
    check_inference(self)
    if self._requires_grad and self._grad_fn is None and state.grad_enabled:
        raise OperationError("a leaf Variable that requires grad is being used in an in-place operation.")
    numpy_type = self._array.dtype
    if source is None:
        place = self.device
        self._array, self._storage = device_types[place.type].empty((0,), numpy_type, place), None
        return self
    if isinstance(source, TensorBase):
        if source._array.dtype != numpy_type:
            raise OperationError(f"Could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}")
        held = storage_of(source)
        if size is None:
            self._array, self._storage = memory_of(source._array), held
            if state.capture is not None and state.capture.is_traced(source):  # from here on it is the same value
                state.capture.bind(self, state.capture.node_of(source), state.capture.shape_of(source))
            return self
    elif isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise OperationError(
                f"Expected a Storage of type {legacy_name(self.dtype)} or an UntypedStorage, but got type {legacy_name(source.dtype)} for argument 1 'storage'"
            )
        held = source.untyped()._storage
    elif isinstance(source, UntypedStorage):
        held = source._storage
    else:
        raise ArgumentError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    count = span(held.array) * held.array.dtype.itemsize // numpy_type.itemsize
    shape = (count - storage_offset,) if size is None else tuple(size)
    strides = contiguous_strides(shape) if stride is None else tuple(stride)
    self._array = over(held, numpy_type, storage_offset, shape, strides)
    self._storage = held
    return self


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    for method in (untyped_storage, storage, storage_type, set_):
        setattr(tensor_class, method.__name__, method)

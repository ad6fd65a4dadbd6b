"""Construction: tensors from Python values, and from the memory of other libraries.

``tensor`` always copies; ``from_numpy``, ``frombuffer`` and ``from_dlpack`` share memory; ``as_tensor`` and ``asarray``
share it where they can.
"""

from __future__ import annotations

import ctypes
import functools
import warnings
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make, mark_inference
from ..core.declare import lookup
from ..core.devices import CPU, available, device_type_of, device_types, on_device
from ..core.dtypes import (
    BOOL,
    BY_NUMPY,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    default,
    legacy_name,
    of_numpy,
    promote_numpy,
    promote_types,
    result_dtype,
)
from ..core.dtypes import dtype as dtype_class
from ..core.errors import ArgumentError, DtypeError, GradientError, NotSupported, OperationError, ValueRangeError
from ..core.overrides import ask_or_refuse, ask_plain, overridable, seen_by_modes
from ..core.state import flags, state
from ..core.symbolic import SymbolicFloat, SymbolicInt
from ..ops.create.factories import as_dtype, check_options
from ..ops.pointwise.copy_cast import cast_array

_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)
_MOST_DIMENSIONS = 64
_CATEGORY_OF = {bool: BOOL, int: INTEGRAL, float: FLOATING, complex: COMPLEX}


def finished(array: Any, device: Any = None, requires_grad: bool = False) -> Any:
    """A leaf tensor over an array, which is copied to the device that is named if it is on another; a Spec stays as it is."""
    place = available(device)
    if not isinstance(requires_grad, (bool, int)):
        raise ArgumentError(f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and BY_NUMPY[array.dtype].category < FLOATING:
        raise GradientError("Only Tensors of floating point and complex dtype can require gradients")
    result = make(array if place is CPU or array.__class__ is Spec else on_device(array, place))
    result._requires_grad = bool(requires_grad)
    if state.inference:
        mark_inference(result)
    return result


# -- from nested sequences ---------------------------------------------------------------------------------------


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if isinstance(value, (TensorBase, np.generic, str, bytes, dict, set)):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, by the first element of each."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > _MOST_DIMENSIONS:
            raise ValueRangeError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
        if isinstance(data, (str, bytes)):
            raise ValueRangeError(f"too many dimensions '{type(data).__name__}'")
    return tuple(shape)


def _leaves(data: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of nested sequences in row-major order; all sequences of a level have one length."""
    level = [data]
    for dim, size in enumerate(shape):
        following: list[Any] = []
        for each in level:
            if isinstance(each, TensorBase) and each._array.ndim:
                each = concrete(each)
            if not _is_sequence(each):
                raise ArgumentError("not a sequence")
            if len(each) != size:
                raise ValueRangeError(f"expected sequence of length {size} at dim {dim} (got {len(each)})")
            following.extend(each)
        level = following
    return level


def _plain(value: Any) -> tuple[Any, Any]:
    """A leaf that is none of Python's own numbers, as one of these, and its type."""
    if isinstance(value, TensorBase):
        if value._array.size != 1:
            raise ValueRangeError("only one element tensors can be converted to Python scalars")
        return value.item(), value._array.dtype  # type: ignore[attr-defined]
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, np.generic):
        return (value.item() if value.dtype.kind in "biufc" else float(value)), of_numpy(value.dtype).numpy
    for kind, category in _CATEGORY_OF.items():  # subclasses, such as those of an enumeration
        if isinstance(value, kind):
            return kind(value), _of_category(category)
    if _is_sequence(value):
        raise ArgumentError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    raise DtypeError(f"Could not infer dtype of {type(value).__name__}")


def _of_category(category: int) -> Any:
    return {BOOL: _BOOL, INTEGRAL: _INT64, FLOATING: default.numpy, COMPLEX: default.complex}[category]


def _normalised(leaves: list[Any]) -> tuple[list[Any], Any]:
    """The leaves as Python numbers, and the type that they have in common."""
    kinds = set(map(type, leaves))
    found = {_of_category(_CATEGORY_OF[kind]) for kind in kinds if kind in _CATEGORY_OF}
    if not kinds <= _CATEGORY_OF.keys():
        pairs = [(each, None) if type(each) in _CATEGORY_OF else _plain(each) for each in leaves]
        leaves = [value for value, _ in pairs]
        found |= {numpy_type for _, numpy_type in pairs if numpy_type is not None}
    result = None
    for numpy_type in found:
        result = numpy_type if result is None else promote_numpy(result, numpy_type)
    return leaves, default.numpy if result is None else result


def _numbers(leaves: list[Any], numpy_type: Any) -> Any:
    """An array of Python numbers, each of which has to fit: an int must not overflow, a float may become infinite."""
    kind = BY_NUMPY[numpy_type]
    kinds = set(map(type, leaves))
    if kind.category == BOOL:
        return np.array(leaves, np.bool_)
    if kind.is_complex:
        return cast_array(np, np.array(leaves, np.complex128), numpy_type)
    if complex in kinds:
        raise ArgumentError("must be real number, not complex")
    if kind.is_floating_point:
        return cast_array(np, np.array(leaves, np.float64), numpy_type)
    try:
        if float in kinds:
            if numpy_type.kind == "u" and any(type(each) is float and each <= -1 for each in leaves):
                raise OverflowError("a negative float in an unsigned type")
            leaves = [int(each) for each in leaves]
        wide = np.array(leaves, np.uint64 if numpy_type == np.uint64 else np.int64)
    except (OverflowError, ValueError) as error:
        if numpy_type == np.uint64:
            raise OverflowError(f"value cannot be converted to type {kind.name}") from error
        if numpy_type == _INT64 and float not in kinds:
            raise ValueRangeError("Overflow when unpacking long long") from error
        raise OperationError(f"value cannot be converted to type {kind.name} without overflow") from error
    if numpy_type.itemsize < 8 and wide.size:
        limits = np.iinfo(numpy_type)
        if np.min(wide) < (limits.min or -limits.max) or np.max(wide) > limits.max:
            raise OperationError(f"value cannot be converted to type {kind.name} without overflow")
    return wide.astype(numpy_type, copy=False)


def array_of(data: Any, numpy_type: Any = None) -> Any:
    """A new array of any data that ``tensor`` takes, of a given type or of the one that the data suggest."""
    if isinstance(data, TensorBase):
        return converted(concrete(data), numpy_type, copy=True)
    if isinstance(data, np.ndarray):
        return converted(checked(data), numpy_type, copy=True)
    if isinstance(data, (str, bytes)):
        raise ArgumentError(f"new(): invalid data type '{type(data).__name__}'")
    shape = _shape_of(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, np.ndarray) and each.ndim for each in data):
        rows = [checked(each, strides=False) for each in data]
        if all(row.shape == rows[0].shape for row in rows):
            warnings.warn(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
                "numpy.ndarray with numpy.array() before converting to a tensor.", UserWarning, stacklevel=4,
            )  # fmt: skip
            common = rows[0].dtype
            for row in rows[1:]:
                common = promote_numpy(common, row.dtype)
            return converted(np.stack([row.astype(common, copy=False) for row in rows]), numpy_type)
    leaves, inferred = _normalised(_leaves(data, shape))
    return _numbers(leaves, inferred if numpy_type is None else numpy_type).reshape(shape)


def concrete(tensor: Any) -> Any:
    """The elements of a tensor as a NumPy array: that of the tensor itself, if it is on the CPU."""
    if tensor._array.__class__ is Spec:
        raise OperationError("Cannot copy out of meta tensor; no data!")
    if isinstance(tensor._array, Spec):
        raise OperationError("Cannot access data pointer of Tensor that doesn't have storage: use clone() inside of transforms")
    if flags.special and state.capture is not None:
        state.capture.value_escaped(tensor, "the elements of a tensor")
    return device_type_of(tensor._array).to_host(tensor._array)


def converted(array: Any, numpy_type: Any, copy: bool = False) -> Any:
    """A NumPy array in another dtype, by the rules of ``cast``, with the strides in the same order."""
    if numpy_type is None or array.dtype == numpy_type:
        return np.array(array, order="K", copy=True, subok=False) if copy else array
    return cast_array(np, array, numpy_type)


@seen_by_modes
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A tensor with a copy of the data: a number, nested sequences of numbers, an array.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    check_options(None, pin_memory)
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _copied(data, dtype, device, requires_grad)


def _copied(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    numpy_type = None if dtype is None else as_dtype(dtype).numpy
    if isinstance(data, TensorBase):
        here = data.device  # type: ignore[attr-defined]
        device = here if device is None else available(device)
        if data._array.__class__ is Spec:
            if device != here:
                raise NotSupported("Cannot copy out of meta tensor; no data!")
            return finished(Spec(data._array.shape, numpy_type or data._array.dtype, device=here), here, requires_grad)
        if flags.special and state.capture is not None:  # a value of the graph, and no constant
            copied = data.detach().clone().to(device, as_dtype(dtype) if dtype is not None else None)  # type: ignore[attr-defined]
            return copied.requires_grad_() if requires_grad else copied
    elif data.__class__.__name__ == "TypedStorage":
        wanted = default.floating if dtype is None else as_dtype(dtype)
        if data.dtype is not wanted:
            raise OperationError(
                f"Expected a Storage of type {legacy_name(wanted)} or an UntypedStorage, but got {legacy_name(data.dtype)}"
            )
        data = data._elements.copy()
    elif data.__class__.__name__ == "UntypedStorage":  # its bytes, as elements
        data = data._host_bytes.copy().view(np.int64 if numpy_type is None else numpy_type)
    elif flags.special and state.capture is not None and _has_traced_numbers(data):
        shape = _shape_of(data)
        leaves = _leaves(data, shape)
        if all(isinstance(each, (TensorBase, bool, int, float)) for each in leaves):
            made = _recorded(leaves, shape, None if dtype is None else as_dtype(dtype), None if device is None else available(device))
            return made.requires_grad_() if requires_grad else made
    return finished(array_of(data, numpy_type), device, requires_grad)


def _has_traced_numbers(data: Any) -> bool:
    """Whether there are 0-dim tensors or symbolic numbers in nested sequences, and no other tensors."""
    if not isinstance(data, (list, tuple)):
        return isinstance(data, (SymbolicInt, SymbolicFloat)) or isinstance(data, TensorBase) and not data._array.ndim
    return any(_has_traced_numbers(each) for each in data) and not any(isinstance(each, TensorBase) and each._array.ndim for each in data)


def _recorded(leaves: list[Any], shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """A tensor of 0-dim tensors, symbolic and plain numbers, made by ops: a constant would hold for the values of the capture alone."""
    if dtype is None:
        dtype = functools.reduce(promote_types, [each.dtype if isinstance(each, TensorBase) else _dtype_of_number(each) for each in leaves])  # type: ignore[attr-defined]
    parts = [
        each.detach().to(dtype=dtype, device=device)  # type: ignore[attr-defined]
        if isinstance(each, TensorBase)
        else lookup("scalar_tensor").call(each, dtype=dtype, device=device)
        for each in leaves
    ]
    return parts[0] if not shape else lookup("stack").call(parts, 0).reshape(shape)


def _dtype_of_number(number: Any) -> Any:
    """The dtype that a tensor of a number has."""
    return of_numpy(array_of(0 if isinstance(number, SymbolicInt) else 0.0 if isinstance(number, SymbolicFloat) else number).dtype)


# -- sharing memory ----------------------------------------------------------------------------------------------


def checked(array: Any, strides: bool = True) -> Any:
    """A NumPy array that can be a tensor's, as a plain ``ndarray`` whose dtype object is the one in ``BY_NUMPY``."""
    known = BY_NUMPY.get(array.dtype)
    if known is None:
        if array.dtype.newbyteorder("=") in BY_NUMPY:
            raise ValueRangeError(
                "given numpy array has byte order different from the native byte order. Conversion between byte orders "
                "is currently not supported."
            )
        known = of_numpy(array.dtype)
    if strides and any(step < 0 for step in array.strides):
        raise ValueRangeError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if strides and any(step % array.itemsize for step in array.strides):
        raise ValueRangeError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    array = array.view(np.ndarray)
    return array if array.dtype is known.numpy else array.view(known.numpy)


def _warn_if_read_only(array: Any) -> None:
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and a tensor over non-writable memory raises an error where it is written to. You may "
            "want to copy the array, or make it writable before converting it to a tensor.",
            UserWarning,
            stacklevel=3,
        )


def from_numpy(ndarray: Any) -> Any:
    """A tensor over the memory of a NumPy array: a change of either is seen in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"expected np.ndarray (got {type(ndarray).__name__})")
    array = checked(ndarray)
    _warn_if_read_only(array)
    return finished(array, "cpu")


@seen_by_modes
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the data that shares their memory where it can: a tensor is returned as it is."""
    if isinstance(data, TensorBase):
        return data.to(device=device, dtype=dtype)  # type: ignore[attr-defined]
    if isinstance(data, np.ndarray):
        array = checked(data)
        _warn_if_read_only(array)
        return finished(converted(array, None if dtype is None else as_dtype(dtype).numpy), device)
    if hasattr(data, "__cuda_array_interface__"):
        return from_dlpack(data).to(device=device, dtype=dtype)
    return _copied(data, dtype, device, False)


@seen_by_modes
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None) -> Any:
    """A tensor of any object: a tensor, an array, what has ``__dlpack__``, a buffer of bytes, or nested sequences.

    ``copy=None`` shares memory where it can, ``copy=False`` insists on it, ``copy=True`` never does.
    """
    numpy_type = None if dtype is None else as_dtype(dtype).numpy
    if isinstance(obj, TensorBase):
        return _tensor_as_array(obj, numpy_type, device, copy, requires_grad)
    if isinstance(obj, np.ndarray):
        array = checked(obj)
    elif (hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic)) or type(obj).__name__ == "PyCapsule":
        array = from_dlpack(obj)._array
    elif _has_buffer(obj) and not isinstance(obj, np.generic):
        array = frombuffer(obj, dtype=default.floating if dtype is None else as_dtype(dtype))._array
    elif copy is False:
        raise ValueRangeError("can't alias arbitrary sequence into a tensor.")
    else:
        return finished(array_of(obj, numpy_type), device, bool(requires_grad))
    _check_alias(array.dtype, numpy_type, copy)
    return finished(converted(array, numpy_type, copy=bool(copy)), device, bool(requires_grad))


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _check_alias(found: Any, wanted: Any, copy: bool | None) -> None:
    if copy is False and wanted is not None and wanted != found:
        raise ValueRangeError(f"can't alias tensor with dtype '{legacy_name(found)}' into dtype '{legacy_name(wanted)}'.")


def _tensor_as_array(source: Any, numpy_type: Any, device: Any, copy: bool | None, requires_grad: bool | None) -> Any:
    _check_alias(source._array.dtype, numpy_type, copy)
    if copy is False and device is not None and available(device) != source.device:
        raise ValueRangeError(f"can't alias tensor from device '{source.device}' to '{available(device)}'.")
    origin = source
    if requires_grad is not None and not (requires_grad and source.requires_grad):
        origin = source.detach()
    result = origin.to(device=device, dtype=None if numpy_type is None else BY_NUMPY[numpy_type])
    if copy and result is origin:
        result = origin.clone()
    return result.requires_grad_(True) if requires_grad and not source.requires_grad else result


@seen_by_modes
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A 1-dim tensor over the memory of an object with the buffer protocol, from ``offset`` (in bytes) on."""
    numpy_type = as_dtype(dtype).numpy
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueRangeError("object does not implement Python buffer protocol.") from None
    size = numpy_type.itemsize
    if not view.nbytes or not count:
        raise ValueRangeError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
    if not 0 <= offset < view.nbytes:
        raise ValueRangeError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.nbytes} bytes) minus 1"
        )
    if count < 0:
        if (view.nbytes - offset) % size:
            raise ValueRangeError(
                f"buffer length ({view.nbytes - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
            )
        count = (view.nbytes - offset) // size
    if offset + count * size > view.nbytes:
        raise ValueRangeError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({view.nbytes} bytes)"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable: writing to the tensor will raise an error. You may want to copy it.",
            UserWarning,
            stacklevel=2,
        )
    return finished(np.ndarray((count,), numpy_type, buffer, offset), "cpu", requires_grad)


_DEVICES = {b"dltensor": 8, b"dltensor_versioned": 40}  # by a capsule's name, where its device is: two integers of 32 bits


class _Capsule:
    """A bare DLPack capsule, dressed as the object that ``from_dlpack`` of array libraries asks for it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        api = ctypes.pythonapi
        api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
        api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        name = api.PyCapsule_GetName(self.capsule)
        if name not in _DEVICES:
            raise OperationError(f"from_dlpack received an invalid capsule: '{(name or b'').decode()}'; a capsule can be used only once")
        kind, index = (ctypes.c_int32 * 2).from_address(api.PyCapsule_GetPointer(self.capsule, name) + _DEVICES[name])
        return kind, index


class _Writable:
    """The memory of an array that may be written to, although the array says otherwise."""

    def __init__(self, array: Any) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of another library's, passed by the DLPack protocol (types that NumPy knows)."""
    if isinstance(ext_tensor, TensorBase):
        source = ext_tensor.detach()  # type: ignore[attr-defined]
        return source.to(device=device, copy=bool(copy))
    if not hasattr(ext_tensor, "__dlpack__"):
        if type(ext_tensor).__name__ != "PyCapsule":
            raise OperationError(f"from_dlpack received an invalid capsule: an object of type {type(ext_tensor).__name__}")
        ext_tensor = _Capsule(ext_tensor)
    if ext_tensor.__dlpack_device__()[0] in (2, 13):  # memory of CUDA, and managed by it
        kind = device_types[available("cuda").type]
        shared = make(kind.from_dlpack(ext_tensor))
        return shared.to(device=device, copy=bool(copy))
    array = np.from_dlpack(ext_tensor) if copy is None else np.from_dlpack(ext_tensor, copy=copy)
    if not array.flags.writeable and "numpy_dltensor_versioned" not in repr(array.base):
        array = np.asarray(_Writable(array))  # a capsule of before DLPack 1.0 does not say so, and is made of memory that may be written to
    return finished(checked(array), device or "cpu")


# -- questions about tensors and types ---------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, TensorBase)


@overridable
def numel(input: Any) -> int:
    """The number of elements of a tensor."""
    if not isinstance(input, TensorBase):
        return ask_or_refuse(numel, input)  # type: ignore[no-any-return]
    return int(input._array.size)


@overridable
def result_type(tensor1: Any, tensor2: Any) -> dtype_class:
    """The type of what an operation on two tensors or numbers gives."""
    values = []
    for position, value in enumerate((tensor1, tensor2), 1):
        if not isinstance(value, (TensorBase, int, float, complex, np.number, np.bool_)):
            handled = ask_plain(result_type, (tensor1, tensor2), {})
            if handled is not NotImplemented:
                return handled  # type: ignore[no-any-return]
            raise ArgumentError(f"result_type(): argument {position} must be Tensor or Number, not {type(value).__name__}")
        values.append(value._array if isinstance(value, TensorBase) else value)
    return BY_NUMPY[result_dtype(values)]


def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor with a copy of the data, of this tensor's type and on its device unless others are named."""
    check_options(layout, pin_memory)
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _copied(data, self.dtype if dtype is None else dtype, self.device if device is None else device, requires_grad)


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.new_tensor = new_tensor

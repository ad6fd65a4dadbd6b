"""Conversion: a tensor in another dtype, on another device, in another memory format; and element by element in Python.

Dtypes change through the op ``cast`` and devices through ``to_device``, so that gradients flow; where nothing would change, the tensor
itself is returned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.base import Spec, TensorBase, make, storage_of
from ..core.declare import table
from ..core.devices import META, accelerator, available, device, device_type_of, device_types, on_device
from ..core.errors import ArgumentError, GradientError, NotSupported, OperationError, ShapeError
from ..core.overrides import ask_plain, overridable
from ..core.state import state
from ..ops.create.factories import as_dtype
from .construct import array_of
from .layout import channels_last, channels_last_3d, contiguous_format, is_channels_last, preserve_format
from .legacy import dtype_of_name, legacy_dtype, type_name
from .shared import shared_bytes
from .storage import is_shared_memory


def _is_device(value: Any) -> bool:
    return isinstance(value, (str, device)) or (isinstance(value, int) and not isinstance(value, bool))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtypes.dtype) or value in (float, int, bool, complex)


def _read_to(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, bool]:
    """Device, dtype and copy of the forms ``to(dtype)``, ``to(device, dtype)`` and ``to(other)``."""
    first = args[0] if args else None
    names: tuple[str, ...]
    if isinstance(first, TensorBase):
        names = ("other", "non_blocking", "copy")
    elif _is_dtype(first):
        names = ("dtype", "non_blocking", "copy")
    elif first is None or _is_device(first):
        names = ("device", "dtype", "non_blocking", "copy")
    else:
        raise ArgumentError(f"to() received an invalid combination of arguments - got ({type(first).__name__})")
    given = dict(zip(names, args))
    taken = set(names) if args and first is not None else {"device", "dtype", "non_blocking", "copy"}
    switches = [given[name] for name in ("non_blocking", "copy") if name in given]
    if (
        len(args) > len(names) or given.keys() & named.keys() or not named.keys() <= taken
        or not all(isinstance(each, (bool, int)) for each in switches)
    ):  # fmt: skip
        shown = ", ".join([type(each).__name__ for each in args] + [f"{name}=" for name in named])
        raise ArgumentError(f"to() received an invalid combination of arguments - got ({shown})")
    given.update(named)
    if "other" in given:
        return given["other"].device, given["other"].dtype, bool(given.get("copy"))
    dtype = given.get("dtype")
    return given.get("device"), None if dtype is None else as_dtype(dtype), bool(given.get("copy"))


def to(self: Any, *args: Any, memory_format: Any = None, **named: Any) -> Any:
    """The tensor with another type or on another device: ``to(dtype)``, ``to(device, dtype)``, ``to(other)``.

    It is itself if nothing changes, unless ``copy=True``.
    """
    if len(args) == 1 and args[0].__class__ is dtypes.dtype and not named and memory_format is None:
        return _converted(self, None, args[0], False, preserve_format)
    place, dtype, copy = _read_to(args, named)
    return _converted(self, place, dtype, copy, preserve_format if memory_format is None else memory_format)


def _suggested_format(tensor: Any) -> Any:
    for wanted in (channels_last, channels_last_3d):
        if is_channels_last(tensor._array.shape, tensor.stride(), wanted):
            return wanted if not tensor.is_contiguous() else contiguous_format
    return contiguous_format


def _converted(tensor: Any, place: Any, dtype: Any, copy: bool, memory_format: Any) -> Any:
    array = tensor._array
    if dtype is not None and dtype.numpy is not array.dtype and (dtype.integer is not None or tensor.is_quantized):
        raise OperationError(
            f"a tensor of {tensor.dtype} can't be converted to {dtype}: quantize_per_tensor() and dequantize() lead to quantized "
            "tensors and back"
        )
    here = tensor.device
    there = here if place is None else available(place)
    if there != here:
        if here == META:
            raise NotSupported("Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                               "torch.nn.Module.to() when moving module from meta to a different device.")  # fmt: skip
        if dtype is not None and dtype.numpy is not array.dtype:
            tensor = table["cast"].call(tensor, dtype)
        result = table["to_device"].call(tensor, there)
        return result if memory_format is preserve_format else result.contiguous(memory_format=memory_format)
    result = tensor
    if copy or (dtype is not None and dtype.numpy is not array.dtype):
        result = table["cast"].call(tensor, dtype or tensor.dtype)
    elif memory_format is preserve_format or memory_format is _suggested_format(tensor):
        if state.capture is not None:
            state.capture.left_as_it_is(tensor, dtype)
        return tensor
    return result if memory_format is preserve_format else result.contiguous(memory_format=memory_format)


def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The name of the tensor's type, such as ``torch.FloatTensor``; with a type, the tensor in that."""
    if dtype is None:
        return type_name(self)
    if not isinstance(dtype, dtypes.dtype):
        dtype = dtype_of_name(dtype) if isinstance(dtype, str) else legacy_dtype(dtype)
    return _converted(self, None, dtype, False, preserve_format)


def type_as(self: Any, other: Any) -> Any:
    """The tensor in the type, and on the device, of another."""
    if not isinstance(other, TensorBase):
        raise ArgumentError(f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return to(self, other)


def _shorthand(name: str, dtype: dtypes.dtype) -> Callable[..., Any]:
    def convert(self: Any, *, memory_format: Any = preserve_format) -> Any:
        return _converted(self, None, dtype, False, memory_format or preserve_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor as {dtype.name}."
    return convert


SHORTHANDS = {
    name: _shorthand(name, dtype)
    for name, dtype in {
        "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
        "int": dtypes.int32,
        "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
        "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
    }.items()
}  # fmt: skip


def chalf(self: Any, *, memory_format: Any = preserve_format) -> Any:
    """The tensor as complex numbers of half precision."""
    return _converted(self, None, dtypes.complex32, False, memory_format)


def cpu(self: Any, memory_format: Any = preserve_format) -> Any:
    """The tensor in the memory of the CPU: itself, if it is there."""
    return _converted(self, "cpu", None, False, memory_format)


def is_cuda(self: Any) -> bool:
    """Whether the elements are in the memory of an NVIDIA GPU."""
    return self._array.__class__ is not np.ndarray and self.device.type == "cuda"


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format) -> Any:
    """The tensor in the memory of a GPU."""
    return _converted(self, "cuda" if device is None else device, None, False, memory_format)


@overridable
def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    for position, each in enumerate((input, other), 1):
        if not isinstance(each, TensorBase):
            handled = ask_plain(is_same_size, (input, other), {})
            if handled is not NotImplemented:
                return handled  # type: ignore[no-any-return]
            raise ArgumentError(f"is_same_size(): argument {position} must be Tensor, not {type(each).__name__}")
    return tuple(input._array.shape) == tuple(other._array.shape)


# -- element by element in Python --------------------------------------------------------------------------------


def _write_each(name: str, target: Any, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    if target.requires_grad:
        raise GradientError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    array = target._array
    columns = [array]
    for other in others:
        if not isinstance(other, TensorBase):
            raise ArgumentError(f"{name}(): argument 'other' must be Tensor, not {type(other).__name__}")
        if other._array.dtype != array.dtype:
            raise ArgumentError(f"{name}: expected {type_name(target)} for 'other' (got {type_name(other)})")
        if other._requires_grad:
            raise GradientError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
        columns.append(other._array)
    if array.__class__ is Spec:
        return target
    try:
        columns = [np.broadcast_to(device_type_of(each).to_host(each), array.shape) for each in columns]
    except ValueError:
        raise ShapeError(
            f"{name}: the shapes {[list(each.shape) for each in columns[1:]]} can't be expanded to {list(array.shape)}"
        ) from None
    plain = [(each if each.dtype.kind in "biufc" else each.astype(np.float32)).ravel().tolist() for each in columns]
    results = [function(*row) for row in zip(*plain)]
    wrong = next((each for each in results if isinstance(each, (str, bytes))), None)
    if wrong is not None:
        raise ArgumentError(f"must be real number, not {type(wrong).__name__}")
    if results:
        array[...] = on_device(array_of(results, array.dtype).reshape(array.shape), target.device)
    storage_of(target).version += 1
    return target


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it (slowly: one call for each)."""
    return _write_each("apply_", self, (), callable)


def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and the element of another tensor."""
    return _write_each("map_", self, (tensor,), callable)


def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace each element by what a Python function makes of it and the elements of two other tensors."""
    return _write_each("map2_", self, (x, y), callable)


# -- kinds of memory ---------------------------------------------------------------------------------------------


def pin_memory(self: Any, device: Any = None) -> Any:
    """The tensor in page-locked memory of the host, from which an accelerator copies fastest; itself, if it is there."""
    kind = accelerator() or device_types["cpu"]
    if self._array.__class__ is not np.ndarray:
        raise OperationError(f"cannot pin '{type_name(self)}' only dense CPU tensors can be pinned")
    return self if kind.is_pinned(self._array) else make(kind.pinned(self._array))


def is_pinned(self: Any, device: Any = None) -> bool:
    """Whether the tensor is in page-locked memory of the host."""
    kind = accelerator() if self._array.__class__ is np.ndarray else None
    return kind is not None and kind.is_pinned(self._array)


def share_memory_(self: Any) -> Any:
    """Move the tensor to memory that other processes share with this one: those forked from it, and those that get it through a queue."""
    array = self._array
    if not isinstance(array, np.ndarray) or is_shared_memory(array) or not array.size:
        return self
    # The reference that the tensor itself holds, and that of the call, are no aliases.
    if self._view is not None or (self._storage is not None and sys.getrefcount(self._storage) > 2):
        raise OperationError("share_memory_() of a tensor whose memory other tensors share: clone() it first")
    dense = array.flags.forc
    shared = np.ndarray(array.shape, array.dtype, shared_bytes(array.nbytes), strides=array.strides if dense else None)
    shared[...] = array
    self._array = shared
    if self._storage is not None:
        self._storage.array = shared
    return self


def is_shared(self: Any) -> bool:
    """Whether other processes can share the tensor's memory."""
    return is_shared_memory(self._array)


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    for method in (
        to, type_as, chalf, cpu, cuda, is_same_size, apply_, map_, map2_, pin_memory, is_pinned, share_memory_,
        is_shared,
    ):  # fmt: skip
        setattr(tensor_class, method.__name__, method)
    type_.__name__ = type_.__qualname__ = "type"
    tensor_class.type = type_
    tensor_class.is_cuda = property(is_cuda)
    for name, method in SHORTHANDS.items():
        setattr(tensor_class, name, method)

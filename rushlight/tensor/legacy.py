"""PyTorch's oldest ways of saying what a tensor is: ``Tensor(2, 3)``, ``FloatTensor``, ``"torch.LongTensor"``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, storage_of
from ..core.declare import table
from ..core.devices import CPU, as_device, available, device_of, device_types
from ..core.dtypes import ALL, BY_NUMPY, default, legacy_name
from ..core.dtypes import dtype as dtype_class
from ..core.errors import ArgumentError, OperationError, ValueRangeError
from ..core.overrides import dispatches_operators
from ..core.process_safety import load_module
from ..core.size import Size
from ..core.sparse import SPARSE, Coordinates, backend_of
from ..ops.create.factories import checked_size
from .construct import array_of, finished
from .layout import strided
from .storage import TypedStorage, UntypedStorage, set_


def type_name(tensor: Any) -> str:
    """The name of a tensor's type, such as ``torch.FloatTensor``."""
    place = tensor.device.type
    if tensor._array.__class__ in SPARSE:
        if not tensor.is_sparse:
            raise OperationError(f"Unimplemented backend {backend_of(tensor._array)}")
        return f"torch.sparse.{legacy_name(tensor._array.dtype)}Tensor"
    prefix = f"{place}." if place != "cpu" else ("quantized." if tensor.is_quantized else "")
    return f"torch.{prefix}{legacy_name(tensor._array.dtype)}Tensor"


def _is_size(value: Any) -> bool:
    return not isinstance(value, (bool, TensorBase, np.ndarray)) and hasattr(value, "__index__")


def legacy_tensor(dtype: dtype_class, args: tuple[Any, ...], named: dict[str, Any], same_type: bool) -> Any:
    """What the constructor of a type gives: sizes give a tensor without values, one sequence gives its elements.

    ``same_type`` says that a tensor passed to it has to be of this type.
    """
    asked = named.pop("device", None)
    place = available("cpu" if asked is None else asked)  # `set_default_device` and `with device:` are not for these
    if not args and named.keys() == {"size"}:
        args = (Size(named.pop("size")),)
    if named:
        shown = ", ".join([type(each).__name__ for each in args] + [f"{name}=" for name in named])
        raise ArgumentError(f"new() received an invalid combination of arguments - got ({shown})")
    first = args[0] if args else None
    if len(args) == 1 and isinstance(first, Size):
        args = tuple(first)
    if all(map(_is_size, args)):
        shape = checked_size(args if args or isinstance(first, Size) else (0,), dtype.itemsize)
        return finished(device_types[place.type].empty(shape, dtype.numpy, place), place)
    if len(args) > 1:
        wrong = next(each for each in args if not _is_size(each))
        raise ArgumentError(f"new(): argument 'size' must be tuple of ints, but got {type(wrong).__name__}")
    if isinstance(first, TensorBase):
        if same_type and first._array.dtype != dtype.numpy:
            raise ArgumentError(f"expected torch.{legacy_name(dtype)}Tensor (got {type_name(first)})")
        if asked is not None and asked != first.device:
            raise OperationError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
            )
        return table["alias"].call(first)
    if isinstance(first, (UntypedStorage, TypedStorage)):
        return set_(finished(np.empty(0, dtype.numpy), "cpu"), first)
    if isinstance(first, (str, bytes)):
        raise ArgumentError(f"new(): invalid data type '{type(first).__name__}'")
    if not hasattr(first, "__len__") or isinstance(first, np.generic):
        raise ArgumentError(f"new(): data must be a sequence (got {type(first).__name__})")
    return finished(array_of(first, dtype.numpy), place)


class tensortype(type):
    """The class of ``FloatTensor`` and its like: names for "a tensor of this type", no subclasses of Tensor."""

    dtype: dtype_class
    is_cuda = is_sparse = False
    layout = strided

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        for base in bases:
            if isinstance(base, tensortype):
                raise TypeError(f"type 'torch.{base.__name__}' is not an acceptable base type")
        return super().__new__(mcls, name, bases, body)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and device_of(instance._array) == CPU and instance._array.dtype == cls.dtype.numpy

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return legacy_tensor(cls.dtype, args, named, True)


# FloatTensor, LongTensor, ...: by name.
TENSOR_TYPES: dict[str, tensortype] = {
    f"{legacy_name(each)}Tensor": tensortype(
        f"{legacy_name(each)}Tensor", (), {"dtype": each, "__module__": "torch", "__doc__": f"A tensor of {each.name}."}
    )
    for each in ALL
    if each.name not in ("complex64", "complex128", "uint16", "uint32", "uint64") and "float8" not in each.name
}


def dtype_of_name(name: str) -> dtype_class:
    """The dtype of ``"torch.FloatTensor"``."""
    found = TENSOR_TYPES.get(name.removeprefix("torch."))
    if found is None or not name.startswith("torch."):
        raise ValueRangeError(f"invalid type: '{name}'")
    return found.dtype


def legacy_dtype(value: Any) -> dtype_class:
    """The dtype of ``FloatTensor``; of ``Tensor`` it is the default type."""
    if isinstance(value, tensortype):
        return value.dtype
    if isinstance(value, type) and issubclass(value, TensorBase):
        return default.floating
    raise ValueRangeError(f"invalid type: '{getattr(value, '__name__', value)}'")


def set_default_tensor_type(t: Any) -> None:
    """Set the type of floating-point tensors made without naming one, by ``FloatTensor`` or its like."""
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    if isinstance(t, str):
        t = TENSOR_TYPES[f"{legacy_name(dtype_of_name(t))}Tensor"]
    if not isinstance(t, tensortype) or not t.dtype.is_floating_point:
        raise ArgumentError("invalid type object: only floating-point types are supported as the default type")
    default.set(t.dtype)


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, one such as ``torch.FloatTensor``."""
    if isinstance(obj, TensorBase):
        return type_name(obj)
    module = getattr(obj, "__module__", "") or ""
    if hasattr(obj, "__qualname__"):
        name = obj.__qualname__
    elif hasattr(obj, "__name__"):
        name = obj.__name__
    else:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


# -- the constructor of Tensor -----------------------------------------------------------------------------------


def as_class(tensor: Any, cls: type) -> Any:
    """The same tensor as an instance of a class."""
    return tensor if type(tensor) is cls else tensor.as_subclass(cls)


def construct(cls: type, *args: Any, **named: Any) -> Any:
    """``Tensor(2, 3)`` is an uninitialised tensor, ``Tensor([2, 3])`` one of these elements, of the default type."""
    return as_class(legacy_tensor(default.floating, args, named, False), cls)


def make_subclass(
    cls: type, data: Any, require_grad: bool = False, *, dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False,
    dispatch_layout: bool = False, device_for_backend_keys: Any = None,
) -> Any:  # fmt: skip
    """A tensor of a subclass over the memory of another tensor, as a leaf."""
    if not isinstance(data, TensorBase):
        raise ArgumentError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    result: Any = object.__new__(cls)
    result._array = data._array
    result._grad_fn, result._output_index, result._requires_grad = None, 0, False
    result._storage = storage_of(data)
    _policies().set_policies(result, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    return result.requires_grad_(True) if require_grad else result


def _policies() -> Any:
    """The module of what wrapper subclasses answer for themselves, which few programs have."""
    return load_module(f"{__name__.rpartition('.')[0]}.wrapper_policies")


def make_wrapper_subclass(
    cls: type, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False, dispatch_layout: bool = False, **other: Any,
) -> Any:  # fmt: skip
    """A tensor of a subclass that has a shape, a type and a device but no elements: its ``__torch_dispatch__`` says what operators do."""
    if not dispatches_operators(cls):
        raise OperationError("You cannot call _make_wrapper_subclass on a class that has no __torch_dispatch__")
    result: Any = object.__new__(cls)
    result._array = Spec(
        tuple(size), (dtype or default.floating).numpy, None if strides is None else tuple(strides), as_device(device) if device else CPU
    )
    result._grad_fn, result._output_index, result._requires_grad, result._storage = None, 0, False, None
    _policies().set_policies(result, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout, storage_offset)
    return result.requires_grad_(True) if requires_grad else result


def _new_sparse(self: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``new`` of a tensor in coordinate format: of indices and values, as optimizers rebuild sparse gradients, or an empty one of a size."""
    if args and isinstance(args[0], TensorBase):
        return table["sparse_coo_tensor"].call(*args, **named)
    if len(args) == 1 and isinstance(args[0], (tuple, list)) and not isinstance(args[0], Size):
        raise ArgumentError(
            "SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a dense tensor."
        )
    size = args[0] if args and isinstance(args[0], Size) else args or (0,)
    return table["sparse_coo_tensor"].call(size, dtype=self.dtype, **named)


def new(self: Any, *args: Any, **named: Any) -> Any:
    """What the constructor of the tensor's own type gives; ``new_empty`` and ``new_tensor`` are clearer."""
    named.setdefault("device", self.device)
    if self._array.__class__ is Coordinates:
        return _new_sparse(self, args, named)
    return legacy_tensor(BY_NUMPY[self._array.dtype], args, named, True)


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.__new__ = staticmethod(construct)
    tensor_class._make_subclass = staticmethod(make_subclass)
    tensor_class._make_wrapper_subclass = staticmethod(make_wrapper_subclass)
    tensor_class.new = new

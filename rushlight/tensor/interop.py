"""Interchange: NumPy, buffers, DLPack; pickle, ``copy.copy`` and ``copy.deepcopy``.

``numpy()``, ``memoryview(tensor)`` and DLPack share the tensor's memory.  A pickle holds storages, so that tensors which
share memory do so again after loading; ``copy.copy`` shares memory with the original, ``copy.deepcopy`` copies storages.
"""

from __future__ import annotations

import copy
import copyreg
import warnings
from typing import Any

import numpy as np

from ..core.base import Spec, Storage, TensorBase, mark_inference, storage_of
from ..core.devices import CPU, available, device_of, device_type_of, on_device
from ..core.dtypes import LOW_PRECISION, legacy_name
from ..core.errors import ArgumentError, GradientError, OperationError
from ..core.lazy_views import LazyArray, marked, marks_of
from ..core.overrides import dispatches_operators
from ..core.sparse import SPARSE
from ..core.state import flags, state
from ..core.upcast import COMPLEX32
from ..ops.shape.memory import element_strides
from .construct import from_numpy
from .quantized import quantizer_of, restored
from .sparse import LAYOUT_NAMES, copied_sparse, reduce_sparse
from .storage import bytes_of, over

_DLPACK_CPU = 1  # DLPack's number for memory of the CPU

# What a tensor keeps in its __dict__ for itself; the rest are attributes that users have set.
_OWN = frozenset(("_view", "_grad", "_backward_hooks", "_post_accumulate_hooks", "_inference", "_accumulator"))


# -- NumPy -------------------------------------------------------------------------------------------------------


def numpy(self: Any, *, force: bool = False) -> Any:
    """A NumPy array over the tensor's memory; ``force`` takes a tensor that requires gradients, too."""
    array = self._array
    if flags.special and state.capture is not None:
        state.capture.value_escaped(self, "numpy()")
    if array.__class__ in SPARSE:
        raise ArgumentError(f"can't convert {LAYOUT_NAMES[array.layout]} layout tensor to numpy. Use Tensor.to_dense() first.")
    if array.__class__ is LazyArray and isinstance(array.memory, np.ndarray):
        if force:
            return array.values()
        what, resolve = ("conjugate", "resolve_conj") if array.conjugated else ("negative", "resolve_neg")
        raise OperationError(f"Can't call numpy() on Tensor that has {what} bit set. Use tensor.{resolve}().numpy() instead.")
    if not isinstance(array, np.ndarray):
        if dispatches_operators(type(self)):
            raise OperationError(".numpy() is not supported for tensor subclasses.")
        raise ArgumentError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if self.requires_grad and state.grad_enabled and not force:
        raise GradientError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if (array.dtype in LOW_PRECISION and array.dtype != np.float16) or array.dtype == COMPLEX32 or quantizer_of(self) is not None:
        raise ArgumentError(f"Got unsupported ScalarType {legacy_name(array.dtype)}")
    return array.view()


def array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """What ``numpy.asarray(tensor)`` calls."""
    found = numpy(self)
    if dtype is not None and np.dtype(dtype) != found.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return found.astype(dtype)
    return found.copy() if copy else found


def array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What NumPy's functions call on their result: ``numpy.sin(tensor)`` is a tensor.

    As in PyTorch, where this is older than its bool tensors, bool results come back as uint8.
    """
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)


def buffer(self: Any, flags: int) -> memoryview:
    """The buffer protocol, which Python offers to classes from 3.12 on: ``memoryview(tensor)``."""
    return memoryview(numpy(self))


# -- DLPack ------------------------------------------------------------------------------------------------------


def dlpack(
    self: Any, *, stream: Any = -1, max_version: tuple[int, int] | None = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A capsule by which another library can share the tensor's memory."""
    options: dict[str, Any]
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._array.__class__ in SPARSE:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if self.is_quantized:
        raise BufferError("QUInt/QInt types are not supported by dlpack")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if self._array.__class__ is not np.ndarray:
        options = {"stream": None if stream == -1 else stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return device_type_of(self._array).dlpack(self._array, **{name: value for name, value in options.items() if value is not None})
    if stream not in (-1, None):
        raise AssertionError("stream should be None on cpu.")
    if self._array.dtype.kind not in "biufc":
        raise BufferError(f"Can't export {self.dtype} by DLPack: NumPy, which makes the capsules, does not have this type")
    options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    return self._array.__dlpack__(**{name: value for name, value in options.items() if value is not None})


def dlpack_device(self: Any) -> tuple[int, int]:
    """Where the memory is, in DLPack's numbers."""
    array = self._array
    return (_DLPACK_CPU, 0) if array.__class__ is np.ndarray else device_type_of(array).dlpack_device(array)


def cuda_array_interface(self: Any) -> dict[str, Any]:
    """What CUDA libraries in Python read a tensor's memory by."""
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use tensor.cuda() to copy "
            "tensor to device memory."
        )
    if self.requires_grad:
        raise GradientError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    return self._array.__cuda_array_interface__  # type: ignore[no-any-return]


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule of a tensor (``torch.utils.dlpack.to_dlpack``)."""
    return dlpack(tensor)


# -- pickle and copy ---------------------------------------------------------------------------------------------


def restore_storage(memory: Any, place: Any = None) -> Storage:
    """The storage of bytes (or of a Spec) that were pickled, on the device that it was on."""
    return Storage(memory if place is None else on_device(memory, available(place)))


def _reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """Storages are pickled once each, as bytes, however many tensors share them."""
    if storage.array.__class__ is Spec:
        return restore_storage, (storage.array,)
    memory, place = bytes_of(storage), device_of(storage.array)
    return restore_storage, (memory,) if place == CPU else (device_type_of(memory).to_host(memory), place)


copyreg.pickle(Storage, _reduce_storage)


def restore_tensor(
    cls: type, storage: Storage, offset: int, shape: Any, strides: Any, dtype: Any, requires_grad: bool, quantizer: Any = None,
    marks: tuple[bool, bool] = (False, False),
) -> Any:  # fmt: skip
    """A tensor over a storage: what unpickling calls."""
    result: Any = object.__new__(cls)
    result._array = marked(restored(over(storage, dtype.numpy, offset, tuple(shape), tuple(strides)), quantizer), *marks)
    result._storage = storage
    result._grad_fn, result._output_index, result._requires_grad = None, 0, requires_grad
    return result


def user_attributes(tensor: Any) -> dict[str, Any]:
    """The attributes that users have set on a tensor."""
    return {name: value for name, value in tensor.__dict__.items() if name not in _OWN}


def user_slots(tensor: Any) -> dict[str, Any]:
    """The attributes that users have set in the slots (``__slots__``) of a subclass."""
    own = copyreg._slotnames(TensorBase)  # type: ignore[attr-defined]
    names = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return {name: getattr(tensor, name) for name in names if name not in own and name not in _OWN and hasattr(tensor, name)}


def reduce_ex(self: Any, protocol: Any) -> tuple[Any, ...]:
    """How a tensor is pickled: class, storage, place in it, type, requires_grad; attributes as state."""
    if self._backward_hooks:
        warnings.warn("backward hooks of a tensor are not pickled: register them again after loading", UserWarning, stacklevel=2)
    if self._array.__class__ in SPARSE:
        return (*reduce_sparse(self), user_attributes(self)) if user_attributes(self) else reduce_sparse(self)
    strides = element_strides(self._array)
    arguments = (
        type(self), storage_of(self), self.storage_offset(), tuple(self._array.shape), strides, self.dtype,
        self.requires_grad,
    )  # fmt: skip
    if quantizer_of(self) is not None:
        arguments = (*arguments, quantizer_of(self))  # type: ignore[assignment]
    elif self._array.__class__ is LazyArray:
        arguments = (*arguments, None, marks_of(self._array))  # type: ignore[assignment]
    attributes: Any = user_attributes(self)
    if slots := user_slots(self):
        attributes = (attributes, slots)
    return (restore_tensor, arguments, attributes) if attributes else (restore_tensor, arguments)


def _copied_storage(storage: Storage, memo: dict[int, Any]) -> Storage:
    found = memo.get(id(storage))
    if found is None:
        held = storage.array
        found = memo[id(storage)] = Storage(held if held.__class__ is Spec else bytes_of(storage).copy())
        memo.setdefault(id(memo), []).append(storage)  # `copy` keeps what it has seen alive in this list
    return found


def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with memory of its own; views of one storage are views of one copy."""
    found = memo.get(id(self))
    if found is not None:
        return found
    if not self.is_leaf:
        raise OperationError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: "
            "detach() this one, which an operation has computed, or keep it out of what is copied."
        )
    array = self._array
    if array.__class__ in SPARSE:
        return copied_sparse(self, memo)
    storage = _copied_storage(storage_of(self), memo)
    result = restore_tensor(
        type(self), storage, self.storage_offset(), array.shape, element_strides(array), self.dtype, self.requires_grad,
        quantizer_of(self), marks_of(array),
    )  # fmt: skip
    if state.inference:
        mark_inference(result)
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = copy.deepcopy(self._grad, memo)
    result.__dict__.update(copy.deepcopy(user_attributes(self), memo))
    for name, value in copy.deepcopy(user_slots(self), memo).items():
        setattr(result, name, value)
    return result


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.numpy = numpy
    tensor_class.__array__ = array
    tensor_class.__array_wrap__ = array_wrap
    tensor_class.__buffer__ = buffer
    tensor_class.__dlpack__ = dlpack
    tensor_class.__dlpack_device__ = dlpack_device
    tensor_class.__cuda_array_interface__ = property(cuda_array_interface)
    tensor_class.__reduce_ex__ = reduce_ex
    tensor_class.__deepcopy__ = deepcopy

"""Methods of tensors that few programs use."""

from __future__ import annotations

import importlib
import warnings
from itertools import pairwise
from typing import Any

from ..autograd import WITHOUT_EFFECT
from ..core.base import TensorBase, storage_of
from ..core.declare import PACKAGE, table
from ..core.devices import device_type_of
from ..core.dtypes import complex128, dtype, float64, legacy_name
from ..core.errors import ArgumentError, NotSupported, OperationError, ShapeError
from ..core.state import flags
from .layout import memory_format


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write a number to the main diagonal; ``wrap`` begins a new one behind each square block of a tall matrix."""
    shape = self.shape
    if len(shape) < 2:
        raise ShapeError("dimensions must larger than 1")
    if len(shape) > 2:
        if any(size != shape[0] for size in shape):
            raise ShapeError("all dimensions of input must be of equal length")
        self.as_strided((shape[0],), (sum(self.stride()),), self.storage_offset()).fill_(fill_value)
        return self
    rows, columns = shape
    self.diagonal().fill_(fill_value)
    if wrap:
        for first in range(columns + 1, rows, columns + 1):
            self[first:].diagonal().fill_(fill_value)
    return self


def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"is_set_to(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    mine, other = self._array, tensor._array
    return (
        mine.shape == other.shape and self.stride() == tensor.stride() and storage_of(self).array is storage_of(tensor).array  # type: ignore[attr-defined]
        and device_type_of(mine).address(mine) == device_type_of(other).address(other)
    )  # fmt: skip


def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to the innermost.

    ``ambiguity_check=True`` refuses a tensor that more than one order describes: of a size 1, or of strides that are 0 or equal next to each other.
    A list of memory formats takes sizes of 1 where exactly one of them describes the tensor.
    """
    if not isinstance(ambiguity_check, bool) and not (
        isinstance(ambiguity_check, list) and all(isinstance(each, memory_format) for each in ambiguity_check)
    ):
        raise ArgumentError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if self.is_sparse:
        raise AttributeError(f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor first.")
    strides = self.stride()
    if ambiguity_check is not False:
        formats = [] if ambiguity_check is True else ambiguity_check
        choice = 1 in self.shape or any(one == other for one, other in pairwise(strides))
        if choice and sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
            raise OperationError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
        if 0 in strides and len(strides) > 1:
            raise OperationError("The tensor does not have unique dim order.")
    order: list[int] = []
    for dim, stride in enumerate(strides):  # an expanded dimension (stride 0) keeps its place, as it does where elements are iterated
        at = len(order)
        for place in range(len(order) - 1, -1, -1):
            other = strides[order[place]]
            if 0 in (stride, other):
                continue
            if stride <= other:
                break
            at = place
        order.insert(at, dim)
    return tuple(order)


def const_data_ptr(self: Any) -> int:
    """The address of the first element, for reading."""
    return self.data_ptr()  # type: ignore[no-any-return]


def is_distributed(self: Any) -> bool:
    """False: no tensor is spread over processes."""
    return False


def resize(self: Any, *sizes: Any) -> Any:
    """Another size for the same elements, kept for old code."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return self.clone().resize_(*sizes)


def resize_as(self: Any, tensor: Any) -> Any:
    """The size of another tensor for the same elements, kept for old code."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return self.clone().resize_as_(tensor)


def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What ``load_state_dict`` puts in the place of this tensor for a value of a file."""
    if assign:
        return other.detach() if not hasattr(self, "materialize") else other
    return self.copy_(other).detach()


def record_stream(self: Any, stream: Any) -> None:
    """Say that another stream than the one a tensor was made on uses it: its memory is not given to others before that stream is done with it."""
    if not self.is_cuda:
        raise NotSupported("record_stream: tensors on the CPU are used by no stream")
    importlib.import_module("rushlight.runtime.cuda.control").record_stream(self._array, stream)


def reinforce(self: Any, reward: Any) -> None:
    """Raise, as PyTorch does: stochastic nodes are gone."""
    raise RuntimeError("reinforce() was removed. Use torch.distributions instead: multiply log_prob with the reward, and call backward.")


def _removed(name: str, instead: str) -> Any:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. Use {instead} instead of Tensor.{name}.")

    method.__name__ = name
    method.__doc__ = f"Raise, as PyTorch does: ``{instead}`` took its place."
    return method


def _conj(self: Any) -> Any:
    """The conjugate view; of a complex tensor alone."""
    return table["conj_view"].call(self)


def _conj_physical(self: Any) -> Any:
    """The conjugate, computed at once."""
    return table["conj_physical"].call(self)


def _neg_view(self: Any) -> Any:
    """The memory of a tensor, read negated."""
    return table["neg_view"].call(self)


def _is_zerotensor(self: Any) -> bool:
    """False: every tensor has memory for its elements."""
    return False


def __div__(self: Any, other: Any) -> Any:
    """The quotient, by the name that Python 2 had for it."""
    return self / other


def __rdiv__(self: Any, other: Any) -> Any:
    """The reflected quotient, by the name that Python 2 had for it."""
    return other / self


def __idiv__(self: Any, other: Any) -> Any:
    """The quotient in place, by the name that Python 2 had for it."""
    return self.div_(other)


def _keep_requires_grad(self: Any) -> None:
    raise OperationError("requires_grad must be a bool")


def float_power_(self: Any, exponent: Any) -> Any:
    """``self ** exponent`` in double precision, in place: of tensors of that precision alone."""
    wanted = result_of_float_power(self, exponent)
    if self.dtype is not wanted:
        raise OperationError(
            f"the base given to float_power_ has dtype {legacy_name(self.dtype)} but the operation's result requires dtype {legacy_name(wanted)}"
        )
    return self.pow_(exponent.to(wanted) if isinstance(exponent, TensorBase) else exponent)


def result_of_float_power(base: Any, exponent: Any) -> Any:
    """The type of ``float_power``."""
    is_complex = base.is_complex() or (exponent.is_complex() if isinstance(exponent, TensorBase) else isinstance(exponent, complex))
    return complex128 if is_complex else float64


def __dir__(self: Any) -> list[str]:
    """The attributes that can be read: those of GPUs of tensors on GPUs alone."""
    found = object.__dir__(self)
    return sorted(found if self.is_cuda else set(found) - {"__cuda_array_interface__"})


def _elsewhere(kind: str) -> Any:
    """A method that moves a tensor to a kind of device that is not here: it says so."""

    def move(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        return self.to(kind if device is None else device, non_blocking=non_blocking)

    move.__name__ = move.__qualname__ = kind
    move.__doc__ = f"Move the tensor to a device of the kind {kind}, if there is one."
    return move


def to_mkldnn(self: Any, dtype: Any = None) -> Any:
    """The tensor in the order of oneDNN, which is not here."""
    raise NotSupported(
        "to_mkldnn() puts a tensor into the order of oneDNN, which is not here: convolutions choose their own order when compiled"
    )


def to_padded_tensor(self: Any, padding: float, output_size: Any = None) -> Any:
    """A nested tensor with its rows padded; a dense one has none."""
    raise NotSupported("to_padded_tensor() is of nested tensors, and this tensor is dense")


def resize_as_sparse_(self: Any, other: Any) -> Any:
    """Give an empty sparse tensor the sizes of another."""
    return self.sparse_resize_(other.shape, other.sparse_dim(), other.dense_dim())


def _name(self: Any) -> None:
    """None: tensors have no names."""


def _volatile(self: Any) -> bool:
    """False: what it said is said by ``no_grad``."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _set_volatile(self: Any, value: Any) -> None:
    warnings.warn(WITHOUT_EFFECT, stacklevel=2)


def _grad_dtype(self: Any) -> Any:
    """The type of the gradients that a leaf accumulates: its own unless it was set; None lets each gradient keep its type."""
    if self._grad_fn is not None:
        raise OperationError("grad_dtype can only be accessed on leaf tensors.")
    return self.__dict__.get("_grad_dtype", self.dtype)


def _set_grad_dtype(self: Any, chosen: Any) -> None:
    if chosen is not None and not isinstance(chosen, dtype):
        raise OperationError(f"grad_dtype must be a torch.dtype or None, but got {type(chosen).__name__}")
    if self._grad_fn is not None:
        raise OperationError("grad_dtype can only be set on leaf tensors.")
    if chosen is not None and self._grad is not None and self._grad.dtype != chosen:
        raise OperationError(
            f"Cannot set grad_dtype to '{legacy_name(chosen.numpy)}' because there is already a gradient with dtype "
            f"'{legacy_name(self._grad._array.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
            "grad_dtype matches the existing gradient's dtype."
        )
    self.__dict__["_grad_dtype"] = chosen
    flags.grad_dtypes = True


def hash_tensor(self: Any, dim: Any = None, *, keepdim: bool = False, mode: int = 0) -> Any:
    """The exclusive or of the bits of all elements, or along dimensions."""
    return importlib.import_module(f"{PACKAGE}.native_functions").hash_tensor(self, dim, keepdim=keepdim, mode=mode)


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.requires_grad = tensor_class.requires_grad.deleter(_keep_requires_grad)
    tensor_class.name, tensor_class.volatile = property(_name), property(_volatile, _set_volatile)
    tensor_class.grad_dtype = property(_grad_dtype, _set_grad_dtype)
    tensor_class.__long__, tensor_class.__nonzero__ = tensor_class.__int__, tensor_class.__bool__
    for method in (
        _conj, _conj_physical, _neg_view, _is_zerotensor, __dir__, float_power_, __div__, __rdiv__, __idiv__,
        fill_diagonal_, is_set_to, dim_order, const_data_ptr, is_distributed, resize, resize_as, module_load, record_stream, reinforce,
        _removed("eig", "torch.linalg.eig"), _removed("symeig", "torch.linalg.eigh"), _removed("solve", "torch.linalg.solve"),
        _removed("lstsq", "torch.linalg.lstsq"), _elsewhere("xpu"), _elsewhere("ipu"), _elsewhere("mtia"), to_mkldnn, to_padded_tensor, resize_as_sparse_, hash_tensor,
    ):  # fmt: skip
        setattr(tensor_class, method.__name__, method)

"""The fields of a tensor, the storage that views share, and :class:`Spec`, which describes an array without having one.

The public ``Tensor`` (in ``tensor/``) derives from :class:`TensorBase` and registers itself with :func:`register_tensor_type`;
dispatch makes the results of ops with :func:`make`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import META, DeviceType, device, device_of, register_device_type
from .errors import NotSupported


class Storage:
    """The memory that views share, and the number of in-place writes to it (its version).

    It is made when a tensor gets its first view, is written to in place, or is asked for its storage; most tensors never have one.
    """

    __slots__ = ("array", "version", "__weakref__")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.version = 0


class View:
    """How a view follows from its base: calling the ops of ``chain`` on the base gives the view again."""

    __slots__ = ("base", "chain", "creation", "version")

    def __init__(self, base: TensorBase, chain: tuple[Any, ...], version: int, creation: str) -> None:
        self.base = base
        self.chain = chain
        self.version = version  # the version of the storage for which the view's grad_fn is valid
        self.creation = creation  # "default", "no_grad", "multiple", "function" or "inference"


class TensorBase:
    """The fields of a tensor: slots for those that every call reads, ``__dict__`` for the others, once they are set."""

    __slots__ = ("_array", "_grad_fn", "_output_index", "_requires_grad", "_storage", "__dict__", "__weakref__")

    _array: Any
    _grad_fn: Any
    _output_index: int
    _requires_grad: bool
    _storage: Storage | None

    _view: View | None = None
    _grad: Any = None
    _backward_hooks: Any = None
    _post_accumulate_hooks: Any = None
    _inference: bool = False
    applies_functions: Any = None  # of a subclass whose tensors have no node of their own: how it applies custom Functions to them

    if TYPE_CHECKING:  # the public class gets its operators and methods from the table of ops

        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    _value: Any = None  # of a wrapper (such as that of vmap): the tensor it wraps


class Spec:
    """Shape, dtype, strides (in elements) and device of an array that has no elements.

    It takes the place of the array in a tensor and answers to the same names.  On the device ``meta`` such a tensor is a user's meta
    tensor.  On any other device it is a *fake* tensor: passes run a program on it as if it were on that device, and compute nothing.

    The meta rule of an op returns a Spec whose device is None; the dispatcher places it on the device of the operands.
    """

    __slots__ = ("device", "dtype", "shape", "_strides")
    outside = ""  # of subclasses, which represent arrays inside a transform: the error where one turns up elsewhere
    nested = False  # whether it describes a nested tensor, of which a size is a symbol
    __array_ufunc__ = None  # a ufunc on it raises, so that the fast paths leave it to the general dispatcher

    def __init__(self, shape: Any, dtype: np.dtype[Any], strides: tuple[int, ...] | None = None, device: device | None = None) -> None:
        self.shape = shape if type(shape) is tuple else tuple(shape)
        self.dtype = dtype
        self._strides = strides
        self.device = device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def element_strides(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape) if self._strides is None else self._strides

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(each * self.itemsize for each in self.element_strides)

    def on(self, device: device) -> Spec:
        """The same on another device."""
        return Spec(self.shape, self.dtype, self._strides, device)

    def sized(self, shape: Any) -> Spec:
        """A contiguous one of another shape, on the same device."""
        return Spec(shape, self.dtype, None, self.device)

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype}{'' if self.device is None else f', {self.device}'})"


def spec_of(array: Any) -> Spec:
    """The Spec of an array (or of another Spec): its shape, dtype, strides and device."""
    if array.__class__ is Spec:
        return Spec(array.shape, array.dtype, array._strides, array.device)
    size = array.itemsize
    return Spec(array.shape, array.dtype, tuple([step // size for step in array.strides]), device_of(array))


class MetaDevice(DeviceType):
    """The kind of device whose arrays are Specs.  Fake tensors, whose Specs name other devices, are computed with in the same way."""

    name = "meta"
    array_type = Spec
    arrays = None  # no kernel runs here: the meta rule of the op is called instead

    def device_of(self, array: Any) -> device:
        return array.device or META

    def canonical(self, wanted: device) -> device:
        return META

    def as_array(self, value: Any) -> Any:
        return value

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: device) -> Any:
        return Spec(shape, dtype, device=like)

    def from_host(self, array: np.ndarray[Any, Any], to: device) -> Any:
        return Spec(array.shape, array.dtype, device=to)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        raise NotSupported("Cannot copy out of meta tensor; no data!")

    def strided(self, array: Any, shape: Any, strides: Any, offset: int, dtype: np.dtype[Any]) -> Any:
        return Spec(shape, dtype, tuple(strides), array.device)

    def shares_memory(self, a: Any, b: Any) -> bool:
        return False

    def address(self, array: Any) -> int:
        return 0


register_device_type(MetaDevice())


def contiguous_strides(shape: Any) -> tuple[int, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class Runtime:
    """What later packages register here: the public tensor class (``tensor/``) and ``autograd.grad``."""

    __slots__ = ("differentiate", "tensor_type")

    differentiate: Callable[..., tuple[Any, ...]]
    tensor_type: type[TensorBase]


runtime = Runtime()
runtime.tensor_type = TensorBase
_new: Callable[[Any], Any] = object.__new__


def register_tensor_type(tensor_type: type[TensorBase]) -> None:
    """Make results of ops instances of this class."""
    runtime.tensor_type = tensor_type


def make(array: Any) -> Any:
    """A tensor over an array (or Spec), with no history."""
    tensor = _new(runtime.tensor_type)
    tensor._array = array
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_index = 0
    tensor._storage = None
    return tensor


def storage_of(tensor: TensorBase) -> Storage:
    """The tensor's storage, made on first use."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._array)
    return storage


def mark_inference(tensor: TensorBase) -> None:
    """Make a new tensor an inference tensor: it has a storage, so that no fast path saves it for backward unchecked."""
    tensor._inference = True
    storage_of(tensor)


def alias(tensor: TensorBase, array: Any) -> Any:
    """A tensor over part of another tensor's memory: a write to either changes both."""
    result = make(array)
    result._storage = storage_of(tensor)
    return result


def version_of(tensor: TensorBase) -> int:
    """The number of in-place writes to the tensor's memory."""
    storage = tensor._storage
    return 0 if storage is None else storage.version

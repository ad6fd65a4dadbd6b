"""What every tensor is made of, below the public class: the slots, the storage that aliases share, and specs.

The public ``Tensor`` (room ``tensor/``) derives from :class:`TensorBase` and registers itself with
:func:`register_tensor_type`; the op machinery makes results through :data:`make`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np


class Storage:
    """The memory that aliases share, and how often it was written to.

    Made only when a tensor gets an alias, is written to in place, or is asked for its storage: most never do.
    """

    __slots__ = ("array", "version", "__weakref__")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.version = 0


class View:
    """How a tensor is seen through its base: replaying ``chain`` on the base gives the view again."""

    __slots__ = ("base", "chain", "creation", "version")

    def __init__(self, base: TensorBase, chain: tuple[Any, ...], version: int, creation: str) -> None:
        self.base = base
        self.chain = chain
        self.version = version  # the storage's version for which the view's grad_fn is true
        self.creation = creation  # "default", "no_grad", "multiple", "function" or "inference"


class TensorBase:
    """The fields of a tensor.  Those read on every call are slots; the rest live in ``__dict__`` when they are set."""

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

    if TYPE_CHECKING:  # operators and methods are hung on the public class when the table of ops is full

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

    _value: Any = None  # of a wrapper (such as vmap's): the tensor that it stands for


class Spec:
    """Shape, dtype and strides (in elements) of a tensor without data: what ``meta`` rules return.

    A tensor on the meta device has a Spec where others have an array; it answers to the same names.
    """

    __slots__ = ("dtype", "shape", "_strides")
    outside = ""  # of subclasses, which stand for arrays inside a transform: what to say where one turns up elsewhere
    __array_ufunc__ = None  # a ufunc on it raises, so that the short roads leave it to the general one

    def __init__(self, shape: Any, dtype: np.dtype[Any], strides: tuple[int, ...] | None = None) -> None:
        self.shape = shape if type(shape) is tuple else tuple(shape)
        self.dtype = dtype
        self._strides = strides

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

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype})"


def contiguous_strides(shape: Any) -> tuple[int, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class Runtime:
    """Filled in by the rooms below: the public tensor class, and ``autograd.grad``."""

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


def alias(tensor: TensorBase, array: Any) -> Any:
    """A tensor over part of another's memory: writes through either are seen by both."""
    result = make(array)
    result._storage = storage_of(tensor)
    return result


def version_of(tensor: TensorBase) -> int:
    """How often the tensor's memory was written to in place."""
    storage = tensor._storage
    return 0 if storage is None else storage.version

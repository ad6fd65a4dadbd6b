"""Parameters: tensors that a Module counts among its own, and those whose shape is not known yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make, storage_of
from ..core.devices import as_device
from ..core.dtypes import BY_NUMPY, default
from ..core.errors import OperationError, ValueRangeError
from ..core.overrides import DisableTorchFunctionSubclass, disabled
from ..ops.create.factories import empty, numpy_dtype
from ..tensor import Tensor


def _as_class(cls: type, data: Any, requires_grad: bool) -> Any:
    """A tensor's memory under another class, as a leaf."""
    if not isinstance(data, TensorBase):
        raise TypeError(f"cannot make a {cls.__name__} of {type(data).__name__}: a Tensor is needed")
    result: Any = object.__new__(cls)
    result._array, result._storage = data._array, storage_of(data)
    result._grad_fn, result._output_index = None, 0
    result._requires_grad = False
    if requires_grad:
        with DisableTorchFunctionSubclass():  # a class of the user's is not asked about a tensor that is not made yet
            result.requires_grad = True
    return result


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """``isinstance(x, Parameter)`` also holds for tensors of other subclasses that are marked with ``_is_param``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the Module it is assigned to.

    >>> import rushlight as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = disabled

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = make(np.empty(0, default.numpy))
        kind = type(data)
        if cls is not Parameter or kind is Tensor or issubclass(kind, Parameter) or not issubclass(kind, Tensor):
            return _as_class(cls, data, requires_grad)
        # Tensors of a class of the user's keep it, and are marked as parameters; the class says what `detach` gives.
        result = data.detach().requires_grad_(requires_grad)
        if type(result) is not kind:
            raise OperationError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an instance of the same "
                f"type, but return type {type(result).__name__} was found instead. To use the type as a Parameter, please correct the "
                "detach() semantics defined by its __torch_dispatch__() implementation."
            )
        result._is_param = True  # type: ignore[attr-defined]
        return result

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: ``__new__`` has made it, and that of a subclass may take more."""

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self._requires_grad)
        return memo[id(self)]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """``isinstance(x, Buffer)`` holds for tensors that are marked with ``_is_buffer``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the Module it is assigned to.

    What is made is of the class of the data, marked as a buffer.
    """

    __slots__ = ()
    __torch_function__ = disabled

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        data = make(np.empty(0, default.numpy)) if data is None else data
        kind = type(data) if isinstance(data, Tensor) else Tensor
        result = _as_class(kind, data, getattr(data, "requires_grad", False))
        result._is_buffer = True
        result.persistent = persistent
        return result


# -- not known yet -----------------------------------------------------------------------------------------------


class _Unknown:
    """What a tensor without a shape answers when it is asked for more than its type and device."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise ValueRangeError(
            "Attempted to use an uninitialized parameter or buffer. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `UninitializedParameter` objects. Call `forward` with a dummy batch to initialize the "
            "parameters before calling torch functions."
        )


class Unshaped(Spec):
    """Stands for the array of a tensor whose shape is not known."""

    __slots__ = ("device",)
    shape = ndim = size = itemsize = element_strides = strides = outside = _Unknown()  # type: ignore[assignment]

    def __init__(self, dtype: np.dtype[Any], device: Any) -> None:
        self.dtype = dtype
        self.device = device

    def __repr__(self) -> str:
        return f"Unshaped({self.dtype})"


def _unshaped(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    result: Any = object.__new__(cls)
    result._array = Unshaped(numpy_dtype(dtype), as_device(device))
    result._grad_fn, result._output_index, result._storage = None, 0, None
    result._requires_grad = requires_grad
    return result


class UninitializedTensorMixin:
    """A tensor whose shape is found out at the first forward."""

    __slots__ = ()
    cls_to_become: Any = None
    data: Any
    _array: Any
    _storage: Any
    _requires_grad: bool

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take a shape and memory, and become an ordinary tensor."""
        device = self._array.device if device is None else device
        dtype = BY_NUMPY[self._array.dtype] if dtype is None else dtype
        self._array = empty((shape,) if isinstance(shape, int) else tuple(shape), device=device, dtype=dtype)._array
        self._storage = None
        self.__class__ = self.cls_to_become

    def convert(self, device: Any, dtype: Any) -> None:
        """Take another device and type for the memory that will be."""
        self._array = Unshaped(numpy_dtype(dtype), device)

    @property
    def device(self) -> Any:
        """Where the elements will be."""
        return self._array.device

    @property  # type: ignore[no-redef]
    def data(self) -> Any:
        """A tensor without elements, of the type and on the device that there will be."""
        return empty(0, dtype=BY_NUMPY[self._array.dtype], device=self._array.device)

    @property
    def shape(self) -> Any:
        """Raise: there is none yet."""
        raise OperationError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
            "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
            "parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Raise: there is no memory yet."""
        raise OperationError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
            "calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (type(self), (self._requires_grad, self.device, BY_NUMPY[self._array.dtype]))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            again, arguments = self.__reduce_ex__(2)
            memo[id(self)] = again(*arguments)
        return memo[id(self)]


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter of a lazy Module before its first forward."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _unshaped(cls, requires_grad, device, dtype)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer of a lazy Module before its first forward."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        result = _unshaped(cls, requires_grad, device, dtype)
        result._is_buffer = True
        result.persistent = persistent
        return result

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        pass


def is_lazy(parameter: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(parameter, UninitializedTensorMixin)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]

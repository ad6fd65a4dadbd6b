"""The public Tensor.

Most methods come from the op table (:mod:`rushlight.tensor.methods` adds them to the class); this file has the properties of a tensor,
its place in the gradient graph, and Python's protocols.
"""

from __future__ import annotations

import importlib
import math
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import backward as run_backward
from ..autograd.forward_ad import levels as dual_levels
from ..autograd.forward_ad import unpack_dual
from ..autograd.grad_mode import refuse_inside_transforms, set_requires_grad
from ..core.base import Spec, Storage, TensorBase, alias, contiguous_strides, make, register_tensor_type, storage_of, version_of
from ..core.declare import table
from ..core.devices import CPU, META, device, device_of, device_type_of
from ..core.dtypes import BY_NUMPY, FLOATING, default, dtype, legacy_name
from ..core.errors import ArgumentError, GradientError, NotSupported, OperationError, ValueRangeError
from ..core.families import normalize_dim
from ..core.node import HookTable, RemovableHandle, refresh
from ..core.overrides import (
    DisableTorchFunctionSubclass,
    as_class,
    check_tensor_class,
    dispatch_disabled,
    dispatches_operators,
    overrides_functions,
    watch_subclass,
)  # fmt: skip
from ..core.quantized import QuantizedArray
from ..core.size import Size
from ..core.sparse import SPARSE
from ..core.state import flags, state
from ..core.upcast import numbers
from .layout import channels_last, channels_last_3d, contiguous_format, is_channels_last, strided, tidy_strides
from .printing import format_tensor, node_name
from .quantized import format_quantized
from .sparse import LAYOUTS, format_sparse

if TYPE_CHECKING:
    from .op_methods import OpMethods  # a stub written from the op table: what `methods.install` adds to the class
else:
    OpMethods = TensorBase


_as_size = tuple.__new__  # sizes of arrays need no check
TRUTH = "a choice by the truth of a tensor"  # the reason that a capture gets for a value that becomes a Python value


class Tensor(OpMethods):
    """An n-dimensional array of one type that can record how it was computed."""

    __slots__ = ()
    __array_priority__ = 1000  # so that `array * tensor` asks the tensor first

    # -- properties ----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of every dimension."""
        if flags.special and state.capture is not None:
            return _as_size(Size, state.capture.shape_of(self))
        return _as_size(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return BY_NUMPY[self._array.dtype]

    @property
    def device(self) -> device:
        """Where the elements are."""
        return device_of(self._array)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self._array.ndim)

    @property
    def layout(self) -> Any:
        """How the elements are stored: ``strided``, or one of the sparse formats."""
        return strided if self._array.__class__ is np.ndarray else LAYOUTS[getattr(self._array, "layout", "strided")]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self._array.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        if self._array.__class__ in SPARSE:
            raise OperationError(
                "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the indices "
                "and values.  If you want the size of the  equivalent dense tensor, multiply numel() by element_size()"
            )
        return self.itemsize * self.numel()

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        if dim is None:  # without asking for `shape`, which a subclass may define by this
            return _as_size(Size, self._array.shape if not flags.special or state.capture is None else state.capture.shape_of(self))
        if not self._array.ndim:
            normalize_dim(dim, 0)
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        if flags.special and state.capture is not None:
            return state.capture.shape_of(self)[normalize_dim(dim, self._array.ndim)]
        return self._array.shape[normalize_dim(dim, self._array.ndim)]

    def dim(self) -> int:
        """The number of dimensions."""
        return int(self._array.ndim)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        if flags.special and (state.capture is not None or self._array.__class__ is Spec):
            return math.prod(self.shape)
        return int(self._array.size)

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._array.dtype.itemsize)

    def stride(self, dim: int | None = None) -> Any:
        """Steps in memory, in elements, from one index of a dimension to the next."""
        array = self._array
        if array.__class__ is Spec:
            strides = array.element_strides
        elif array.__class__ in SPARSE:
            if array.layout != "sparse_coo":
                raise OperationError("Sparse CSR tensors do not have strides")
            strides = array.strides
        elif (1 in array.shape or 0 in array.shape) and (array.size or self._view is None or self._storage.array.size == 0):  # type: ignore[union-attr]
            strides = tidy_strides(array)
        else:
            size = array.itemsize
            strides = tuple(step // size for step in array.strides)
        return strides if dim is None else strides[normalize_dim(dim, array.ndim)]

    def storage_offset(self) -> int:
        """Where in its storage the tensor begins, in elements."""
        array = self._array
        if self._storage is None or array.__class__ is Spec or array.__class__ in SPARSE:
            return 0
        address = device_type_of(array).address
        return (address(array) - address(self._storage.array)) // int(array.itemsize)

    def data_ptr(self) -> int:
        """The address of the first element."""
        if self._array.__class__ in SPARSE:
            raise OperationError("Cannot access data pointer of Tensor that doesn't have storage")
        return device_type_of(self._array).address(self._array) if self._array.size else 0

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the strides are those of row-major order (or of ``channels_last``)."""
        if memory_format in (channels_last, channels_last_3d):
            return is_channels_last(self._array.shape, self.stride(), memory_format)
        array = self._array
        if array.__class__ is Spec:
            return all(n == 1 or a == b for n, a, b in zip(array.shape, array.element_strides, contiguous_strides(array.shape)))
        return bool(array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        """Whether the elements are (real) floating-point numbers."""
        return BY_NUMPY[self._array.dtype].is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return BY_NUMPY[self._array.dtype].is_complex

    def is_signed(self) -> bool:
        """Whether the type has negative numbers."""
        return BY_NUMPY[self._array.dtype].is_signed

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._inference

    is_mkldnn = is_mps = is_xpu = is_nested = is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False

    @property
    def is_meta(self) -> bool:
        """Whether it has a shape and a type but no data."""
        return self.device == META

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in the memory of the CPU."""
        return self.device == CPU

    def get_device(self) -> int:
        """The index of the device, -1 for one that has none, such as the CPU."""
        index = self.device.index
        return -1 if index is None else index

    # -- views as properties -------------------------------------------------------------------------------------

    @property
    def T(self) -> Any:
        """The dimensions in reverse order."""
        return table["numpy_T"].call(self)

    @property
    def mT(self) -> Any:
        """The last two dimensions exchanged."""
        return table["mT"].call(self)

    @property
    def H(self) -> Any:
        """The conjugate transpose of a matrix."""
        return table["matrix_H"].call(self)

    @property
    def mH(self) -> Any:
        """The conjugate transpose of the last two dimensions."""
        return table["mH"].call(self)

    @property
    def real(self) -> Any:
        """The real part: of a complex tensor a view, of a real one itself."""
        return table["real"].call(self)

    @real.setter
    def real(self, value: Any) -> None:
        _write(table["real"].call(self), value)

    @property
    def imag(self) -> Any:
        """The imaginary part of a complex tensor, as a view."""
        return table["imag"].call(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        _write(table["imag"].call(self), value)

    # -- its place in the gradient graph -------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._requires_grad or (self._view is not None and self._view.base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if state.transforms:
            set_requires_grad(self, value)
        else:
            self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch recording on or off for a leaf, in place."""
        refuse_inside_transforms()
        set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, not by a recorded operation."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The node that computed it, or None for a leaf."""
        if self._storage is not None and self._view is not None:
            refresh(self)
        return self._grad_fn

    @property
    def output_nr(self) -> int:
        """Which output of its node it is."""
        return self._output_index

    @property
    def grad(self) -> Any:
        """The gradient accumulated by ``backward``, or None."""
        if self._grad is None and self._grad_fn is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
                "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor.", UserWarning, stacklevel=2,
            )  # fmt: skip
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise GradientError("can't assign Variable as its own grad")
            if tuple(value._array.shape) != tuple(self._array.shape):
                raise GradientError("assigned grad has data of a different size")
            wanted = self.__dict__.get("_grad_dtype", self.dtype)
            if wanted is not None and value.dtype != wanted:
                raise GradientError(
                    f"attempting to assign a gradient with dtype '{legacy_name(value._array.dtype)}' to a tensor with grad_dtype "
                    f"'{legacy_name(wanted.numpy)}'. Set the tensor's grad_dtype to another dtype, or to None to allow any."
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same memory, unknown to the gradient graph: writes through it are not counted."""
        result = make(self._array)
        if self._storage is not None:
            result._storage = type(self._storage)(self._storage.array)
            result._storage.version = 0
        return result

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._requires_grad and BY_NUMPY[value._array.dtype].category < FLOATING:
            raise GradientError("data set to a tensor that requires gradients must be floating point or complex dtype")
        before = version_of(self)
        self._array = value._array
        self._storage = value._storage
        if version_of(self) != before:  # the memory is the other's, but this tensor has been written to as often as before
            shared = Storage(storage_of(value).array)
            shared.version, self._storage = before, shared

    @data.deleter
    def data(self) -> None:
        raise OperationError("Deleting tensors is not allowed. Delete individual tensors in an object instead")

    def detach(self) -> Tensor:
        """The same memory, outside the gradient graph; writes through either are counted for both."""
        if flags.special:
            return table["detach"].call(self)  # type: ignore[no-any-return]
        return alias(self, self._array)  # type: ignore[no-any-return]

    def detach_(self) -> Tensor:
        """Take this tensor out of the gradient graph, in place."""
        if self._view is not None:
            raise GradientError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                "use gradient_as_bucket_view=False"
            )
        if flags.special and state.capture is not None:
            state.capture.detached(self, self.detach())
        self._grad_fn, self._requires_grad, self._output_index = None, False, 0
        return self

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None) -> None:
        """Compute gradients of this tensor with respect to the leaves and add them to ``.grad``."""
        run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is known; what it returns replaces the gradient."""
        node = self.grad_fn
        if not self._requires_grad:
            raise GradientError("cannot register a hook on a tensor that doesn't require gradient")
        if node is None:
            if self._backward_hooks is None:
                self._backward_hooks = HookTable()
            return self._backward_hooks.add(hook)  # type: ignore[no-any-return]
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
            node.hooked = True
        return node.tensor_hooks.setdefault(self._output_index, HookTable()).add(hook)  # type: ignore[no-any-return]

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``."""
        if not self._requires_grad:
            raise GradientError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise GradientError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = HookTable()
        flags.leaf_hooks = True
        return self._post_accumulate_hooks.add(hook)  # type: ignore[no-any-return]

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor in ``.grad`` although it is not a leaf."""
        node = self.grad_fn
        if not self._requires_grad:
            raise GradientError("can't retain_grad on Tensor that has requires_grad=False")
        if node is None:
            return
        if node.retained is None:
            node.retained = {}
            node.hooked = True
        node.retained[self._output_index] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on this non-leaf."""
        node = self._grad_fn
        return node is not None and node.retained is not None and self._output_index in node.retained

    @property
    def _version(self) -> int:
        if self._inference:
            raise GradientError("Inference tensors do not track version counter.")
        return version_of(self)

    @property
    def _cdata(self) -> int:  # libraries compare tensors by it
        return id(self)

    @property
    def _base(self) -> Any:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    # -- Python protocols ----------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The one element as a Python number."""
        return self._item("item()")

    def _item(self, how: str) -> Any:
        array = self._array
        if flags.special and state.capture is not None:
            if (number := state.capture.value_escaped(self, how)) is not None:  # a capture follows it
                return number
        if array.__class__ is Spec:
            if dispatches_operators(type(self)):
                operator = importlib.import_module("rushlight.ops.overloads").find_overload("aten", "_local_scalar_dense", "default")
                return type(self).__torch_dispatch__(operator, (type(self),), (self,), {})
            raise OperationError("Tensor.item() cannot be called on meta tensors")
        if array.size != 1:
            raise OperationError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        if array.__class__ is QuantizedArray:
            return array.real_numbers.item()
        if array.__class__ in SPARSE:
            return table["to_dense"].call(self).item()
        array = device_type_of(array).to_host(array)
        return array.item() if array.dtype.kind != "V" else numbers(array.reshape(()))

    def tolist(self) -> Any:
        """The elements as nested Python lists."""
        if flags.special and state.capture is not None and (unread := state.capture.list_escaped(self)) is not None:
            return unread
        if self._array.__class__ is Spec:
            if dispatches_operators(type(self)):
                raise OperationError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
            raise NotSupported("Cannot copy out of meta tensor; no data!")
        if self._array.__class__ is QuantizedArray:
            raise OperationError("tolist() of a quantized tensor: call int_repr() or dequantize() first, to say which numbers you want")
        if self._array.__class__ in SPARSE:
            raise OperationError("Cannot access data pointer of Tensor that doesn't have storage")
        return numbers(device_type_of(self._array).to_host(self._array))

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        if flags.special and state.capture is not None:
            return state.capture.length_escaped(self)  # type: ignore[no-any-return]
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(table["unbind"].call(self, 0))

    def __reversed__(self) -> Any:
        return self if not self._array.ndim else table["flip"].call(self, 0)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def __bool__(self) -> bool:
        if self._array.size == 0 and self._array.ndim:
            raise OperationError("Boolean value of Tensor with no values is ambiguous")
        if self._array.size > 1:
            raise OperationError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._item(TRUTH))

    def _number(self, how: str) -> Any:
        if self._array.size != 1:
            raise ValueRangeError("only one element tensors can be converted to Python scalars")
        return self._item(how)

    def _real_number(self, how: str) -> Any:
        found = self._number(how)
        if isinstance(found, complex):
            if found.imag:
                raise OperationError(f"value cannot be converted to type {'int64_t' if 'int' in how else 'double'} without overflow")
            found = found.real
        return found

    def __int__(self) -> int:
        return int(self._real_number("int() of a tensor"))

    def __float__(self) -> float:
        return float(self._real_number("float() of a tensor"))

    def __complex__(self) -> complex:
        return complex(self._number("complex() of a tensor"))

    def __invert__(self) -> Any:
        if BY_NUMPY[self._array.dtype].category >= FLOATING:
            raise ArgumentError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return table["bitwise_not"].call(self)

    def __index__(self) -> int:
        if BY_NUMPY[self._array.dtype].category >= FLOATING or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._item("a tensor used as an index or a count"))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, complex, bool)):
            raise OperationError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any())

    __hash__ = object.__hash__  # by identity, although == compares elements

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0 and self._array.__class__ is not Spec:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        array, name = self._array, node_name(self)
        common: dict[str, Any] = {
            "default_dtype": default.numpy, "requires_grad": self._requires_grad and name is None, "grad_fn_name": name,
            "class_name": type(self).__name__ if overrides_functions(type(self)) or dispatches_operators(type(self)) else "tensor", "contents": tensor_contents, "device": str(self.device),
        }  # fmt: skip
        tangent = unpack_dual(self).tangent if dual_levels else None
        if tangent is not None:
            common.update(extra=(f"tangent={tangent!r}",), grad_fn_name=None, requires_grad=False)
        if array.__class__ is Spec:
            text = format_tensor(np.empty(0, array.dtype), meta_size=tuple(array.shape), **common)
        elif array.__class__ is QuantizedArray:
            text = format_quantized(array)
        elif array.__class__ in SPARSE:
            text = format_sparse(self, common["requires_grad"], name)
        else:
            text = format_tensor(device_type_of(array).to_host(array), **common)
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        watch_subclass(cls)

    __torch_dispatch__ = dispatch_disabled

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a subclass may override: called for every function of an argument of the class.  Results are of the class, too."""
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if cls is Tensor or func in nowrap_functions() else as_class(result, cls)

    def as_subclass(self, cls: type) -> Any:
        """The same tensor as an instance of a subclass; gradients go through it to a leaf that it is made of."""
        check_tensor_class(cls)
        if self._requires_grad and self._grad_fn is None and state.grad_enabled:
            with DisableTorchFunctionSubclass():
                self = table["alias"].call(self)
        result: Any = object.__new__(cls)
        storage_of(self)  # which both have from now on
        for slot in ("_array", "_grad_fn", "_output_index", "_requires_grad", "_storage", "_view"):
            setattr(result, slot, getattr(self, slot))
        return result


def _write(target: Any, value: Any) -> None:
    """Write a tensor or a number to a part of a tensor."""
    if isinstance(value, TensorBase):
        target.copy_(value)
    else:
        target.fill_(value)


_nowrap: set[Any] = set()


def nowrap_functions() -> set[Any]:
    """The functions whose results stay what they are: fields of a tensor that another made."""
    if not _nowrap:
        fields: Any = (Tensor._base, Tensor.grad, Tensor._grad)
        _nowrap.update(each.__get__ for each in fields if isinstance(each, property))
    return _nowrap


register_tensor_type(Tensor)

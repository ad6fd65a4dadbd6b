"""Creation: tensors out of nothing, or like another.

Every op here is a factory: it takes ``dtype``, ``layout``, ``device`` and ``requires_grad``.  What it makes is described
by a Spec, from which the kernel allocates; a tensor on the meta device is the Spec itself.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from ...core.argument_checks import demand
from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.devices import META, accelerator, strided
from ...core.dtypes import BOOL, BY_NUMPY, COMPLEX, FLOATING, INTEGRAL, LOW_PRECISION, PYTHON_TYPES, default, iinfo, scalar_dtype
from ...core.dtypes import dtype as dtype_class
from ...core.errors import ArgumentError, NotSupported, OperationError, ShapeError
from ...core.families import as_scalar
from ...core.sparse import SPARSE, empty_sparse
from ...core.upcast import COMPLEX32, narrowed
from ..shape.memory import channels_last_strides, lies_as, like_strides

Number = int | float | complex | bool

MOST_DIMENSIONS = 64  # NumPy's limit
_FORMAT_RANKS = {"channels_last": 4, "channels_last_3d": 5}


# -- what users pass ---------------------------------------------------------------------------------------------


def as_dtype(dtype: Any) -> dtype_class:
    """A dtype from what a user may pass for one: a dtype, or Python's ``float``, ``int``, ``bool``, ``complex``."""
    if isinstance(dtype, dtype_class):
        if dtype.integer is not None:
            raise NotSupported(
                f"a tensor of {dtype} is made by quantize_per_tensor() or quantize_per_channel(), which say how it is quantized"
            )
        return dtype
    found = PYTHON_TYPES.get(dtype) if isinstance(dtype, type) else None
    if found is None:
        shown = dtype.__name__ if isinstance(dtype, type) else type(dtype).__name__
        raise ArgumentError(f"argument 'dtype' must be torch.dtype, not {shown}")
    return found


def numpy_dtype(dtype: Any, otherwise: Any = None) -> Any:
    """The NumPy type of a dtype argument; for None the other one, or the default float."""
    if dtype is None:
        return default.numpy if otherwise is None else otherwise
    return as_dtype(dtype).numpy


def number(value: Any, name: str) -> Any:
    """A Python number from what a user may pass for one: a number of Python's or NumPy's, or a 0-dim tensor."""
    if isinstance(value, Tensor) and not value._array.ndim:
        return value.item()
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item()
    if isinstance(value, Tensor) or not hasattr(value, "__float__") and not isinstance(value, complex):
        raise ArgumentError(f"argument '{name}' must be Number, not {type(value).__name__}")
    return value


def whole_number(value: Any, name: str) -> int:
    """An int from an int of Python's or NumPy's, or an integer tensor of one element."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"argument '{name}' must be int, not {type(value).__name__}")
    return value.__index__()  # type: ignore[no-any-return]


def checked_size(size: Any, itemsize: int = 1) -> tuple[int, ...]:
    """A shape given by a user, as a tuple of non-negative ints that memory can be asked for."""
    if not isinstance(size, (tuple, list)):
        raise ArgumentError(f"argument 'size' must be tuple of ints, not {type(size).__name__}")
    if len(size) > MOST_DIMENSIONS:
        raise ShapeError(f"a tensor has at most {MOST_DIMENSIONS} dimensions here, but {len(size)} sizes were given")
    shape = tuple([each if type(each) is int else _one_size(each) for each in size])
    for each in shape:
        if each < 0:
            raise ShapeError(f"Trying to create tensor with negative dimension {each}: {list(shape)}")
        if each >= 2**63:
            raise ArgumentError(f"argument 'size': {each} overflows a 64-bit integer")
    if math.prod(shape) * itemsize >= 2**63:
        raise ShapeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return shape


def _one_size(size: Any) -> Any:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise ArgumentError(f"argument 'size' must be tuple of ints, not {type(size).__name__}")
    # Only tensors and NumPy's integers are read; a symbolic size stays as it is.
    return operator.index(size) if isinstance(size, (Tensor, np.integer)) else size  # type: ignore[arg-type]


def fitting(value: Any, numpy_type: Any, size: Any = 0) -> Any:
    """A number as a scalar of a type, which has to have that value: 300 does not fit in a uint8, nor 1j in a float.

    As in PyTorch, one that is too large for half precision is infinite in a tensor of one element, and refused for others.
    """
    kind = BY_NUMPY[numpy_type]
    if kind.category == BOOL:
        return np.bool_(value != 0)
    fits = True
    if isinstance(value, complex) and not kind.is_complex:
        fits, value = not value.imag, value.real
    if kind.category == INTEGRAL:
        limits = np.iinfo(numpy_type)
        if isinstance(value, float):
            fits = fits and limits.min <= value <= limits.max
            value = int(value) if fits else 0
        else:  # a negative number wraps around in an unsigned type
            fits = fits and (limits.min or -limits.max) <= value <= limits.max
    else:
        limit = float(ml_dtypes.finfo(kind.to_real().numpy).max)
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        fits = fits and (not any(limit < abs(part) < math.inf for part in parts) or (numpy_type in LOW_PRECISION and size == 1))
    if not fits:
        raise OperationError(f"value cannot be converted to type {kind.name} without overflow")
    return as_scalar(value, numpy_type)


def check_options(layout: Any, pin_memory: Any) -> None:
    """Refuse what no tensor here can be: sparse, or in pinned memory where there is no accelerator."""
    name = getattr(layout, "name", "strided")
    if name != "strided":
        if name == "jagged":
            raise NotSupported("a tensor of layout torch.jagged is made by torch.nested.nested_tensor()")
        raise OperationError("full(...) is not implemented for sparse layout")
    if pin_memory and accelerator() is None:
        raise OperationError("pin_memory=True requires an accelerator: there is no pinned memory here")


def format_name(memory_format: Any) -> str:
    """The name of a memory format argument."""
    return "preserve_format" if memory_format is None else memory_format.name  # type: ignore[no-any-return]


def strides_in(memory_format: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides that a memory format gives a shape; None for row-major order."""
    rank = _FORMAT_RANKS.get(memory_format)
    if rank is None:
        return None
    if len(shape) != rank:
        raise ShapeError(f"required rank {rank} tensor to use {memory_format} format")
    return channels_last_strides(shape)


# -- from Specs to arrays ----------------------------------------------------------------------------------------


def allocate(make: Any, spec: Spec) -> Any:
    """An array for a Spec, by ``xp.empty``, ``xp.zeros`` or ``xp.ones``."""
    strides = spec._strides
    if spec.dtype == COMPLEX32 and make is np.ones:
        raise TypeError("a record of ones is not 1")  # so it is made of single precision
    if strides is None or lies_as(spec.shape, strides, Spec(spec.shape, spec.dtype).element_strides):
        return make(spec.shape, spec.dtype)
    count = 1 + sum((size - 1) * stride for size, stride in zip(spec.shape, strides))
    flat = make(count if 0 not in spec.shape else 0, spec.dtype)
    return strided(flat, spec.shape, strides)


def unwritten(xp: Any) -> Any:
    """``xp.empty``; where deterministic algorithms are demanded, its memory is filled with NaN or the greatest number of the type."""
    return functools.partial(_filled_memory, xp) if demand.made and demand.fill else xp.empty


def _filled_memory(xp: Any, shape: Any, dtype: np.dtype[Any]) -> Any:
    kind = BY_NUMPY[dtype]
    if kind.category == BOOL:
        return xp.ones(shape, dtype)
    if kind.category == INTEGRAL:
        return xp.full(shape, iinfo(kind).max, dtype)
    if dtype == COMPLEX32:
        return narrowed(np.full(shape, math.nan, np.complex64))
    return xp.full(shape, math.nan, dtype)


def new_spec(size: Any, dtype: Any, layout: Any, device: Any, requires_grad: Any, pin_memory: Any, memory_format: Any = None) -> Spec:
    """What a factory function was asked to make."""
    check_options(layout, pin_memory)
    numpy_type = numpy_dtype(dtype)
    shape = checked_size(size, numpy_type.itemsize)
    if memory_format is None:
        return Spec(shape, numpy_type)
    if memory_format.name == "preserve_format":
        raise OperationError("unsupported memory format Preserve: there is no tensor whose format could be kept")
    return Spec(shape, numpy_type, strides_in(memory_format.name, shape))


def like_spec(input: Any, dtype: Any, layout: Any, device: Any, requires_grad: Any, pin_memory: Any, memory_format: Any) -> Spec:
    """What a ``*_like`` function was asked to make."""
    check_options(layout, pin_memory)
    wanted = format_name(memory_format)
    strides = like_strides(input) if wanted == "preserve_format" else strides_in(wanted, input.shape)
    return Spec(input.shape, numpy_dtype(dtype, input.dtype), strides)


def make_or_sparse(make: Any, spec: Any, position: int, values: tuple[Any, ...]) -> Any:
    """An array as a factory function was asked to make it; with a sparse layout, one in which no element is kept."""
    layout = values[position]
    if layout is None or layout.name in ("strided", "jagged"):
        return allocate(make, spec(*values))
    found = spec(*values[:position], None, *values[position + 1 :])
    return empty_sparse(found.shape, layout.name, found.dtype)


_OPTIONS: dict[str, Any] = {"vjp": {}, "factory": True, "exact": True}
_LIKE: dict[str, Any] = {**_OPTIONS, "method": False, "out": False}


@primitive(
    meta=new_spec,
    kernel=lambda xp, *values: make_or_sparse(xp.zeros, new_spec, 2, values),
    **_OPTIONS,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def zeros(
    *size: int,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of zeros."""


@primitive(
    meta=new_spec,
    kernel=lambda xp, *values: allocate(xp.ones, new_spec(*values)),
    **_OPTIONS,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 1, g.outputs[0].dtype)},
)
def ones(
    *size: int,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of ones."""


@primitive(
    meta=new_spec,
    kernel=lambda xp, *values: make_or_sparse(unwritten(xp), new_spec, 2, values),
    **_OPTIONS,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def empty(
    *size: int, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor whose elements are whatever was in memory."""


@primitive(
    meta=like_spec,
    kernel=lambda xp, *values: make_or_sparse(xp.zeros, like_spec, 2, values),
    **_LIKE,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def zeros_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros in the shape of another tensor."""


@primitive(
    meta=like_spec,
    kernel=lambda xp, *values: allocate(xp.ones, like_spec(*values)),
    **_LIKE,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 1, g.outputs[0].dtype)},
)
def ones_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Ones in the shape of another tensor."""


@primitive(
    meta=like_spec,
    kernel=lambda xp, *values: allocate(unwritten(xp), like_spec(*values)),
    **_LIKE,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def empty_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor in the shape of another whose elements are whatever was in memory."""


_ZERO = {BOOL: False, INTEGRAL: 0, FLOATING: 0.0, COMPLEX: 0j}


def _without_data(value: Any) -> bool:
    """Whether a number is a tensor of a capture on shapes, whose element is not known yet; a meta tensor has none, and is refused."""
    return isinstance(value, Tensor) and isinstance(value._array, Spec) and not value._array.ndim and value._array.device is not META


def _full(size: Any, fill_value: Any, dtype: Any, *rest: Any) -> tuple[Spec, Any]:
    """Shape and type of a filled tensor, and the element that fills it: None where that is a tensor without data."""
    if not isinstance(size, (tuple, list)):
        raise ArgumentError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    unread = _without_data(fill_value)
    value = _ZERO[BY_NUMPY[fill_value._array.dtype].category] if unread else number(fill_value, "fill_value")
    spec = new_spec(size, dtype if dtype is not None else BY_NUMPY[scalar_dtype(value)], *rest)
    return spec, None if unread else fitting(value, spec.dtype, spec.size)


def _fill(xp: Any, made: tuple[Spec, Any]) -> Any:
    spec, value = made
    array = allocate(xp.empty, spec)
    array[...] = value
    return array


@primitive(
    meta=lambda *values: _full(*values)[0],
    kernel=lambda xp, *values: _fill(xp, _full(*values)),
    **_OPTIONS,
    onnx={9: lambda g, size, fill_value, *rest: g.full(g.outputs[0].shape, fill_value, g.outputs[0].dtype)},
)
def full(
    size: Any, fill_value: Number, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor with every element the same."""


def _full_like(input: Any, fill_value: Any, *rest: Any) -> tuple[Spec, Any]:
    spec = like_spec(input, *rest)
    if _without_data(fill_value):
        return spec, None
    return spec, fitting(number(fill_value, "fill_value"), spec.dtype, spec.size)


@primitive(
    meta=lambda *values: _full_like(*values)[0],
    kernel=lambda xp, *values: _fill(xp, _full_like(*values)),
    **_LIKE,
    onnx={9: lambda g, input, fill_value, *rest: g.full(g.outputs[0].shape, fill_value, g.outputs[0].dtype)},
)
def full_like(
    input: Tensor, fill_value: Number, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor in the shape of another with every element the same."""


@composite(
    out=False,
)
def scalar_tensor(
    s: Number,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A 0-dim tensor of the default type, or another."""
    dtype = BY_NUMPY[numpy_dtype(dtype)]
    return full((), s, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def _eye(n: Any, m: Any, *rest: Any) -> Spec:
    shape = (whole_number(n, "n"), whole_number(n if m is None else m, "m"))
    for name, size in zip("nm", shape):
        if size < 0:
            raise ShapeError(f"{name} must be greater or equal to 0, got {size}")
    return new_spec(shape, *rest)


def _eye_kernel(xp: Any, n: Any, m: Any, dtype: Any, *rest: Any) -> Any:
    spec = _eye(n, m, dtype, *rest)
    if spec.dtype == COMPLEX32:
        raise TypeError("a record of ones is not 1")
    return xp.eye(*spec.shape, dtype=numpy_dtype(dtype))


def _eye_onnx(g: Any, *values: Any) -> Any:
    spec = g.outputs[0]
    return g.cast(g.diagonal_mask(spec.shape[0], spec.shape[1]), spec.dtype)


@primitive(
    meta=_eye,
    kernel=_eye_kernel,
    **_OPTIONS,
    onnx={9: _eye_onnx},
)
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix with ones on the diagonal and zeros elsewhere."""


# -- memory laid out by hand -------------------------------------------------------------------------------------


def _strided_spec(size: Any, stride: Any, *rest: Any) -> Spec:
    spec = new_spec(tuple(size), *rest)
    if len(spec.shape) != len(stride):
        raise ShapeError(f"dimensionality of sizes ({len(spec.shape)}) must match dimensionality of strides ({len(stride)})")
    strides = tuple(whole_number(each, "stride") for each in stride)
    if any(each < 0 for each in strides):
        raise ShapeError(f"Storage size calculation overflowed with sizes={list(spec.shape)} and strides={list(strides)}")
    if spec.itemsize * sum((size - 1) * step for size, step in zip(spec.shape, strides)) >= 2**63:
        raise ShapeError(f"Storage size calculation overflowed with sizes={list(spec.shape)} and strides={list(strides)}")
    return Spec(spec.shape, spec.dtype, strides)


@primitive(
    meta=_strided_spec,
    kernel=lambda xp, *values: allocate(unwritten(xp), _strided_spec(*values)),
    **{**_OPTIONS, "out": False},
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of given strides whose elements are whatever was in memory."""


def _permuted_spec(size: Any, physical_layout: Any, *rest: Any) -> Spec:
    spec = new_spec(tuple(size), *rest)
    order = tuple(physical_layout)
    count = len(spec.shape)
    if len(order) != count:
        raise ShapeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {count} is not equal to len(physical_layout) = {len(order)}"
        )
    for index, dim in enumerate(order):
        if not 0 <= dim < count:
            raise ShapeError(f"Dimension out of range (expected to be between 0 and {count - 1}, but got {dim} at index {index}).")
    if len(set(order)) != count:
        raise ShapeError("Duplicate dim not allowed")
    inner = Spec([spec.shape[dim] for dim in order], spec.dtype).element_strides
    return Spec(spec.shape, spec.dtype, tuple(inner[order.index(dim)] for dim in range(count)))


@primitive(
    meta=_permuted_spec,
    kernel=lambda xp, *values: allocate(unwritten(xp), _permuted_spec(*values)),
    **_OPTIONS,
    onnx={9: lambda g, *values: g.full(g.outputs[0].shape, 0, g.outputs[0].dtype)},
)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A dense tensor whose dimensions are in a given memory order, outermost first; its elements are undefined."""


# -- methods that make a tensor of the same type -----------------------------------------------------------------


def _as_input(input: Any, dtype: Any, device: Any) -> dict[str, Any]:
    """Type and device: those asked for, else the input's."""
    return {"dtype": BY_NUMPY[numpy_dtype(dtype, input._array.dtype)], "device": input.device if device is None else device}


def _layout_of(input: Any, layout: Any) -> Any:
    """The layout that is asked for, else the input's where it is a sparse one."""
    return input.layout if layout is None and input._array.__class__ in SPARSE else layout


_NEW: dict[str, Any] = {"namespace": None, "method": True, "out": False, "vjp": {}}


@composite(**_NEW)
def new_zeros(
    input: Tensor, *size: int, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Zeros of the tensor's own type."""
    options = _as_input(input, dtype, device)
    return zeros(size, layout=_layout_of(input, layout), requires_grad=requires_grad, pin_memory=pin_memory, **options)


@composite(**_NEW)
def new_ones(
    input: Tensor, *size: int, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Ones of the tensor's own type."""
    return ones(size, layout=layout, requires_grad=requires_grad, pin_memory=pin_memory, **_as_input(input, dtype, device))


@composite(**_NEW)
def new_empty(
    input: Tensor, *size: int, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of the same type whose elements are whatever was in memory."""
    options = _as_input(input, dtype, device)
    return empty(size, layout=_layout_of(input, layout), requires_grad=requires_grad, pin_memory=pin_memory, **options)


@composite(**_NEW)
def new_empty_strided(
    input: Tensor, size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of the same type and of given strides whose elements are whatever was in memory."""
    options = _as_input(input, dtype, device)
    return empty_strided(size, stride, layout=layout, requires_grad=requires_grad, pin_memory=pin_memory, **options)


@composite(**_NEW)
def new_full(
    input: Tensor, size: Any, fill_value: Number, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of the same type with every element the same."""
    options = _as_input(input, dtype, device)
    return full(size, fill_value, layout=layout, requires_grad=requires_grad, pin_memory=pin_memory, **options)

"""Copying: clone, writing over, filling, changing the type."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_of, is_array, on_device
from ...core.dtypes import BY_NUMPY, FLOAT8, LOW_PRECISION, float8_e4m3fn, float32, legacy_name
from ...core.errors import OperationError, ShapeError
from ...core.families import broadcast_shapes, same
from ...core.upcast import COMPLEX32, narrowed, widened
from ..shape.memory import channels_last_strides, element_strides, is_contiguous, without_repeats

Number = int | float | complex | bool
_FLOAT32, _SATURATING = float32.numpy, float8_e4m3fn.numpy
_ANY = (-math.inf, math.inf)
_RANGES = {  # of floats that types can hold, where NumPy would not refuse others
    **{each: (-float(ml_dtypes.finfo(each).max), float(ml_dtypes.finfo(each).max)) for each in (_FLOAT32, *LOW_PRECISION)},
    np.dtype(np.uint8): (0.0, 255.0),
}


def cast_array(xp: Any, array: Any, numpy_type: Any) -> Any:
    """A copy of an array in another type, by PyTorch's rules: of complex numbers the real part is taken, narrow floats are
    rounded from float32, and the one of them that has no infinity gets its greatest value in that place."""
    if array.dtype == COMPLEX32 != numpy_type:
        array = widened(array)
    elif numpy_type == COMPLEX32 != array.dtype:
        return narrowed(array)
    if array.dtype.kind == "c" and numpy_type.kind not in "cb":
        array = array.real
    if numpy_type in LOW_PRECISION and array.dtype not in LOW_PRECISION:
        array = array.astype(_FLOAT32)
    if numpy_type == _SATURATING and array.dtype != numpy_type:
        array = xp.clip(array.astype(_FLOAT32), -448, 448)
    return array.astype(numpy_type)


_CHANNELS_LAST = {"channels_last": 4, "channels_last_3d": 5}  # formats, and the ranks that they are of


def _asks_channels_last(input: Any, memory_format: Any) -> bool:
    rank = None if memory_format is None else _CHANNELS_LAST.get(memory_format.name)
    if rank is not None and input.ndim != rank:
        raise ShapeError(f"required rank {rank} tensor to use {memory_format.name} format")
    return rank is not None


def _copy_meta(input: Any, memory_format: Any = None) -> Spec:
    return Spec(input.shape, input.dtype, channels_last_strides(input.shape) if _asks_channels_last(input, memory_format) else None)


def _copy_array(xp: Any, input: Any, memory_format: Any = None) -> Any:
    if _asks_channels_last(input, memory_format):
        last = input.ndim - 1
        return xp.array(input.transpose(0, *range(2, last + 1), 1), order="C", copy=True).transpose(0, last, *range(1, last))
    order = "C" if memory_format is not None and memory_format.name == "contiguous_format" else "K"
    if 0 in input.strides and order == "K" and not input.flags.c_contiguous:
        return without_repeats(xp, input)
    return xp.array(input, order=order, copy=True)


@primitive(
    meta=_copy_meta,
    kernel=_copy_array,
    vjp={"input": lambda g: g},
    out=False,
    exact=True,
    onnx={9: lambda g, input, memory_format: input},
)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that shares no memory with the input and is differentiable."""


@primitive(
    meta=lambda input, other: Spec(input.shape, input.dtype),
    kernel=lambda xp, input, other: input,
    vjp={"input": lambda g: g},
    exact=True,
    namespace=None,
    method=False,
    out=False,
)
def after(input: Tensor, other: Tensor) -> Tensor:
    """The input itself; compiled code computes what depends on it after ``other``, so that the result need not be kept until then."""


def nothing_left(g: Any) -> Any:
    """The gradient of a tensor that was overwritten: zeros, which take no memory."""
    return g.new_zeros(()).expand(g._array.shape)


def _fits(input: Any, src: Any, non_blocking: bool = False) -> Spec:
    shape = tuple(input.shape)
    if not hasattr(src, "shape"):
        return Spec(shape, input.dtype)
    missing = len(shape) - len(src.shape)
    if missing < 0 or any(a != b and b != 1 for a, b in zip(shape[missing:], src.shape)):
        broadcast = broadcast_shapes([shape, tuple(src.shape)])  # raises where sizes differ
        raise ShapeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(broadcast)}")
    return Spec(shape, input.dtype)


def _copy_into(xp: Any, input: Any, src: Any, non_blocking: bool = False) -> None:
    if src.__class__ is not input.__class__:
        if not is_array(src):
            return _fill_into(xp, input, src)
        src = on_device(src, device_of(input))
    input[...] = src if src.dtype is input.dtype else cast_array(xp, src, input.dtype)


def _copied(xp: Any, input: Any, src: Any, non_blocking: bool) -> Any:
    if src.__class__ is not input.__class__:
        if not hasattr(src, "shape"):
            return _filled(xp, input, src)
        if is_array(src):
            src = on_device(src, device_of(input))
    return cast_array(xp, xp.broadcast_to(src, input.shape), input.dtype)


def moved_back(g: Any, device: Any) -> Any:
    """A gradient on the device of the tensor that it belongs to."""
    return g if device_of(g._array) == device else to_device(g, device)


@primitive(
    meta=_fits,
    kernel=_copied,
    in_place_kernel=_copy_into,
    vjp={"input": nothing_left, "src": lambda g, src_device: moved_back(g, src_device)},
    across_devices=True,
    notes="reads from other devices",
    exact=True,
    in_place=True,
    namespace=None,
    out=False,
    node_name="CopyBackwards",
    onnx={9: lambda g, input, src, non_blocking: g.expand(g.cast(src, input.dtype), g.outputs[0].shape)},
)
def copy(input: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """The values of ``src`` in the shape and type of ``input``; ``copy_`` writes them there."""


def _fill_meta(input: Any, value: Any) -> Spec:
    if getattr(value, "ndim", 0):
        raise ShapeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return Spec(input.shape, input.dtype)


def _fill_into(xp: Any, input: Any, value: Any) -> None:
    _fill_meta(input, value)
    input[...] = _wrapped(value, input.dtype, input.size)


def _filled(xp: Any, input: Any, value: Any) -> Any:
    _fill_meta(input, value)
    return xp.full_like(input, _wrapped(value, input.dtype, input.size))


def _wrapped(value: Any, dtype: Any, size: int) -> Any:
    """A negative number as an unsigned type holds it; NumPy refuses it.  A float that the type can't hold is refused."""
    if dtype.kind == "u" and value.__class__ is int and -(1 << 8 * dtype.itemsize) < value < 0:
        return value + (1 << 8 * dtype.itemsize)
    if value.__class__ is float or value.__class__ is int:
        low, high = _RANGES.get(dtype, _ANY)
        if (value < low or value > high) and value - value == 0 and (size != 1 or dtype not in LOW_PRECISION):
            raise OperationError(f"value cannot be converted to type {legacy_name(dtype)} without overflow")
    if dtype == COMPLEX32 and not hasattr(value, "dtype"):
        return narrowed(value)[()]
    return value


@primitive(
    one_value=True,
    meta=_fill_meta,
    kernel=_filled,
    in_place_kernel=_fill_into,
    vjp={"input": nothing_left, "value": lambda g: g.sum()},
    exact=True,
    in_place=True,
    out=False,
    onnx={9: lambda g, input, value: g.full(input.shape, value, input.dtype)},
)
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like ``input`` with every element ``value``."""


@primitive(
    one_value=True,
    meta=same,
    kernel=lambda xp, input: xp.zeros_like(input),
    in_place_kernel=lambda xp, input: _fill_into(xp, input, 0),
    vjp={"input": nothing_left},
    exact=True,
    in_place=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, input: g.full(input.shape, 0, input.dtype)},
)
def zero(input: Tensor) -> Tensor:
    """Zeros in the shape of ``input``; ``zero_`` writes them there."""


def _cast_kernel(xp: Any, input: Any, dtype: Any) -> Any:
    if (input.__class__ is np.ndarray or is_array(input)) and 0 in input.strides:  # not so where a code generator traces the kernel
        input = without_repeats(xp, input)
    return cast_array(xp, input, dtype.numpy)


def _cast_onnx(g: Any, input: Any, dtype: Any) -> Any:
    if dtype.numpy in FLOAT8 and dtype.numpy != _SATURATING and input.dtype not in FLOAT8 and g.opset >= 19:
        made = g.op("Cast", input, to_i=g.element_type(dtype), saturate_i=0)  # what is too large becomes infinite
        made.dtype = dtype.numpy
        return made
    return g.cast(input, dtype)


@primitive(
    meta=lambda input, dtype, copy=False: Spec(input.shape, dtype.numpy),
    kernel=_cast_kernel,
    vjp={"input": lambda g, input_dtype: g if g._array.dtype is input_dtype else cast_like(g, input_dtype)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="ToCopyBackward0",
    onnx={9: _cast_onnx},
)
def cast(input: Tensor, dtype: Any) -> Tensor:
    """A copy of another type: what ``to``, ``float()`` and their like call."""


@primitive(
    meta=lambda input, device: Spec(input.shape, input.dtype, None if is_contiguous(input) else element_strides(input), device),
    kernel=lambda xp, input, device: on_device(input, device),
    vjp={"input": lambda g, input_device: moved_back(g, input_device)},
    across_devices=True,
    notes="reads from other devices",
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="ToCopyBackward0",
    onnx={9: lambda g, input, device: input},
)
def to_device(input: Tensor, device: Any) -> Tensor:
    """A copy on another device: what ``to``, ``cpu()`` and their like call."""


@composite(namespace=None, method=False)
def cast_gradient(input: Tensor, dtype: Any) -> Tensor:
    """A gradient in the type of what it belongs to: the real part for a real tensor, then a cast."""
    if input._array.dtype.kind == "c" and not dtype.is_complex:
        input = table["real"].call(input)
    return input if input._array.dtype is dtype.numpy else cast(input, dtype)


def cast_like(g: Tensor, numpy_type: Any) -> Tensor:
    """A gradient in the type of the tensor that it belongs to."""
    return g if g._array.dtype is numpy_type else cast_gradient(g, BY_NUMPY[numpy_type])

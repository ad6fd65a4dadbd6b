"""Choosing elements: by a condition (``where``), or so that they stay within bounds (``clamp``)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import legacy_name
from ...core.errors import ArgumentError, DtypeError, OperationError
from ...core.families import Elementwise, as_scalar, broadcast_shapes, elementwise, same
from ...core.kernel_providers import UFUNCS, faster_loop, repeated_loop
from ...core.parallel import LARGE
from ..index.masking import fitting_scalar, nonzero_columns_form
from .select_kernel import select

Number = int | float | complex | bool


class _Selection(Elementwise):
    """The condition takes part in broadcasting, but not in the type of the result."""

    __slots__ = ()

    def operands(self, op: Any, values: Any) -> list[Any]:
        return list(values[1:])

    def check(self, condition: Any) -> None:
        if condition.dtype not in (np.bool_, np.uint8):
            raise DtypeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {legacy_name(condition.dtype)}")

    def __call__(self, op: Any, values: Any) -> Any:
        self.check(values[0])
        _, dtype = self.dtypes(op, self.operands(op, values))
        return Spec(broadcast_shapes([each.shape for each in values if hasattr(each, "shape")]), dtype)

    def execute(self, op: Any, xp: Any, values: Any) -> Any:
        condition, *operands = values
        if condition.dtype.kind != "b":
            warnings.warn(
                "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
                "Use a boolean condition instead.", UserWarning, stacklevel=5,
            )  # fmt: skip
            self.check(condition)
            condition = condition != 0
        if getattr(operands[0], "dtype", None) is not getattr(operands[1], "dtype", 0):
            dtype, _ = self.dtypes(op, operands)
            operands = [each.astype(dtype, copy=False) if hasattr(each, "astype") else as_scalar(each, dtype) for each in operands]
        size = condition.size
        if xp is np and size >= UFUNCS:
            dtype = operands[0].dtype
            loop = faster_loop if size >= LARGE else repeated_loop
            found = loop(op, [condition, *operands], [0, 1, 2], dtype, dtype)
            if found is not None:
                return found
        return op.kernel(xp, condition, *operands)


def _where_onnx(g: Any, condition: Any, input: Any, other: Any) -> Any:
    kind = g.outputs[0].dtype
    return g.where(g.cast(condition, np.bool_), g.number(input, kind), g.number(other, kind))


@primitive(
    meta=_Selection("default", None, ""),
    kernel=select,
    vjp={
        "input": lambda g, condition: where_elements(condition, g, 0),
        "other": lambda g, condition: where_elements(condition, 0, g),
    },
    exact=True,
    in_place=False,
    namespace=None,
    method=False,
    node_name="WhereBackward0",
    onnx={9: _where_onnx},
)
def where_elements(condition: Tensor, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input`` where the condition holds, else ``other``."""


def _where_composite_onnx(g: Any, condition: Any, input: Any, other: Any) -> Any:
    return nonzero_columns_form(g, condition) if input is None else NotImplemented


@composite(
    out=True,
    method=False,
    data_dependent=True,
    notes="data-dependent: with a condition alone, the positions where it holds",
    onnx={9: _where_composite_onnx},
)
def where(condition: Tensor, input: Tensor | Number | None = None, other: Tensor | Number | None = None) -> Tensor:
    """``input`` where the condition holds, else ``other``; of a condition alone, the indices of what is not 0."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise ArgumentError("where() takes a condition alone, or a condition, 'input' and 'other'; one of them is missing")
    return where_elements(condition, input, other)


@composite(namespace=None, method=("where",))
def where_method(input: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """``input`` where the condition holds, else ``other``."""
    return where_elements(condition, input, other)


# -- bounds ------------------------------------------------------------------------------------------------------


_ZEROS = {"b": False, "i": 0, "u": 0, "f": 0.0, "V": 0.0}


class _Bounded(Elementwise):
    """Bounds are both numbers or both tensors, and numbers must fit the type."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        if len(operands) < 2:
            raise OperationError("torch.clamp: At least one of 'min' or 'max' must not be None")
        tensors = [hasattr(each, "shape") and not isinstance(each, np.generic) for each in operands]
        if any(tensors[1:]) and not all(tensors):
            if any(each.ndim for each in operands[1:] if hasattr(each, "ndim")):
                raise ArgumentError("clamp(): the bounds 'min' and 'max' must both be numbers or both be Tensors")
            # A tensor without dimensions beside a number counts as a number: only its kind matters to the type of the result.
            operands = [
                operands[0],
                *(_ZEROS[each.dtype.kind] if is_tensor else each for each, is_tensor in zip(operands[1:], tensors[1:])),
            ]
            tensors = [True, *(hasattr(each, "shape") for each in operands[1:])]
        common, dtype = super().dtypes(op, operands)
        if common.kind in "iu":
            for bound, is_tensor in zip(operands, tensors):
                if not is_tensor:
                    fitting_scalar(bound, common)
        return common, dtype

    def execute(self, op: Any, xp: Any, values: Any) -> Any:
        input, low, high = values
        if input.dtype.kind == "f" and low.__class__ in _PLAIN and high.__class__ in _PLAIN and (low, high) != (None, None):
            return op.kernel(xp, input, low, high)
        return super().execute(op, xp, values)


_PLAIN = (float, int, type(None))  # bounds that leave a floating type as it is


def _clamp(xp: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return xp.minimum(input, max)
    if max is None:
        return xp.maximum(input, min)
    if xp is np and input.size > 16384 and input.dtype.kind != "b":
        return xp.clip(input, min, max)  # once over the memory, where that is what takes the time
    return xp.minimum(xp.maximum(input, min), max)


def _inside(input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


def _clamp_onnx(g: Any, input: Any, min: Any, max: Any) -> Any:
    if input.dtype.kind == "b" or any(getattr(each, "rank", 0) or each != each for each in (min, max)):
        input = input if min is None else g.maximum(input, g.number(min, input.dtype))
        return input if max is None else g.minimum(input, g.number(max, input.dtype))
    return g.clip(input, min, max)


@primitive(
    meta=_Bounded("default", None, "complex"),
    kernel=_clamp,
    vjp={
        "input": lambda g, input, min, max: where_elements(_inside(input, min, max), g, 0),
        "min": lambda g, input, min, max: where_elements(input < min if max is None else (input < min) & (min < max), g, 0),
        "max": lambda g, input, min, max: where_elements(input > max if min is None else (input > max) | (max < min), g, 0),
    },
    exact=True,
    aliases=("clip",),
    onnx={9: _clamp_onnx},
)
def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""


@primitive(
    meta=same,
    kernel=lambda xp, input, least: xp.maximum(input, input.dtype.type(least)),
    vjp={"input": lambda g: g},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, input, least: g.op("Max", input, g.constant(least, input.dtype))},
)
def at_least(input: Tensor, least: float) -> Tensor:
    """Every element no smaller than a number; the gradient passes everywhere."""


@primitive(
    meta=elementwise(refuse="complex"),
    kernel="maximum",
    vjp={
        "input": lambda g, input, min: where_elements(input >= min, g, 0),
        "min": lambda g, input, min: where_elements(input < min, g, 0),
    },
    exact=True,
)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Every element no smaller than ``min``."""


@primitive(
    meta=elementwise(refuse="complex"),
    kernel="minimum",
    vjp={
        "input": lambda g, input, max: where_elements(input <= max, g, 0),
        "max": lambda g, input, max: where_elements(input > max, g, 0),
    },
    exact=True,
)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Every element no larger than ``max``."""

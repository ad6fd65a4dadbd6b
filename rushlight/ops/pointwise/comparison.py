"""Comparisons of elements, tests for special values, and whether tensors are equal or close."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import default, legacy_name
from ...core.errors import ArgumentError, DtypeError, OperationError
from ...core.families import Elementwise, elementwise

Number = int | float | complex | bool


@primitive(meta=elementwise("bool", fast=(2, "any")), kernel="equal", vjp={}, exact=True)
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input == other``, element by element."""


@primitive(meta=elementwise("bool", fast=(2, "any")), kernel="not_equal", vjp={}, exact=True, aliases=("not_equal",))
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input != other``, element by element."""


@primitive(meta=elementwise("bool", fast=(2, "real"), refuse="complex"), kernel="less", vjp={}, exact=True, aliases=("less",))
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input < other``, element by element."""


@primitive(meta=elementwise("bool", fast=(2, "real"), refuse="complex"), kernel="less_equal", vjp={}, exact=True, aliases=("less_equal",))
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input <= other``, element by element."""


@primitive(meta=elementwise("bool", fast=(2, "real"), refuse="complex"), kernel="greater", vjp={}, exact=True, aliases=("greater",))
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input > other``, element by element."""


@primitive(
    meta=elementwise("bool", fast=(2, "real"), refuse="complex"), kernel="greater_equal", vjp={}, exact=True, aliases=("greater_equal",)
)
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input >= other``, element by element."""


# -- special values ----------------------------------------------------------------------------------------------


@primitive(meta=elementwise("bool", fast=(1, "float")), kernel="isnan", vjp={}, exact=True, in_place=False, out=False)
def isnan(input: Tensor) -> Tensor:
    """Whether each element is not a number."""


@primitive(meta=elementwise("bool", fast=(1, "float")), kernel="isinf", vjp={}, exact=True, in_place=False, out=False)
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite, of either sign."""


@primitive(meta=elementwise("bool", fast=(1, "float")), kernel="isfinite", vjp={}, exact=True, in_place=False, out=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor not a number."""


@primitive(
    meta=elementwise("bool", refuse="complex"), kernel=lambda xp, input: xp.isinf(input) & (input > 0), vjp={}, exact=True, in_place=False
)
def isposinf(input: Tensor) -> Tensor:
    """Whether each element is positive infinity."""


@primitive(
    meta=elementwise("bool", refuse="complex"), kernel=lambda xp, input: xp.isinf(input) & (input < 0), vjp={}, exact=True, in_place=False
)
def isneginf(input: Tensor) -> Tensor:
    """Whether each element is negative infinity."""


@primitive(
    meta=elementwise("bool"),
    kernel=lambda xp, input: xp.equal(xp.imag(input), 0) if input.dtype.kind == "c" else xp.logical_or(xp.isfinite(input), True),
    vjp={},
    exact=True,
    in_place=False,
    out=False,
)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of each element is 0."""


# -- closeness ---------------------------------------------------------------------------------------------------


class SameType(Elementwise):
    """Pointwise ops that refuse operands of different types instead of promoting them."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        first, *rest = (each.dtype for each in operands if hasattr(each, "dtype") and not isinstance(each, np.generic))
        for other in rest:
            if other != first:
                if op.public_name == "heaviside":
                    raise DtypeError("heaviside is not yet implemented for tensors with different dtypes.")
                raise DtypeError(f"{op.public_name}(): {legacy_name(first)} did not match {legacy_name(other)}")
        return super().dtypes(op, operands)


def _close(xp: Any, input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    rtol, atol = (each.item() if isinstance(each, Tensor) else each for each in (rtol, atol))
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise OperationError(f"{name} must be greater than or equal to zero, but got {value}")
    close = xp.equal(input, other)
    if equal_nan:
        close = close | (xp.isnan(input) & xp.isnan(other))
    if not rtol and not atol:
        return close
    if input.dtype.kind in "biu":
        input, other = input.astype(default.numpy), other.astype(default.numpy)
    distance = xp.abs(input - other)
    return close | (xp.isfinite(distance) & (distance <= atol + xp.abs(rtol * other)))


@primitive(meta=SameType("bool", None, ""), kernel=_close, vjp={}, in_place=False, out=False)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element."""


@composite(data_dependent=True, notes="data-dependent: the result is a Python bool")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see :func:`isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite(data_dependent=True, notes="data-dependent: the result is a Python bool")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    if not isinstance(other, Tensor):
        raise ArgumentError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return tuple(input._array.shape) == tuple(other._array.shape) and bool(eq(input, other).all())


@composite(data_dependent=True, notes="data-dependent: the result is a Python bool")
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not 0."""
    count = input._array.size
    if count != 1:
        raise OperationError(f"Boolean value of Tensor with {'no values' if not count else 'more than one value'} is ambiguous")
    return bool(ne(input, 0).item())

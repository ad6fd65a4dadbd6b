"""Comparisons of elements, tests for special values, and whether tensors are equal or close."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import default, legacy_name
from ...core.errors import ArgumentError, DtypeError, OperationError
from ...core.families import Elementwise, elementwise
from ...core.samples import Sample, binary, cases, together, unary

Number = int | float | complex | bool

_ORDERED = together(
    binary(-2, 2),
    cases(lambda m: [
        Sample(m.integers(8, low=-1, high=2), m.integers(8, low=-1, high=2), gradient=False),
        Sample(np.array([0.1, 0.2], np.float16), 0.1, gradient=False),
        Sample(m.integers(3, low=0, high=5, dtype=np.uint8), -1, gradient=False),
        Sample(m.complex(2), m.complex(2), gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), None, gradient=False),
        Sample(2.5, m.real(2), gradient=False),
    ]),
)  # fmt: skip
_EQUAL = together(
    binary(-2, 2, complex=True),
    cases(lambda m: [
        Sample(m.integers(8, low=-1, high=2), m.integers(8, low=-1, high=2), gradient=False),
        Sample(np.array([0.1, 0.2], np.float16), 0.1, gradient=False),
        Sample(np.array([1, 2, 1j], np.complex64), 1j, gradient=False),
        Sample(np.array([1, 2, 3], np.float32), 1j, gradient=False),
        Sample(np.array([2**24 + 1, 3]), np.array([2.0**24, 3], np.float32), gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), "a", gradient=False),
    ]),
)  # fmt: skip


@primitive(meta=elementwise("bool", fast=(2, "any")), kernel="equal", vjp={}, samples=_EQUAL, exact=True)
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input == other``, element by element."""


@primitive(meta=elementwise("bool", fast=(2, "any")), kernel="not_equal", vjp={}, samples=_EQUAL, exact=True, aliases=("not_equal",))
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input != other``, element by element."""


@primitive(
    meta=elementwise("bool", fast=(2, "real"), refuse="complex"),
    kernel="less", vjp={}, samples=_ORDERED, exact=True, aliases=("less",),
)  # fmt: skip
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input < other``, element by element."""


@primitive(
    meta=elementwise("bool", fast=(2, "real"), refuse="complex"),
    kernel="less_equal", vjp={}, samples=_ORDERED, exact=True, aliases=("less_equal",),
)  # fmt: skip
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input <= other``, element by element."""


@primitive(
    meta=elementwise("bool", fast=(2, "real"), refuse="complex"),
    kernel="greater", vjp={}, samples=_ORDERED, exact=True, aliases=("greater",),
)  # fmt: skip
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input > other``, element by element."""


@primitive(
    meta=elementwise("bool", fast=(2, "real"), refuse="complex"),
    kernel="greater_equal", vjp={}, samples=_ORDERED, exact=True, aliases=("greater_equal",),
)  # fmt: skip
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """``input >= other``, element by element."""


# -- special values ----------------------------------------------------------------------------------------------

_SPECIAL_VALUES = together(
    unary(complex=True),
    cases(lambda m: [
        Sample(np.array([complex(1, np.nan), complex(np.inf, np.nan), complex(-np.inf, 0), 1 + 1j], np.complex64), gradient=False),
    ]),
)  # fmt: skip


@primitive(
    meta=elementwise("bool", fast=(1, "float")), kernel="isnan", vjp={}, samples=_SPECIAL_VALUES,
    exact=True, in_place=False, out=False,
)  # fmt: skip
def isnan(input: Tensor) -> Tensor:
    """Whether each element is not a number."""


@primitive(
    meta=elementwise("bool", fast=(1, "float")), kernel="isinf", vjp={}, samples=_SPECIAL_VALUES,
    exact=True, in_place=False, out=False,
)  # fmt: skip
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite, of either sign."""


@primitive(
    meta=elementwise("bool", fast=(1, "float")), kernel="isfinite", vjp={}, samples=_SPECIAL_VALUES,
    exact=True, in_place=False, out=False,
)  # fmt: skip
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor not a number."""


@primitive(
    meta=elementwise("bool", refuse="complex"),
    kernel=lambda xp, input: xp.isinf(input) & (input > 0),
    vjp={}, samples=unary(complex=True), exact=True, in_place=False,
)  # fmt: skip
def isposinf(input: Tensor) -> Tensor:
    """Whether each element is positive infinity."""


@primitive(
    meta=elementwise("bool", refuse="complex"),
    kernel=lambda xp, input: xp.isinf(input) & (input < 0),
    vjp={}, samples=unary(complex=True), exact=True, in_place=False,
)  # fmt: skip
def isneginf(input: Tensor) -> Tensor:
    """Whether each element is negative infinity."""


@primitive(
    meta=elementwise("bool"),
    kernel=lambda xp, input: xp.equal(xp.imag(input), 0) if input.dtype.kind == "c" else xp.logical_or(xp.isfinite(input), True),
    vjp={}, samples=together(unary(complex=True), cases(lambda m: [Sample(np.array([1, 1j, 2 + 0j], np.complex64), gradient=False)])),
    exact=True, in_place=False, out=False,
)  # fmt: skip
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of each element is 0."""


# -- closeness ---------------------------------------------------------------------------------------------------


class SameType(Elementwise):
    """Pointwise ops that refuse operands of different types instead of promoting them."""

    __slots__ = ()

    def dtypes(self, op: Any, operands: list[Any]) -> tuple[Any, Any]:
        first, *rest = (each.dtype for each in operands if hasattr(each, "dtype"))
        for other in rest:
            if other != first:
                raise DtypeError(f"{op.public_name}(): {legacy_name(first)} did not match {legacy_name(other)}")
        return super().dtypes(op, operands)


def _close(xp: Any, input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
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


@primitive(
    meta=SameType("bool", None, ""),
    kernel=_close,
    vjp={},
    samples=cases(lambda m: [
        Sample(np.array([1, np.nan, np.inf, np.inf, 1e10], np.float32), np.array([1.000001, np.nan, np.inf, -np.inf, 1.1e10], np.float32), gradient=False),
        Sample(np.array([1, np.nan], np.float64), np.array([1.1, np.nan]), rtol=0.2, equal_nan=True, gradient=False),
        Sample(m.integers(5), m.integers(5), rtol=0.5, gradient=False),
        Sample(m.integers(5), m.integers(5), atol=2.0, gradient=False),
        Sample(m.integers(5), m.integers(5), rtol=0, atol=0, gradient=False),
        Sample(m.booleans(5), m.booleans(5), gradient=False),
        Sample(m.complex(2, 3), m.complex(3), rtol=1.0, gradient=False),
        Sample(m.real(4, dtype=np.float16), m.real(4, dtype=np.float16), 0.5, 0.1, gradient=False),
        Sample(m.real(2), m.real(2), rtol=-1, gradient=False),
        Sample(m.real(2), m.real(2), atol=-1, gradient=False),
        Sample(m.real(2), m.integers(2), gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), 1.0, gradient=False),
    ]),
    in_place=False,
    out=False,
)  # fmt: skip
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element."""


@composite(
    samples=cases(lambda m: [
        Sample(np.ones((2, 3), np.float32), np.full(3, 1.000001, np.float32), gradient=False),
        Sample(m.real(2, 3), m.real(3), gradient=False),
        Sample(m.real(0), m.real(0), gradient=False),
        Sample(np.array([np.nan]), np.array([np.nan]), equal_nan=True, gradient=False),
        Sample(m.real(2), m.integers(2), gradient=False),
    ]),
    notes="data-dependent: the result is a Python bool",
)  # fmt: skip
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see :func:`isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite(
    samples=cases(lambda m: [
        Sample(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), gradient=False),
        Sample(np.ones((2, 3), np.float32), np.ones((2, 3), np.int64), gradient=False),
        Sample(np.ones((2, 3), np.float32), np.ones((3,), np.float32), gradient=False),
        Sample(np.array([np.nan]), np.array([np.nan]), gradient=False),
        Sample(m.real(0), m.real(0), gradient=False),
        Sample(m.real(2), 1.0, gradient=False),
    ]),
    notes="data-dependent: the result is a Python bool",
)  # fmt: skip
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    if not isinstance(other, Tensor):
        raise ArgumentError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return tuple(input._array.shape) == tuple(other._array.shape) and bool(eq(input, other).all())


@composite(
    samples=cases(lambda m: [
        Sample(np.array([[0.0]], np.float32), gradient=False),
        Sample(np.array(np.nan, np.float32), gradient=False),
        Sample(np.array([2]), gradient=False),
        Sample(np.array(1j), gradient=False),
        Sample(m.real(2), gradient=False),
        Sample(m.real(0), gradient=False),
    ]),
    notes="data-dependent: the result is a Python bool",
)  # fmt: skip
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not 0."""
    count = input._array.size
    if count != 1:
        raise OperationError(f"Boolean value of Tensor with {'no values' if not count else 'more than one value'} is ambiguous")
    return bool(ne(input, 0).item())

"""Logic on truth values, and on the bits of integers."""

from __future__ import annotations

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from ...core.samples import Sample, binary, cases, together, unary
from .arithmetic_onnx import bitwise_form, bitwise_not_form, left_shift_form, right_shift_form

Number = int | float | complex | bool

_LOGICAL = together(
    binary(-2, 2, complex=True, scalars=False),
    cases(lambda m: [
        Sample(m.integers(8, low=0, high=2), m.booleans(8), gradient=False),
        Sample(np.array([0.0, 1.0, np.nan, -0.0]), np.array([1, 0, 1, 1]), gradient=False),
        Sample(m.booleans(2), m.booleans(3), gradient=False),
        Sample(m.booleans(2), True, gradient=False),
    ]),
)  # fmt: skip


@primitive(meta=elementwise("bool"), kernel="logical_and", vjp={}, samples=_LOGICAL, exact=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_or", vjp={}, samples=_LOGICAL, exact=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether at least one of two elements is true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_xor", vjp={}, samples=_LOGICAL, exact=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether just one of two elements is true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_not", vjp={}, samples=unary(complex=True), exact=True)
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is false, that is 0."""


_BITS = cases(lambda m: [
    Sample(m.integers(2, 4), m.integers(4)),
    Sample(m.integers(2, 1, 3), m.integers(2, 1)),
    Sample(m.integers(), m.integers()),
    Sample(m.integers(0, 2), m.integers(2)),
    Sample(m.integers(3, 2).T, m.integers(3)),
    Sample(m.booleans(6), m.booleans(6)),
    Sample(m.booleans(6), 1),
    Sample(m.booleans(6), True),
    Sample(m.integers(4), 3),
    Sample(6, m.integers(4)),
    Sample(m.integers(4, dtype=np.int32), m.integers(4, dtype=np.int16)),
    Sample(m.integers(4, low=0, high=255, dtype=np.uint8), 300),
    Sample(m.integers(4, low=0, high=255, dtype=np.uint8), m.integers(4, dtype=np.int8)),
    Sample(m.integers(4), m.booleans(4)),
    Sample(m.real(4), m.integers(4), gradient=False),
    Sample(m.integers(4), 1.5, gradient=False),
    Sample(m.integers(4), m.integers(3), gradient=False),
    Sample(m.integers(4), "a", gradient=False),
])  # fmt: skip


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_and", vjp={}, samples=_BITS, onnx=bitwise_form("And"))
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that two integers have in common; of truth values, the logical and."""


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_or", vjp={}, samples=_BITS, onnx=bitwise_form("Or"))
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that at least one of two integers has; of truth values, the logical or."""


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_xor", vjp={}, samples=_BITS, onnx=bitwise_form("Xor"))
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that just one of two integers has; of truth values, the logical exclusive or."""


@primitive(
    meta=elementwise(refuse="float"),
    kernel="invert",
    vjp={},
    samples=cases(lambda m: [
        Sample(m.integers(2, 3)), Sample(m.integers()), Sample(m.integers(0)), Sample(m.booleans(4)),
        Sample(m.integers(3, low=0, high=255, dtype=np.uint8)), Sample(m.integers(3, dtype=np.int16)), Sample(m.real(2), gradient=False),
    ]),
    onnx={9: bitwise_not_form},
)  # fmt: skip
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit of an integer turned; of truth values, the logical not."""


_SHIFTS = together(
    cases(lambda m: [
        Sample(m.integers(2, 4), m.integers(4, low=0)),
        Sample(m.integers(2, 1, 3), m.integers(2, 1, low=0)),
        Sample(m.integers(4), 2),
        Sample(5, m.integers(4, low=0)),
        Sample(m.integers(4, dtype=np.int32), m.integers(4, low=0, dtype=np.int16)),
        Sample(m.integers(6), np.array([-1, 63, 64, 100, 0, 62])),
        Sample(np.array([-8, 8, 1, -1], np.int8), np.array([1, -1, 7, 8], np.int8)),
        Sample(np.array([200, 3, 1], np.uint8), np.array([1, 7, 9], np.uint8)),
        Sample(m.integers(3), 1.5, gradient=False),
        Sample(m.real(3), 1, gradient=False),
        Sample(m.booleans(3), m.booleans(3), gradient=False),
        Sample(m.booleans(3), 1),
    ]),
)  # fmt: skip


@primitive(meta=elementwise(refuse="bool float"), kernel="left_shift", vjp={}, samples=_SHIFTS, onnx={9: left_shift_form})
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input << other``, element by element; shifted by less than 0, or by all its bits, a number becomes 0."""


@primitive(meta=elementwise(refuse="bool float"), kernel="right_shift", vjp={}, samples=_SHIFTS, onnx={9: right_shift_form})
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input >> other``, element by element, with the sign kept; a shift below 0 counts as one by all bits."""

"""Logic on truth values, and on the bits of integers."""

from __future__ import annotations

from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.families import elementwise
from .arithmetic_onnx import bitwise_form, bitwise_not_form, left_shift_form, right_shift_form

Number = int | float | complex | bool


@primitive(meta=elementwise("bool"), kernel="logical_and", vjp={}, exact=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_or", vjp={}, exact=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether at least one of two elements is true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_xor", vjp={}, exact=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether just one of two elements is true; anything but 0 is true."""


@primitive(meta=elementwise("bool"), kernel="logical_not", vjp={}, exact=True)
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is false, that is 0."""


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_and", vjp={}, onnx=bitwise_form("And"))
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that two integers have in common; of truth values, the logical and."""


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_or", vjp={}, onnx=bitwise_form("Or"))
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that at least one of two integers has; of truth values, the logical or."""


@primitive(meta=elementwise(fast=(2, "any"), refuse="float"), kernel="bitwise_xor", vjp={}, onnx=bitwise_form("Xor"))
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that just one of two integers has; of truth values, the logical exclusive or."""


@primitive(meta=elementwise(refuse="float"), kernel="invert", vjp={}, onnx={9: bitwise_not_form})
def bitwise_not(input: Tensor) -> Tensor:
    """The bitwise complement of integers; of booleans, the logical not."""


@primitive(meta=elementwise(refuse="bool float"), kernel="left_shift", vjp={}, onnx={9: left_shift_form})
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input << other``, element by element; shifted by less than 0, or by all its bits, a number becomes 0."""


@primitive(meta=elementwise(refuse="bool float"), kernel="right_shift", vjp={}, onnx={9: right_shift_form})
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input >> other``, element by element, with the sign kept; a shift below 0 counts as one by all bits."""

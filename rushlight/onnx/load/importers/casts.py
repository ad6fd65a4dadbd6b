"""Conversions between element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...types import ONNX_NUMBERS
from .. import calls as rl
from ..elements import NARROW_INTEGERS, converted
from ..registry import STRING, NodeContext, dtype_of, importer
from ..strings import Strings
from .values import is_text

# Names of types in Cast's attribute before opset 6.
OLD_NAMES = {
    "FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "STRING": 8, "BOOL": 9, "FLOAT16": 10,
    "DOUBLE": 11, "UINT32": 12, "UINT64": 13, "COMPLEX64": 14, "COMPLEX128": 15,
}  # fmt: skip


def cast_to(x: Any, number: int, saturate: bool = True, round_mode: str = "up") -> Any:
    """A value as Cast converts it, from and to texts too."""
    if number == STRING:
        return x if is_text(x) else Strings(np.array([as_text(each) for each in x.reshape(-1)._array], object).reshape(x.shape))
    if is_text(x):
        parse = whole if is_whole(dtype_of(number)) else float
        x = rl.from_numpy(np.array([parse(each) for each in x.array.reshape(-1)]).reshape(x.shape))
    return converted(x, number, saturate, round_mode)


def is_whole(dtype: Any) -> bool:
    """Whether a dtype is one of integers."""
    return not dtype.is_floating_point and not dtype.is_complex and dtype is not rl.bool


def whole(text: str) -> int:
    """The integer that a text stands for."""
    try:
        return int(text)
    except ValueError:
        return int(float(text))


def as_text(number: Any) -> str:
    """A number in plain digits, as short as it can be for its type."""
    return str(number.item()) if number.dtype.kind in "biu" else str(number)


@importer("Cast")
def cast(node: NodeContext, x: Any) -> Any:
    to = node.get("to")
    number = OLD_NAMES[to] if isinstance(to, str) else to
    return cast_to(x, number, bool(node.get("saturate", 1)), node.get("round_mode", "up"))


@importer("CastLike")
def cast_like(node: NodeContext, x: Any, like: Any) -> Any:
    number = STRING if is_text(like) else node.input_type(1) or ONNX_NUMBERS[like.dtype.name]
    return cast_to(x, number, bool(node.get("saturate", 1)), node.get("round_mode", "up"))


@importer("BitCast")
def bit_cast(node: NodeContext, x: Any) -> Any:
    to = node.get("to")
    if to in NARROW_INTEGERS and node.input_type(0) in NARROW_INTEGERS:
        return converted(x, to)
    return x.view(dtype_of(to))

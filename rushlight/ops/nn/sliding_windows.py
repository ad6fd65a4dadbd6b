"""Windows that slide over the last dimensions: what convolutions, pooling and unfolding share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.declare import Op
from ...core.dtypes import LOW_PRECISION, legacy_name
from ...core.errors import ArgumentError, NotSupported, ShapeError
from ...core.families import plain_number
from ...core.symbolic import smaller

_INT = {int}
_FLOAT32 = np.dtype(np.float32)


class Checked:
    """Ops whose meta rule sees the arguments before the kernel does: NumPy would accept much that PyTorch refuses.

    Floats narrower than float32 are widened for the kernel; results get the types that the meta rule says.
    """

    __slots__ = ("meta",)

    def __init__(self, meta: Callable[..., Any]) -> None:
        self.meta = meta

    def __call__(self, op: Op, values: Sequence[Any]) -> Any:
        return self.meta(*values)

    def execute(self, op: Op, xp: Any, values: Sequence[Any]) -> Any:
        expected = self.meta(*values)
        prepared = list(values)
        for position, kind in op.tensor_positions:
            value = values[position]
            if kind.startswith("tensor") and value is not None and value.dtype in LOW_PRECISION:
                prepared[position] = value.astype(_FLOAT32)
        results = op.kernel(xp, *prepared)
        if op.returns is None:
            return results if results.dtype == expected.dtype else results.astype(expected.dtype)
        return [each if each.dtype == spec.dtype else each.astype(spec.dtype) for each, spec in zip(results, expected)]


def as_ints(value: Any, op: str, name: str) -> tuple[int, ...]:
    """An int or a sequence of ints, as a tuple."""
    values = tuple(map(plain_number, value if isinstance(value, (tuple, list)) else (value,)))
    for each in values:
        if isinstance(each, (bool, float, str)) or each is None:
            raise ArgumentError(f"{op}(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    return values


def expand_ints(value: Any, count: int, op: str, name: str) -> tuple[int, ...]:
    """One int for all dimensions, or one for each."""
    if value.__class__ is tuple and len(value) == count and set(map(type, value)) == _INT:
        return value  # type: ignore[no-any-return]
    values = as_ints(value, op, name)
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise ShapeError(
            f"{op}: expected {name} to be a single integer value or a list of {count} values to match the dimensions it "
            f"works on, but got {name}={list(values)}"
        )
    return values


def refuse_types(op: str, array: Any, kinds: str) -> None:
    """Raise for a dtype whose kind (NumPy's letter) is among those refused, as PyTorch does for types without a kernel."""
    if array.dtype.kind in kinds:
        raise NotSupported(f"\"{op}\" not implemented for '{legacy_name(array.dtype)}'")


def window_count(size: Any, kernel: Any, stride: Any, before: Any, after: Any, dilation: Any, ceil_mode: bool = False) -> Any:
    """How many windows fit in one dimension; in ceil mode the last may stick out, but must start inside."""
    room = size + before + after - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    return smaller((room + stride - 1) // stride + 1, (size + before - 1) // stride + 1)


def padded(xp: Any, array: Any, pads: Sequence[tuple[int, int]], fill: Any = 0) -> Any:
    """The last dimensions with a border before and after each; the array itself where there is none."""
    if not any(before or after for before, after in pads):
        return array
    lead = array.ndim - len(pads)
    shape = array.shape[:lead] + tuple(n + before + after for n, (before, after) in zip(array.shape[lead:], pads))
    result = xp.full(shape, fill, array.dtype) if fill else xp.zeros(shape, array.dtype)
    result[(..., *(slice(before, before + n) for n, (before, _) in zip(array.shape[lead:], pads)))] = array
    return result


def window_view(xp: Any, array: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]) -> Any:
    """A view ``(..., *kernel, *counts)`` of windows over the last dimensions: element (k, l) is at k·dilation + l·stride."""
    lead = array.ndim - len(kernel)
    steps = array.strides[lead:]
    return xp.lib.stride_tricks.as_strided(
        array,
        (*array.shape[:lead], *kernel, *counts),
        (
            *array.strides[:lead],
            *(step * d for step, d in zip(steps, dilation)),
            *(step * s for step, s in zip(steps, stride)),
        ),
    )


def adaptive_windows(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the windows of adaptive pooling begin and end."""
    steps = np.arange(count)
    return steps * size // max(count, 1), -(-(steps + 1) * size // max(count, 1))

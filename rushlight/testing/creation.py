"""`make_tensor`: a random tensor of a given shape and type, for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import rushlight
from rushlight import Tensor

from ..core import dtypes


def make_tensor(
    *shape: int | Sequence[int],
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random elements between `low` (included) and `high` (excluded).

    The default range is that of small numbers: 0 and 1 for booleans, 0 to 9 for unsigned integers, -9 to 9 for the
    others. `noncontiguous` gives a tensor whose last dimension has a stride of 2, `exclude_zero` makes zeros small
    positive numbers, and `memory_format` lays the elements out in another order.

        >>> import rushlight
        >>> rushlight.testing.make_tensor(2, 3, dtype=rushlight.float32, device="cpu").shape
        torch.Size([2, 3])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}")
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )

    spread = noncontiguous and math.prod(sizes) > 1  # type: ignore[arg-type]
    drawn = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes  # type: ignore[operator]
    result = _draw(drawn, dtype, low, high).to(device)
    if spread:
        result = result[..., 1::2]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if _integral(dtype) else _smallest(dtype)
    return result.requires_grad_(requires_grad) if requires_grad else result


def _integral(dtype: dtypes.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


def _smallest(dtype: dtypes.dtype) -> float:
    return rushlight.finfo(dtype.to_real()).tiny


def _limits(dtype: dtypes.dtype) -> tuple[float, float]:
    """The lowest value of the type, and the highest; an upper bound above it is needed to draw an integer of it."""
    if dtype is dtypes.bool_:
        return 0, 2
    if _integral(dtype):
        info = rushlight.iinfo(dtype)
        return info.min, min(info.max + 1, 2**63 - 1)
    limits = rushlight.finfo(dtype.to_real())
    return limits.min, limits.max


def _bounds(dtype: dtypes.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The range to draw from: what was asked for, cut to what the type can hold."""
    lowest, highest = _limits(dtype)
    if low is None:
        low = -9 if dtype.is_signed else 0
    if high is None:
        high = 2 if dtype is dtypes.bool_ else 10 if _integral(dtype) else 9
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low == high and not _integral(dtype):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated; use torch.full(...) instead",
            FutureWarning,
            stacklevel=5,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{lowest}, {highest})"
        )
    return max(low, lowest), min(high, highest)


def _draw(shape: Any, dtype: dtypes.dtype, low: float | None, high: float | None) -> Tensor:
    low, high = _bounds(dtype, low, high)
    if _integral(dtype):
        return rushlight.randint(math.ceil(low), math.ceil(high), shape, dtype=dtypes.int64).to(dtype)
    if dtype.is_complex:
        result = rushlight.empty(shape, dtype=dtype)
        _fill(rushlight.view_as_real(result), low, high)
        return result
    if dtype.itemsize == 1:  # numbers of 8 bits are not drawn as such
        return _fill(rushlight.empty(shape, dtype=dtypes.float32), low, high).to(dtype)
    return _fill(rushlight.empty(shape, dtype=dtype), low, high)


def _fill(result: Tensor, low: float, high: float) -> Tensor:
    """Draw every element between two bounds."""
    if high - low >= rushlight.finfo(result.dtype).max:  # uniform_ wants a range that its dtype can hold
        return result.uniform_(low / 2, high / 2).mul_(2)
    return result.uniform_(low, high)

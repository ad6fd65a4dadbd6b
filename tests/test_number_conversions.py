"""Numbers that a dtype can't hold: which of them are refused, wrap around or become infinite where they are written to tensors."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rushlight

HALVES = [(rushlight.float16, 70000), (rushlight.float16, 1e39), (rushlight.bfloat16, 1e39)]


@pytest.mark.parametrize(("dtype", "value"), HALVES)
def test_half_precision_becomes_infinite_in_single_elements_and_where_it_is_written(dtype: Any, value: float) -> None:
    assert rushlight.full((1,), -value, dtype=dtype).tolist() == [-math.inf]
    assert rushlight.full_like(rushlight.zeros(1, dtype=dtype), value).tolist() == [math.inf]
    assert rushlight.scalar_tensor(value, dtype=dtype).item() == math.inf
    for call in (lambda: rushlight.full((2,), value, dtype=dtype), lambda: rushlight.zeros(2, dtype=dtype).fill_(value)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()
    for key in (0, slice(0, 1), rushlight.tensor([True, False]), [0]):
        x = rushlight.zeros(2, dtype=dtype)
        x[key] = -value
        assert x.tolist() == [-math.inf, 0.0]


@pytest.mark.parametrize(("dtype", "value"), [*HALVES, (rushlight.float32, 1e39), (rushlight.int8, 300), (rushlight.uint8, -0.5)])
def test_other_ops_refuse_what_does_not_fit(dtype: Any, value: float) -> None:
    x = rushlight.zeros(2, dtype=dtype)
    for call in (
        lambda: x.masked_fill(rushlight.tensor([True, False]), value),
        lambda: x.index_fill(0, rushlight.tensor([0]), value),
        lambda: rushlight.nn.functional.pad(x, (1, 0), value=value),
        lambda: rushlight.linspace(0, value, 3, dtype=dtype),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()


def test_single_precision_is_refused_everywhere() -> None:
    x = rushlight.zeros(2)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(1e39)
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 1e39
    assert x.fill_(math.inf).tolist() == [math.inf, math.inf]


def test_negative_numbers_of_unsigned_types() -> None:
    x = rushlight.zeros(2, dtype=rushlight.uint8)
    x[0] = -1
    assert x.tolist() == [255, 0] and rushlight.linspace(0, -1, 3, dtype=rushlight.uint8).tolist() == [0, 127, 255]
    for value in (-1.0, -0.5):
        with pytest.raises(RuntimeError, match="without overflow"):
            x[0] = value
        with pytest.raises(RuntimeError, match="without overflow"):
            x.fill_(value)

"""Samples of the ops of ``ops/create/factories.py``."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..make import Sample, cases, samples


def _sizes(m: Any) -> list[Sample]:
    return [
        Sample(2, 3), Sample((0, 2)), Sample(()), Sample(2, dtype=np.dtype(np.int64)),
        Sample([2, 1], dtype=np.dtype(np.bool_)), Sample(size=(3,), dtype=np.dtype(np.complex64)),
        Sample(2, dtype=np.dtype(ml_dtypes.bfloat16)), Sample(np.int64(2), 3), Sample(-1), Sample(2.5), Sample(True),
        Sample(2**62), Sample(2**40, 2**40), Sample("a"), Sample([2] * 1_000),
        Sample(2, dtype=np.dtype(np.int64), requires_grad=True), Sample(2, requires_grad=True),
        Sample(2, dtype="float32"), Sample(2, dtype=int), Sample(2, pin_memory=True), Sample(2**62, device="meta"),
    ]  # fmt: skip


def _likes(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3)), Sample(m.integers(3)), Sample(m.real()), Sample(m.real(0, 2)), Sample(m.real(2, 3).T),
        Sample(m.real(4, 6)[:, ::2], gradient=False), Sample(m.complex(2)), Sample(m.booleans(3)),
        Sample(m.real(2, 3), dtype=np.dtype(np.int32)), Sample(m.integers(3), dtype=np.dtype(np.float16)),
        Sample(m.real(2, 3), requires_grad=True), Sample(3), Sample([1.0]),
    ]  # fmt: skip


def _compared(samples: Any, compare: bool) -> Any:
    """Samples, without comparison of values where these are whatever was in memory."""

    def build(m: Any) -> list[Sample]:
        found = samples(m)
        for sample in found:
            sample.compare = compare
        return found  # type: ignore[no-any-return]

    return cases(build)


samples("zeros", cases(_sizes))
samples("ones", cases(_sizes))
samples("empty", _compared(lambda m: [Sample(2, 3), Sample((0, 2)), Sample(()), Sample(2, dtype=np.dtype(np.int64))], False))
samples("zeros_like", cases(_likes))
samples("ones_like", cases(_likes))
samples("empty_like", _compared(lambda m: [Sample(m.real(2, 3)), Sample(m.real(2, 3).T), Sample(m.integers(2))], False))

samples("full", cases(
    lambda m: [
        Sample((2, 3), 1.5), Sample((2,), 3), Sample((), True), Sample((2,), 1.5, dtype=np.dtype(np.float64)),
        Sample([2], 1j), Sample((2,), 1.5, dtype=np.dtype(np.int32)), Sample((2,), -1, dtype=np.dtype(np.uint8)),
        Sample((2,), np.float64(2)), Sample((2,), 300, dtype=np.dtype(np.uint8)),
        Sample((2,), -256, dtype=np.dtype(np.uint8)), Sample((2,), 1e40),
        Sample((2,), 1j, dtype=np.dtype(np.float32)), Sample((2,), float("nan"), dtype=np.dtype(np.int64)),
        Sample((), float("inf"), dtype=np.dtype(np.float16)), Sample((2,), 70000, dtype=np.dtype(np.float16)),
        Sample((2,), np.array([3.0]), gradient=False), Sample(2, 1), Sample([2], "a"),
        Sample((2,), 3.5, dtype=np.dtype(np.bool_)), Sample((2,), 1.1, dtype=np.dtype(ml_dtypes.bfloat16)),
        Sample((-2,), 1), Sample((2,), 1 << 63), Sample((2,), 1 << 63, dtype=np.dtype(np.uint64)),
    ]
))  # fmt: skip

samples("full_like", cases(
    lambda m: [
        Sample(m.real(2, 3), 3), Sample(m.integers(3), 3.7), Sample(m.real(2, 3).T, 2.5), Sample(m.real(2), True),
        Sample(m.real(), 1), Sample(m.integers(2), 3j), Sample(m.real(2), 1e39),
        Sample(m.real(2), 1, dtype=np.dtype(np.bool_)), Sample(m.real(2), "a"),
    ]
))  # fmt: skip

samples("scalar_tensor", cases(lambda m: [Sample(3), Sample(2, dtype=np.dtype(np.int64)), Sample(True), Sample(3j)]))

samples("eye", cases(lambda m: [
    Sample(3), Sample(2, 3), Sample(3, m=2), Sample(0), Sample(0, 3), Sample(2, dtype=np.dtype(np.bool_)),
    Sample(-2), Sample(2, -3), Sample(2.5), Sample(2, dtype=np.dtype(np.int32)), Sample(2**40),
]))  # fmt: skip

samples(
    "empty_strided",
    _compared(
        lambda m: [Sample((2, 3), (1, 2)), Sample((2, 3), (10, 2)), Sample((2, 0), (1, 1)), Sample((2, 3), (0, 1))],
        False,
    ),
)

samples("empty_permuted", _compared(lambda m: [Sample((2, 3, 5), (0, 2, 1)), Sample((), ()), Sample((0, 2), (1, 0))], False))


def _news(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2), 2, 3), Sample(m.integers(2), (2,)), Sample(m.real(2), size=(0, 2)), Sample(m.booleans(1), ()),
        Sample(m.real(2), 2, dtype=np.dtype(np.int64)), Sample(m.real(2), -1), Sample(m.real(2), 2.5),
    ]  # fmt: skip


samples("new_zeros", _compared(_news, True))
samples("new_ones", _compared(_news, True))
samples("new_empty", _compared(lambda m: _news(m)[:4], False))
samples("new_empty_strided", _compared(lambda m: [Sample(m.real(2), (2, 3), (1, 2)), Sample(m.integers(2), (2,), (3,))], False))

samples("new_full", cases(lambda m: [
    Sample(m.real(2), (2, 3), 3), Sample(m.integers(2), (2,), 3.5), Sample(m.real(2), (2,), 3j),
    Sample(m.real(2), (), True), Sample(m.real(2), (2,), 2, dtype=np.dtype(np.int64)),
]))  # fmt: skip

"""Samples of the ops of ``ops/nn/pooling.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Maker, Sample, SampleMaker, cases, refused, samples


def _small(m: Maker, ndim: int, lead: tuple[int, ...], *sizes: int, dtype: Any = np.float32) -> np.ndarray:
    """Distinct numbers with ``ndim`` dimensions after the leading ones."""
    return m.apart(*lead, *sizes[-ndim:], dtype=dtype)


def _max_samples(ndim: int) -> Any:
    def build(m: Maker) -> list[Sample]:
        n = ndim
        holes = _small(m, n, (1, 1), 3, 4, 5)
        holes.reshape(-1)[::3] = np.nan
        depths = np.full((1, 1, *(4, 4, 4)[-n:]), -np.inf, np.float32)
        return [
            Sample(_small(m, n, (2, 2), 2, 4, 5), 2),
            Sample(_small(m, n, (2,), 2, 4, 5), 2, 1),
            Sample(_small(m, n, (1, 2), 3, 4, 5), 3, 2, 1),
            Sample(_small(m, n, (1, 1), 3, 4, 6), 2, 1, 1, 2),
            Sample(_small(m, n, (1, 1), 4, 4, 6), 3, 2, ceil_mode=True),
            Sample(_small(m, n, (1, 1), 2, 5, 6), 2, 2, 1, ceil_mode=True),
            Sample(_small(m, n, (1, 1), 3, 4, 6), (2, 1, 3)[-n:], stride=(1, 2, 2)[-n:], padding=(1, 0, 1)[-n:]),
            Sample(_small(m, n, (2, 1), 3, 4, 6).swapaxes(0, -1), [2], stride=[]),
            Sample(_small(m, n, (0, 2), 3, 4, 6), 2),
            Sample(holes, 2, 1, gradient=False),
            Sample(depths, 3, 2, 1, gradient=False),
            Sample(_small(m, n, (1, 2), 2, 3, 4, dtype=np.float64), 2),
            Sample(_small(m, n, (1, 2), 2, 3, 4, dtype=np.float16), 2, gradient=False),
            Sample(np.zeros((1, 1, *(3, 4, 5)[-n:]), np.float32), 2, 1, gradient=False),
            refused(m.integers(1, 1, *(3, 4, 5)[-n:]), 2, 1, 1),
            refused(m.booleans(1, 2, *(2, 3, 4)[-n:]), 2),
            refused(m.complex(1, 2, *(2, 3, 4)[-n:]), 2),
            refused(_small(m, n, (1, 2), 2, 3, 4), 9),
            refused(_small(m, n, (1, 2), 2, 3, 4), 0),
            refused(_small(m, n, (1, 2), 2, 3, 4), 2, 0),
            refused(_small(m, n, (1, 2), 2, 3, 4), 2, 1, 2),
            refused(_small(m, n, (1, 2), 2, 3, 4), 2, 1, -1),
            refused(_small(m, n, (1, 2), 2, 3, 4), 2, 1, 0, 0),
            refused(_small(m, n, (1, 2), 2, 3, 4), (2, 2, 2, 2)),
            refused(_small(m, n, (1, 2), 2, 3, 4), 2, (1, 1, 1, 1)),
            refused(_small(m, n, (1, 2), 2, 3, 4), 1.5),
            refused(_small(m, n, (1, 2, 1, 1), 2, 3, 4), 2),
            refused(_small(m, n, (1, 0), 2, 3, 4), 2),
        ]

    return cases(build)


def _average_samples(ndim: int) -> Any:
    def build(m: Maker) -> list[Sample]:
        n = ndim
        size = (3, 4, 5)[-n:]
        found = [
            Sample(m.real(2, 2, *size), 2),
            Sample(m.real(2, *size), 2, 1),
            Sample(m.real(1, 2, *size), 3, 2, 1),
            Sample(m.real(1, 2, *size), 3, 2, 1, False, False),
            Sample(m.real(1, 1, *size), 2, 2, 1, True),
            Sample(m.real(1, 1, *size), 3, 3, 1, True, False),
            Sample(m.real(1, 1, *(4, 4, 6)[-n:]), (2, 1, 3)[-n:], stride=(1, 2, 2)[-n:], padding=(1, 0, 1)[-n:], ceil_mode=True),
            Sample(m.real(2, 1, *size).swapaxes(0, -1), [2], stride=[]),
            Sample(m.real(0, 2, *size), 2),
            Sample(m.real(1, 2, *size, dtype=np.float64), 2),
            Sample(m.integers(1, 2, *size), 2, 2, 1, gradient=False),
            refused(m.integers(1, 2, *size, dtype=np.uint8, low=0), 2),
            refused(m.booleans(1, 2, *size), 2),
            refused(m.real(1, 2, *size), 9),
            refused(m.real(1, 2, *size), 2, 0),
            refused(m.real(1, 2, *size), 2, 1, 2),
            refused(m.real(1, 2, *size), (2, 2, 2, 2)),
            refused(m.real(1, 2, 1, 1, *size), 2),
        ]
        if n == 2:
            found.append(Sample(m.real(1, 2, *size, dtype=np.float16), 2, gradient=False))
        if n > 1:
            found.append(Sample(m.real(1, 2, *size), 2, 1, divisor_override=3))
            found.append(Sample(m.real(1, 2, *size), 2, 1, 1, True, False, -2))
            found.append(refused(m.real(1, 2, *size), 2, divisor_override=0))
        return found

    return cases(build)


samples("avg_pool1d", _average_samples(1))


def _max_front(ndim: int) -> SampleMaker:
    return cases(lambda m: [
        Sample(_small(m, ndim, (1, 2), 3, 4, 5), 2),
        Sample(_small(m, ndim, (1, 2), 3, 4, 5), 3, 2, 1, 1, True, True),
        Sample(_small(m, ndim, (1, 2), 3, 4, 5), 2, stride=1, return_indices=True),
    ])  # fmt: skip


def _norms(ndim: int) -> SampleMaker:
    return cases(lambda m: [
        Sample(m.real(1, 2, *(3, 4, 5)[-ndim:], low=0.2), 2, 2, gradient=False),
        Sample(m.real(1, 2, *(3, 4, 5)[-ndim:], low=0.2), 3.0, 3, 1),
        Sample(m.real(1, 2, *(3, 4, 5)[-ndim:], low=0.2), 1.5, 2, stride=2, ceil_mode=True),
        Sample(m.real(2, *(3, 4, 5)[-ndim:], low=0.2), 2, 2, 1),
        refused(m.real(1, 2, *(3, 4, 5)[-ndim:]), 2, 9),
    ])  # fmt: skip


for _ndim in (1, 2, 3):
    samples(f"max_pool{_ndim}d", _max_samples(_ndim))
    samples(f"max_pool{_ndim}d_with_indices", _max_samples(_ndim))
    samples(f"nn_functional_max_pool{_ndim}d", _max_front(_ndim))
    samples(f"lp_pool{_ndim}d", _norms(_ndim))
for _ndim in (2, 3):
    samples(f"avg_pool{_ndim}d", _average_samples(_ndim))

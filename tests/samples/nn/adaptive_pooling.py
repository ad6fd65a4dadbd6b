"""Samples of the ops of ``ops/nn/adaptive_pooling.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..make import Maker, Sample, SampleMaker, cases, refused, samples


def _adaptive_samples(ndim: int, with_indices: bool) -> Any:
    def build(m: Maker) -> list[Sample]:
        n = ndim
        some = m.apart if with_indices else m.real
        holes = m.apart(1, 1, *(3, 4, 5)[-n:])
        holes.reshape(-1)[::4] = np.nan
        found = [
            Sample(some(2, 2, *(3, 4, 5)[-n:]), 2),
            Sample(some(2, *(2, 4, 6)[-n:]), 2),
            Sample(some(1, 1, *(3, 4, 5)[-n:]), (2, 1, 3)[-n:]),
            Sample(some(1, 2, *(3, 4, 5)[-n:]), 1),
            Sample(some(1, 1, *(2, 2, 3)[-n:]), (3, 2, 4)[-n:]),
            Sample(some(3, 1, *(2, 2, 5)[-n:]).swapaxes(0, 1), [2] * n),
            Sample(some(0, 2, *(3, 4, 5)[-n:]), 2),
            Sample(some(1, 2, *(3, 4, 5)[-n:]), 0, gradient=False),
            Sample(holes, 2, gradient=False),
            Sample(some(1, 2, *(3, 4, 5)[-n:], dtype=np.float64), 3),
            Sample(some(1, 2, *(3, 4, 5)[-n:], dtype=np.float16), 3, gradient=False),
            refused(m.integers(1, 2, *(3, 4, 5)[-n:]), 2),
            refused(some(*(3, 4, 5)[-n:]), 2),
            refused(some(1, 1, 1, *(3, 4, 5)[-n:]), 2),
            refused(some(1, 1, *(3, 4, 5)[-n:]), (2,) * (n + 1)),
            refused(some(1, 1, *(3, 4, 5)[-n:]), -1),
            refused(some(1, 1, *(3, 0, 5)[-n:]) if n > 1 else some(1, 1, 0), 2),
            refused(some(1, 1, *(3, 4, 5)[-n:]), 1.5),
        ]
        if n > 1:
            found.append(Sample(some(1, 1, *(3, 4, 5)[-n:]), (2, None, 2)[-n:]))
        return found

    return cases(build)


def _of_front(ndim: int) -> SampleMaker:
    return cases(lambda m: [
        Sample(m.apart(1, 2, *(3, 4, 5)[-ndim:]), 2),
        Sample(m.apart(1, 2, *(3, 4, 5)[-ndim:]), 2, return_indices=True),
    ])  # fmt: skip


def _fractional(ndim: int) -> Callable[[Maker], list[Sample]]:
    size = (5, 6, 5)[-ndim:]

    def build(m: Maker) -> list[Sample]:
        one = m.real(1, 2, ndim, low=0, high=1)
        return [
            Sample(m.apart(1, 2, *size), 2, 3, None, False, one),
            Sample(m.apart(2, *size), (2, 3, 1)[-ndim:], (2, 3, 4)[-ndim:], None, True, one),
            Sample(m.apart(1, 2, *size), 2, output_ratio=(0.5,) * ndim, _random_samples=one),
            Sample(m.apart(1, 2, *size), 2, 1, _random_samples=one),
            Sample(m.apart(2, 1, *size), 2, 3, None, True, m.real(2, 1, ndim, low=0, high=1)),
            Sample(m.apart(1, 2, *size), 2, 3, None, True, compare=False, gradient=False),  # its samples are random
            refused(m.apart(1, 2, *size), 2, _random_samples=one),
            refused(m.apart(1, 2, *size), 2, 6, _random_samples=one),
            refused(m.apart(*size), 2, 3, _random_samples=one),
            refused(m.apart(1, 1, *size), 2, 3, _random_samples=one),
            refused(m.apart(1, 2, *size, dtype=np.float64), 2, 3, _random_samples=one),
            refused(m.integers(1, 2, *size), 2, 3, _random_samples=m.integers(1, 2, ndim)),
            refused(m.apart(1, 2, *size), (2,), 3, _random_samples=one),
        ]

    return build


def _unpool(ndim: int) -> SampleMaker:
    size = (2, 2, 3)[-ndim:]
    places = 2 ** (ndim - 1) * 4 * 6

    def build(m: Maker) -> list[Sample]:
        def pair(*lead: int) -> tuple[np.ndarray, np.ndarray]:
            shape = (*lead, *size)
            count = int(np.prod(size))
            order = [m.stream.permutation(places // 3)[:count] for _ in range(int(np.prod(lead)))]
            return m.real(*shape), np.array(order, np.int64).reshape(shape)

        values, indices = pair(1, 2)
        wide = tuple(2 * n + 1 for n in size)
        return [
            Sample(values, indices % (2**ndim * int(np.prod(size))), 2),
            Sample(*pair(2), 3, 3),
            Sample(*pair(1, 1), 3, 3, output_size=tuple(3 * n + 1 for n in size)),
            Sample(values, indices, 4, 3, 1, output_size=(1, 2, *(3 * n for n in size))),
            refused(values, indices + 500, 2),
            refused(values, indices - 500, 2),
            refused(values, indices.astype(np.int32), 2),
            refused(values, indices[..., :1], 2),
            refused(values, indices, 2, output_size=(1, *wide)),
            refused(values, indices, 2, output_size=tuple(n + 9 for n in wide)),
            refused(m.integers(1, 2, *size), indices, 2),
            refused(values[0, 0], indices[0, 0], 2),
        ]

    return cases(build)


for _ndim in (1, 2, 3):
    samples(f"adaptive_avg_pool{_ndim}d", _adaptive_samples(_ndim, False))
    samples(f"adaptive_max_pool{_ndim}d_with_indices", _adaptive_samples(_ndim, True))
    samples(f"adaptive_max_pool{_ndim}d", _of_front(_ndim))
    samples(f"max_unpool{_ndim}d", _unpool(_ndim))
for _ndim in (2, 3):
    samples(f"fractional_max_pool{_ndim}d_with_indices", cases(lambda m, ndim=_ndim: _fractional(ndim)(m)[:2]))
    samples(f"fractional_max_pool{_ndim}d", cases(_fractional(_ndim)))

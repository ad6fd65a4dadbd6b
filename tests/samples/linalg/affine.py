"""Samples of the ops of ``ops/linalg/affine.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _added_samples(input: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], wrong: tuple[int, ...]) -> Any:
    return cases(lambda m: [
        Sample(m.real(*input), m.real(*a), m.real(*b)),
        Sample(m.real(*input), m.real(*a), m.real(*b), beta=0.5, alpha=-2),
        Sample(m.real(), m.real(*a), m.real(*b), alpha=0.5),
        Sample(m.real(*input[-1:]), m.real(*a), m.real(*b), beta=3),
        Sample(m.complex(*input), m.complex(*a), m.complex(*b), beta=1 + 2j, alpha=2j),
        Sample(m.real(*input) * np.float32(np.nan), m.real(*a), m.real(*b), beta=0, gradient=False),
        Sample(m.integers(*input), m.integers(*a), m.integers(*b), beta=2, alpha=3, gradient=False),
        refused(m.real(*input), m.real(1, *a[1:]), m.real(*b)) if len(a) == 3 else refused(m.real(1, *input), m.real(*a), m.real(*b)),
        Sample(m.real(*input, dtype=np.float16), m.real(*a, dtype=np.float16), m.real(*b, dtype=np.float16), gradient=False),
        refused(m.real(*input), m.real(*a), m.real(*b), beta=1j),
        refused(m.real(*input), m.real(*a), m.real(*wrong)),
        refused(m.real(7), m.real(*a), m.real(*b)),
        refused(m.real(*input, dtype=np.float64), m.real(*a), m.real(*b)),
    ])  # fmt: skip


samples("addmm", _added_samples((2, 4), (2, 3), (3, 4), (2, 4)))
samples("addmv", _added_samples((2,), (2, 3), (3,), (2,)))
samples("baddbmm", _added_samples((2, 1, 2), (2, 1, 3), (2, 3, 2), (2, 2, 2)))
samples("addbmm", _added_samples((2, 4), (2, 2, 3), (2, 3, 4), (3, 3, 4)))

samples("addr", cases(lambda m: [
    Sample(m.real(2, 3), m.real(2), m.real(3)), Sample(m.real(3), m.real(2), m.real(3), beta=0.5, alpha=-2),
    Sample(m.real(2, 3) * np.float32(np.nan), m.real(2), m.real(3), beta=0, gradient=False),
    Sample(m.complex(2, 2), m.complex(2), m.complex(2), alpha=2j),
    Sample(m.integers(2, 3), m.integers(2), m.real(3), gradient=False),
    Sample(m.booleans(2, 3), m.booleans(2), m.booleans(3), gradient=False),
    refused(m.real(2, 4), m.real(2), m.real(3)), refused(m.real(2, 3), m.real(2, 1), m.real(3)),
    refused(m.integers(2, 3), m.integers(2), m.integers(3), beta=0.5),
]))  # fmt: skip

samples("linear", cases(lambda m: [
    Sample(m.real(2, 3), m.real(4, 3), m.real(4)), Sample(m.real(2, 3), m.real(4, 3)),
    Sample(m.real(3), m.real(4, 3), m.real(4)),
    Sample(m.real(2, 2, 3), m.real(1, 3), m.real(1)), Sample(m.real(2, 3), m.real(3)),
    Sample(m.real(2, 2, 3), m.real(3)),
    Sample(m.real(0, 3), m.real(2, 3), m.real(2)), Sample(m.real(2, 3), m.real(3, 4).T, m.real()),
    Sample(m.complex(2, 3), m.complex(2, 3), m.complex(2)),
    Sample(m.real(2, 3, dtype=np.float16), m.real(4, 3, dtype=np.float16), m.real(4, dtype=np.float16), gradient=False),
    Sample(m.integers(2, 3), m.integers(4, 3), gradient=False),
    refused(m.real(2, 3), m.real(4, 5), m.real(4)), refused(m.real(2, 3), m.real(4, 3), m.real(5)),
    refused(m.real(2, 3), m.real(4, 3), m.real(4, dtype=np.float64)),
    refused(m.real(2, 3), m.real(4, 3, dtype=np.float64)),
    refused(m.real(2, 3), m.real(2, 4, 3)), refused(m.real(), m.real(4, 3)),
    refused(m.real(2, 3), m.real(3), m.real()),
]))  # fmt: skip

samples("bilinear", cases(lambda m: [
    Sample(m.real(2, 3), m.real(2, 4), m.real(2, 3, 4), m.real(2)), Sample(m.real(3), m.real(4), m.real(2, 3, 4)),
    Sample(m.real(2, 2, 3), m.real(2, 2, 1), m.real(2, 3, 1)),
    refused(m.real(2, 3), m.real(3, 4), m.real(2, 3, 4)), refused(m.real(2, 3), m.real(2, 4), m.real(2, 2, 4)),
    refused(m.real(2, 3), m.real(2, 4), m.real(2, 3, 4), m.real(4)),
]))  # fmt: skip

"""Samples of the ops of ``ops/linalg/distances.py``."""

from __future__ import annotations

import math

import numpy as np

from ..make import Sample, cases, refused, samples

samples("cdist", cases(lambda m: [
    *(Sample(m.real(3, 2), m.real(2, 2), p=p) for p in (1.0, 2.0, 3.0, 1.5, 0.5, math.inf)),
    Sample(m.real(3, 2), m.real(2, 2)),
    Sample(m.real(2, 3, 2), m.real(2, 2)), Sample(m.real(2, 1, 3, 2), m.real(3, 2, 2), 2.0),
    Sample(m.real(3, 2), m.real(2, 2), p=0.0, gradient=False),
    Sample(m.real(3, 2), m.real(2, 2), compute_mode="use_mm_for_euclid_dist"),
    Sample(m.real(2, 3, 2), m.real(2, 2, 2), compute_mode="use_mm_for_euclid_dist"),
    Sample(m.real(3, 2), m.real(2, 2), compute_mode="donot_use_mm_for_euclid_dist"),
    Sample(m.real(2, 0), m.real(3, 0), gradient=False),
    Sample(m.real(0, 2), m.real(3, 2)), Sample(m.real(3, 2, dtype=np.float64), m.real(2, 2, dtype=np.float64)),
    refused(m.real(2, 3), m.real(2, 2)), refused(m.real(3), m.real(2, 3)),
    refused(m.real(2, 3), m.real(2, 3), p=-1.0), refused(m.integers(2, 3), m.integers(2, 3)),
    refused(m.real(2, 3, dtype=np.float16), m.real(2, 3, dtype=np.float16)),
    refused(m.complex(2, 3), m.complex(2, 3)), refused(m.real(2, 3), m.real(2, 3), compute_mode="x"),
    refused(m.real(2, 3), m.real(2, 3, dtype=np.float64)),
]))  # fmt: skip

samples("pdist", cases(lambda m: [
    *(Sample(m.real(4, 2), p) for p in (1.0, 2.0, 3.0, 0.5, math.inf)), Sample(m.real(4, 2)),
    Sample(m.real(1, 2), gradient=False), Sample(m.real(0, 2), gradient=False),
    Sample(m.real(3, 2), 0.0, gradient=False), refused(m.real(4, 3, 2)), refused(m.real(4, 3), -1.0),
    refused(m.integers(3, 2)), refused(m.real(3)),
]))  # fmt: skip

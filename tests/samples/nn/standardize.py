"""Samples of the ops of ``ops/nn/standardize.py``."""

from __future__ import annotations

from ..make import Sample, cases, samples

samples("standardize", cases(lambda m: [Sample(m.real(3, 4), (1,), 1e-5), Sample(m.real(2, 3, 4), (0, 2), 1e-3)]))
samples("scale_shift", cases(lambda m: [Sample(m.real(2, 3), m.real(3), m.real(3)), Sample(m.real(2, 3, 2), m.real(3, 1), m.real(3, 1))]))

"""Samples of the ops of ``ops/index/masking.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples, together

samples("masked_fill", cases(lambda m: [
    Sample(m.real(2, 3), m.booleans(2, 3), 1.5),
    Sample(m.real(2, 3), m.booleans(2, 3), m.real()),
    Sample(m.real(2, 3), m.booleans(3), -1),
    Sample(m.real(2, 3), m.booleans(4, 1, 3), m.real(dtype=np.float64)),
    Sample(m.real(3, 2, 2).transpose(2, 0, 1), m.booleans(2, 3, 2), float("-inf"), gradient=False),
    Sample(m.real(), np.array(True), 2.0),
    Sample(m.real(0, 3), m.booleans(3), 2.0),
    Sample(m.real(4, dtype=np.float16), m.booleans(4), float("-inf"), gradient=False),
    Sample(m.integers(4), m.booleans(4), 1.5, gradient=False),
    Sample(m.integers(4, dtype=np.uint8), m.booleans(4), -1, gradient=False),
    Sample(m.booleans(4), m.booleans(4), 2, gradient=False),
    Sample(m.complex(2, 2), m.booleans(2, 2), 1 + 2j),
    Sample(m.complex(2, 2), m.booleans(2, 2), m.complex()),
    Sample(m.real(2, 3), m.integers(2, 3), 1.0, gradient=False),
    Sample(m.real(2, 3), m.booleans(2, 3), m.real(1), gradient=False),
    Sample(m.real(2, 3), m.booleans(4), 1.0, gradient=False),
    Sample(m.real(2, 3, dtype=np.float16), m.booleans(3), 1e10, gradient=False),
    Sample(m.integers(3), np.array([True, False, True]), float("nan"), gradient=False),
    Sample(m.real(3), np.array([True, False, True]), 1j, gradient=False),
]))  # fmt: skip

samples("masked_select", cases(lambda m: [
    Sample(m.real(2, 3), m.booleans(2, 3)),
    Sample(m.real(2, 3), np.array([True, False, True])),
    Sample(m.real(3), m.booleans(2, 1)),
    Sample(m.real(3, 2).T, m.booleans(2, 3)),
    Sample(m.real(), np.array(True)),
    Sample(m.real(), np.array(False)),
    Sample(m.complex(4), m.booleans(4)),
    Sample(m.integers(4), m.booleans(4), gradient=False),
    Sample(m.booleans(4), m.booleans(4), gradient=False),
    Sample(m.real(4, dtype=np.float16), m.booleans(4), gradient=False),
    Sample(m.real(2, 3), m.integers(2, 3), gradient=False),
    Sample(m.real(2, 3), m.booleans(2), gradient=False),
]))  # fmt: skip

samples("masked_scatter", cases(lambda m: [
    Sample(m.real(2, 3), m.booleans(2, 3), m.real(6)),
    Sample(m.real(2, 3), np.array([True, False, True]), m.real(2, 4)),
    Sample(m.real(3), m.booleans(2, 1), m.real(3, 3).T),
    Sample(m.real(), np.array(True), m.real()),
    Sample(m.complex(3), m.booleans(3), m.complex(3)),
    Sample(m.integers(3), m.booleans(3), m.integers(3), gradient=False),
    Sample(m.real(2, 3), np.ones((2, 3), np.bool_), m.real(5), gradient=False),
    Sample(m.real(2, 3), m.booleans(2, 3), m.real(6, dtype=np.float64), gradient=False),
    Sample(m.real(2, 3), m.integers(2, 3), m.real(6), gradient=False),
]))  # fmt: skip

_nonzero_samples = cases(lambda m: [
    Sample(m.integers(2, 3, low=0, high=2)),
    Sample(m.booleans(3, 2).T),
    Sample(np.array([0.0, -0.0, np.nan, 1.0], np.float32)),
    Sample(np.array([0, 1j, 1, 0], np.complex64)),
    Sample(np.array(3.0)),
    Sample(np.array(0.0)),
    Sample(np.zeros((2, 0), np.float32)),
    Sample(np.zeros((3, 2), np.float32)),
    Sample(np.array([0, 1, 0.5], np.float16)),
])  # fmt: skip

samples(
    "nonzero",
    together(
        _nonzero_samples,
        lambda op: [Sample(*each.args, as_tuple=True) for each in _nonzero_samples(op)],
    ),
)

samples("argwhere", _nonzero_samples)

samples("nonzero_static", cases(lambda m: [
    Sample(m.integers(2, 3, low=0, high=2), size=4),
    Sample(m.integers(6, low=0, high=2), size=8, fill_value=7),
    Sample(m.booleans(2, 3), size=1),
    Sample(np.array(3.0), size=2),
    Sample(m.booleans(3), size=-1),
]))  # fmt: skip

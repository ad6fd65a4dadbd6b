"""Samples of the ops of ``ops/nn/attention.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

samples("attention", cases(lambda m: [
    Sample(m.real(2, 3, 4), m.real(2, 5, 4), m.real(2, 5, 2), None, False, 0.5),
    Sample(m.real(2, 3, 4), m.real(1, 3, 4), m.real(3, 2), None, True, 0.5),
    Sample(m.real(3, 4), m.real(3, 4), m.real(3, 2), m.real(3, 3), False, 0.5),
    Sample(m.real(3, 4), m.real(3, 4), m.real(3, 2), np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool), False, 0.5),
]))  # fmt: skip

samples("scaled_dot_product_attention", cases(lambda m: [
    Sample(m.real(2, 3, 4), m.real(2, 5, 4), m.real(2, 5, 4)), Sample(m.real(1, 2, 3, 4), m.real(1, 2, 3, 4), m.real(1, 2, 3, 2), is_causal=True),
    Sample(m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 4), m.booleans(3, 3) | True, scale=0.3),
    Sample(m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 3)),
    Sample(m.real(1, 4, 2, 2), m.real(1, 2, 2, 2), m.real(1, 2, 2, 2), enable_gqa=True),
    Sample(m.real(3, 4), m.real(3, 5), m.real(3, 4), gradient=False),
]))  # fmt: skip

"""Samples of the ops of ``ops/random/implicit_gradients.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, samples

samples("_standard_gamma_grad", cases(lambda m: [
    Sample(m.real(2, 3, low=0.5, high=4), m.real(2, 3, low=0.5, high=4), compare=False, gradient=False),
    Sample(m.real(2, 1, low=0.5, high=4), m.real(3, low=0.5, high=4), compare=False, gradient=False),
    Sample(m.real(0), m.real(0), gradient=False),
    Sample(m.real(2, low=1), m.real(2, low=1, dtype=np.float64), gradient=False),
    Sample(m.integers(2), m.integers(2), gradient=False),
    Sample(m.real(2, low=1, dtype=np.float16), m.real(2, low=1, dtype=np.float16), gradient=False),
]))  # fmt: skip

samples("_dirichlet_grad", cases(lambda m: [
    Sample(m.real(2, 3, low=0.1, high=0.9), m.real(2, 3, low=0.5, high=2), m.real(2, 3, low=3, high=4), compare=False, gradient=False),
    Sample(m.real(0), m.real(0), m.real(0), gradient=False),
    Sample(m.real(2, low=0.1, high=0.9), m.integers(2), m.real(2), gradient=False),
    Sample(m.integers(2), m.integers(2), m.integers(2), gradient=False),
]))  # fmt: skip

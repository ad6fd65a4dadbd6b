"""Samples of the ops of ``ops/linalg/lobpcg.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _problem(m: Any) -> Any:
    """Symmetric matrices whose eigenvalues lie well apart."""
    vectors = np.linalg.qr(m.real(9, 9, dtype=np.float64))[0]
    return vectors @ np.diag([1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 29.0, 37.0]) @ vectors.T


samples("lobpcg", cases(lambda m: [
    # The vectors have no sign of their own; tests/test_linalg_iterative.py compares the rest.
    Sample(_problem(m), 2, compare=False, gradient=False),
    Sample(_problem(m).astype(np.float32), k=1, largest=False, compare=False, gradient=False),
    refused(_problem(m), k=4), refused(m.real(2, 3), k=1), refused(_problem(m), X=m.real(8, 2, dtype=np.float64)),
    refused(_problem(m).astype(np.float16)), refused(_problem(m).astype(np.int64)), refused(m.real(3)),
]))  # fmt: skip

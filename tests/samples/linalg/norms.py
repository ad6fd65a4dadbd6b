"""Samples of the ops of ``ops/linalg/norms.py``."""

from __future__ import annotations

import numpy as np

from rushlight.ops.linalg.norms import INFINITY

from ..make import Maker, Sample, cases, refused, samples


def uneven(m: Maker, *shape: int) -> np.ndarray:
    """Numbers of different size, whatever their sign: the largest is one alone."""
    return m.apart(*shape) + np.float32(0.03)


def _vector_norm_samples(m: Maker) -> list[Sample]:
    orders = (1, 2, 3, 0.5, 1.5, 2.5, -1, INFINITY, -INFINITY)
    found = [Sample(uneven(m, 2, 3), order) for order in orders]
    found += [Sample(uneven(m, 2, 3), order, 1) for order in orders]
    found += [
        Sample(uneven(m, 2, 3), 0, gradient=False), Sample(uneven(m, 2, 3, 2), 2, (0, -1), True),
        Sample(uneven(m, 2, 3).T, 2, dim=0),
        Sample(uneven(m, 2, 3), keepdim=True), Sample(m.real(low=0.5)), Sample(m.real(0, 3)),
        Sample(m.real(0, 3), INFINITY, 1),
        Sample(m.complex(2, 3)), Sample(m.complex(2, 3), 1, 0), Sample(m.complex(2, 3), 3, 1),
        Sample(m.complex(2, 3), INFINITY),
        Sample(uneven(m, 2, 3), 2, ()), Sample(uneven(m, 2, 3), dtype=np.dtype(np.float64)),
        Sample(np.zeros((2, 2), np.float32), gradient=False), Sample(m.real(2, 3, dtype=np.float16), gradient=False),
        Sample(np.array([1.0, np.nan, 2.0], np.float32), INFINITY, gradient=False),
        refused(m.integers(2, 3)), refused(m.real(0, 3), INFINITY), refused(m.real(0, 3), -1),
        refused(m.real(2, 3), 2, (0, 0)),
        refused(m.real(2, 3), 2, 5), refused(m.real(2, 3), "fro"), refused(m.real(2, 3), dtype=np.dtype(np.float16)),
        refused(m.real(2, 3), dtype=np.dtype(np.complex64)), refused(m.real(2, 3), dtype=np.dtype(np.int64)),
        refused(m.real(2), 1j),
    ]  # fmt: skip
    return found


samples("linalg_vector_norm", cases(_vector_norm_samples))

samples("linalg_matrix_norm", cases(lambda m: [
    *(Sample(uneven(m, 2, 3), order) for order in ("fro", "nuc", 1, -1, 2, -2, INFINITY, -INFINITY)),
    *(Sample(uneven(m, 2, 2, 3).transpose(1, 0, 2), order, (0, 2), True) for order in ("fro", "nuc", 1, -1, 2, -2, INFINITY)),
    Sample(uneven(m, 2, 2, 3), 1, (-1, 0)), Sample(uneven(m, 2, 2, 3), "nuc", (2, 0)), Sample(m.complex(2, 3)),
    Sample(m.complex(2, 2), "nuc"),
    Sample(m.complex(2, 3), 1), Sample(uneven(m, 2, 3), 1, dtype=np.dtype(np.float64)),
    Sample(m.real(0, 3), gradient=False),
    Sample(m.real(2, 3, dtype=np.float16), 1, gradient=False), Sample(m.real(0, 3), 1, gradient=False),
    refused(m.real(3)), refused(m.real(2, 3), 3), refused(m.real(2, 3), "x"), refused(m.real(2, 3), "fro", (0, 0)),
    refused(m.integers(2, 3)), refused(m.real(2, 3), dim=0), refused(m.real(2, 3, dtype=np.float16), 2),
    refused(m.real(2, 3), None),
]))  # fmt: skip

samples("linalg_norm", cases(lambda m: [
    Sample(uneven(m, 2, 3)), Sample(uneven(m, 2, 3, 2)), Sample(uneven(m, 2, 3), 2), Sample(uneven(m, 2, 3), "fro"),
    Sample(uneven(m, 3), 3),
    Sample(uneven(m, 2, 3), 1), Sample(uneven(m, 2, 3), 1, 0), Sample(uneven(m, 2, 3, 2), None, (0, 1), True),
    Sample(uneven(m, 2, 3, 2), "nuc", (0, 1)),
    Sample(uneven(m, 2, 3), dtype=np.dtype(np.float64)), Sample(uneven(m, 2, 3, 2), keepdim=True),
    Sample(m.complex(2, 2), INFINITY),
    Sample(uneven(m, 2, 3), 3, (1,)), refused(m.real(2, 3, 2), 2), refused(m.real(3), "fro"),
    refused(m.real(2, 3, 2), None, (0, 1, 2)),
    refused(m.real(2, 3), "nuc", 1), refused(m.integers(2, 3)),
]))  # fmt: skip

samples(
    "nuclear_norm",
    cases(
        lambda m: [
            Sample(uneven(m, 2, 3)),
            Sample(uneven(m, 2, 2, 3), (0, 2), True),
            Sample(uneven(m, 2, 3), keepdim=True),
        ]
    ),
)

samples("norm_except_dim", cases(lambda m: [Sample(uneven(m, 2, 3, 2)), Sample(uneven(m, 2, 3), 1, 1), Sample(uneven(m, 2, 3), 2, -1)]))

samples("linalg_cond", cases(lambda m: [
    Sample(uneven(m, 2, 3)), Sample(uneven(m, 3, 3)),
    *(Sample(m.positive_definite(3, 3), p) for p in (2, -2, 1, -1, "fro", "nuc", INFINITY)),
    Sample(m.positive_definite(2, 2, 2), 1), Sample(np.zeros((2, 2), np.float32), 1, gradient=False),
    Sample(m.real(0, 0), 1, gradient=False),
    refused(m.real(2, 3), 1), refused(m.real(3, 3), 3), refused(m.real(3, 3), "x"), refused(m.real(3)),
]))  # fmt: skip

samples("linalg_matrix_rank", cases(lambda m: [
    Sample(m.real(2, 3)), Sample(np.ones((3, 3), np.float32)), Sample(np.ones((2, 3), np.float32), 5.0),
    Sample(m.real(2, 3), atol=0.1),
    Sample(m.real(3, 3), rtol=0.9), Sample(m.positive_definite(2, 2), hermitian=True),
    Sample(m.real(2, 3, 2), np.array([0.1, 9.0], np.float32)),
    Sample(m.real(0, 3)), Sample(m.complex(2, 2)),
    Sample(m.real(2, 2), atol=np.array(5.0, np.float32), rtol=np.array(1.0, np.float32)),
    refused(m.real(3)), refused(m.real(2, 3), hermitian=True),
]))  # fmt: skip

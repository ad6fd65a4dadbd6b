"""Samples of the ops of ``ops/nn/embedding.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("nn_functional_embedding", cases(lambda m: [
    Sample(m.integers(2, 3, low=0, high=4), m.real(4, 2)), Sample(np.array([0, 2, 0, 2]), m.real(3, 2), padding_idx=2, gradient=False),
    Sample(np.array([0, 2, 0, 1]), m.real(3, 2), scale_grad_by_freq=True, gradient=False), Sample(np.array(1), m.real(3, 2)),
    Sample(np.zeros((0,), np.int64), m.real(3, 2)), Sample(np.array([3]), m.real(3, 2), gradient=False),
    Sample(np.array([1, 2], np.int32), m.real(3, 2)), Sample(np.array([1, 2], np.int64), m.real(3, 2), max_norm=0.5, gradient=False),
]))  # fmt: skip

samples("embedding_bag", cases(lambda m: [
    *(Sample(m.integers(2, 3, low=0, high=4), m.real(4, 2), mode=mode) for mode in ("sum", "mean", "max")),
    *(Sample(np.array([0, 2, 1, 3, 2]), m.real(4, 2), np.array([0, 2, 2]), mode=mode) for mode in ("sum", "mean", "max")),
    Sample(np.array([0, 2, 1]), m.real(4, 2), np.array([0, 1]), mode="sum", per_sample_weights=m.real(3)),
    Sample(np.array([0, 2, 1]), m.real(4, 2), np.array([0, 1, 3]), include_last_offset=True),
    Sample(np.array([0, 2, 1]), m.real(4, 2), np.array([0, 1]), padding_idx=2),
    Sample(np.array([0, 2, 1]), m.real(4, 2), np.array([1, 2]), gradient=False), Sample(np.array([0, 2, 1]), m.real(4, 2), gradient=False),
]))  # fmt: skip
samples("embedding", cases(lambda m: [
    Sample(m.real(5, 3), np.array([[0, 4], [2, 2]])),
    Sample(m.real(5, 3), np.array([1, 3], np.int32), 1, gradient=False),  # the row 1 gets none
    Sample(m.real(5, 3, dtype=np.float64), np.zeros(0, np.int64)),
    refused(m.real(5, 3), np.array([7])),
]))  # fmt: skip

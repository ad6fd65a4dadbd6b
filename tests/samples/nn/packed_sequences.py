"""Samples of the ops of ``ops/nn/packed_sequences.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("_pack_padded_sequence", cases(lambda m: [
    Sample(m.real(3, 2, 2), np.array([3, 1]), False), Sample(m.real(2, 4, 3), np.array([2, 2]), True),
    Sample(m.real(3, 3), np.array([2, 2, 1]), False), Sample(m.integers(2, 3, 1), np.array([3, 1]), True),
    refused(m.real(3, 2), np.array([3]), False), refused(m.real(3, 2), np.array([3, 0]), False),
    refused(m.real(3, 2), np.array([1, 3]), False), refused(m.real(3, 2), np.array([3, 1], np.int32), False),
    refused(m.real(3), np.array([3, 1]), False),
]))  # fmt: skip

samples("_pad_packed_sequence", cases(lambda m: [
    Sample(m.real(4, 2), np.array([2, 1, 1]), False, 0.0, -1), Sample(m.real(4, 2), np.array([2, 2]), True, -1.5, 3),
    Sample(m.real(3), np.array([2, 1]), True, 1.0, 0), Sample(m.integers(4, 1), np.array([3, 1]), False, 7, -1),
    refused(m.real(3), np.array([2, 1]), True, 1.0, 1),
]))  # fmt: skip

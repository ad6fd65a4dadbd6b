"""Samples of the ops of ``ops/nn/normalization.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("layer_standardize", cases(lambda m: [
    Sample(m.real(3, 4), m.real(4), m.real(4), (1,), 1e-5), Sample(m.real(2, 3, 4), m.real(3, 4), None, (1, 2), 1e-3),
    Sample(m.real(3), None, m.real(3), (0,), 1e-5),
]))  # fmt: skip

samples("layer_norm", cases(lambda m: [
    Sample(m.real(3, 4), (4,)), Sample(m.real(2, 3, 4), (3, 4), m.real(3, 4), m.real(3, 4)),
    Sample(m.real(2, 3, 4), [4], m.real(4)), Sample(m.real(3, 4), (4,), None, m.real(4), 1e-3),
    Sample(m.real(2, 3, 4).transpose(0, 2, 1), (3,)), Sample(m.real(3, 4), (3,), gradient=False),
    Sample(m.real(3, 4, dtype=np.float16), (4,), gradient=False),
]))  # fmt: skip

samples("rms_norm", cases(lambda m: [
    Sample(m.real(3, 4), (4,)), Sample(m.real(2, 3, 4), (3, 4), m.real(3, 4), 1e-3), Sample(m.real(3, 4), (3,), gradient=False),
    Sample(m.real(3, 4, dtype=np.float64), (4,)),
]))  # fmt: skip

samples("nn_functional_batch_norm", cases(lambda m: [
    Sample(m.real(3, 4), m.real(4), m.real(4, low=0.5, high=2), constants=(1, 2)),
    Sample(m.real(3, 4, 2), m.real(4), m.real(4, low=0.5, high=2), m.real(4), m.real(4), constants=(1, 2)),
    Sample(m.real(3, 4, 2), None, None, m.real(4), m.real(4), True),
    Sample(m.real(2, 3, 2, 2), None, None, training=True, eps=1e-2),
    Sample(m.real(3, 4), m.real(3), m.real(4), gradient=False), Sample(m.real(1, 4), None, None, training=True, gradient=False),
]))  # fmt: skip

samples("instance_norm", cases(lambda m: [
    Sample(m.real(2, 3, 4)), Sample(m.real(2, 3, 2, 2), None, None, m.real(3), m.real(3)),
    Sample(m.real(2, 3, 4), m.real(3), m.real(3, low=0.5, high=2), use_input_stats=False, constants=(1, 2)),
]))  # fmt: skip

samples("group_norm", cases(lambda m: [
    Sample(m.real(2, 4, 3), 2), Sample(m.real(2, 4, 2, 2), 4, m.real(4), m.real(4)), Sample(m.real(2, 4), 1, m.real(4)),
    Sample(m.real(2, 4, 3), 3, gradient=False),
]))  # fmt: skip

samples(
    "local_response_norm",
    cases(lambda m: [Sample(m.real(2, 4, 3), 3), Sample(m.real(2, 5, 2, 2), 2, 1e-2, 0.5, 2.0), Sample(m.real(2, 3), 2, gradient=False)]),
)

samples(
    "normalize",
    cases(
        lambda m: [
            Sample(m.real(3, 4)),
            Sample(m.real(3, 4), 1.0, 0),
            Sample(m.real(3, 4), 3.0, -1, 1e-3),
            Sample(np.zeros((2, 3), np.float32), gradient=False),
        ]
    ),
)

samples("cosine_similarity", cases(lambda m: [
    Sample(m.real(3, 4), m.real(3, 4)), Sample(m.real(3, 4), m.real(4), 1), Sample(m.real(3), m.real(3), 0, 0.1),
    Sample(m.real(2, 1, 3), m.real(4, 3), -1),
]))  # fmt: skip

samples("pairwise_distance", cases(lambda m: [
    Sample(m.real(3, 4), m.real(3, 4)), Sample(m.real(3, 4), m.real(4), 1.0, keepdim=True), Sample(m.real(4), m.real(4), 3.0),
]))  # fmt: skip
samples("batch_norm", cases(lambda m: [
    Sample(m.real(3, 2, 4), m.real(2), m.real(2), None, None, True, 0.1, 1e-5, False),
    Sample(m.real(4, 3), None, None, None, None, True, 0.1, 1e-3, False),
    Sample(m.real(3, 2), m.real(2), None, m.real(2), m.real(2, low=0.5), False, 0.1, 1e-5, False, constants=(3, 4)),
    refused(m.real(3, 2), m.real(2), None, None, None, False, 0.1, 1e-5, False),
]))  # fmt: skip

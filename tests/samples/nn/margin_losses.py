"""Samples of the ops of ``ops/nn/margin_losses.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.nn.losses import REDUCTIONS

from ..make import Sample, cases, samples


def _signs(m: Any, *shape: int) -> Any:
    return np.sign(m.apart(*shape)).astype(np.float32)


samples(
    "hinge_embedding_loss", cases(lambda m: [Sample(m.apart(3, 2), _signs(m, 3, 2), 0.53, reduction=r, constants=(1,)) for r in REDUCTIONS])
)

samples(
    "margin_ranking_loss",
    cases(lambda m: [Sample(m.apart(4), m.real(4), _signs(m, 4), 0.17, reduction=r, constants=(2,)) for r in REDUCTIONS]),
)

samples("cosine_embedding_loss", cases(lambda m: [
    *(Sample(m.real(3, 4), m.real(3, 4), _signs(m, 3), 0.1, reduction=r, constants=(2,)) for r in REDUCTIONS),
    Sample(m.real(4), m.real(4), np.array(1.0, np.float32), constants=(2,)),
]))  # fmt: skip

samples("triplet_margin_loss", cases(lambda m: [
    *(Sample(m.real(3, 4), m.real(3, 4), m.real(3, 4), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 4), m.real(3, 4), m.real(3, 4), 0.5, 1.0, swap=True),
]))  # fmt: skip

samples(
    "triplet_margin_with_distance_loss",
    cases(lambda m: [Sample(m.real(3, 4), m.real(3, 4), m.real(3, 4), reduction=r) for r in REDUCTIONS]),
)

samples("multi_margin_loss", cases(lambda m: [
    *(Sample(m.apart(3, 4, gap=0.137), m.integers(3, low=0, high=4), reduction=r) for r in REDUCTIONS),
    Sample(m.apart(3, 4, gap=0.137), m.integers(3, low=0, high=4), 2, 0.7, m.real(4, low=0.3, high=1), constants=(4,)),
    Sample(m.apart(4, gap=0.137), np.array(2)), Sample(m.apart(3, 4, gap=0.137), m.integers(3, low=0, high=4), 3, gradient=False),
]))  # fmt: skip

samples("multilabel_margin_loss", cases(lambda m: [
    *(Sample(m.apart(2, 4, gap=0.137), np.array([[3, 0, -1, 1], [1, -1, 2, 0]]), reduction=r) for r in REDUCTIONS),
    Sample(m.apart(4, gap=0.137), np.array([2, 1, -1, 0])),
]))  # fmt: skip

samples("multilabel_soft_margin_loss", cases(lambda m: [
    *(Sample(m.real(3, 4), m.integers(3, 4, low=0, high=2).astype(np.float32), reduction=r, constants=(1,)) for r in REDUCTIONS),
    Sample(m.real(3, 4), m.integers(3, 4, low=0, high=2).astype(np.float32), m.real(4), constants=(1, 2)),
]))  # fmt: skip


def _log_probs(m: Any, *shape: int) -> Any:
    values = m.real(*shape, dtype=np.float64)
    return (values - np.log(np.exp(values).sum(-1, keepdims=True))).astype(np.float32)


samples("ctc_loss", cases(lambda m: [
    *(Sample(_log_probs(m, 6, 2, 4), np.array([[1, 2, 2], [3, 1, 0]]), (6, 5), (3, 2), reduction=r) for r in REDUCTIONS),
    Sample(_log_probs(m, 6, 2, 4), np.array([1, 2, 2, 3, 1]), (6, 5), (3, 2)), Sample(_log_probs(m, 6, 4), np.array([1, 1]), (6,), (2,)),
    Sample(_log_probs(m, 2, 1, 4), np.array([[1, 1]]), (2,), (2,), zero_infinity=True, gradient=False),
    Sample(_log_probs(m, 4, 1, 4), np.array([[2, 1]]), (4,), (2,), blank=3),
]))  # fmt: skip

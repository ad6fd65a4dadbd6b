"""Samples of the ops of ``ops/nn/losses.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.nn.losses import REDUCTIONS

from ..make import Sample, cases, samples


def pairs(*extra: dict[str, Any]) -> Any:
    """Samples for losses of two tensors of one shape: each reduction, and further options."""
    return cases(lambda m: [
        Sample(m.apart(3, 2, gap=0.31), m.real(3, 2), reduction=reduction, **options)
        for reduction in REDUCTIONS for options in ({}, *extra)
    ] + [Sample(m.apart(2, gap=0.4, dtype=np.float64), m.real(2, dtype=np.float64))])  # fmt: skip


samples("l1_loss", pairs())
samples("mse_loss", pairs())
samples("smooth_l1_loss", pairs({"beta": 0.5}, {"beta": 0.0}))
samples("huber_loss", pairs({"delta": 0.5}))
samples(
    "soft_margin_loss", cases(lambda m: [Sample(m.real(3, 2), np.sign(m.apart(3, 2)), reduction=r, constants=(1,)) for r in REDUCTIONS])
)


def _labels(m: Any, *shape: int, classes: int = 4) -> Any:
    return m.integers(*shape, low=0, high=classes)


samples("nll_loss", cases(lambda m: [
    *(Sample(m.real(3, 4), _labels(m, 3), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 4), _labels(m, 3), m.real(4, low=0.2, high=1.0), constants=(2,)),
    Sample(m.real(3, 4), np.array([1, -100, 2])), Sample(m.real(3, 4), np.array([1, 2, 2]), ignore_index=2, reduction="none"),
    Sample(m.real(4), np.array(2)), Sample(m.real(2, 4, 2, 2), _labels(m, 2, 2, 2), m.real(4, low=0.2, high=1.0), constants=(2,)),
    Sample(m.real(3, 4), np.array([1, 4, 2]), gradient=False), Sample(m.real(3, 4), _labels(m, 2), gradient=False),
]))  # fmt: skip


def _soft(m: Any, *shape: int) -> Any:
    values = m.real(*shape, low=0.1, high=1.0)
    return (values / values.sum(1, keepdims=True)).astype(np.float32)


samples("cross_entropy", cases(lambda m: [
    *(Sample(m.real(3, 4), _labels(m, 3), reduction=r) for r in REDUCTIONS),
    *(
        Sample(m.real(3, 4), _labels(m, 3), m.real(4, low=0.2, high=1.0), label_smoothing=0.3, reduction=r, constants=(2,))
        for r in REDUCTIONS
    ),
    Sample(m.real(3, 4), np.array([1, -100, 2]), label_smoothing=0.1),
    Sample(m.real(4), np.array(2)), Sample(m.real(2, 4, 3), _labels(m, 2, 3)),
    *(Sample(m.real(3, 4), _soft(m, 3, 4), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 4), _soft(m, 3, 4), m.real(4, low=0.2, high=1.0), label_smoothing=0.2),
    Sample(m.real(2, 4, 3), _soft(m, 2, 4, 3)),
    Sample(m.real(3, 4), np.array([1, 9, 2]), gradient=False), Sample(m.real(3, 4), _labels(m, 3), label_smoothing=1.5, gradient=False),
]))  # fmt: skip

samples("_binary_cross_entropy", cases(lambda m: [
    Sample(m.real(2, 3, low=0.1, high=0.9), m.real(2, 3, low=0, high=1)),
]))  # fmt: skip
samples("_logit_cross_entropy", cases(lambda m: [
    Sample(m.real(2, 3), m.real(2, 3, low=0, high=1), None),
    Sample(m.real(2, 3), m.real(2, 3, low=0, high=1), m.real(3, low=0.5, high=2), constants=(2,)),
]))  # fmt: skip
samples("binary_cross_entropy", cases(lambda m: [
    *(Sample(m.real(3, 2, low=0.05, high=0.95), m.real(3, 2, low=0, high=1), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 2, low=0.05, high=0.95), m.real(3, 2, low=0, high=1), m.real(2), constants=(2,)),
    Sample(np.array([0.0, 1.0, 0.5], np.float32), np.array([1.0, 1.0, 0.0], np.float32), gradient=False),
    Sample(m.real(3), m.real(4), gradient=False),
]))  # fmt: skip

samples("binary_cross_entropy_with_logits", cases(lambda m: [
    *(Sample(m.apart(3, 2), m.real(3, 2, low=0, high=1), reduction=r) for r in REDUCTIONS),
    Sample(m.apart(3, 2), m.real(3, 2, low=0, high=1), m.real(2), pos_weight=m.real(2, low=0.5, high=2), constants=(2, "pos_weight")),
    Sample(m.real(3), m.real(4), gradient=False),
]))  # fmt: skip

samples("kl_div", cases(lambda m: [
    *(Sample(m.real(3, 2, low=-3, high=-0.1), m.real(3, 2, low=0.1, high=1), reduction=r) for r in (*REDUCTIONS, "batchmean")),
    Sample(m.real(3, 2, low=-3, high=-0.1), m.real(3, 2, low=-3, high=-0.1), log_target=True, reduction="sum"),
    Sample(m.real(3), np.array([0.0, 0.5, 1.0], np.float32), reduction="none", gradient=False),
]))  # fmt: skip

samples("poisson_nll_loss", cases(lambda m: [
    *(Sample(m.real(3, 2), m.real(3, 2, low=0.2, high=4), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 2, low=0.2, high=2), m.real(3, 2, low=2, high=4), log_input=False, full=True),
]))  # fmt: skip

samples("gaussian_nll_loss", cases(lambda m: [
    *(Sample(m.real(3, 2), m.real(3, 2), m.real(3, 2, low=0.2, high=2), reduction=r) for r in REDUCTIONS),
    Sample(m.real(3, 2), m.real(3, 2), m.real(3, 1, low=0.2, high=2), True), Sample(m.real(3, 2), m.real(3, 2), 0.7),
]))  # fmt: skip

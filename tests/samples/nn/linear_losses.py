"""Samples of the ops of ``ops/nn/linear_losses.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _samples(m: Any) -> list[Sample]:
    x, weight, classes = m.real(3, 4), m.real(5, 4), np.array([0, 3, 1])
    shares = np.full((3, 5), 0.2, np.float32)
    return [
        Sample(x, weight, classes), Sample(x, weight, classes, linear_bias=m.real(5), reduction="sum", label_smoothing=0.1),
        Sample(x, weight, classes, weight=m.real(5, low=0.5), reduction="none", constants=("weight",)),
        Sample(x, weight, shares, constants=(2,)), Sample(x[0], weight, np.array(2)), Sample(x, weight, np.array([0, -100, 1])),
        Sample(x, weight, np.array([0, 2, 1]), ignore_index=2),
        Sample(x, m.real(5, 2, 4), np.array([[0, 1], [2, 3], [4, 0]]), linear_bias=m.real(5, 2)),
        refused(x, weight, shares, ignore_index=1), refused(m.real(2, 3, 4), weight, classes), refused(x, m.real(4), classes),
        refused(x[0], m.real(5, 2, 4), np.array([0, 1])), refused(x, weight, classes, linear_bias=m.real(4)),
        refused(m.real(3, 3), weight, classes), refused(x, weight, classes[:2]),
    ]  # fmt: skip


samples("linear_cross_entropy", cases(_samples))

"""Samples of the ops of ``ops/nn/padding.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _constant_samples(m: Any) -> list[Sample]:
    return [
        Sample(m.real(2, 3), (1, 2)),
        Sample(m.real(2, 3), (1, 0, 0, 2)),
        Sample(m.real(2, 3), (-1, 2, 1, -1)),
        Sample(m.real(2, 3), (-1, -2)),
        Sample(m.real(3), [0, 0]),
        Sample(m.real(2, 3).T, (1, 1), value=1.5),
        Sample(m.real(1, 2, 2, 2), (1, 0, 0, 1, 1, 1)),
        Sample(m.real(2, 0), (1, 1)),
        Sample(m.real(2), ()),
        Sample(m.real(), ()),
        Sample(m.complex(2), (1, 1)),
        Sample(m.integers(3), (1, 1), value=2.0, gradient=False),
        Sample(m.booleans(2), (1, 1), value=1.0, gradient=False),
        Sample(m.real(2, dtype=np.float16), (1, 1), value=0.5, gradient=False),
        refused(m.real(2, 3), (-2, -2)),
        refused(m.real(2, 3), (1,)),
        refused(m.real(3), (1, 1, 1, 1)),
        refused(m.real(), (1, 1)),
        refused(m.real(3), (1.0, 1)),
        refused(m.real(3), 1),
    ]


samples("constant_pad_nd", cases(_constant_samples))


def _border_samples(m: Any) -> list[Sample]:
    found = []
    for mode in ("reflect", "replicate", "circular"):
        found += [
            Sample(m.real(2, 4), (2, 1), mode=mode),
            Sample(m.real(1, 2, 4), (3, 0), mode=mode),
            Sample(m.real(1, 3, 4), (1, 3, 2, 1), mode),
            Sample(m.real(1, 1, 3, 2), (1, 0, 0, 2), mode),
            Sample(m.real(1, 2, 3, 2), (1, 1, 0, 2, 1, 0), mode),
            Sample(m.real(1, 1, 2, 2, 2), (1, 1, 0, 1, 0, 0), mode),
            Sample(m.real(1, 6), (-2, 1), mode),
            Sample(m.real(1, 6), (-2, -1), mode),
            Sample(m.real(1, 6), (2, -3), mode),
            Sample(m.real(4, 2).T, (0, 0), mode),
            Sample(m.real(0, 2, 3), (1, 1), mode),
            Sample(m.complex(1, 3), (1, 1), mode),
            Sample(m.integers(1, 3), (1, 1), mode, gradient=False),
            Sample(m.real(1, 3, dtype=np.float16), (1, 2), mode, gradient=False),
            Sample(m.booleans(1, 3), (1, 1), mode, gradient=False),
            refused(m.real(3), (1, 1), mode),
            refused(m.real(1, 1, 2, 2), (1, 1), mode),
            refused(m.real(2, 3), (1, 1, 1, 1), mode),
            refused(m.real(1, 3), (7, 0), mode) if mode != "replicate" else Sample(m.real(1, 3), (7, 0), mode),
            refused(m.real(1, 6), (-4, -3), mode),
            refused(m.real(1, 3), (1, 1), mode, 1.0),
            refused(m.real(2, 3, 0), (1, 1), mode),
            refused(m.real(1, 3), (1,), mode),
        ]
    return [
        *found,
        Sample(m.real(1, 6), (-3, 5), "reflect"),
        refused(m.real(1, 6), (-3, 5), "circular"),
        refused(m.real(1, 3), (1, 1), "zz"),
    ]


samples("pad", cases(lambda m: _constant_samples(m) + _border_samples(m)))

"""Samples of the ops of ``ops/nn/vision.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Maker, Sample, cases, refused, samples


def _grid(m: Maker, *shape: int) -> np.ndarray:
    """Points inside and just outside, away from the borders and the middles between elements."""
    return m.stream.choice(np.array([-1.21, -0.83, -0.57, -0.23, 0.13, 0.42, 0.61, 0.87, 1.19], np.float32), shape)


def _sampler_samples(ndim: int) -> Any:
    def build(m: Maker) -> list[Sample]:
        size, counts = (2, 3, 4)[-ndim:], (1, 2, 3)[-ndim:]
        found = [
            Sample(m.real(2, 2, *size), _grid(m, 2, *counts, ndim), mode, padding, align)
            for mode in ((0, 1, 2) if ndim == 2 else (0, 1)) for padding in (0, 1, 2) for align in (False, True)
        ]  # fmt: skip
        far = _grid(m, 1, *counts, ndim) * np.float32(4)
        return [
            *found,
            *(Sample(m.real(1, 1, *size), far, 0, padding, False) for padding in (0, 1, 2)),
            Sample(m.real(1, 1, *size, dtype=np.float64), _grid(m, 1, *counts, ndim).astype(np.float64), 0, 0, False),
            Sample(m.real(0, 1, *size), _grid(m, 0, *counts, ndim), 0, 0, False),
            refused(m.real(2, 1, *size), _grid(m, 1, *counts, ndim), 0, 0, False),
            refused(m.real(1, 1, *size), _grid(m, 1, *counts, ndim + 1), 0, 0, False),
            refused(m.real(1, *size), _grid(m, 1, *counts, ndim), 0, 0, False),
            refused(m.real(1, 1, *size, dtype=np.float64), _grid(m, 1, *counts, ndim), 0, 0, False),
            refused(m.integers(1, 1, *size), _grid(m, 1, *counts, ndim), 0, 0, False),
            refused(m.real(1, 1, *size)[..., :0], _grid(m, 1, *counts, ndim), 0, 0, False),
            refused(m.real(1, 1, *size), _grid(m, 1, *counts, ndim), "bilinear", 0, False),
        ]

    return cases(build)


samples("grid_sampler", cases(lambda m: [
    Sample(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2), 0, 1, True),
    Sample(m.real(1, 1, 2, 3, 4), _grid(m, 1, 2, 1, 2, 3), 1, 2, False),
    refused(m.real(1, 1, 2, 3, 4), _grid(m, 1, 2, 1, 2, 3), 2, 0, False),
    refused(m.real(1, 1, 2), _grid(m, 1, 2, 1), 0, 0, False),
    refused(m.real(1, 2, 3, 4), _grid(m, 1, 1, 2, 2, 2), 0, 0, False),
]))  # fmt: skip

samples("grid_sample", cases(lambda m: [
    Sample(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2)),
    Sample(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2), "nearest", "border", True),
    Sample(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2), "bicubic", "reflection", align_corners=False),
    Sample(m.real(1, 1, 2, 3, 4), _grid(m, 1, 2, 1, 2, 3), padding_mode="reflection", align_corners=False),
    Sample(m.real(1, 2, 4, 3, dtype=np.float16), _grid(m, 1, 2, 2, 2).astype(np.float16), align_corners=True, gradient=False),
    refused(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2), "spline"),
    refused(m.real(1, 2, 3, 4), _grid(m, 1, 2, 2, 2), padding_mode="wrap"),
]))  # fmt: skip

samples("affine_grid_generator", cases(lambda m: [
    Sample(m.real(2, 2, 3), (2, 1, 2, 3), False), Sample(m.real(1, 3, 4), [1, 2, 2, 1, 3], True),
    refused(m.real(2, 2, 3), (2, 1, 2), False), refused(m.real(2, 2, 3), (3, 1, 2, 2), False),
]))  # fmt: skip

samples("affine_grid", cases(lambda m: [
    Sample(m.real(2, 2, 3), (2, 1, 2, 3)),
    Sample(m.real(2, 2, 3), [2, 1, 3, 1], align_corners=True),
    Sample(m.real(1, 3, 4), (1, 2, 2, 2, 3), False),
    Sample(m.real(1, 2, 3, dtype=np.float64), (1, 1, 3, 4), False),
    Sample(m.real(1, 2, 3, dtype=np.float16), (1, 1, 3, 4), False, gradient=False),
    refused(m.real(2, 2, 3), (2, 1, 2), False),
    refused(m.real(2, 2, 3), (2, 1, 2, 2, 2), False),
    refused(m.real(2, 2, 3), (3, 1, 2, 2), False),
    refused(m.real(2, 2, 3), (2, 1, 0, 2), False),
    refused(m.real(2, 3), (2, 1, 2, 2), False),
    refused(m.integers(2, 2, 3), (2, 1, 2, 2), False),
]))  # fmt: skip

samples("nn_functional_unfold", cases(lambda m: [
    Sample(m.real(2, 2, 3, 4), 2),
    Sample(m.real(2, 4, 3), (2, 3), padding=1),
    Sample(m.real(1, 1, 5, 4), (2, 1), 2, (1, 0), (1, 2)),
    Sample(m.real(4, 3, 2, 1).T, 2),
    Sample(m.real(0, 2, 3, 4), 2),
    Sample(m.real(1, 1, 3, 4, dtype=np.float64), 3, 1, 1, 2),
    Sample(m.real(1, 1, 3, 4, dtype=np.float16), 2, gradient=False),
    Sample(m.complex(1, 1, 3, 4), 2),
    Sample(m.booleans(1, 1, 3, 4), 2, gradient=False),
    refused(m.integers(1, 1, 3, 4), 2),
    refused(m.real(1, 1, 1, 3, 4), 2),
    refused(m.real(1, 0, 3, 4), 2),
    refused(m.real(1, 1, 3, 4), (2, 2, 2)),
    refused(m.real(1, 1, 3, 4), 5),
    refused(m.real(1, 1, 3, 4), 0),
    refused(m.real(1, 1, 3, 4), 2, stride=0),
    refused(m.real(1, 1, 3, 4), 2, padding=-1),
    refused(m.real(1, 1, 3, 4), 2, 0),
    refused(m.real(1, 1, 3, 4), 1.5),
]))  # fmt: skip

samples("nn_functional_fold", cases(lambda m: [
    Sample(m.real(2, 8, 6), (3, 4), 2),
    Sample(m.real(6, 15), (4, 3), (2, 3), padding=(1, 1)),
    Sample(m.real(1, 2, 10), (5, 4), (2, 1), 2, (1, 0), (1, 2)),
    Sample(m.real(0, 4, 6), (3, 4), 2),
    Sample(m.real(1, 4, 9, dtype=np.float64), 4, 2),
    Sample(m.real(1, 4, 9, dtype=np.float16), 4, 2, gradient=False),
    Sample(m.complex(1, 4, 4), 3, 2),
    refused(m.integers(1, 4, 9), 4, 2),
    refused(m.real(1, 1, 4, 9), 4, 2),
    refused(m.real(1, 4, 9), 5, 2),
    refused(m.real(1, 4, 9), 4, 3),
    refused(m.real(1, 4, 9), (4, 4, 4), 2),
    refused(m.real(1, 4, 9), 4, 2, stride=0),
]))  # fmt: skip

samples("pixel_shuffle", cases(lambda m: [
    Sample(m.real(1, 8, 2, 3), 2), Sample(m.real(9, 1, 2), 3), Sample(m.real(2, 1, 4, 2, 2), 2), Sample(m.real(0, 4, 2, 2), 2),
    Sample(m.integers(1, 4, 2, 2), 2), Sample(m.complex(1, 4, 2, 2), 1), Sample(m.real(2, 3, 4, 1).T, 2, gradient=False),
    refused(m.real(1, 8, 2, 3), 3), refused(m.real(1, 8, 2, 3), 0), refused(m.real(2, 3), 1), refused(m.real(1, 8, 2, 3), 2.0),
]))  # fmt: skip

samples("pixel_unshuffle", cases(lambda m: [
    Sample(m.real(1, 2, 4, 6), 2), Sample(m.real(1, 3, 6), 3), Sample(m.real(2, 1, 1, 2, 4), 2),
    Sample(m.real(0, 1, 2, 2), 2, compare=False),  # PyTorch gives what is empty back in its old shape
    Sample(m.integers(1, 1, 4, 2), 2), refused(m.real(1, 1, 3, 4), 2), refused(m.real(1, 1, 4, 3), 2),
    refused(m.real(1, 1, 4, 4), 0), refused(m.real(4, 4), 2),
]))  # fmt: skip

samples("channel_shuffle", cases(lambda m: [
    Sample(m.real(1, 6, 2, 2), 2), Sample(m.real(1, 6, 2), 3), Sample(m.integers(2, 4, 1, 2), 2), Sample(m.real(1, 4, 1, 2, 1), 4),
    refused(m.real(1, 6, 2, 2), 4), refused(m.real(1, 6, 2, 2), 0), refused(m.real(1, 6), 2),
]))  # fmt: skip


samples("grid_sampler_2d", _sampler_samples(2))
samples("grid_sampler_3d", _sampler_samples(3))

"""Samples of the ops of ``ops/nn/interpolation.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("interpolate", cases(lambda m: [
    Sample(m.real(1, 2, 4), 7),
    Sample(m.real(1, 2, 3, 4), scale_factor=2),
    Sample(m.real(1, 1, 3, 4), (5, 3)),
    Sample(m.real(1, 1, 2, 3, 2), scale_factor=(1.5, 2.0, 0.5)),
    Sample(m.real(1, 1, 3, 3), scale_factor=1.3, recompute_scale_factor=True),
    Sample(m.real(1, 1, 3, 3), scale_factor=1.3),
    Sample(m.real(1, 1, 3), scale_factor=1.3),
    Sample(m.real(1, 2, 4), 6, mode="nearest-exact"),
    Sample(m.real(1, 1, 4, 3), scale_factor=0.7, mode="nearest-exact"),
    Sample(m.real(1, 1, 2, 2, 3), (3, 2, 4), mode="nearest-exact"),
    Sample(m.real(1, 2, 4), 7, mode="linear"),
    Sample(m.real(1, 2, 4), scale_factor=1.6, mode="linear"),
    Sample(m.real(1, 2, 4), 3, mode="linear", align_corners=True),
    Sample(m.real(1, 2, 3, 4), (5, 2), mode="bilinear"),
    Sample(m.real(1, 2, 3, 4), scale_factor=(2.0, 0.6), mode="bilinear", align_corners=False),
    Sample(m.real(1, 1, 3, 4), (6, 1), mode="bilinear", align_corners=True),
    Sample(m.real(2, 3, 4, 1).transpose(3, 0, 1, 2), scale_factor=2, mode="bilinear"),
    Sample(m.real(1, 1, 3, 4), (5, 2), mode="bilinear", antialias=True),
    Sample(m.real(1, 1, 4, 5), scale_factor=0.4, mode="bilinear", antialias=True),
    Sample(m.real(1, 1, 3, 4), (5, 2), mode="bicubic"),
    Sample(m.real(1, 1, 4, 3), scale_factor=1.5, mode="bicubic", align_corners=True),
    Sample(m.real(1, 1, 6, 4), (3, 5), mode="bicubic", antialias=True),
    Sample(m.real(1, 1, 6, 4), (3, 5), mode="lanczos", antialias=True),
    Sample(m.real(1, 1, 2, 3, 2), (3, 4, 3), mode="trilinear"),
    Sample(m.real(1, 1, 2, 2, 3), scale_factor=1.5, mode="trilinear", align_corners=True),
    Sample(m.real(1, 2, 5), 3, mode="area"),
    Sample(m.real(1, 1, 4, 6), (3, 2), mode="area"),
    Sample(m.real(1, 1, 2, 3, 4), scale_factor=1.5, mode="area"),
    Sample(m.real(0, 2, 3, 3), 5, mode="bilinear"),
    Sample(m.real(1, 1, 3, 3, dtype=np.float64), 5, mode="bicubic"),
    Sample(m.real(1, 1, 3, 3, dtype=np.float16), 5, mode="bilinear", gradient=False),
    Sample(m.integers(1, 1, 3, 4, low=0, high=256, dtype=np.uint8), (5, 3), gradient=False),
    Sample(m.integers(1, 1, 3, 4, low=0, high=256, dtype=np.uint8), (5, 3), mode="bilinear", gradient=False),
    Sample(m.integers(1, 1, 3, 4, low=0, high=256, dtype=np.uint8), (5, 3), mode="bicubic", align_corners=True, gradient=False),
    Sample(m.integers(1, 1, 5, 4, low=0, high=256, dtype=np.uint8), (2, 3), mode="bicubic", antialias=True, gradient=False),
    refused(m.integers(1, 1, 3, 3), 5),
    refused(m.integers(1, 1, 3, low=0, dtype=np.uint8), 5, mode="linear"),
    refused(m.real(3, 3), 5),
    refused(m.real(1, 1, 3, 3), 5, mode="linear"),
    refused(m.real(1, 1, 3, 3), 5, mode="spline"),
    refused(m.real(1, 1, 3, 3)),
    refused(m.real(1, 1, 3, 3), 5, 2),
    refused(m.real(1, 1, 3, 3), (5, 5, 5)),
    refused(m.real(1, 1, 3, 3), scale_factor=(2.0,)),
    refused(m.real(1, 1, 3, 3), 0),
    refused(m.real(1, 1, 3, 3), (2.0, 2.0)),
    refused(m.real(1, 1, 3, 3), 5, align_corners=True),
    refused(m.real(1, 1, 3, 3), 5, antialias=True),
    refused(m.real(1, 1, 3, 3), 5, mode="lanczos"),
    refused(m.real(1, 1, 3, 3), 5, recompute_scale_factor=True),
    refused(m.real(1, 0, 3, 3), 5, mode="bilinear"),
]))  # fmt: skip

samples("upsample", cases(lambda m: [Sample(m.real(1, 1, 3, 3), 5), Sample(m.real(1, 1, 3, 3), None, 2, "bilinear", True)]))
samples("upsample_nearest", cases(lambda m: [Sample(m.real(1, 1, 3, 3), 5), Sample(m.real(1, 1, 3, 3), scale_factor=2)]))
samples("upsample_bilinear", cases(lambda m: [Sample(m.real(1, 1, 3, 3), 5), Sample(m.real(1, 1, 3, 3), scale_factor=2)]))

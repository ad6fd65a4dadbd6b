"""Samples of the ops of ``ops/nn/convolution.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Maker, Sample, cases, refused, samples


def _numbers(m: Maker, *shape: int, **options: Any) -> Any:
    return m.real(*shape, low=-1.0, high=1.0, **options)


samples("convolution", cases(lambda m: [
    Sample(_numbers(m, 1, 2, 5), _numbers(m, 3, 2, 2), _numbers(m, 3), [2], [1], [1], False, [0], 1),
    Sample(_numbers(m, 1, 2, 3, 3), _numbers(m, 2, 1, 2, 2), None, [2, 1], [1, 0], [1, 1], True, [1, 0], 2),
    refused(_numbers(m, 2, 3), _numbers(m, 3, 2, 2), None, [1], [0], [1], False, [0], 1),
    refused(_numbers(m, 1, 2, 5), _numbers(m, 3, 2, 2), None, 1, [0], [1], False, [0], 1),
    refused(_numbers(m, 1, 2, 5), _numbers(m, 3, 2, 2), None, [1, 1], [0], [1], False, [0], 1),
]))  # fmt: skip


def _samples(ndim: int) -> Any:
    """Samples of conv1d, conv2d, conv3d: the last dimensions, shortened to how many there are."""

    def build(m: Maker) -> list[Sample]:
        n = ndim
        size, kernel = (2, 4, 3)[-n:] if n == 3 else (5, 4)[-n:], (1, 2, 3)[-n:]
        found = [
            Sample(_numbers(m, 2, 2, *size), _numbers(m, 3, 2, *kernel)),
            Sample(_numbers(m, 2, 2, *size), _numbers(m, 2, 2, *kernel), _numbers(m, 2), 2, 1),
            Sample(_numbers(m, 2, *size), _numbers(m, 1, 2, *kernel), _numbers(m, 1)),
            Sample(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *(2,) * n), stride=(2, 1, 1)[-n:], padding=(1, 2, 1)[-n:], groups=2),
            Sample(_numbers(m, 1, 4, *size), _numbers(m, 4, 2, *(1,) * n), groups=2),
            Sample(_numbers(m, 1, 2, *size), _numbers(m, 4, 1, *(2,) * n), None, 1, 1, 2, 2),
            Sample(_numbers(m, 1, 1, *size), _numbers(m, 2, 1, *(2,) * n), padding="same", dilation=(3, 2, 1)[-n:]),
            Sample(_numbers(m, 1, 1, *size), _numbers(m, 1, 1, *kernel), padding="valid", stride=2),
            Sample(_numbers(m, 1, 3, *size).swapaxes(1, 2).copy().swapaxes(1, 2), _numbers(m, 2, 3, *(1,) * n), stride=[2]),
            Sample(_numbers(m, 0, 2, *size), _numbers(m, 3, 2, *kernel), _numbers(m, 3)),
            Sample(_numbers(m, 1, 2, *size, dtype=np.float64), _numbers(m, 1, 2, *kernel, dtype=np.float64)),
            Sample(_numbers(m, 1, 2, *size, dtype=np.float16), _numbers(m, 1, 2, *kernel, dtype=np.float16), gradient=False),
            Sample(m.integers(1, 2, *size), m.integers(1, 2, *kernel), gradient=False),
            Sample(m.complex(1, 2, *size, scale=1.0), m.complex(1, 2, *kernel, scale=1.0), padding=1),
        ]
        bad = [
            refused(_numbers(m, 1, 3, *size), _numbers(m, 1, 2, *kernel)),
            refused(_numbers(m, *size), _numbers(m, 1, 2, *kernel)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), _numbers(m, 2)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *(9,) * n)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), stride=0),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), padding=-1),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), dilation=0),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), groups=2),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), stride=1.5),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), stride=(1, 1, 1, 1)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), padding="same", stride=2),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 1, 2, *kernel), padding="full"),
            refused(_numbers(m, 1, 2, *size, dtype=np.float64), _numbers(m, 1, 2, *kernel)),
            refused(_numbers(m, 1, 2, *size, dtype=np.float16), _numbers(m, 1, 2, *kernel)),
            refused(m.booleans(1, 2, *size), m.booleans(1, 2, *kernel)),
        ]
        return found + bad

    return cases(build)


samples("conv1d", _samples(1))
samples("conv2d", _samples(2))
samples("conv3d", _samples(3))


def _transposed_samples(ndim: int) -> Any:
    def build(m: Maker) -> list[Sample]:
        n = ndim
        size, kernel = (2, 2, 3)[-n:] if n == 3 else (3, 4)[-n:], (1, 2, 3)[-n:]
        return [
            Sample(_numbers(m, 2, 2, *size), _numbers(m, 2, 3, *kernel)),
            Sample(_numbers(m, 2, 2, *size), _numbers(m, 2, 1, *kernel), _numbers(m, 1), 2),
            Sample(_numbers(m, 2, *size), _numbers(m, 2, 2, *(3,) * n), _numbers(m, 2), 2, 1, 1),
            Sample(_numbers(m, 1, 2, *size), _numbers(m, 2, 2, *(2,) * n), _numbers(m, 4), groups=2),
            Sample(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *(2,) * n), None, (3, 2, 1)[-n:], 0, 0, 2, 2),
            Sample(_numbers(m, 1, 1, *size), _numbers(m, 1, 2, *(2,) * n), None, 1, 0, 1, 1, 2),
            Sample(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *(2,) * n), None, 2, 1, 2, 1, 3),
            Sample(_numbers(m, 1, 4, *size), _numbers(m, 4, 2, *(1,) * n), stride=3),
            Sample(_numbers(m, 0, 2, *size), _numbers(m, 2, 3, *kernel)),
            Sample(_numbers(m, 1, 2, *size, dtype=np.float64), _numbers(m, 2, 1, *kernel, dtype=np.float64)),
            Sample(_numbers(m, 1, 2, *size, dtype=np.float16), _numbers(m, 2, 1, *kernel, dtype=np.float16), gradient=False),
            Sample(m.integers(1, 2, *size), m.integers(2, 1, *kernel), gradient=False),
            Sample(m.complex(1, 1, *size, scale=1.0), m.complex(1, 2, *kernel, scale=1.0), stride=2),
            refused(_numbers(m, 1, 3, *size), _numbers(m, 2, 1, *kernel)),
            refused(_numbers(m, *size), _numbers(m, 2, 1, *kernel)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *kernel), _numbers(m, 2)),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *kernel), output_padding=1),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *kernel), padding=9),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *kernel), padding="same"),
            refused(_numbers(m, 1, 2, *size), _numbers(m, 2, 1, *kernel), groups=3),
        ]

    return cases(build)


samples("conv_transpose1d", _transposed_samples(1))
samples("conv_transpose2d", _transposed_samples(2))
samples("conv_transpose3d", _transposed_samples(3))

samples("conv_tbc", cases(lambda m: [
    Sample(_numbers(m, 4, 2, 3), _numbers(m, 2, 3, 2), _numbers(m, 2)),
    Sample(_numbers(m, 4, 2, 3), _numbers(m, 3, 3, 1), _numbers(m, 1), 1),
    refused(_numbers(m, 4, 3), _numbers(m, 3, 3, 1), _numbers(m, 1)),
    refused(_numbers(m, 4, 2, 3), _numbers(m, 3, 2, 1), _numbers(m, 1)),
    refused(_numbers(m, 4, 2, 3), _numbers(m, 3, 3, 2), _numbers(m, 1)),
]))  # fmt: skip

"""Samples of the ops of ``ops/special/fft.py``."""

from __future__ import annotations

import numpy as np

from rushlight.core.declare import table

from ..make import Maker, Sample, cases, refused, samples


def _one_samples(m: Maker, complex_input: bool = True, real_input: bool = True) -> list[Sample]:
    found = []
    if real_input:
        found += [
            Sample(m.real(4)), Sample(m.real(2, 5)), Sample(m.real(5, 2), dim=0), Sample(m.real(4), 6),
            Sample(m.real(2, 5), n=3, norm="ortho"),
            Sample(m.real(5), norm="forward"), Sample(m.real(4), norm="backward"),
            Sample(m.integers(4), gradient=False), Sample(m.real(3, dtype=np.float64)),
            Sample(m.real(3, 4).T, dim=-2), Sample(m.booleans(4), gradient=False),
        ]  # fmt: skip
    if complex_input:
        found += [
            Sample(m.complex(4)), Sample(m.complex(3, 2), dim=0), Sample(m.complex(3), n=5, norm="ortho"),
            Sample(m.complex(4), norm="forward"),
            Sample(m.complex(4), n=4),
        ]  # fmt: skip
    found += [
        refused(m.real(4), 0), refused(m.real(4), norm="x"), refused(m.real()), refused(m.real(4), dim=1),
        refused(m.real(4, dtype=np.float16)), refused(m.real(0)),
    ]  # fmt: skip
    return found if complex_input else [*found, refused(m.complex(4))]


def _several_samples(m: Maker, complex_input: bool = True) -> list[Sample]:
    found = [
        Sample(m.real(2, 3)), Sample(m.real(2, 3, 2), dim=(0, 1)), Sample(m.real(2, 3), s=(3, 4)),
        Sample(m.real(3, 3), (2, -1), (0, 1), "ortho"),
        Sample(m.real(2, 2, 3), norm="forward"), Sample(m.integers(2, 3), gradient=False),
        Sample(m.real(2, 4), dim=(1, 0), norm="backward"),
    ]  # fmt: skip
    if complex_input:
        found += [
            Sample(m.complex(2, 3)),
            Sample(m.complex(3, 2), norm="ortho"),
            Sample(m.complex(2, 3), s=(2, 2), dim=(0, 1)),
        ]
    else:
        found.append(refused(m.complex(2, 3)))
    return [
        *found,
        refused(m.real(2, 3), s=(4, 4, 4)),
        refused(m.real(2, 3), dim=(0, 0)),
        refused(m.real(2, 3), s=(2,), dim=(0, 1)),
    ]


_ANY = cases(_one_samples)

_REAL = cases(lambda m: _one_samples(m, complex_input=False))

_ANY_SEVERAL = cases(_several_samples)

_REAL_SEVERAL = cases(lambda m: _several_samples(m, complex_input=False))

samples("fft_fft", _ANY)
samples("fft_ifft", _ANY)
samples("fft_rfft", _REAL)
samples("fft_irfft", _ANY)
samples("fft_hfft", _ANY)
samples("fft_ihfft", _REAL)
samples("fft_fftn", _ANY_SEVERAL)
samples("fft_ifftn", _ANY_SEVERAL)
samples("fft_rfftn", _REAL_SEVERAL)
samples("fft_irfftn", _ANY_SEVERAL)
samples("fft_hfftn", _ANY_SEVERAL)
samples("fft_ihfftn", _REAL_SEVERAL)
samples("fft_fft2", _ANY_SEVERAL)
samples("fft_ifft2", _ANY_SEVERAL)
samples("fft_rfft2", _REAL_SEVERAL)
samples("fft_irfft2", _ANY_SEVERAL)
samples("fft_hfft2", _ANY_SEVERAL)
samples("fft_ihfft2", _REAL_SEVERAL)

_FREQUENCY_SAMPLES = cases(lambda m: [
    Sample(5), Sample(4, 0.5), Sample(4, d=2.0, dtype=np.dtype(np.float64)), Sample(0), Sample(1),
    refused(4, dtype=np.dtype(np.int64)),
])  # fmt: skip

samples("fft_fftfreq", _FREQUENCY_SAMPLES)
samples("fft_rfftfreq", cases(lambda m: [sample for sample in _FREQUENCY_SAMPLES(table["fft_rfftfreq"]) if sample.args[0]]))

_SHIFT_SAMPLES = cases(lambda m: [
    Sample(m.real(5)), Sample(m.real(2, 3)), Sample(m.real(2, 3), 1), Sample(m.real(4, 3), dim=(0, -1)),
    Sample(m.integers(4), gradient=False), refused(m.real(3), 2),
])  # fmt: skip

samples("fft_fftshift", _SHIFT_SAMPLES)
samples("fft_ifftshift", _SHIFT_SAMPLES)

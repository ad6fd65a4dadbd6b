"""Samples of the ops of ``ops/special/bessel.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused_kinds, samples, together, unary

_EVERYWHERE = together(unary(-20, 20, half=False), refused_kinds("complex"))

# PyTorch's J beyond 5 and Y beyond 3 are right to 7 digits only in double precision: there, single is compared.
_WAVES = together(unary(-4.9, 4.9, half=False), cases(lambda m: [Sample(m.real(8, low=-40, high=40))]), refused_kinds("complex"))

_RIGHT_WAVES = together(
    unary(0.1, 2.9, half=False), cases(lambda m: [Sample(m.real(8, low=0, high=40)), Sample(m.real(3))]), refused_kinds("complex")
)

_RIGHT = together(unary(0.1, 20, half=False), cases(lambda m: [Sample(m.real(3), gradient=False)]), refused_kinds("complex"))

samples("special_bessel_j0", _WAVES)
samples("special_bessel_j1", _WAVES)
samples("special_bessel_y0", _RIGHT_WAVES)
samples("special_bessel_y1", _RIGHT_WAVES)
samples("special_modified_bessel_i0", _EVERYWHERE)
samples("special_modified_bessel_i1", _EVERYWHERE)
samples("special_modified_bessel_k0", _RIGHT)
samples("special_modified_bessel_k1", _RIGHT)
samples("special_scaled_modified_bessel_k0", _RIGHT)
samples("special_scaled_modified_bessel_k1", _RIGHT)
samples("special_spherical_bessel_j0", _EVERYWHERE)

samples("special_airy_ai", cases(lambda m: [
    Sample(m.real(2, 3, low=-10, high=5)), Sample(m.real()), Sample(m.real(5, low=-15, high=8, dtype=np.float64)), Sample(m.integers(3)),
    Sample(np.array([np.nan, 0, -0.0, 2, -4, 90], np.float32)), Sample(m.complex(2), gradient=False),
]))  # fmt: skip

_DEGREES = cases(lambda m: [
    Sample(m.real(2, 3), m.integers(2, 3, low=-1, high=8)),
    Sample(m.real(4), m.real(4, low=0, high=6)),
    Sample(m.real(4, dtype=np.float64), 3),
    Sample(m.real(2, 1, dtype=np.float64), np.arange(7.0)),
    Sample(0.5, m.integers(4, low=0, high=9)),
    Sample(m.integers(3), m.integers(3, low=0, high=4)),
    Sample(np.array([1, -1, 0, 1, -1], np.float32), np.array([4, 3, 5, 9, 8], np.float32)),
    Sample(m.real(0, 2), 2),
    Sample(m.complex(2), 2, gradient=False),
])  # fmt: skip

samples("special_chebyshev_polynomial_t", _DEGREES)
samples("special_chebyshev_polynomial_u", _DEGREES)
samples("special_chebyshev_polynomial_v", _DEGREES)
samples("special_chebyshev_polynomial_w", _DEGREES)
samples("special_shifted_chebyshev_polynomial_t", _DEGREES)
samples("special_shifted_chebyshev_polynomial_u", _DEGREES)
samples("special_shifted_chebyshev_polynomial_v", _DEGREES)
samples("special_shifted_chebyshev_polynomial_w", _DEGREES)
samples("special_hermite_polynomial_h", _DEGREES)
samples("special_hermite_polynomial_he", _DEGREES)
samples("special_laguerre_polynomial_l", _DEGREES)
samples("special_legendre_polynomial_p", _DEGREES)

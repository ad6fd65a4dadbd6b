"""Samples of the ops of ``ops/pointwise/binary.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, SampleMaker, binary, cases, refused_pairs, samples, together, without_gradient

_DIVISIONS = together(
    binary(0.3, 3, booleans=False),
    cases(lambda m: [
        Sample(m.real(2, 3, low=-5, high=5), m.real(3, low=-2, high=-0.5)),
        Sample(np.array([-7, 7, -7, 7]), np.array([3, 3, -3, -3]), gradient=False),
        Sample(np.array([-7, 7, -7, 7]), -3, gradient=False),
        Sample(np.array([-7.5, 7.5, 1, -1, 0], np.float32), np.array([np.inf, -np.inf, 0, 0, 0], np.float32), gradient=False),
        Sample(np.array([1, 2]), np.array([0, 1]), gradient=False),
        Sample(np.array([1, 2]), 0, gradient=False),
        Sample(m.integers(3, low=1, high=200, dtype=np.uint8), 7, gradient=False),
        Sample(2.5, m.real(2, low=0.5), gradient=False),
        Sample(-7, m.integers(2, low=1), gradient=False),
    ]),
    refused_pairs("complex", "booleans"),
)  # fmt: skip

samples("fmod", _DIVISIONS)
samples("remainder", _DIVISIONS)
samples("floor_divide", without_gradient(_DIVISIONS))

samples("gcd", cases(lambda m: [
    Sample(np.array([12, -18, 0, 0]), np.array([8, 27, 5, 0])),
    Sample(m.integers(2, 3), m.integers(3)),
    Sample(m.integers(3, low=0, high=200, dtype=np.uint8), m.integers(low=1, dtype=np.uint8)),
    Sample(m.integers(3, dtype=np.int32), m.integers(3)),
    Sample(m.real(2), m.real(2), gradient=False), Sample(m.booleans(2), m.booleans(2)), Sample(m.integers(2), 2),
]))  # fmt: skip

samples("lcm", cases(lambda m: [
    Sample(np.array([12, -18, 0, 0]), np.array([8, 27, 5, 0])),
    Sample(m.integers(2, 3), m.integers(3)),
    Sample(np.array([120], np.int8), np.array([7], np.int8)),
    Sample(m.real(2), m.real(2), gradient=False), Sample(m.booleans(2), m.booleans(2)), Sample(m.integers(2), 2),
]))  # fmt: skip

_LARGER = together(binary(scalars=False), refused_pairs("complex", number=True))

samples("maximum", _LARGER)
samples("minimum", _LARGER)
samples("fmax", _LARGER)
samples("fmin", _LARGER)

samples(
    "hypot",
    together(binary(0.3, 2, scalars=False, integers=False, booleans=False), refused_pairs("complex", "integers", "booleans", number=True)),
)

samples("copysign", together(
    binary(), cases(lambda m: [Sample(m.real(3), -0.0), Sample(m.integers(3), -2, gradient=False), Sample(2.0, m.real(2), gradient=False)]),
    refused_pairs("complex"),
))  # fmt: skip

samples(
    "nextafter",
    together(
        without_gradient(binary(scalars=False, integers=False, booleans=False)),
        refused_pairs("complex", "integers", "booleans", number=True),
    ),
)

samples("heaviside", without_gradient(cases(lambda m: [
    Sample(np.array([-1, 0, 2, np.nan, -0.0], np.float32), m.real(5)),
    Sample(m.integers(2, 3, low=-1, high=2), m.integers(3)),
    Sample(m.real(2, dtype=np.float16), m.real(dtype=np.float16)),
    Sample(m.booleans(3), m.booleans(3)),
    Sample(m.real(2), m.real(2, dtype=np.float64)), Sample(m.real(2), m.integers(2)), Sample(m.complex(2), m.complex(2)), Sample(m.real(2), 1.0),
])))  # fmt: skip

samples(
    "logaddexp",
    together(
        binary(-2, 2, complex=True, scalars=False, integers=False, booleans=False), refused_pairs("integers", "booleans", number=True)
    ),
)

samples(
    "logaddexp2",
    together(binary(scalars=False, integers=False, booleans=False), refused_pairs("complex", "integers", "booleans", number=True)),
)

samples("ldexp", together(
    binary(-2, 2, complex=True, scalars=False),
    cases(lambda m: [
        Sample(m.real(3), m.integers(3), gradient=False), Sample(np.array([1e-30, 1], np.float32), np.array([130, 130]), gradient=False),
        Sample(m.real(3), 2, gradient=False),
    ]),
))  # fmt: skip

samples("xlogy", together(
    binary(0.3, 2),
    cases(lambda m: [
        Sample(2.5, m.real(3, low=0.5)), Sample(0, np.array([np.nan, 0, 1], np.float32), gradient=False),
        Sample(np.array([0, 1, np.nan], np.float32), 0, gradient=False), Sample(0.0, m.real(2, low=0.5)),
    ]),
    refused_pairs("complex"),
))  # fmt: skip

samples("float_power", together(
    cases(lambda m: [
        Sample(m.real(2, 3, low=0.3), m.real(3), gradient=False),
        Sample(m.real(2, 3, low=0.3, dtype=np.float64), m.real(3, dtype=np.float64)),
        Sample(m.real(3, dtype=np.float64), 2),
        Sample(m.integers(3), 3), Sample(2, m.integers(3)), Sample(m.integers(3, low=1), -1), Sample(m.booleans(3), 2.0),
        Sample(m.real(2, low=0.3), 1j), Sample(m.complex(2), 2), Sample(m.real(2, dtype=np.float16), 2, gradient=False),
        Sample(m.real(2), m.real(3), gradient=False),
    ]),
))  # fmt: skip

samples("rsub", together(
    binary(complex=True),
    cases(lambda m: [
        Sample(m.real(2, 3), m.real(3), alpha=2), Sample(m.real(2), 1.5, alpha=0.5), Sample(m.integers(2), 2, alpha=0.5, gradient=False),
        Sample(m.booleans(2), m.booleans(2), gradient=False), Sample(1.5, m.real(2), gradient=False),
    ]),
))  # fmt: skip


def _triples(*more: Sample) -> SampleMaker:
    return cases(lambda m: [
        Sample(m.real(2, 3), m.real(3), m.real(2, 1, low=0.5)),
        Sample(m.real(2, 3), m.real(2, 3), m.real(2, 3, low=0.5), value=0.5),
        Sample(m.real(), m.real(2), m.real(low=0.5), value=-2),
        Sample(m.real(3, dtype=np.float16), m.real(3, dtype=np.float16), m.real(3, low=0.5, dtype=np.float16), value=0.3, gradient=False),
        Sample(m.real(3, dtype=np.float64), m.real(3), m.real(3, low=0.5), gradient=False),
        Sample(m.complex(2), m.complex(2), m.complex(2), value=0.5),
        Sample(m.integers(3), m.integers(3), m.integers(3, low=1), value=2, gradient=False),
        Sample(m.integers(3), m.integers(3), m.integers(3, low=1), value=0.5, gradient=False),
        Sample(m.real(3), m.integers(3), m.integers(3, low=1), gradient=False),
        Sample(m.real(3), m.real(3), m.integers(3, low=1), gradient=False),
        Sample(m.booleans(3), m.booleans(3), m.booleans(3), gradient=False),
        Sample(m.real(2), m.real(2), m.real(3), gradient=False),
        Sample(m.real(2), 2.0, m.real(2), gradient=False),
        *more,
    ])  # fmt: skip


samples("addcmul", _triples())
samples("addcdiv", _triples())

samples("lerp", cases(lambda m: [
    Sample(m.real(2, 3), m.real(3), m.real(2, 1)),
    Sample(m.real(2, 3), m.real(2, 3), 0.3),
    Sample(m.real(2, 3), m.real(2, 3), 0.8),
    Sample(m.real(2), m.real(2), 1),
    Sample(m.real(2), m.real(2), m.real()),
    Sample(m.complex(2), m.complex(2), 0.3),
    Sample(m.complex(2), m.complex(2), m.complex(2)),
    Sample(m.real(3, dtype=np.float16), m.real(3, dtype=np.float16), 0.3, gradient=False),
    Sample(np.array([1e8, np.inf], np.float32), np.array([1, 1], np.float32), 1.0, gradient=False),
    Sample(m.real(2), m.real(2, dtype=np.float64), 0.3, gradient=False),
    Sample(m.real(2), m.real(2), m.real(2, dtype=np.float64), gradient=False),
    Sample(m.integers(2), m.integers(2), 0.3, gradient=False),
    Sample(m.real(2), m.real(2), 1j, gradient=False),
    Sample(m.real(2), 2.0, 0.5, gradient=False),
]))  # fmt: skip

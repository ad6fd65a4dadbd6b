"""Samples of the ops of ``ops/pointwise/activations.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, samples, together, unary


def kinked(*points: float, **kwargs: Any) -> Any:
    """Samples for functions with kinks: values away from 0 and from the given points are differentiated."""

    def build(m: Any) -> list[Sample]:
        away = m.apart(3, 4, gap=0.37)
        for point in (0.0, *points):
            away = np.where(np.abs(away - point) < 0.05, away + 0.11, away).astype(np.float32)
        return [
            Sample(away, **kwargs),
            Sample(m.apart(2, 2, gap=0.73).T, **kwargs),
            Sample(m.real(0, 3), **kwargs),
            Sample(m.real(5, dtype=np.float64), gradient=False, **kwargs),
            Sample(m.real(4, dtype=np.float16), gradient=False, **kwargs),
            Sample(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, *points], np.float32), gradient=False, **kwargs),
        ]

    return cases(build)


samples("relu", together(kinked(), cases(lambda m: [Sample(m.integers(4), gradient=False)])))

samples(
    "hardtanh",
    together(
        kinked(-1.0, 1.0),
        cases(lambda m: [Sample(m.apart(3, 3), -0.33, 0.44), Sample(m.integers(4), -2, 2, gradient=False)]),
    ),
)

samples("nn_functional_hardtanh", kinked(-1.0, 1.0))
samples("relu6", kinked(6.0))
samples("leaky_relu", together(kinked(), kinked(negative_slope=0.2)))
samples("nn_functional_leaky_relu", kinked(negative_slope=0.2))

samples("prelu", cases(lambda m: [
    Sample(m.apart(2, 3, 2), m.real(3)), Sample(m.apart(2, 3), m.real(1)), Sample(m.apart(4), m.real(1)),
    Sample(m.apart(2, 3), m.real(2), gradient=False),
]))  # fmt: skip

samples("elu", together(kinked(), kinked(alpha=0.7)))
samples("nn_functional_elu", kinked(alpha=0.7))
samples("selu", kinked())
samples("celu", kinked(alpha=0.7))
samples("nn_functional_celu", kinked(alpha=0.7))


def finite(maker: Any) -> Any:
    """Samples without infinities: PyTorch's gelu of inf is inf or nan, depending on how many elements there are."""
    return lambda op: [sample for sample in maker(op) if np.isfinite(sample.args[0]).all()]


samples("gelu", together(finite(unary(integers=False)), unary(integers=False, approximate="tanh")))
samples("gelu_exact", finite(unary(integers=False)))
samples("gelu_tanh", unary(integers=False))
samples("silu", unary(integers=False))
samples("softplus", together(unary(integers=False), unary(integers=False, beta=2.0, threshold=1.5)))
samples("mish", unary(integers=False))
samples("logsigmoid", unary(-5, 5, integers=False))
samples("hardsigmoid", kinked(-3.0, 3.0))
samples("hardswish", kinked(-3.0, 3.0))
samples("hardshrink", together(kinked(-0.5, 0.5), kinked(-0.2, 0.2, lambd=0.2)))

samples(
    "softshrink",
    together(
        cases(lambda m: [Sample(m.apart(3, 4, gap=0.37)), Sample(m.apart(3, 4, gap=0.37), 0.21), Sample(m.real(3), -0.1, gradient=False)])
    ),
)

samples("tanhshrink", unary(integers=False))
samples("softsign", kinked())
samples("threshold", kinked(0.3, threshold=0.3, value=7.0))
samples("nn_functional_threshold", kinked(0.3, threshold=0.3, value=7.0))
samples("glu", cases(lambda m: [Sample(m.real(2, 4)), Sample(m.real(4, 3), 0), Sample(m.real(2, 3), gradient=False)]))
samples("nn_functional_tanh", unary())
samples("nn_functional_sigmoid", unary())


for _name in ("relu", "selu", "silu", "mish", "hardsigmoid", "hardswish"):
    samples(f"nn_functional_{_name}", kinked())

samples("normal_share", unary(-4, 4, integers=False))

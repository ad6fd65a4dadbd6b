"""The recompute cost of ops: whether a backward graph may compute a result again rather than keep it in memory.

Views and factories are free by nature.  Every pointwise op with a kernel is registered here as cheap or costly (a test asks for it), and so are the few other
cheap ops; an op that is not registered is kept.
"""

from __future__ import annotations

from ..core.declare import Op
from ..core.facets import Facet

CHEAP = "cheap"  # a few instructions per element, at most as expensive as reading the operands
COSTLY = "costly"  # a function evaluated by a polynomial, a series or a loop

recompute_cost: Facet[str] = Facet("recompute cost", "what it costs to compute the result again in a backward graph")

recompute_cost.set(
    CHEAP,
    *"""
    expand reshape cast reduction_backward scale_shift
    add sub mul div neg abs reciprocal addcdiv addcmul lerp conj conj_physical copysign heaviside ldexp maximum minimum fmax fmin clamp clamp_max clamp_min
    relu hardshrink hardsigmoid hardswish hardtanh leaky_relu softshrink threshold nan_to_num
    floor ceil trunc round frac sign sgn signbit deg2rad rad2deg floor_divide where_elements
    eq ne lt le gt ge isclose isfinite isinf isnan isneginf isposinf isreal
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor logical_not
    """.split(),
)
recompute_cost.set(
    COSTLY,
    *"""
    _binary_cross_entropy _logit_cross_entropy exp exp2 expm1 log log2 log10 log1p pow sqrt rsqrt hypot logaddexp logaddexp2 xlogy fmod remainder gcd lcm nextafter angle
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sinc
    sigmoid logit gelu_exact gelu_tanh gelu_backward normal_share silu silu_backward softplus elu logsigmoid
    erf erfc erfinv lgamma digamma polygamma igamma igammac i0
    special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e
    special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_ndtr special_ndtri
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_xlog1py special_zeta
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w
    """.split(),
)


def is_cheap(op: Op) -> bool:
    """Whether computing an op's result again costs no more than reading it from memory."""
    return op.factory or op.view or recompute_cost.of(op) is CHEAP

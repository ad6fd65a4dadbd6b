"""Samples of the ops of ``ops/special/names.py``."""

from __future__ import annotations

from ..make import Sample, binary, cases, samples, unary

samples("special_digamma", unary(0.3, 6))
samples("special_psi", unary(0.3, 6))
samples("special_erf", unary(-4, 4))
samples("special_erfc", unary(-4, 4))
samples("special_erfinv", unary(-0.9, 0.9))
samples("special_exp2", unary(complex=True))
samples("special_expit", unary(complex=True))
samples("special_expm1", unary(complex=True))
samples("special_gammaln", unary(0.3, 6))
samples("special_i0", unary(-10, 10))
samples("special_log1p", unary(-0.8, 2))
samples("special_sinc", unary())
samples("special_logit", cases(lambda m: [Sample(m.real(3, low=0.1, high=0.9)), Sample(m.real(3, low=0.1, high=0.9), 0.2)]))
samples("special_round", cases(lambda m: [Sample(m.real(3)), Sample(m.real(3), decimals=1, gradient=False)]))
samples("special_polygamma", cases(lambda m: [Sample(2, m.real(3, low=0.5)), Sample(0, m.real(3, low=0.5))]))
samples("special_multigammaln", cases(lambda m: [Sample(m.real(3, low=1, high=5), 2), Sample(m.real(2), 0, gradient=False)]))
samples("special_gammainc", cases(lambda m: [Sample(m.real(3, low=0.3), m.real(2, 1, low=0.1), gradient=False)]))
samples("special_gammaincc", cases(lambda m: [Sample(m.real(3, low=0.3), m.real(2, 1, low=0.1), gradient=False)]))
samples("special_xlogy", binary(0.3, 2))

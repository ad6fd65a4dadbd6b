"""Samples of the ops of ``ops/linalg/functions.py``."""

from __future__ import annotations

import numpy as np

from ..make import Maker, Sample, cases, refused, regular, samples


def _determinant_samples(m: Maker) -> list[Sample]:
    return [
        Sample(regular(m, 3, 3)), Sample(regular(m, 2, 2, 2)), Sample(regular(m, 2, 2, dtype=np.complex64)),
        Sample(regular(m, 3, 3).T),
        Sample(m.real(0, 0), gradient=False), Sample(m.real(2, 0, 0), gradient=False), Sample(m.real(0, 2, 2)),
        Sample(m.real(1, 1, low=0.5)),
        Sample(np.zeros((2, 2), np.float32), gradient=False), Sample(m.real(3, 3, dtype=np.float64)),
        refused(m.real(2, 3)), refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 2, dtype=np.float16)),
    ]  # fmt: skip


samples("linalg_det", cases(_determinant_samples))
samples("det", cases(lambda m: _determinant_samples(m)[:3]))
samples("linalg_slogdet", cases(_determinant_samples))
samples("slogdet", cases(lambda m: _determinant_samples(m)[:3]))

samples("logdet", cases(lambda m: [
    Sample(m.positive_definite(3, 3)), Sample(m.positive_definite(2, 2, 2)),
    Sample(regular(m, 2, 2, dtype=np.complex64)),
    Sample(-np.eye(3, dtype=np.float32), gradient=False), Sample(np.zeros((2, 2), np.float32), gradient=False),
    refused(m.real(2, 3)),
]))  # fmt: skip

samples("linalg_inv_ex", cases(lambda m: [
    Sample(regular(m, 3, 3)), Sample(regular(m, 2, 2, 2)),
    Sample(regular(m, 2, 2, dtype=np.complex64), check_errors=True),
    refused(m.real(2, 3)), refused(np.zeros((2, 2), np.float32), check_errors=True),
]))  # fmt: skip


def _inverse_samples(m: Maker) -> list[Sample]:
    return [
        Sample(regular(m, 3, 3)), Sample(regular(m, 2, 2, 2)), Sample(regular(m, 2, 2, dtype=np.complex64)),
        Sample(regular(m, 3, 3).T),
        Sample(m.real(0, 0)), Sample(m.real(2, 0, 0)), Sample(m.real(0, 2, 2)),
        Sample(regular(m, 2, 2, dtype=np.float64)),
        refused(m.real(2, 3)), refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 2, dtype=np.float16)),
        refused(np.zeros((2, 3, 3), np.float32)), refused(np.ones((2, 2), np.float32)),
    ]  # fmt: skip


samples("linalg_inv", cases(_inverse_samples))
samples("inverse", cases(_inverse_samples))

samples("linalg_pinv", cases(lambda m: [
    Sample(m.apart(2, 3)), Sample(m.apart(3, 2)), Sample(m.apart(2, 2, 2)), Sample(m.complex(3, 2)),
    Sample(m.positive_definite(2, 2), hermitian=True, gradient=False),
    Sample(np.ones((2, 3), np.float32), gradient=False), Sample(m.real(2, 3), 0.9, gradient=False),
    Sample(m.real(2, 3), atol=10.0, gradient=False),
    Sample(m.real(2, 3), rtol=1e-3), Sample(m.real(0, 3)),
    Sample(m.real(2, 2, 3), rcond=np.array([1.0, 0.1], np.float32), gradient=False),
    refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 3), hermitian=True),
]))  # fmt: skip

samples("pinverse", cases(lambda m: [Sample(m.apart(2, 3)), Sample(m.apart(2, 2, 3))]))


def _system_samples(m: Maker) -> list[Sample]:
    return [
        Sample(regular(m, 3, 3), m.real(3, 2)), Sample(regular(m, 3, 3), m.real(3)),
        Sample(regular(m, 2, 3, 3), m.real(3)),
        Sample(regular(m, 2, 2, 2), m.real(2, 2)), Sample(regular(m, 2, 3, 3), m.real(3, 2)),
        Sample(regular(m, 1, 2, 2), m.real(3, 2, 1)),
        Sample(regular(m, 3, 3), m.real(2, 3), left=False),
        Sample(regular(m, 2, 2, dtype=np.complex64), m.complex(2, 2)),
        Sample(m.real(0, 0), m.real(0, 2)), Sample(regular(m, 2, 2, dtype=np.float64), m.real(2, dtype=np.float64)),
        refused(np.zeros((2, 3, 3), np.float32), m.real(3)), refused(m.real(3, 3), m.real(4, 2)),
        refused(m.real(2, 3), m.real(2, 2)),
        refused(m.real(3), m.real(3)), refused(m.real(3, 3), m.real(3, dtype=np.float64)),
        refused(m.integers(2, 2), m.integers(2, 2)),
        refused(m.real(3, 3), m.real(3), left=False),
    ]  # fmt: skip


samples("linalg_solve", cases(_system_samples))
samples("linalg_solve_ex", cases(lambda m: _system_samples(m)[:8]))

samples("linalg_solve_triangular", cases(lambda m: [
    Sample(regular(m, 3, 3), m.real(3, 2), upper=True), Sample(regular(m, 3, 3), m.real(3, 2), upper=False),
    Sample(regular(m, 3, 3), m.real(2, 3), upper=True, left=False),
    Sample(regular(m, 2, 2, 2), m.real(2, 1), upper=False, unitriangular=True),
    Sample(regular(m, 2, 2), m.real(2, 1, 2), upper=False, left=False, unitriangular=True),
    Sample(regular(m, 2, 2, dtype=np.complex64), m.complex(2, 2), upper=True),
    Sample(np.zeros((2, 2), np.float32), m.real(2, 2), upper=True, gradient=False),
    Sample(m.real(0, 0), m.real(0, 2), upper=True), refused(m.real(3, 3), m.real(3), upper=True),
    refused(m.real(3, 3), m.real(2, 2), upper=True),
    refused(m.real(2, 3), m.real(2, 3), upper=True), refused(m.integers(2, 2), m.integers(2, 2), upper=True),
]))  # fmt: skip

samples("triangular_solve", cases(lambda m: [
    Sample(m.real(3, 2), regular(m, 3, 3)), Sample(m.real(3, 2), regular(m, 3, 3), False),
    Sample(m.real(3, 2), regular(m, 3, 3), transpose=True),
    Sample(m.real(2, 1), regular(m, 2, 2, 2), unitriangular=True), refused(m.real(3), regular(m, 3, 3)),
]))  # fmt: skip

samples("matrix_exp", cases(lambda m: [
    Sample(m.real(3, 3)), Sample(m.real(2, 2, 2)), Sample(m.complex(2, 2)),
    Sample(m.real(2, 2) * 4, gradient=False), Sample(m.real(0, 2, 2)),
    Sample(m.real(0, 0)), Sample(m.real(1, 1)), refused(m.real(2, 3)), refused(m.integers(2, 2)),
]))  # fmt: skip

samples("matrix_power", cases(lambda m: [
    Sample(regular(m, 2, 2), 0, gradient=False), *(Sample(regular(m, 2, 2), n) for n in (1, 2, 3, 5, 8, -1, -2)),
    Sample(m.real(2, 2, 2), 2), Sample(m.complex(2, 2), 3),
    Sample(m.integers(2, 2), 3, gradient=False), Sample(m.integers(2, 2), 0, gradient=False),
    Sample(m.real(2, 2, dtype=np.float16), 2, gradient=False),
    refused(m.real(2, 3), 2), refused(m.real(3), 2), refused(m.integers(2, 2), -1),
    refused(np.zeros((2, 2), np.float32), -1),
]))  # fmt: skip

samples("linalg_tensorinv", cases(lambda m: [
    Sample(regular(m, 4, 4).reshape(2, 2, 4)), Sample(regular(m, 3, 3), ind=1), refused(m.real(2, 3), ind=1),
    refused(m.real(2, 2), ind=0),
]))  # fmt: skip

samples("linalg_tensorsolve", cases(lambda m: [
    Sample(regular(m, 4, 4).reshape(2, 2, 4), m.real(2, 2)),
    Sample(regular(m, 4, 4).reshape(4, 2, 2), m.real(4), dims=(1,)),
    refused(m.real(2, 2, 4), m.real(2, 3)),
]))  # fmt: skip

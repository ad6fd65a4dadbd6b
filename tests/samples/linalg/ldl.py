"""Samples of the ops of ``ops/linalg/ldl.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.linalg.ldl import factor_ldl

from ..make import Maker, Sample, cases, refused, samples


def _matrices(m: Maker) -> list[Any]:
    """Real, complex and Hermitian matrices whose factors have blocks of both kinds."""
    real, numbers = m.real(2, 5, 5), m.complex(4, 4, dtype=np.complex128)
    blocky = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], np.float64)
    return [real + real.swapaxes(-1, -2), blocky, numbers + numbers.T, numbers + numbers.conj().T]


def _factor_samples(m: Maker) -> list[Sample]:
    real, blocky, symmetric, hermitian = _matrices(m)
    return [
        Sample(real, gradient=False), Sample(blocky, gradient=False), Sample(symmetric, gradient=False),
        Sample(hermitian, hermitian=True, gradient=False), Sample(blocky, hermitian=True, gradient=False),
        Sample(np.tril(real[0]), gradient=False), Sample(np.zeros((2, 0, 0), np.float32), gradient=False),
        Sample(np.zeros((0, 3, 3), np.float32), gradient=False), Sample(np.full((1, 1), 3.0), gradient=False),
        refused(m.real(3)), refused(m.real(2, 3)), refused(m.integers(2, 2)), refused(m.real(2, 2, dtype=np.float16)),
    ]  # fmt: skip


samples("linalg_ldl_factor_ex", cases(lambda m: [
    *_factor_samples(m), Sample(np.zeros((2, 2), np.float32), gradient=False),
    refused(np.zeros((2, 2), np.float32), check_errors=True),
]))  # fmt: skip

samples("linalg_ldl_factor", cases(lambda m: [*_factor_samples(m), refused(np.zeros((2, 2), np.float32))]))


def _solve_samples(m: Maker) -> list[Sample]:
    real, blocky, symmetric, hermitian = _matrices(m)
    both, one = factor_ldl(real, False), factor_ldl(blocky, False)
    numbers, mirrored = factor_ldl(symmetric, False), factor_ldl(hermitian, True)
    b = m.real(4, 2, dtype=np.float64)
    return [
        Sample(both[0], both[1], m.real(5, 2), gradient=False),
        # PyTorch's kernel does not repeat the pivots for more right sides than matrices, and reads beyond them.
        Sample(both[0], both[1], m.real(3, 2, 5, 1), compare=False, gradient=False),
        Sample(one[0], one[1], b, gradient=False), Sample(one[0], one[1], b, hermitian=True, gradient=False),
        Sample(one[0], one[1], m.real(3, 4, 2, dtype=np.float64), compare=False, gradient=False),
        # PyTorch reads int64 pivots as if they were int32.
        Sample(one[0], one[1].astype(np.int64), b, compare=False, gradient=False),
        Sample(numbers[0], numbers[1], m.complex(4, 2, dtype=np.complex128), gradient=False),
        Sample(mirrored[0], mirrored[1], m.complex(4, 2, dtype=np.complex128), hermitian=True, gradient=False),
        Sample(one[0], one[1], np.zeros((4, 0)), gradient=False),
        refused(one[0], one[1], b[:, 0]), refused(one[0], one[1], b[:3]), refused(one[0], one[1].astype(np.float32), b),
        refused(one[0], one[1][:3], b), refused(one[0], one[1], b.astype(np.float32)), refused(one[0][:3], one[1], b),
    ]  # fmt: skip


samples("linalg_ldl_solve", cases(_solve_samples))

"""Samples of the ops of ``ops/linalg/factorizations.py``."""

from __future__ import annotations

import numpy as np

from ..make import Maker, Sample, cases, refused, regular, samples


def _hermitian(m: Maker, *shape: int) -> np.ndarray:
    """Complex positive definite matrices, for samples."""
    a = m.complex(*shape, dtype=np.complex128)
    return (a @ a.conj().swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(np.complex64)


def _positive_samples(m: Maker) -> list[Sample]:
    # It reads one triangle, but its gradient is that of a symmetric matrix: tests/test_linalg.py checks it.
    return [
        Sample(m.positive_definite(3, 3), gradient=False), Sample(m.positive_definite(2, 2, 2), gradient=False),
        Sample(_hermitian(m, 3, 3), gradient=False),
        Sample(m.positive_definite(3, 3), upper=True, gradient=False),
        Sample(_hermitian(m, 2, 2), upper=True, gradient=False),
        Sample(m.real(0, 0), gradient=False), Sample(m.positive_definite(3, 3, dtype=np.float64), gradient=False),
        Sample(m.real(0, 2, 2), gradient=False),
        refused(m.real(2, 3)), refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 2, dtype=np.float16)),
    ]  # fmt: skip


samples("linalg_cholesky_ex", cases(lambda m: [
    # What is left of L where it fails is undefined.
    *_positive_samples(m), Sample(np.array([[1, 2], [2, 1]], np.float32), gradient=False, compare=False),
    refused(-np.eye(2, dtype=np.float32), check_errors=True),
]))  # fmt: skip

samples("linalg_cholesky", cases(lambda m: [*_positive_samples(m), refused(np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)),
refused(-np.eye(3, dtype=np.float32))]))  # fmt: skip

samples("cholesky", cases(lambda m: _positive_samples(m)[:6]))

samples("cholesky_inverse", cases(lambda m: [
    Sample(regular(m, 3, 3)), Sample(regular(m, 2, 2, 2)), Sample(regular(m, 3, 3), upper=True),
    Sample(np.linalg.cholesky(_hermitian(m, 2, 2)), gradient=False), refused(m.real(2, 3)),
]))  # fmt: skip

samples("cholesky_solve", cases(lambda m: [
    Sample(m.real(3, 2), regular(m, 3, 3)), Sample(m.real(2, 2, 1), regular(m, 2, 2)),
    Sample(m.real(3, 2), regular(m, 3, 3), upper=True),
    Sample(m.complex(2, 1), regular(m, 2, 2, dtype=np.complex64)), refused(m.real(2), m.real(2, 2)),
    refused(m.real(3, 1), m.real(2, 2)),
]))  # fmt: skip

samples("linalg_qr", cases(lambda m: [
    Sample(m.apart(3, 2)), Sample(regular(m, 2, 3)), Sample(m.apart(2, 3, 2)), Sample(regular(m, 3, 3)),
    Sample(m.apart(3, 2), "complete", gradient=False),
    Sample(regular(m, 2, 3), "complete"), Sample(m.apart(3, 2), "r", gradient=False),
    Sample(m.complex(3, 2), gradient=False), Sample(m.real(0, 3), gradient=False),
    Sample(m.real(3, 0), "complete", gradient=False), Sample(m.real(0, 3, 2), gradient=False),
    Sample(m.real(3, 2, dtype=np.float64)),
    refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(3, 2), "x"),
    refused(m.real(3, 2, dtype=np.float16)),
]))  # fmt: skip

samples("qr", cases(lambda m: [Sample(m.apart(3, 2)), Sample(m.apart(3, 2), False, gradient=False)]))

samples("linalg_svd", cases(lambda m: [
    Sample(m.apart(3, 2), compare=False, gradient=False), Sample(m.apart(2, 3), False, compare=False),
    Sample(m.complex(2, 2), compare=False, gradient=False),
    Sample(m.apart(2, 2, 3), False, compare=False), Sample(m.real(0, 3), compare=False, gradient=False),
    Sample(m.apart(3, 2), False, compare=False),
    refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 2), driver="gesvd"),
    refused(np.full((2, 2), np.nan, np.float32)),
]))  # fmt: skip

samples("linalg_svdvals", cases(lambda m: [
    Sample(m.apart(3, 2)), Sample(m.apart(2, 3)), Sample(m.apart(2, 2, 3)), Sample(m.complex(2, 2)),
    Sample(m.real(0, 3)), Sample(m.real(3, 3, dtype=np.float64)),
    refused(m.real(3)), refused(m.integers(2, 2)), refused(np.full((2, 2), np.nan, np.float32)),
    refused(m.real(2, 2), driver="gesvd"),
]))  # fmt: skip

samples("svd", cases(lambda m: [
    Sample(m.apart(3, 2), compare=False), Sample(m.apart(3, 2), some=False, compare=False, gradient=False),
    Sample(m.apart(3, 2), compute_uv=False),
]))  # fmt: skip

samples("linalg_eigh", cases(lambda m: [
    Sample(m.positive_definite(3, 3), compare=False, gradient=False),
    Sample(m.real(2, 2, 2), "U", compare=False, gradient=False),
    Sample(_hermitian(m, 2, 2), compare=False, gradient=False), Sample(m.real(0, 0), compare=False, gradient=False),
    refused(m.real(2, 3)), refused(m.real(3)), refused(m.real(2, 2), "X"), refused(m.integers(2, 2)),
]))  # fmt: skip

samples("linalg_eigvalsh", cases(lambda m: [
    Sample(m.positive_definite(3, 3), gradient=False), Sample(m.real(2, 2, 2), "U", gradient=False),
    Sample(_hermitian(m, 2, 2), gradient=False),
    Sample(m.real(0, 0), gradient=False), Sample(np.full((2, 2), np.nan, np.float32), gradient=False),
    refused(m.real(2, 3)), refused(m.real(2, 2), "X"),
]))  # fmt: skip

samples("linalg_eig", cases(lambda m: [
    Sample(m.real(3, 3), compare=False, gradient=False), Sample(m.real(2, 2, 2), compare=False, gradient=False),
    Sample(m.complex(2, 2), compare=False, gradient=False), Sample(m.real(0, 0), compare=False, gradient=False),
    refused(m.real(2, 3)), refused(m.real(3)), refused(np.full((2, 2), np.nan, np.float32)),
    refused(m.integers(2, 2)),
]))  # fmt: skip

samples("linalg_eigvals", cases(lambda m: [
    Sample(np.triu(m.apart(3, 3)), gradient=False), Sample(m.real(2, 2, 2), compare=False),
    Sample(m.complex(2, 2), compare=False), Sample(m.real(0, 0)),
    refused(m.real(2, 3)),
]))  # fmt: skip

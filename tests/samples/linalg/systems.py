"""Samples of the ops of ``ops/linalg/systems.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.linalg.kernels import factor_lu
from rushlight.ops.linalg.systems import _DRIVERS

from ..make import Maker, Sample, cases, refused, regular, samples

samples("linalg_lu_factor_ex", cases(lambda m: [
    Sample(m.apart(3, 3)), Sample(m.apart(2, 3)), Sample(m.apart(3, 2)), Sample(m.apart(2, 2, 2)),
    Sample(regular(m, 2, 2, dtype=np.complex64)),
    Sample(np.zeros((2, 2), np.float32), gradient=False), Sample(m.real(0, 0), gradient=False),
    Sample(m.real(0, 2, 2), gradient=False),
    refused(m.real(3)), refused(m.integers(2, 2)), refused(m.real(2, 2), pivot=False),
    refused(np.zeros((2, 2), np.float32), check_errors=True),
]))  # fmt: skip

samples("linalg_lu_factor", cases(lambda m: [
    Sample(m.apart(3, 3)), Sample(m.apart(2, 2, 3)), refused(np.zeros((2, 2), np.float32)), refused(m.real(3)),
    refused(m.real(2, 2), pivot=False),
]))  # fmt: skip

samples("lu", cases(lambda m: [Sample(m.apart(3, 3)), Sample(m.apart(2, 2, 3), get_infos=True)]))


def _pivot_samples(m: Maker) -> list[Any]:
    lu, pivots, _ = factor_lu(m.apart(2, 3, 3))
    return [lu, pivots]


samples("lu_unpack", cases(lambda m: [
    Sample(*_pivot_samples(m)), Sample(*_pivot_samples(m), unpack_data=False, gradient=False),
    Sample(*_pivot_samples(m), unpack_pivots=False),
    Sample(m.real(3, 2), np.array([2, 3], np.int32)), Sample(m.real(2, 3), np.array([2, 2], np.int32)),
    refused(m.real(2, 2), np.array([1, 2], np.int64)),
]))  # fmt: skip

samples("linalg_lu", cases(lambda m: [
    Sample(m.apart(3, 3)), Sample(m.apart(2, 3)), Sample(m.apart(2, 3, 2)), Sample(m.complex(2, 2)),
    Sample(np.zeros((2, 2), np.float32), gradient=False),
    refused(m.real(3)), refused(m.real(2, 2), pivot=False),
]))  # fmt: skip

samples("linalg_lu_solve", cases(lambda m: [
    Sample(*_pivot_samples(m), m.real(3, 2)), Sample(*_pivot_samples(m), m.real(2, 3), left=False),
    Sample(*_pivot_samples(m), m.real(2, 3, 1), adjoint=True),
    Sample(*_pivot_samples(m), m.real(1, 3), left=False, adjoint=True),
    Sample(m.complex(2, 2), np.array([2, 2], np.int32), m.complex(2, 1), adjoint=True),
    refused(*_pivot_samples(m), m.real(3)), refused(*_pivot_samples(m), m.real(2, 2)),
    refused(m.real(2, 2), np.array([1, 2], np.int64), m.real(2, 1)),
]))  # fmt: skip

samples("lu_solve", cases(lambda m: [Sample(m.real(3, 2), *_pivot_samples(m)), Sample(m.real(2, 3, 1), *_pivot_samples(m))]))
samples("geqrf", cases(lambda m: [Sample(m.real(3, 2), gradient=False), Sample(m.real(2, 2, 3), gradient=False), refused(m.real(3))]))

samples("linalg_householder_product", cases(lambda m: [
    Sample(m.real(3, 2), m.real(2)), Sample(m.real(3, 3), m.real(2)), Sample(m.real(2, 3, 2), m.real(2, 1)),
    Sample(m.complex(3, 2), m.complex(2)),
    refused(m.real(2, 3), m.real(2)), refused(m.real(3, 2), m.real(2, dtype=np.float64)),
    refused(m.real(3), m.real(1)), refused(m.real(3, 2), m.real(3)),
]))  # fmt: skip

samples("orgqr", cases(lambda m: [Sample(m.real(3, 2), m.real(2)), Sample(m.real(2, 3, 2), m.real(2, 1))]))

samples("ormqr", cases(lambda m: [
    Sample(m.real(3, 2), m.real(2), m.real(3, 2)), Sample(m.real(3, 2), m.real(2), m.real(3, 1), transpose=True),
    Sample(m.real(3, 2), m.real(2), m.real(2, 3), left=False),
    Sample(m.real(2, 3, 2), m.real(2, 2), m.real(2, 1, 3), left=False, transpose=True),
    Sample(m.complex(2, 2), m.complex(2), m.complex(2, 1), transpose=True),
]))  # fmt: skip

samples("linalg_lstsq", cases(lambda m: [
    *(Sample(m.apart(3, 2), m.real(3, 2), driver=driver) for driver in _DRIVERS),
    *(Sample(m.apart(2, 3), m.real(2), driver=driver) for driver in _DRIVERS),
    Sample(m.real(2, 3, 2), m.real(2, 3)), Sample(m.real(2, 3, 2), m.real(1, 3, 1), driver="gelsd"),
    refused(m.real(2, 3, 2), m.real(3, 1)), Sample(m.complex(3, 2), m.complex(3, 1), driver="gels"),
    Sample(np.ones((4, 3), np.float32), m.real(4, 1), gradient=False),
    Sample(np.ones((4, 3), np.float32), m.real(4, 1), rcond=0.5, driver="gelss", gradient=False, compare=False),
    refused(m.real(3, 2), m.real(3, 1, dtype=np.float64)), refused(m.real(3, 2), m.real(2, 1)),
    refused(m.real(3, 2), m.real(3, 1), driver="x"), refused(m.real(3), m.real(3)),
    refused(m.integers(3, 2), m.integers(3, 1)),
]))  # fmt: skip

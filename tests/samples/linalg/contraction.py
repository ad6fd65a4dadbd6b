"""Samples of the ops of ``ops/linalg/contraction.py``."""

from __future__ import annotations

import numpy as np

from ..make import Sample, cases, refused, samples

samples("tensordot", cases(lambda m: [
    Sample(m.real(2, 3, 2), m.real(3, 2, 2)), Sample(m.real(2, 3), m.real(3, 2), dims=1),
    Sample(m.real(2), m.real(3), dims=0),
    Sample(m.real(2, 3, 2), m.real(2, 3, 1), dims=([1, -1], [1, 0])), Sample(m.real(2, 1), m.real(3, 3), dims=1),
    Sample(m.complex(2, 3), m.complex(3, 2), 1), Sample(m.integers(2, 3), m.integers(3, 2), 1, gradient=False),
    Sample(m.real(2, 0), m.real(0, 3), 1),
    refused(m.real(2, 3), m.real(4, 3), 1), refused(m.real(2, 3), m.real(4, 3), -1),
    refused(m.real(2, 3), m.real(3, 3), 3),
    refused(m.real(2, 3), m.real(3, dtype=np.float64), 1), refused(m.real(2, 3), m.real(3), ([1, 0], [0])),
    refused(m.real(2, 3), m.real(3), (1, 0)), refused(m.real(2, 3), m.real(3), ([5], [0])),
    refused(m.real(2, 3), m.real(3, 3), ([1, 1], [0, 1])),
]))  # fmt: skip

samples("einsum", cases(lambda m: [
    Sample("ij,jk->ik", m.real(2, 3), m.real(3, 4)), Sample("ij,jk", m.real(2, 3), m.real(3, 4)),
    Sample("ij,jk->ki", m.real(3, 2).T, m.real(3, 4)), Sample("ii", m.real(3, 3)), Sample("ii->i", m.real(3, 3)),
    Sample("iji->j", m.real(2, 3, 2)), Sample("i,j", m.real(2), m.real(3)), Sample("i,i", m.real(3), m.real(3)),
    Sample("ij->", m.real(2, 3)), Sample("ji", m.real(2, 3)), Sample("Ba", m.real(2, 3)),
    Sample("...ij,...jk->...ik", m.real(2, 2, 3), m.real(3, 2)), Sample("b...i->...", m.real(2, 3, 2)),
    Sample("...,...", m.real(2, 3), m.real(3)), Sample("bij,bjk->bik", m.real(1, 2, 3), m.real(2, 3, 1)),
    Sample("bhqd,bhkd->bhqk", m.real(2, 2, 2, 1), m.real(2, 2, 3, 1)),
    Sample("ij,jk,kl->il", m.real(2, 3), m.real(3, 2), m.real(2, 2)),
    Sample("abc,cd,ebd->ea", m.real(2, 2, 3), m.real(3, 2), m.real(1, 2, 2)),
    Sample(" i j , j -> i ", m.real(2, 3), m.real(3)),
    Sample("ij,i->j", m.real(2, 3), m.real(1)), Sample("ij,kj->ik", m.real(2, 1), m.real(3, 3)),
    Sample(",ij->ij", m.real(), m.real(2, 3)),
    Sample("ij,jk->ik", m.real(2, 0), m.real(0, 3)),
    Sample("bn,anm,bm->ba", m.real(2, 3), m.real(2, 3, 2), m.real(2, 2)),
    Sample("ij,jk->ik", [m.real(2, 3), m.real(3, 1)]), Sample("ij,jk->ik", m.complex(2, 2), m.complex(2, 2)),
    Sample(m.real(2, 3), [0, 1], m.real(3, 2), [1, 2], [0, 2]), Sample(m.real(2, 3), [0, 1], m.real(3, 2), [1, 2]),
    Sample(m.real(2, 2, 3), [..., 0, 1], m.real(3, 2), [1, 2], [..., 0, 2]),
    Sample("ij,jk", m.integers(2, 3), m.integers(3, 2), gradient=False),
    Sample("ij->i", m.integers(2, 3, dtype=np.int32), gradient=False),
    Sample("i,i->i", m.booleans(2), m.booleans(2), gradient=False),
    Sample("i,i->i", m.integers(2), m.real(2), gradient=False),
    refused("ij,jk->il", m.real(2, 3), m.real(3, 4)), refused("ij,jk", m.real(2, 3), m.real(4, 4)),
    refused("ij,jk", m.real(2, 3)),
    refused("ijk", m.real(2, 3)), refused("i.j", m.real(2, 3)), refused("ij->ii", m.real(2, 3)),
    refused("i1", m.real(2, 3)),
    refused("ii", m.real(2, 3)), refused("i", m.real(2, 3)),
    refused("ij,jk", m.real(2, 3), m.real(3, 2, dtype=np.float64)),
    refused("i...j...", m.real(2, 3)), refused(m.real(2, 3), [0, 60]), refused("ij", 3), refused(),
    refused("ij,jk", m.booleans(2, 3), m.booleans(3, 2)),
]))  # fmt: skip

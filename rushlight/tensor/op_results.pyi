"""Numbers, operands, and the named tuples that ops with several outputs return: a stub-only module.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rushlight.tensor.tensor import Tensor

Number: TypeAlias = int | float | complex
Operand: TypeAlias = Tensor | Number | np.number[Any] | np.bool_

class _pack_padded_sequence(NamedTuple):
    data: Tensor
    batch_sizes: Tensor

class _pad_packed_sequence(NamedTuple):
    output: Tensor
    lengths: Tensor

class adaptive_max_pool1d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class adaptive_max_pool2d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class adaptive_max_pool3d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class geqrf(NamedTuple):
    a: Tensor
    tau: Tensor

class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_ldl_factor_ex(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class max_pool1d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class max_pool2d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class max_pool3d_with_indices(NamedTuple):
    output: Tensor
    indices: Tensor

class mode(NamedTuple):
    values: Tensor
    indices: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor

"""``torch.sparse``: functions of sparse tensors, and the switch that has their indices checked.

In: tensors of the layouts ``sparse_coo``, ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` and ``sparse_bsc``.  Out: sparse or dense tensors.
The functions are declared in ``ops/sparse/``; ``invariants.py`` has the switch, and what ``gradcheck`` needs for sparse inputs.
"""

from __future__ import annotations

from ..core.missing import listing, missing
from .invariants import as_sparse_gradcheck, check_sparse_tensor_invariants
from .semi_structured import SparseSemiStructuredTensor, to_sparse_semi_structured

__getattr__ = missing(__name__, namespace="sparse")
__dir__ = listing(__name__, "sparse")

__all__ = [
    "SparseSemiStructuredTensor", "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
    "softmax", "spdiags", "spsolve", "sum", "to_sparse_semi_structured",
]  # fmt: skip

"""``torch.sparse``: functions of sparse tensors, and the switch that has their indices checked.

In: tensors of the layouts ``sparse_coo``, ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` and ``sparse_bsc``.  Out: sparse or dense tensors.
The functions are declared in ``ops/sparse/``; ``invariants.py`` has the switch, and what ``gradcheck`` needs for sparse inputs.
"""

from __future__ import annotations

from typing import Any

from ..core.declare import exports as _exports
from ..core.missing import listing, missing
from ..tensor.legacy import TENSOR_TYPES as _TENSOR_TYPES
from .invariants import as_sparse_gradcheck, check_sparse_tensor_invariants
from .semi_structured import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    to_sparse_semi_structured,
)


class _SparseType(type):
    """The class of ``torch.sparse.FloatTensor`` and its like: the old names for "a sparse tensor of this type"."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        return bool(getattr(value, "is_sparse", False)) and value.dtype is cls.dtype  # type: ignore[attr-defined]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and hasattr(args[0], "_array"):
            indices, values, *size = args
            return _exports["", "sparse_coo_tensor"](indices, values.to(cls.dtype), *(tuple(each) for each in size[:1]), **kwargs)
        shape = tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return _exports["", "sparse_coo_tensor"](shape, dtype=cls.dtype, **kwargs)


globals().update(
    {
        name: _SparseType(
            name, (), {"dtype": each.dtype, "__module__": "torch.sparse", "__doc__": f"A sparse tensor of {each.dtype.name}."}
        )
        for name, each in _TENSOR_TYPES.items()
    }
)
__getattr__ = missing(__name__, namespace="sparse")
__dir__ = listing(__name__, "sparse")

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS", "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
    "softmax", "spdiags", "spsolve", "sum", "to_sparse_semi_structured",
]  # fmt: skip

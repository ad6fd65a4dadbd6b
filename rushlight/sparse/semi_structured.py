"""Semi-structured (2:4) sparsity: refused, for it is a format of NVIDIA's tensor cores."""

from __future__ import annotations

from typing import Any

from ..core.errors import NotSupported

_REASON = (
    "semi-structured (2:4) sparse tensors are a format of NVIDIA's tensor cores, and there are none here: multiply by the mask, or use "
    "to_sparse_bsr()"
)


class SparseSemiStructuredTensor:
    """A tensor with two of four elements kept; none can be made here."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotSupported(_REASON)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The same in CUTLASS' layout."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The same in cuSPARSELt's layout."""


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Raise: the format needs NVIDIA's tensor cores."""
    raise NotSupported(_REASON)

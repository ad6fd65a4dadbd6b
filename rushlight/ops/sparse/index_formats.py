"""Row numbers as the places where rows begin, and back: what graph libraries call on edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.base import make
from ...core.declare import composite
from .formats import row_numbers


def _integers(array: Any, out_int32: bool) -> Any:
    return make(array.astype(np.int32 if out_int32 else np.int64))


@composite(namespace="", method=False)
def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of ``size`` rows begins, from sorted row numbers."""
    return _integers(np.searchsorted(input._array, np.arange(size + 1)), out_int32)  # type: ignore[no-any-return]


@composite(namespace="", method=False)
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Row and column numbers (with ``transpose`` exchanged), from where rows begin and the columns."""
    pair = (row_numbers(crow_indices._array), col_indices._array)
    return _integers(np.stack(pair[::-1] if transpose else pair), out_int32)  # type: ignore[no-any-return]

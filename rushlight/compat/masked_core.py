"""``torch.masked.maskedtensor.core``: comparisons of masks and of data, and the class."""

from __future__ import annotations

from typing import Any

from ..masked.maskedtensor import MaskedTensor, is_masked_tensor


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors of one layout, dtype and shape have equal elements, or (not ``exact``) close ones."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dtype is not b.dtype:
        b = b.type(a.dtype)
    a, b = a.to_dense(), b.to_dense()
    if exact:
        return a.dim() == b.dim() and a.shape == b.shape and bool(a.eq(b).all())
    return a.dim() == b.dim() and bool(a.isclose(b, rtol=rtol, atol=atol, equal_nan=True).all())


def _masks_match(a: Any, b: Any) -> bool:
    """Whether two masked tensors have the same mask; True where one of them is none."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return _tensors_match(a.get_mask(), b.get_mask(), exact=True)
    return True


__all__ = ["MaskedTensor", "is_masked_tensor"]

"""Attention."""

from __future__ import annotations

import math
from typing import Any

from ..core.base import TensorBase as Tensor
from ..core.declare import composite, table
from ..core.dtypes import bool_
from ..core.errors import OperationError, ShapeError
from ..core.samples import Sample, cases


def _attend(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, repeat: bool) -> Any:
    length, source = query._array.shape[-2], key._array.shape[-2]
    if is_causal:
        if mask is not None:
            raise OperationError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        mask = table["ones"].call(length, source, dtype=bool_, device=query.device).tril()
    if repeat:
        heads = query._array.shape[-3]
        key = key.repeat_interleave(heads // key._array.shape[-3], -3)
        value = value.repeat_interleave(heads // value._array.shape[-3], -3)
    factor = 1 / math.sqrt(query._array.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    empty = None
    if mask is not None:
        if mask._array.dtype.kind == "b":
            scores = scores.masked_fill(~mask, float("-inf"))
            empty = ~mask.any(-1, True)
        else:
            scores = scores + mask
    weights = scores.softmax(-1)
    if empty is not None:  # a row that may attend to nothing gives zeros
        weights = weights.masked_fill(empty, 0)
    if dropout_p > 0:
        weights = table["dropout"].call(weights, dropout_p, True)
    return weights @ value


@composite(
    namespace="nn.functional", name="scaled_dot_product_attention",
    samples=cases(lambda m: [
        Sample(m.real(2, 3, 4), m.real(2, 5, 4), m.real(2, 5, 4)), Sample(m.real(1, 2, 3, 4), m.real(1, 2, 3, 4), m.real(1, 2, 3, 2), is_causal=True),
        Sample(m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 4), m.booleans(3, 3) | True, scale=0.3),
        Sample(m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 4), m.real(2, 3, 3)),
        Sample(m.real(1, 4, 2, 2), m.real(1, 2, 2, 2), m.real(1, 2, 2, 2), enable_gqa=True),
        Sample(m.real(3, 4), m.real(3, 5), m.real(3, 4), gradient=False),
    ]),
)  # fmt: skip
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value``."""
    if query._array.ndim < 2 or key._array.ndim < 2 or value._array.ndim < 2:
        raise ShapeError("scaled_dot_product_attention: all inputs must have at least 2 dimensions")
    if not query._array.dtype == key._array.dtype == value._array.dtype:
        raise OperationError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} key.dtype: {key.dtype} and "
            f"value.dtype: {value.dtype} instead."
        )
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

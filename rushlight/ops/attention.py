"""Attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.base import TensorBase as Tensor
from ..core.declare import composite, joint, primitive, table
from ..core.dtypes import bool_
from ..core.errors import OperationError, ShapeError
from ..core.families import broadcast_shapes
from ..core.recording import differentiate_body
from ..core.samples import Sample, cases
from ..core.state import state


def _scores(query: Any, key: Any, mask: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    """Scaled products of queries and keys with what is masked at -inf, and which rows may attend to nothing."""
    if causal:
        length, source = query._array.shape[-2], key._array.shape[-2]
        mask = table["ones"].call(length, source, dtype=bool_, device=query.device).tril()
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask is None:
        return scores, None
    if mask._array.dtype.kind == "b":
        return scores.masked_fill(~mask, float("-inf")), ~mask.any(-1, True)
    return scores + mask, (mask == float("-inf")).all(-1, True)


def _weights(query: Any, key: Any, mask: Any, causal: bool, scale: float) -> Any:
    scores, empty = _scores(query, key, mask, causal, scale)
    weights = scores.softmax(-1)
    return weights if empty is None else weights.masked_fill(empty, 0)


def _attention_meta(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> list[Spec]:
    batch = broadcast_shapes([tuple(each.shape[:-2]) for each in (query, key, value)])
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: shapes {list(query.shape)}, {list(key.shape)} and {list(value.shape)} do not fit together"
        )
    if mask is not None:
        broadcast_shapes([tuple(mask.shape), (*batch, query.shape[-2], key.shape[-2])])
    rows = (*broadcast_shapes([tuple(query.shape[:-2]), tuple(key.shape[:-2])]), query.shape[-2])
    return [Spec((*batch, query.shape[-2], value.shape[-1]), query.dtype), Spec((*rows, key.shape[-2]), query.dtype)]


def _attention_kernel(xp: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> list[Any]:
    _attention_meta(query, key, value, mask, causal, scale)
    kind = query.dtype.type
    weights = xp.matmul(query * kind(scale), key.swapaxes(-1, -2))
    if causal:
        xp.copyto(weights, kind(-np.inf), where=~xp.tri(*weights.shape[-2:], dtype=bool))
    elif mask is not None and mask.dtype.kind == "b":
        xp.copyto(weights, kind(-np.inf), where=~mask)
    elif mask is not None:
        weights = weights + mask.astype(weights.dtype, copy=False)
    highest = xp.maximum.reduce(weights, axis=-1, keepdims=True)
    weights -= xp.where(xp.isneginf(highest), kind(0), highest)
    xp.exp(weights, out=weights)
    total = xp.add.reduce(weights, axis=-1, keepdims=True)
    weights /= xp.where(total == 0, kind(1), total)  # a row that may attend to nothing gives zeros
    return [xp.matmul(weights, value), weights]


def _attention_gradient(
    needs: Any, g: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, weights: Any
) -> Any:
    if state.grad_enabled or needs[3]:
        return differentiate_body(table["attention"], needs, g, (query, key, value, mask, causal, scale))
    return (*attention_backward(g, query, key, value, weights, scale), None)


def _attention_backward_kernel(xp: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float) -> list[Any]:
    slope = xp.matmul(grad, value.swapaxes(-1, -2))
    slope -= xp.add.reduce(slope * weights, axis=-1, keepdims=True)
    slope *= weights
    slope *= query.dtype.type(scale)
    turned = slope.swapaxes(-1, -2)
    return [xp.matmul(slope, key), xp.matmul(turned, query), xp.matmul(weights.swapaxes(-1, -2), grad)]


@primitive(
    meta=lambda grad, query, key, value, weights, scale: [
        Spec((*weights.shape[:-1], key.shape[-1]), grad.dtype),
        Spec((*weights.shape[:-2], weights.shape[-1], query.shape[-1]), grad.dtype),
        Spec((*grad.shape[:-2], weights.shape[-1], grad.shape[-1]), grad.dtype),
    ],
    kernel=_attention_backward_kernel,
    vjp={},
    returns=("query", "key", "value"),
    namespace=None,
    method=False,
    out=False,
    notes="second derivatives go through the body of attention",
)
def attention_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor, scale: float) -> Tensor:
    """The gradients of queries, keys and values."""


@composite(
    kernel=_attention_kernel,
    meta=_attention_meta,
    vjp=joint("query", "key", "value", "mask")(_attention_gradient),
    samples=cases(lambda m: [
        Sample(m.real(2, 3, 4), m.real(2, 5, 4), m.real(2, 5, 2), None, False, 0.5),
        Sample(m.real(2, 3, 4), m.real(1, 3, 4), m.real(3, 2), None, True, 0.5),
        Sample(m.real(3, 4), m.real(3, 4), m.real(3, 2), m.real(3, 3), False, 0.5),
        Sample(m.real(3, 4), m.real(3, 4), m.real(3, 2), np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool), False, 0.5),
    ]),
    returns=("output", "weights"),
    nondifferentiable=("weights",),
    namespace=None,
    method=False,
)  # fmt: skip
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """Attention without dropout: the output and the weights."""
    weights = _weights(query, key, mask, causal, scale)
    return weights @ value, weights  # type: ignore[return-value]


def _attend(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, repeat: bool) -> Any:
    if is_causal and mask is not None:
        raise OperationError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if repeat:
        heads = query._array.shape[-3]
        key = key.repeat_interleave(heads // key._array.shape[-3], -3)
        value = value.repeat_interleave(heads // value._array.shape[-3], -3)
    factor = 1 / math.sqrt(query._array.shape[-1]) if scale is None else scale
    if dropout_p == 0:
        return attention(query, key, value, mask, is_causal, factor)[0]
    weights = table["dropout"].call(_weights(query, key, mask, is_causal, factor), dropout_p, True)
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

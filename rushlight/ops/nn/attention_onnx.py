"""ONNX forms of attention."""

from __future__ import annotations

from typing import Any

import numpy as np

_LOWEST = float(np.finfo(np.float32).min)


def _causal(g: Any, scores: Any, length: Any, source: Any) -> Any:
    """Scores with -inf where a query would see what comes after it."""
    if type(length) is int and type(source) is int:
        hidden = np.triu(np.full((length, source), -np.inf, np.float32), 1).astype(scores.dtype)
        return g.Add(scores, g.constant(hidden))
    rows = g.unsqueeze(g.range(0, length), [1])
    return g.where(g.Less(rows, g.range(0, source)), g.constant(-np.inf, scores.dtype), scores)


def attention(g: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    """Products and a softmax; a query that may attend to nothing gets zeros."""
    if query.dtype.kind == "c":
        raise g.unsupported("ONNX has no complex arithmetic")
    scores = g.MatMul(g.Mul(query, g.number(scale, query.dtype)), g.swap(key))
    zero = g.constant(0, query.dtype)
    if causal:
        weights = _softmax(g, _causal(g, scores, query.shape[-2], key.shape[-2]), g.outputs[1])
    elif mask is None:
        weights = _softmax(g, scores, g.outputs[1])
    elif mask.dtype.kind == "b":
        weights = _softmax(g, g.where(mask, scores, g.constant(-np.inf, query.dtype)), g.outputs[1])
        weights = g.where(mask, weights, zero)
    else:
        mask = g.cast(mask, query.dtype)
        weights = _softmax(g, g.Add(scores, mask), g.outputs[1])
        if mask.constant is None or np.isneginf(mask.constant).all(-1).any():
            nothing = g.Less(g.reduce("ReduceMax", mask, [mask.rank - 1], True), g.constant(_LOWEST, query.dtype))
            weights = g.where(nothing, zero, weights)
    return g.MatMul(weights, value), weights


def attention_backward(
    g: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool = False, mask: Any = None
) -> Any:
    """The products of attention, and the gradient of its softmax, backwards."""
    if weights is None:
        raise g.unsupported("the weights of attention were not kept")
    if query.dtype.kind == "c":
        raise g.unsupported("ONNX has no complex arithmetic")
    slope = g.MatMul(grad, g.swap(value))
    share = g.reduce("ReduceSum", g.Mul(slope, weights), [-1 if g.opset >= 11 else weights.rank - 1], True)
    scores = g.Mul(g.Mul(weights, g.Sub(slope, share)), g.number(scale, query.dtype))
    scores.shape = weights.shape
    return g.MatMul(scores, key), g.MatMul(g.swap(scores), query), g.MatMul(g.swap(weights), grad)


def _softmax(g: Any, scores: Any, spec: Any) -> Any:
    return g.Softmax(scores, axis=-1 if g.opset >= 13 else len(spec.shape) - 1)


def scaled_dot_product_attention(
    g: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
) -> Any:
    """One node since opset 23, for tensors with a batch dimension and perhaps heads, all alike."""
    given = (query, key, value)
    rank = query.rank
    if dropout_p or rank not in (3, 4) or any(each.rank != rank for each in given) or query.dtype.kind == "c":
        return NotImplemented
    alike = given if rank == 3 or not enable_gqa else (key, value)
    if not all(_same(each.shape[at], alike[0].shape[at]) for each in alike for at in range(rank - 2)):
        return NotImplemented
    if not all(_same(each.shape[0], query.shape[0]) for each in given) or (rank == 3 and enable_gqa):
        return NotImplemented
    if attn_mask is not None and attn_mask.rank != 2:
        if attn_mask.rank != rank:
            return NotImplemented
        attn_mask = attn_mask if rank == 4 else g.unsqueeze(attn_mask, [1])
    if attn_mask is not None and attn_mask.dtype.kind == "f":
        attn_mask = g.cast(attn_mask, query.dtype)
    attributes: dict[str, Any] = {"is_causal": 1} if is_causal else {}
    if rank == 3:
        attributes |= {"kv_num_heads": 1, "q_num_heads": 1}
    if scale is not None:
        attributes["scale"] = float(scale)
    return g.Attention(query, key, value, attn_mask, **attributes)


def _same(first: Any, second: Any) -> bool:
    """Whether two sizes are one by their formulas."""
    if type(first) is int or type(second) is int:
        return type(first) is type(second) and first == second
    return bool(first.expression == second.expression)

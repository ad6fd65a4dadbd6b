"""Attention with several heads in the operators that PyTorch's function of that name calls, in their order."""

from __future__ import annotations

import math
from typing import Any

from ..core.declare import table
from ..ops.nn.attention_forward import canonical_mask, check_shapes


def _run(name: str, *args: Any, **kwargs: Any) -> Any:
    return table[name].call(*args, **kwargs)


def _parts(projected: Any, count: int, width: int) -> list[Any]:
    """The queries, keys and values of one product, each as a tensor that is contiguous."""
    rows = projected.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [rows[at] for at in range(count)]


def _projections(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> list[Any]:
    """Queries, keys and values by a weight for all of them."""
    width = query.shape[-1]
    if query is key and key is value:
        return _parts(_run("linear", query, weight, bias), 3, width)
    if key is value:
        first, rest = weight.split([width, 2 * width])
        first_bias, rest_bias = (None, None) if bias is None else bias.split([width, 2 * width])
        made = _run("linear", query, first, first_bias)
        return [made, *_parts(_run("linear", key, rest, rest_bias), 2, width)]
    weights, biases = weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3)
    return [_run("linear", each, part, shift) for each, part, shift in zip((query, key, value), weights, biases)]


def attention(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any,
    add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True, key_padding_mask: Any = None,
    need_weights: bool = True, attn_mask: Any = None, use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    """The ordinary call: a batch, one weight for all projections, neither extra keys nor given ones; others are recorded as they run here."""
    extra = (bias_k, bias_v, static_k, static_v)
    if query.dim() != 3 or use_separate_proj_weight or add_zero_attn or any(each is not None for each in extra):
        return NotImplemented
    if is_causal and attn_mask is None or in_proj_weight is None:
        return NotImplemented  # an error
    check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    length, batch, width = query.shape
    source, size = key.shape[0], width // num_heads
    if width != embed_dim_to_check or size * num_heads != width or tuple(key.shape) != tuple(value.shape):
        return NotImplemented
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = False
    projected = _projections(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None and attn_mask.dim() == 2:
        attn_mask = attn_mask.unsqueeze(0)
    lengths = (length, source, source)
    rows = [each.view(long, batch * num_heads, size).transpose(0, 1) for each, long in zip(projected, lengths)]
    if key_padding_mask is not None:
        spread = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, source)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    dropout = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scaled, keys = rows[0] * math.sqrt(1.0 / size), rows[1].transpose(-2, -1)
        scores = _run("bmm", scaled, keys) if attn_mask is None else _run("baddbmm", attn_mask, scaled, keys)
        weights = scores.softmax(-1)
        if dropout > 0.0:
            weights = _run("nn_functional_dropout", weights, dropout)
        attended = _run("bmm", weights, rows[2]).transpose(0, 1).reshape(length * batch, width)
    else:
        if attn_mask is not None:
            single = attn_mask.shape[0] == 1 and attn_mask.dim() == 3
            attn_mask = attn_mask.unsqueeze(0) if single else attn_mask.view(batch, num_heads, -1, source)
        heads = [each.view(batch, num_heads, long, size) for each, long in zip(rows, lengths)]
        found = _run("scaled_dot_product_attention", *heads, attn_mask, dropout, is_causal)
        attended = found.permute(2, 0, 1, 3).reshape(batch * length, width)
    output = _run("linear", attended, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
    if weights is not None:
        weights = weights.view(batch, num_heads, length, source)
        weights = weights.mean(1) if average_attn_weights else weights
    return output, weights

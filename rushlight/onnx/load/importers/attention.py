"""Attention, its positions, and linear attention."""

from __future__ import annotations

import math
from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import NodeContext, dtype_of, importer


def heads_first(x: Any, heads: int) -> Any:
    """(batch, heads, sequence, size) of (batch, sequence, heads * size)."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def heads_packed(x: Any) -> Any:
    """(batch, sequence, heads * size) of (batch, heads, sequence, size)."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


@importer("Attention")
def attention(
    node: NodeContext, q: Any, k: Any, v: Any, mask: Any = None, past_key: Any = None, past_value: Any = None, lengths: Any = None
) -> Any:
    packed = q.dim() == 3
    if packed:
        q, k, v = heads_first(q, node["q_num_heads"]), heads_first(k, node["kv_num_heads"]), heads_first(v, node["kv_num_heads"])
    offset: Any = 0
    if past_key is not None:
        offset = past_key.shape[2]
        k, v = rl.cat([past_key, k], 2), rl.cat([past_value, v], 2)
    elif lengths is not None:
        offset = lengths.reshape(-1, 1, 1, 1) - q.shape[2]
    present = k, v
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = rl.repeat_interleave(k, groups, 1), rl.repeat_interleave(v, groups, 1)
    scale = node.get("scale", 1 / math.sqrt(q.shape[-1]))
    scores = None
    if node.outputs < 4 and not node["softcap"] and node.get("softmax_precision") is None and q.dtype in (rl.float32, rl.float64):
        y = attended_at_once(node, q, k, v, mask, lengths, offset, scale)
    else:
        y, scores = attended(node, q, k, v, *masks(node, q, k, mask, lengths, offset), scale)
    return (heads_packed(y) if packed else y, *present, scores)[: node.outputs]


def masks(node: NodeContext, q: Any, k: Any, mask: Any, lengths: Any, offset: Any) -> tuple[Any, Any]:
    """Which keys each query may see, and what is added to its scores; None for all, and for nothing."""
    allowed, bias = None, None
    keys = rl.arange(k.shape[2], device=k.device).reshape(1, 1, 1, -1)
    rows = rl.arange(q.shape[2], device=q.device).reshape(1, 1, -1, 1) + offset
    limits = []
    if node["is_causal"]:
        limits.append(keys <= rows)
    if (left := node.get("left_window_size", -1)) >= 0:
        limits.append(keys >= rows - left)
    if (right := node.get("right_window_size", -1)) >= 0:
        limits.append(keys <= rows + right)
    if lengths is not None:
        limits.append(keys < lengths.reshape(-1, 1, 1, 1))
    if mask is not None:
        missing = k.shape[2] - mask.shape[-1]
        if mask.dtype is rl.bool:
            limits.append(F.pad(mask, (0, missing), value=False) if missing else mask)
        else:
            bias = mask.to(q.dtype)
            if missing:
                bias = F.pad(bias, (0, missing), value=float("-inf"))
    for each in limits:
        allowed = each if allowed is None else allowed & each
    return allowed, bias


def attended_at_once(node: NodeContext, q: Any, k: Any, v: Any, mask: Any, lengths: Any, offset: Any, scale: float) -> Any:
    """What each query takes from the values, by the op that never holds all scores."""
    windows = max(node.get("left_window_size", -1), node.get("right_window_size", -1)) >= 0
    if node["is_causal"] and not windows and mask is None and lengths is None and offset.__class__ is int and offset == 0:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    allowed, bias = masks(node, q, k, mask, lengths, offset)
    if allowed is not None and bias is not None:
        bias = rl.where(allowed, bias, rl.full_like(bias, float("-inf")))
    return F.scaled_dot_product_attention(q, k, v, allowed if bias is None else bias, scale=scale)


def attended(node: NodeContext, q: Any, k: Any, v: Any, allowed: Any, bias: Any, scale: float) -> tuple[Any, Any]:
    """What each query takes from the values, and its scores at the stage that the node asks for."""
    dtype, root = q.dtype, math.sqrt(scale)
    if dtype in (rl.float16, rl.bfloat16):
        q, k, v = (each.to(rl.float32) for each in (q, k, v))
    scores = rl.matmul(q * root, (k * root).transpose(-2, -1))
    stages = [scores]
    if (cap := node["softcap"]) > 0:
        scores = cap * rl.tanh(scores / cap)
    stages.append(scores)
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = rl.where(allowed, scores, rl.full_like(scores, float("-inf")))
    stages.append(scores)
    exact = node.get("softmax_precision")
    weights = masked_softmax(scores if exact is None else scores.to(dtype_of(exact)), allowed is not None or bias is not None)
    stages.append(weights)
    return rl.matmul(weights.to(v.dtype), v).to(dtype), stages[node.get("qk_matmul_output_mode", 0)].to(dtype)


def masked_softmax(scores: Any, masked: bool) -> Any:
    """A softmax along the last dimension, zero where nothing is allowed."""
    if not masked:
        return rl.softmax(scores, -1)
    empty = rl.amax(scores, -1, True) == float("-inf")
    return rl.where(empty, rl.zeros_like(scores), rl.softmax(rl.where(empty, rl.zeros_like(scores), scores), -1))


@importer("RotaryEmbedding")
def rotary_embedding(node: NodeContext, x: Any, cosines: Any, sines: Any, positions: Any = None) -> Any:
    packed = x.dim() == 3
    y = x.reshape(x.shape[0], x.shape[1], node["num_heads"], -1) if packed else x.transpose(1, 2)  # (batch, sequence, heads, size)
    rotary_dim = node["rotary_embedding_dim"] or y.shape[-1]
    rotated, rest = y[..., :rotary_dim], y[..., rotary_dim:]
    if positions is not None:
        cosines, sines = cosines[positions], sines[positions]
    cosines, sines = cosines.unsqueeze(2), sines.unsqueeze(2)
    if node["interleaved"]:
        first, second = rotated[..., 0::2], rotated[..., 1::2]
    else:
        first, second = rotated[..., : rotary_dim // 2], rotated[..., rotary_dim // 2 :]
    real, imaginary = cosines * first - sines * second, sines * first + cosines * second
    rotated = rl.stack([real, imaginary], -1).reshape(rotated.shape) if node["interleaved"] else rl.cat([real, imaginary], -1)
    y = rl.cat([rotated, rest], -1)
    return y.reshape(x.shape) if packed else y.transpose(1, 2)


@importer("LinearAttention")
def linear_attention(node: NodeContext, q: Any, k: Any, v: Any, state: Any = None, decay: Any = None, beta: Any = None) -> Any:
    """The recurrence of a state, token by token, in float32."""
    q_heads, kv_heads = node["q_num_heads"], node["kv_num_heads"]
    wide = rl.float32 if q.dtype in (rl.float16, rl.bfloat16) else q.dtype
    queries, keys, values = (heads_first(each.to(wide), heads) for each, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    scale = node["scale"] or 1 / math.sqrt(queries.shape[-1])
    kept = rl.zeros((q.shape[0], kv_heads, keys.shape[-1], values.shape[-1]), dtype=wide) if state is None else state.to(wide)
    rule = node["update_rule"]
    decays = heads_first(decay.to(wide), kv_heads).exp() if "gated" in rule else None  # (batch, heads, time, 1 or size)
    rates = beta.to(wide).transpose(1, 2).unsqueeze(-1) if "delta" in rule else None  # (batch, heads or 1, time, 1)
    outputs = []
    for time in range(q.shape[1]):
        key, value = keys[:, :, time], values[:, :, time]
        if decays is not None:
            kept = kept * decays[:, :, time].unsqueeze(-1)
        if rates is not None:
            value = rates[:, :, time] * (value - rl.matmul(key.unsqueeze(-2), kept).squeeze(-2))
        kept = kept + key.unsqueeze(-1) * value.unsqueeze(-2)
        shared = rl.repeat_interleave(kept, q_heads // kv_heads, 1)
        outputs.append(scale * rl.matmul(queries[:, :, time].unsqueeze(-2), shared))
    return heads_packed(rl.cat(outputs, 2)).to(q.dtype), kept.to(q.dtype if state is None else state.dtype)

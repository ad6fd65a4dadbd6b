"""Attention of ONNX Runtime's own domain: what its optimizers make of transformers, with caches of keys and values."""

from __future__ import annotations

from typing import Any

from .. import calls as rl
from ..registry import Int, NodeContext, importer
from .attention import heads_first, heads_packed
from .attention import rotary_embedding as rotary_embedding_of_the_standard
from .microsoft import DOMAIN, matmul_integer_to_float, with_defaults


def attended(node: NodeContext, q: Any, k: Any, v: Any, mask: Any, bias: Any) -> Any:
    """Attention of queries, keys and values of all heads, in rows."""
    added = bias
    if mask is not None:
        hidden = (1 - mask_of(mask, q.shape[0], k.shape[2]).to(q.dtype)) * node.get("mask_filter_value", -10000.0)
        added = hidden if bias is None else bias + hidden
    scores = rl.matmul(q, rl.transpose(k, -1, -2)) * (node.get("scale", 0.0) or q.shape[-1] ** -0.5)
    scores = scores if added is None else scores + added
    if node.get("unidirectional", 0):
        allowed = rl.tril(rl.ones(scores.shape[-2:], dtype=rl.bool), k.shape[2] - q.shape[2])
        scores = rl.masked_fill(scores, ~allowed, float("-inf"))
    return heads_packed(rl.matmul(rl.softmax(scores, -1), v))


def mask_of(mask: Any, batch: int, keys: int) -> Any:
    """Which keys are there, for each head and query: of a mask of keys, of queries and keys, or of where sequences end (and then, where they begin)."""
    if mask.dim() == 1:
        places, ends = rl.arange(keys), mask[:batch].unsqueeze(1)
        mask = places < ends if mask.shape[0] == batch else (places < ends) & (places >= mask[batch:].unsqueeze(1))
    return mask.reshape(mask.shape[0], 1, *((1,) if mask.dim() == 2 else ()), *mask.shape[1:])


@importer("Attention", domain=DOMAIN)
def attention(
    node: NodeContext, x: Any, weight: Any, bias: Any = None, mask: Any = None, past: Any = None, added: Any = None, past_length: Any = None
) -> Any:
    rows = rl.matmul(x, weight)
    sizes = list(node.get("qkv_hidden_sizes", ()) or [weight.shape[1] // 3] * 3)
    return of_rows(node, rows if bias is None else rows + bias, sizes, mask, past, added, past_length)


@importer("QAttention", domain=DOMAIN)
def quantized_attention(
    node: NodeContext, x: Any, weight: Any, bias: Any, x_scale: Any, weight_scale: Any, mask: Any = None, x_zero: Any = None, weight_zero: Any = None, past: Any = None
) -> Any:  # fmt: skip
    rows = matmul_integer_to_float(node, x, weight, x_scale, weight_scale, x_zero, weight_zero, bias)
    return of_rows(node, rows, [weight.shape[1] // 3] * 3, mask, past, None, None)


def of_rows(node: NodeContext, rows: Any, sizes: list[int], mask: Any, past: Any, added: Any, past_length: Any) -> Any:
    """Attention of queries, keys and values that lie side by side, and the cache of the last two."""
    if node.get("do_rotary", 0) or past_length is not None:
        raise node.not_supported("it rotates places, or its cache is larger than what is in it")
    q, k, v = (heads_first(each, node["num_heads"]) for each in rl.split(rows, sizes, -1))
    if past is not None:
        k, v = rl.cat([past[0], k], 2), rl.cat([past[1], v], 2)
    y = attended(node, q, k, v, mask, added)
    return y if node.outputs == 1 else (y, rl.stack([k, v]))


@importer("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(
    node: NodeContext, q: Any, k: Any = None, v: Any = None, bias: Any = None, mask: Any = None, added: Any = None, past_key: Any = None, past_value: Any = None,
    past_length: Any = None, indirection: Any = None,
) -> Any:  # fmt: skip
    if (
        k is None
        or v is None
        or past_length is not None
        or indirection is not None
        or node.outputs > 3
        or (k.dim() == 4 and bias is not None)
    ):
        raise node.not_supported("it has packed inputs, or a cache that is larger than what is in it")
    if bias is not None:
        sizes = [q.shape[-1], k.shape[-1], v.shape[-1]]
        q, k, v = (each + part for each, part in zip((q, k, v), rl.split(bias, sizes, -1)))
    q, k, v = (each if each.dim() == 4 else heads_first(each, node["num_heads"]) for each in (q, k, v))
    if past_key is not None:
        k, v = rl.cat([past_key, k], 2), rl.cat([past_value, v], 2)
    y = attended(node, q, k, v, mask, added)
    return y if node.outputs == 1 else (y, k, v)[: node.outputs]


@importer("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(node: NodeContext, x: Any, positions: Any, cosines: Any, sines: Any) -> Any:
    if node.get("is_packed_batching", 0):
        raise node.not_supported("sequences of a batch lie one behind the other")
    if positions.numel() == 1:  # of the first
        positions = (positions.reshape(1, 1) + rl.arange(x.shape[-2])).expand(x.shape[0], -1)
    partial = node.get("rotary_embedding_dim", 0)
    heads = node.get("num_heads", 0) if partial else x.shape[-1] // (2 * cosines.shape[-1])
    return rotated(node, x, cosines, sines, positions, heads, node.get("interleaved", 0), partial)


def rotated(node: NodeContext, x: Any, cosines: Any, sines: Any, positions: Any, heads: int, interleaved: int, size: int = 0) -> Any:
    """Rows with their places rotated in, as the operator of the standard does it."""
    attributes = {"num_heads": heads, "interleaved": interleaved, "rotary_embedding_dim": size}
    inner = NodeContext("RotaryEmbedding", "", 23, attributes, 1, node.name)
    return rotary_embedding_of_the_standard(inner, x, cosines, sines, positions)


@importer("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(
    node: NodeContext, q: Any, k: Any, v: Any, past_key: Any, past_value: Any, last: Any, total: Int, cosines: Any = None, sines: Any = None,
    positions: Any = None, bias: Any = None, sink: Any = None, k_scale: Any = None, v_scale: Any = None, q_norm: Any = None, k_norm: Any = None,
) -> Any:  # fmt: skip
    """Causal attention of groups of heads; ``last`` is the place of the last key in each sequence, ``total`` how many places the longest has."""
    node = with_defaults(node, local_window_size=-1, softcap=0.0)
    if any(each is not None for each in (k_scale, v_scale, q_norm, k_norm)) or node.outputs > 3 or not node.get("causal", 1):
        raise node.not_supported("its cache is quantized, its heads are normalized, its scores are wanted, or it is not causal")
    heads, groups, count = node["num_heads"], node["kv_num_heads"], q.shape[1]
    if k is None:
        size = q.shape[-1] // (heads + 2 * groups)
        q, k, v = rl.split(q, [heads * size, groups * size, groups * size], -1)
    begin = rl.zeros_like(last) if count == total else last + 1 - count  # how many keys of each sequence are in the cache
    places = begin.reshape(-1, 1).to(rl.int64) + rl.arange(count)
    q, k, v = heads_first(q, heads), heads_first(k, groups), heads_first(v, groups)
    if node.get("do_rotary", 0):
        q, k = (rotated(node, each, cosines, sines, places if positions is None else positions, 0, node.get("rotary_interleaved", 0), 2 * cosines.shape[-1]) for each in (q, k))  # fmt: skip
    k, v = cached(past_key, k, begin, places, total), cached(past_value, v, begin, places, total)
    keys = rl.arange(total)
    allowed = keys <= places.unsqueeze(-1)
    if node["local_window_size"] >= 0:
        allowed = allowed & (keys > places.unsqueeze(-1) - node["local_window_size"])
    wide = [rl.repeat_interleave(each[:, :, :total], heads // groups, 1) for each in (k, v)]
    scores = rl.matmul(q, rl.transpose(wide[0], -1, -2)) * (node.get("scale", 0.0) or q.shape[-1] ** -0.5)
    if node["softcap"]:
        scores = node["softcap"] * rl.tanh(scores / node["softcap"])
    scores = rl.masked_fill(scores if bias is None else scores + bias, ~allowed.unsqueeze(1), float("-inf"))
    if sink is not None or node.get("smooth_softmax", 0):  # one key more, which has no value
        extra = rl.zeros((heads,), dtype=scores.dtype) if sink is None else sink
        scores = rl.cat([scores, extra.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)], -1)
    y = heads_packed(rl.matmul(rl.softmax(scores, -1)[..., :total], wide[1]))
    return y if node.outputs == 1 else (y, k, v)[: node.outputs]


def cached(past: Any, new: Any, begin: Any, places: Any, total: int) -> Any:
    """A cache with new rows behind those of each sequence, and zeros behind them."""
    size = total if past is None else max(past.shape[2], total)
    whole = rl.zeros((*new.shape[:2], size, new.shape[3]), dtype=new.dtype)
    if past is not None:
        kept = rl.arange(past.shape[2]) < begin.reshape(-1, 1)
        whole = rl.cat([past * kept.reshape(kept.shape[0], 1, -1, 1), whole[:, :, past.shape[2] :]], 2)
    return rl.scatter(whole, 2, places.reshape(places.shape[0], 1, -1, 1).expand(new.shape), new)

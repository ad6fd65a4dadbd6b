"""Attention over sequences of different lengths that are packed one behind the other, without padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.declare import table
from ...core.dtypes import float32
from ...core.errors import NotSupported
from ...core.missing import missing

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What ``varlen_attn`` gives beside its result: the logarithms of the sums of exponentials of the scores."""

    lse: bool = False


def varlen_attn(
    query: Any, key: Any, value: Any, cu_seq_q: Any, cu_seq_k: Any, max_q: int, max_k: int, *, return_aux: AuxRequest | None = None,
    scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False, seqused_k: Any = None,
    block_table: Any = None, num_splits: int | None = None,
) -> Any:  # fmt: skip
    """Attention inside of each sequence: ``query`` is (tokens, heads, size), and sequence n has the tokens from ``cu_seq_q[n]`` to ``cu_seq_q[n + 1]``.

    A query sees keys from ``window_size[0]`` before to ``window_size[1]`` behind its place (-1: all), counted from the ends of both sequences, so
    that ``(-1, 0)`` is causal.  With ``return_aux=AuxRequest(lse=True)`` also the logarithms of the scores' sums, (heads, tokens).
    """
    if seqused_k is not None or block_table is not None:
        raise NotSupported("varlen_attn with seqused_k or block_table (a paged cache of keys and values) is not in rushlight")
    ends_q = cu_seq_q.tolist()
    ends_k = ends_q if cu_seq_k is None else cu_seq_k.tolist()
    if len(ends_q) != len(ends_k):
        raise RuntimeError(
            f"varlen_attn: cu_seq_q has {len(ends_q)} elements and cu_seq_k {len(ends_k)}: one for each sequence, and one more"
        )
    attention = table["scaled_dot_product_attention"].call
    results, sums = [], []
    for begin_q, end_q, begin_k, end_k in zip(ends_q, ends_q[1:], ends_k, ends_k[1:]):
        q, k, v = (each.transpose(0, 1) for each in (query[begin_q:end_q], key[begin_k:end_k], value[begin_k:end_k]))
        mask = _window(end_q - begin_q, end_k - begin_k, window_size, query.device)
        results.append(attention(q, k, v, mask, scale=scale, enable_gqa=enable_gqa).transpose(0, 1))
        if return_aux is not None and return_aux.lse:
            sums.append(_log_sums(q, k, mask, scale))
    made = table["cat"].call(results) if results else table["zeros_like"].call(query)
    return (made, table["cat"].call(sums, 1)) if sums else made


def varlen_attn_out(out: Any, *args: Any, **kwargs: Any) -> Any:
    """The same, written to ``out``."""
    made = varlen_attn(*args, **kwargs)
    if isinstance(made, tuple):
        return out.copy_(made[0]), made[1]
    return out.copy_(made)


def _window(queries: int, keys: int, window: tuple[int, int], device: Any) -> Any:
    """True where a query sees a key; None where it sees all."""
    before, behind = window
    if before < 0 and behind < 0:
        return None
    arange = table["arange"].call
    distance = arange(keys, device=device) - arange(keys - queries, keys, device=device).unsqueeze(1)
    seen = distance <= behind if behind >= 0 else distance >= -before
    return seen & (distance >= -before) if before >= 0 and behind >= 0 else seen


def _log_sums(query: Any, key: Any, mask: Any, scale: float | None) -> Any:
    """The logarithm of the sum of exponentials of each query's scores, in float32."""
    key = key.repeat_interleave(query.shape[0] // key.shape[0], 0)
    scores = query.to(float32) @ key.to(float32).transpose(1, 2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    return table["logsumexp"].call(scores if mask is None else scores.masked_fill(~mask, float("-inf")), -1)


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)

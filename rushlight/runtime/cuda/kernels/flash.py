"""Flash attention in Triton: blocks of queries meet blocks of keys, and no matrix of weights is stored.

The forward kernel keeps the logarithm (base 2) of each row's sum; the backward kernels compute the weights again from it.  Imported when attention is
first computed on CUDA, and by tests under Triton's interpreter.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

NO_MASK, CHOICES, ADDED = 0, 1, 2  # what a mask is: none, which keys count, or what is added to the scores


@triton.jit
def _scores(q, k, M, rows, columns, sm_m, sm_n, length, source, scale, CAUSAL: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """The scores of a block in units of log2; -inf where nothing is attended to."""
    scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * (scale * 1.4426950408889634)
    inside = (rows[:, None] < length) & (columns[None, :] < source)
    if MASK != 0:
        places = M + rows[:, None].to(tl.int64) * sm_m + columns[None, :].to(tl.int64) * sm_n
        if MASK == 1:
            inside = inside & (tl.load(places, mask=inside, other=0) != 0)
        else:
            scores += tl.load(places, mask=inside, other=0.0).to(tl.float32) * 1.4426950408889634
    if CAUSAL:
        inside = inside & (rows[:, None] >= columns[None, :])
    return tl.where(inside, scores, float("-inf"))


@triton.jit
def forward(
    Q, K, V, M, OUT, L, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, so_b, so_h, so_m,
    heads, length, source, scale, CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The output and the logarithms of the rows' sums, for a block of BM queries of one head."""
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, d, e = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, DV)
    Q += b * sq_b + h * sq_h
    K += b * sk_b + h * sk_h
    V += b * sv_b + h * sv_h
    OUT += b * so_b + h * so_h
    if MASK != 0:
        M += b * sm_b + h * sm_h
    q = tl.load(Q + rows[:, None].to(tl.int64) * sq_m + d[None, :], mask=(rows[:, None] < length) & (d[None, :] < WD), other=0.0)
    top = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    made = tl.zeros([BM, DV], tl.float32)
    end = min(source, (tl.program_id(0) + 1) * BM) if CAUSAL else source
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        k = tl.load(K + columns[:, None].to(tl.int64) * sk_n + d[None, :], mask=(columns[:, None] < source) & (d[None, :] < WD), other=0.0)
        v = tl.load(V + columns[:, None].to(tl.int64) * sv_n + e[None, :], mask=(columns[:, None] < source) & (e[None, :] < WV), other=0.0)
        scores = _scores(q, k, M, rows, columns, sm_m, sm_n, length, source, scale, CAUSAL, MASK, PRECISION)
        higher = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp2(scores - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(weights, 1)
        made = made * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision=PRECISION)
        top = higher
    made = made / tl.where(total == 0, 1.0, total)[:, None]  # a row that attends to nothing gives zeros
    inside = rows < length
    tl.store(OUT + rows[:, None].to(tl.int64) * so_m + e[None, :], made.to(OUT.dtype.element_ty), mask=inside[:, None] & (e[None, :] < WV))
    tl.store(L + tl.program_id(1).to(tl.int64) * length + rows, tl.where(total == 0, float("inf"), top + tl.log2(total)), mask=inside)


@triton.jit
def products(G, OUT, S, sg_b, sg_h, sg_m, so_b, so_h, so_m, heads, length, DV: tl.constexpr, WV: tl.constexpr, BM: tl.constexpr):  # type: ignore[no-untyped-def]
    """The sums of gradient times output of each row, which both backward kernels subtract."""
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, e = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, DV)
    inside = (rows[:, None] < length) & (e[None, :] < WV)
    g = tl.load(G + b * sg_b + h * sg_h + rows[:, None].to(tl.int64) * sg_m + e[None, :], mask=inside, other=0.0).to(tl.float32)
    o = tl.load(OUT + b * so_b + h * so_h + rows[:, None].to(tl.int64) * so_m + e[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(S + tl.program_id(1).to(tl.int64) * length + rows, tl.sum(g * o, 1), mask=rows < length)


@triton.jit
def backward_query(
    Q, K, V, M, G, L, S, DQ, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, sg_b, sg_h, sg_m, sd_b, sd_h, sd_m,
    heads, length, source, scale, CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The gradient of a block of queries: a walk over the keys."""
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, d, e = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, DV)
    Q += b * sq_b + h * sq_h
    K += b * sk_b + h * sk_h
    V += b * sv_b + h * sv_h
    if MASK != 0:
        M += b * sm_b + h * sm_h
    inside = rows < length
    q = tl.load(Q + rows[:, None].to(tl.int64) * sq_m + d[None, :], mask=inside[:, None] & (d[None, :] < WD), other=0.0)
    g = tl.load(
        G + b * sg_b + h * sg_h + rows[:, None].to(tl.int64) * sg_m + e[None, :], mask=inside[:, None] & (e[None, :] < WV), other=0.0
    )
    logs = tl.load(L + tl.program_id(1).to(tl.int64) * length + rows, mask=inside, other=float("inf"))
    sums = tl.load(S + tl.program_id(1).to(tl.int64) * length + rows, mask=inside, other=0.0)
    made = tl.zeros([BM, D], tl.float32)
    end = min(source, (tl.program_id(0) + 1) * BM) if CAUSAL else source
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        k = tl.load(K + columns[:, None].to(tl.int64) * sk_n + d[None, :], mask=(columns[:, None] < source) & (d[None, :] < WD), other=0.0)
        v = tl.load(V + columns[:, None].to(tl.int64) * sv_n + e[None, :], mask=(columns[:, None] < source) & (e[None, :] < WV), other=0.0)
        scores = _scores(q, k, M, rows, columns, sm_m, sm_n, length, source, scale, CAUSAL, MASK, PRECISION)
        weights = tl.exp2(scores - logs[:, None])
        slope = weights * (tl.dot(g, tl.trans(v), input_precision=PRECISION) - sums[:, None])
        made += tl.dot(slope.to(k.dtype), k, input_precision=PRECISION)
    place = DQ + b * sd_b + h * sd_h + rows[:, None].to(tl.int64) * sd_m + d[None, :]
    tl.store(place, (made * scale).to(DQ.dtype.element_ty), mask=inside[:, None] & (d[None, :] < WD))


@triton.jit
def backward_key(
    Q, K, V, M, G, L, S, DK, DW, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, sg_b, sg_h, sg_m,
    sd_b, sd_h, sd_n, sw_b, sw_h, sw_n, heads, length, source, scale,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The gradients of a block of keys and values: a walk over the queries."""
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    columns, d, e = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D), tl.arange(0, DV)
    Q += b * sq_b + h * sq_h
    G += b * sg_b + h * sg_h
    if MASK != 0:
        M += b * sm_b + h * sm_h
    there = columns < source
    k = tl.load(
        K + b * sk_b + h * sk_h + columns[:, None].to(tl.int64) * sk_n + d[None, :], mask=there[:, None] & (d[None, :] < WD), other=0.0
    )
    v = tl.load(
        V + b * sv_b + h * sv_h + columns[:, None].to(tl.int64) * sv_n + e[None, :], mask=there[:, None] & (e[None, :] < WV), other=0.0
    )
    of_key, of_value = tl.zeros([BN, D], tl.float32), tl.zeros([BN, DV], tl.float32)
    first = (tl.program_id(0) * BN // BM) * BM if CAUSAL else 0
    for start in range(first, length, BM):
        rows = start + tl.arange(0, BM)
        inside = rows < length
        q = tl.load(Q + rows[:, None].to(tl.int64) * sq_m + d[None, :], mask=inside[:, None] & (d[None, :] < WD), other=0.0)
        g = tl.load(G + rows[:, None].to(tl.int64) * sg_m + e[None, :], mask=inside[:, None] & (e[None, :] < WV), other=0.0)
        logs = tl.load(L + tl.program_id(1).to(tl.int64) * length + rows, mask=inside, other=float("inf"))
        sums = tl.load(S + tl.program_id(1).to(tl.int64) * length + rows, mask=inside, other=0.0)
        scores = _scores(q, k, M, rows, columns, sm_m, sm_n, length, source, scale, CAUSAL, MASK, PRECISION)
        weights = tl.exp2(scores - logs[:, None])
        of_value += tl.dot(tl.trans(weights).to(g.dtype), g, input_precision=PRECISION)
        slope = weights * (tl.dot(g, tl.trans(v), input_precision=PRECISION) - sums[:, None])
        of_key += tl.dot(tl.trans(slope).to(q.dtype), q, input_precision=PRECISION)
    key = DK + b * sd_b + h * sd_h + columns[:, None].to(tl.int64) * sd_n + d[None, :]
    tl.store(key, (of_key * scale).to(DK.dtype.element_ty), mask=there[:, None] & (d[None, :] < WD))
    value = DW + b * sw_b + h * sw_h + columns[:, None].to(tl.int64) * sw_n + e[None, :]
    tl.store(value, of_value.to(DW.dtype.element_ty), mask=there[:, None] & (e[None, :] < WV))


def blocks(width: int, narrow: bool) -> dict[str, Any]:
    """Block sizes, warps and stages for heads of a (padded) width; ``narrow`` is half precision."""
    if not narrow:
        return dict(BM=32 if width > 64 else 64, BN=32, num_warps=4, num_stages=2)
    if width <= 64:
        return dict(BM=128, BN=64, num_warps=4, num_stages=3)
    return dict(BM=128 if width <= 128 else 64, BN=64 if width <= 128 else 32, num_warps=8, num_stages=2)


def backward_blocks(width: int, narrow: bool) -> dict[str, Any]:
    """The same for the backward kernels."""
    if not narrow:
        return dict(BM=32, BN=32, num_warps=4, num_stages=1)
    return (
        dict(BM=64, BN=64, num_warps=4, num_stages=2)
        if width <= 64
        else dict(BM=64 if width <= 128 else 32, BN=64 if width <= 128 else 32, num_warps=8, num_stages=1)
    )

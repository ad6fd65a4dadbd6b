"""Flash attention in Triton: loops over tiles of queries and keys; the matrix of weights is never stored.

The forward kernel keeps each row's log-sum-exp (base 2), from which the backward kernels recompute the weights.  Imported when attention is
first computed on CUDA, and by tests under Triton's interpreter.  MASK says what a mask is: none, which keys count, or what is added to the scores;
EVEN that the loop has no partial tile, which needs no masks.  Nothing
but Triton is imported: the file is compiled by a process of its own.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _factors(NOISE, head, rows, start, COUNT: tl.constexpr, length, source, keep, stride, VEC: tl.constexpr, QUADS: tl.constexpr):  # type: ignore[no-untyped-def]
    """What dropout multiplies the weights of rows and COUNT columns by: as a dropout of the matrix of weights does, number by number.

    VEC is that kernel's vector width, ``stride`` its number of threads; NOISE has its seed and its first counter.
    """
    seed, first = tl.load(NOISE), tl.load(NOISE + 1)
    at = (head * length + rows.to(tl.int64)) * source
    if QUADS:  # four adjacent elements share one draw
        places = at[:, None] // 4 + (start // 4 + tl.arange(0, COUNT // 4))[None, :]
        chunk = places // (VEC // 4)
        thread, counter = chunk % stride, first + chunk // stride * (VEC // 4) + places % (VEC // 4)
    else:
        places = at[:, None] + (start + tl.arange(0, COUNT))[None, :]
        chunk, lane = places // VEC, places % VEC
        thread, turn = chunk % stride, chunk // stride
        if VEC >= 4:
            counter, lane = first + turn * (VEC // 4) + lane // 4, lane % 4
        elif VEC == 2:
            counter, lane = first + turn // 2, turn % 2 * 2 + lane
        else:
            counter, lane = first + turn // 4, turn % 4
    a, b, c, d = tl.philox(seed, counter.to(tl.uint32), (counter >> 32).to(tl.uint32), thread.to(tl.uint32), (thread >> 32).to(tl.uint32))
    if QUADS:
        words = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), [rows.shape[0], COUNT])
    else:
        words = tl.where(lane == 0, a, tl.where(lane == 1, b, tl.where(lane == 2, c, d)))
    unit = words.to(tl.float32) * 2.3283064365386963e-10 + 1.1641532182693481e-10
    return tl.where(unit < keep, 1.0 / keep, 0.0)


@triton.jit
def _rows(P, start, COUNT: tl.constexpr, step, d, size, WIDE: tl.constexpr, D: tl.constexpr, CHECK: tl.constexpr):  # type: ignore[no-untyped-def]
    """A tile of COUNT rows of WIDE elements, padded to D; with CHECK rows past the end are zeros.

    Only the base address depends on the start; the offsets of the elements are loop-invariant.
    """
    steps = tl.arange(0, COUNT)
    places = (P + tl.cast(start, tl.int64) * step) + (steps[:, None].to(tl.int64) * step + d[None, :])
    at = start + steps
    if CHECK:
        if WIDE == D:
            return tl.load(places, mask=at[:, None] < size, other=0.0)
        return tl.load(places, mask=(at[:, None] < size) & (d[None, :] < WIDE), other=0.0)
    if WIDE == D:
        return tl.load(places)
    return tl.load(places, mask=d[None, :] < WIDE, other=0.0)


@triton.jit
def _chosen(scores, M, rows, columns, sm_m, sm_n, length, source, CAUSAL: tl.constexpr, MASK: tl.constexpr, CHECK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Scores, in units of log2, with a mask; -inf where nothing is attended to.  ``rows`` and ``columns`` broadcast to the tile."""
    if CHECK or MASK != 0:
        inside = (rows < length) & (columns < source)
        if MASK != 0:
            places = M + rows.to(tl.int64) * sm_m + columns.to(tl.int64) * sm_n
            if MASK == 1:
                inside = inside & (tl.load(places, mask=inside, other=0) != 0)
            else:
                scores += tl.load(places, mask=inside, other=0.0).to(tl.float32) * 1.4426950408889634
        if CAUSAL and CHECK:
            inside = inside & (rows >= columns)
        scores = tl.where(inside, scores, float("-inf"))
    return scores


@triton.jit
def _attend(
    made, total, top, q, K, V, M, rows, d, e, first, last, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head, keep, stride,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr, BN: tl.constexpr,
    PRECISION: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr, CHECK: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The forward loop over tiles of keys for a tile of queries; without CHECK no tile needs a mask."""
    for start in range(first, last, BN):
        k = _rows(K, start, BN, sk_n, d, source, WD, D, CHECK)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        if CHECK or MASK != 0:
            columns = start + tl.arange(0, BN)
            scores = _chosen(scores * factor, M, rows[:, None], columns[None, :], sm_m, sm_n, length, source, CAUSAL, MASK, CHECK)
            higher = tl.maximum(top, tl.max(scores, 1))
            safe = tl.where(higher == float("-inf"), 0.0, higher)
            weights = tl.exp2(scores - safe[:, None])
        else:  # the factor, which is not negative, is left to the instruction that subtracts
            higher = tl.maximum(top, tl.max(scores, 1) * factor)
            safe = higher
            weights = tl.exp2(scores * factor - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(weights, 1)
        if VEC != 0:
            weights *= _factors(NOISE, head, rows, start, BN, length, source, keep, stride, VEC, QUADS)
        v = _rows(V, start, BN, sv_n, e, source, WV, DV, CHECK)
        made = tl.dot(weights.to(v.dtype), v, made * shrink[:, None], input_precision=PRECISION)
        top = higher
    return made, total, top


@triton.jit
def forward(
    Q, K, V, M, NOISE, OUT, L, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, so_b, so_h, so_m,
    heads, length, source, scale, keep, stride, CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr,
    WV: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr, REPEAT: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr,
    EVEN: tl.constexpr = False,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The output and the log-sum-exp of rows, for a tile of BM queries of one head; REPEAT heads share keys and values."""
    b, h = (tl.program_id(0) // heads).to(tl.int64), (tl.program_id(0) % heads).to(tl.int64)
    block = tl.num_programs(1) - 1 - tl.program_id(1) if CAUSAL else tl.program_id(1)  # the longest loops of all heads first
    rows, d, e = block * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, DV)
    Q += b * sq_b + h * sq_h
    K += b * sk_b + h // REPEAT * sk_h
    V += b * sv_b + h // REPEAT * sv_h
    OUT += b * so_b + h * so_h
    head = b * heads + h
    if MASK != 0:
        M += b * sm_b + h * sm_h
    q = _rows(Q, block * BM, BM, sq_m, d, length, WD, D, True)
    if scale < 0:
        q = -q
    top = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    made = tl.zeros([BM, DV], tl.float32)
    factor = tl.abs(scale) * 1.4426950408889634
    if CAUSAL:
        end = min(source, (block + 1) * BM)
        whole = min(block * BM // BN * BN, source // BN * BN)
    else:
        end = source
        whole = source // BN * BN
    made, total, top = _attend(made, total, top, q, K, V, M, rows, d, e, 0, whole, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head, keep,
                               stride, CAUSAL, MASK, D, DV, WD, WV, BN, PRECISION, VEC, QUADS, False)  # fmt: skip
    if (CAUSAL or not EVEN) and whole < end:
        made, total, top = _attend(made, total, top, q, K, V, M, rows, d, e, whole, end, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head,
                                   keep, stride, CAUSAL, MASK, D, DV, WD, WV, BN, PRECISION, VEC, QUADS, True)  # fmt: skip
    made = made / tl.where(total == 0, 1.0, total)[:, None]  # a row that attends to nothing gives zeros
    inside = rows < length
    tl.store(OUT + rows[:, None].to(tl.int64) * so_m + e[None, :], made.to(OUT.dtype.element_ty), mask=inside[:, None] & (e[None, :] < WV))
    tl.store(L + tl.program_id(0).to(tl.int64) * length + rows, tl.where(total == 0, float("inf"), top + tl.log2(total)), mask=inside)


@triton.jit
def products(G, OUT, S, sg_b, sg_h, sg_m, so_b, so_h, so_m, heads, length, DV: tl.constexpr, WV: tl.constexpr, BM: tl.constexpr):  # type: ignore[no-untyped-def]
    """The row sums of gradient times output, which both backward kernels subtract."""
    b, h = (tl.program_id(0) // heads).to(tl.int64), (tl.program_id(0) % heads).to(tl.int64)
    rows, e = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, DV)
    inside = (rows[:, None] < length) & (e[None, :] < WV)
    g = tl.load(G + b * sg_b + h * sg_h + rows[:, None].to(tl.int64) * sg_m + e[None, :], mask=inside, other=0.0).to(tl.float32)
    o = tl.load(OUT + b * so_b + h * so_h + rows[:, None].to(tl.int64) * so_m + e[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(S + tl.program_id(0).to(tl.int64) * length + rows, tl.sum(g * o, 1), mask=rows < length)


@triton.jit
def _gather_query(
    made, q, g, logs, sums, K, V, M, rows, d, e, first, last, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head, keep, stride,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr, BN: tl.constexpr,
    PRECISION: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr, CHECK: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The loop over tiles of keys that accumulates the gradient of a tile of queries."""
    for start in range(first, last, BN):
        columns = start + tl.arange(0, BN)
        k = _rows(K, start, BN, sk_n, d, source, WD, D, CHECK)
        v = _rows(V, start, BN, sv_n, e, source, WV, DV, CHECK)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * factor
        scores = _chosen(scores, M, rows[:, None], columns[None, :], sm_m, sm_n, length, source, CAUSAL, MASK, CHECK)
        weights = tl.exp2(scores - logs[:, None])
        slope = tl.dot(g, tl.trans(v), input_precision=PRECISION)
        if VEC != 0:
            slope *= _factors(NOISE, head, rows, start, BN, length, source, keep, stride, VEC, QUADS)
        slope = weights * (slope - sums[:, None])
        made = tl.dot(slope.to(k.dtype), k, made, input_precision=PRECISION)
    return made


@triton.jit
def backward_query(
    Q, K, V, M, NOISE, G, L, S, DQ, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, sg_b, sg_h, sg_m, sd_b, sd_h, sd_m,
    heads, length, source, scale, keep, stride, CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr,
    WV: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr, REPEAT: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr,
    EVEN: tl.constexpr = False,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The gradient of a tile of queries: a loop over the keys."""
    b, h = (tl.program_id(0) // heads).to(tl.int64), (tl.program_id(0) % heads).to(tl.int64)
    block = tl.num_programs(1) - 1 - tl.program_id(1) if CAUSAL else tl.program_id(1)
    rows, d, e = block * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, DV)
    K += b * sk_b + h // REPEAT * sk_h
    V += b * sv_b + h // REPEAT * sv_h
    head = b * heads + h
    if MASK != 0:
        M += b * sm_b + h * sm_h
    inside = rows < length
    q = _rows(Q + b * sq_b + h * sq_h, block * BM, BM, sq_m, d, length, WD, D, True)
    g = _rows(G + b * sg_b + h * sg_h, block * BM, BM, sg_m, e, length, WV, DV, True)
    logs = tl.load(L + tl.program_id(0).to(tl.int64) * length + rows, mask=inside, other=float("inf"))
    sums = tl.load(S + tl.program_id(0).to(tl.int64) * length + rows, mask=inside, other=0.0)
    made = tl.zeros([BM, D], tl.float32)
    factor = scale * 1.4426950408889634
    if CAUSAL:
        end = min(source, (block + 1) * BM)
        whole = min(block * BM // BN * BN, source // BN * BN)
    else:
        end = source
        whole = source // BN * BN
    made = _gather_query(made, q, g, logs, sums, K, V, M, rows, d, e, 0, whole, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head, keep,
                         stride, CAUSAL, MASK, D, DV, WD, WV, BN, PRECISION, VEC, QUADS, False)  # fmt: skip
    if (CAUSAL or not EVEN) and whole < end:
        made = _gather_query(made, q, g, logs, sums, K, V, M, rows, d, e, whole, end, sk_n, sv_n, sm_m, sm_n, length, source, factor, NOISE, head,
                             keep, stride, CAUSAL, MASK, D, DV, WD, WV, BN, PRECISION, VEC, QUADS, True)  # fmt: skip
    place = DQ + b * sd_b + h * sd_h + rows[:, None].to(tl.int64) * sd_m + d[None, :]
    tl.store(place, (made * scale).to(DQ.dtype.element_ty), mask=inside[:, None] & (d[None, :] < WD))


@triton.jit
def _gather_key(
    of_key, of_value, k, v, Q, G, L, S, M, columns, d, e, first, last, sq_m, sg_m, sm_m, sm_n, length, source, factor, NOISE, head, keep, stride, from_key,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    PRECISION: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr, CHECK: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The loop over tiles of queries that accumulates the gradients of a tile of keys and values; scores are transposed."""
    for start in range(first, last, BM):
        rows = start + tl.arange(0, BM)
        q = _rows(Q, start, BM, sq_m, d, length, WD, D, CHECK)
        g = _rows(G, start, BM, sg_m, e, length, WV, DV, CHECK)
        if CHECK:
            logs = tl.load(L + rows, mask=rows < length, other=float("inf"))
            sums = tl.load(S + rows, mask=rows < length, other=0.0)
        else:
            logs = tl.load(L + rows)
            sums = tl.load(S + rows)
        scores = tl.dot(k, tl.trans(q), input_precision=PRECISION) * factor
        scores = _chosen(scores, M, rows[None, :], columns[:, None], sm_m, sm_n, length, source, CAUSAL, MASK, CHECK)
        weights = tl.exp2(scores - logs[None, :])
        slope = tl.dot(v, tl.trans(g), input_precision=PRECISION)
        if VEC != 0:
            factors = tl.trans(_factors(NOISE, head, rows, from_key, BN, length, source, keep, stride, VEC, QUADS))
            of_value = tl.dot((weights * factors).to(g.dtype), g, of_value, input_precision=PRECISION)
            slope *= factors
        else:
            of_value = tl.dot(weights.to(g.dtype), g, of_value, input_precision=PRECISION)
        slope = weights * (slope - sums[None, :])
        of_key = tl.dot(slope.to(q.dtype), q, of_key, input_precision=PRECISION)
    return of_key, of_value


@triton.jit
def backward_key(
    Q, K, V, M, NOISE, G, L, S, DK, DW, sq_b, sq_h, sq_m, sk_b, sk_h, sk_n, sv_b, sv_h, sv_n, sm_b, sm_h, sm_m, sm_n, sg_b, sg_h, sg_m,
    sd_b, sd_h, sd_n, sw_b, sw_h, sw_n, heads, length, source, scale, keep, stride,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, D: tl.constexpr, DV: tl.constexpr, WD: tl.constexpr, WV: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr, REPEAT: tl.constexpr, VEC: tl.constexpr, QUADS: tl.constexpr,
    EVEN: tl.constexpr = False,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The gradients of a tile of keys and values: a loop over the queries of the heads that share them."""
    groups = heads // REPEAT
    b, group = (tl.program_id(0) // groups).to(tl.int64), (tl.program_id(0) % groups).to(tl.int64)
    block = tl.program_id(1)
    columns, d, e = block * BN + tl.arange(0, BN), tl.arange(0, D), tl.arange(0, DV)
    there = columns < source
    k = _rows(K + b * sk_b + group * sk_h, block * BN, BN, sk_n, d, source, WD, D, True)
    v = _rows(V + b * sv_b + group * sv_h, block * BN, BN, sv_n, e, source, WV, DV, True)
    of_key, of_value = tl.zeros([BN, D], tl.float32), tl.zeros([BN, DV], tl.float32)
    factor = scale * 1.4426950408889634
    whole = length // BM * BM
    if CAUSAL:
        first = block * BN // BM * BM
        middle = min(((block + 1) * BN + BM - 1) // BM * BM, length)
    else:
        first = 0
        middle = 0
    for number in range(REPEAT):
        h = group * REPEAT + number
        head = b * heads + h
        q_of, g_of, l_of, s_of = Q + b * sq_b + h * sq_h, G + b * sg_b + h * sg_h, L + head * length, S + head * length
        m_of = M
        if MASK != 0:
            m_of = M + b * sm_b + h * sm_h
        if CAUSAL:
            of_key, of_value = _gather_key(of_key, of_value, k, v, q_of, g_of, l_of, s_of, m_of, columns, d, e, first, middle, sq_m, sg_m, sm_m, sm_n,
                                           length, source, factor, NOISE, head, keep, stride, block * BN, CAUSAL, MASK, D, DV, WD, WV, BM, BN, PRECISION,
                                           VEC, QUADS, True)  # fmt: skip
        of_key, of_value = _gather_key(of_key, of_value, k, v, q_of, g_of, l_of, s_of, m_of, columns, d, e, middle, whole, sq_m, sg_m, sm_m, sm_n, length,
                                       source, factor, NOISE, head, keep, stride, block * BN, CAUSAL, MASK, D, DV, WD, WV, BM, BN, PRECISION, VEC,
                                       QUADS, False)  # fmt: skip
        if not EVEN:
            if max(whole, middle) < length:
                of_key, of_value = _gather_key(of_key, of_value, k, v, q_of, g_of, l_of, s_of, m_of, columns, d, e, max(whole, middle), length, sq_m, sg_m,
                                               sm_m, sm_n, length, source, factor, NOISE, head, keep, stride, block * BN, CAUSAL, MASK, D, DV, WD, WV, BM, BN,
                                               PRECISION, VEC, QUADS, True)  # fmt: skip
    key = DK + b * sd_b + group * sd_h + columns[:, None].to(tl.int64) * sd_n + d[None, :]
    tl.store(key, (of_key * scale).to(DK.dtype.element_ty), mask=there[:, None] & (d[None, :] < WD))
    value = DW + b * sw_b + group * sw_h + columns[:, None].to(tl.int64) * sw_n + e[None, :]
    tl.store(value, of_value.to(DW.dtype.element_ty), mask=there[:, None] & (e[None, :] < WV))

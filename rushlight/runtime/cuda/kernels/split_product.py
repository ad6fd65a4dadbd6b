"""Float32 products on tensor cores, in Triton: each number is a sum of two TF32 numbers, and three of their four products are added up in float32.

The result is as exact as a float32 product's (what is left out is below its rounding), in less time than the FP32 units take.  For TF32, tensor cores need the
second operand contiguous along K: operands are swapped where only the first one is, and where neither is,
one is transposed first.  Imported where a compiled program measures its products, and by tests under Triton's interpreter.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def split_product(
    A, B, C, BIAS, M, N, K, sa_m, sa_k, sb_k, sb_n, sc_m, sc_n, ADDS: tl.constexpr, EVEN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, G: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """``C = A @ B``, plus a bias of the columns or of the rows; EVEN says that K is a multiple of BK."""
    program, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = program // (G * across) * G
    height = min(down - first, G)
    rows = (first + program % (G * across) % height) * BM + tl.arange(0, BM)
    columns = program % (G * across) // height * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + (rows % M)[:, None].to(tl.int64) * sa_m + k[None, :] * sa_k
    b = B + k[:, None] * sb_k + (columns % N)[None, :].to(tl.int64) * sb_n
    made = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        if EVEN:
            x, y = tl.load(a), tl.load(b)
        else:
            x = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            y = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        made = tl.dot(x, y, made, input_precision="tf32x3")
        a += BK * sa_k
        b += BK * sb_k
    if ADDS == 1:
        made += tl.load(BIAS + columns, mask=columns < N, other=0.0)[None, :]
    if ADDS == 2:
        made += tl.load(BIAS + rows, mask=rows < M, other=0.0)[:, None]
    places = C + rows[:, None].to(tl.int64) * sc_m + columns[None, :].to(tl.int64) * sc_n
    tl.store(places, made, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def transposed(X, Y, rows, columns, step, B: tl.constexpr):  # type: ignore[no-untyped-def]
    """``Y = X.T``, Y row-major; ``step`` is the row stride of X."""
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(X + i[:, None].to(tl.int64) * step + j[None, :], mask=(i[:, None] < rows) & (j[None, :] < columns), other=0.0)
    tl.store(Y + j[:, None].to(tl.int64) * rows + i[None, :], tl.trans(x), mask=(j[:, None] < columns) & (i[None, :] < rows))

"""2-d convolutions as implicit GEMM in Triton: a tile of filters times the windows of a tile of results, read from the image in place.

Images and filters are row-major; there is no im2col buffer, and the bias is added in the epilogue.  Nothing but Triton is imported: the file is compiled by a process
of its own, and imported by tests under Triton's interpreter.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def implicit_convolution(
    X, W, BIAS, Y, pixels, filters, depth, height, width, out_height, out_width, step_y, step_x, pad_y, pad_x, spread_y, spread_x, image, plane,
    R: tl.constexpr, S: tl.constexpr, BIASED: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """BM filters (of ``depth`` numbers: channels times R times S) and BN of all pixels of the results; ``image`` and ``plane`` are strides of X."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    size = out_height * out_width
    number, rest = at // size, at % size
    top, left = rest // out_width * step_y - pad_y, rest % out_width * step_x - pad_x
    start = number * image
    there, known = at < pixels, rows < filters
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, depth, BK):
        d = k + tl.arange(0, BK)
        y, x = top[None, :] + (d % (R * S) // S * spread_y)[:, None], left[None, :] + (d % S * spread_x)[:, None]
        inside = (d < depth)[:, None] & there[None, :] & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        seen = tl.load(X + start[None, :] + (d // (R * S) * plane)[:, None] + y * width + x, mask=inside, other=0.0)
        filter = tl.load(W + rows[:, None] * depth + d[None, :], mask=known[:, None] & (d < depth)[None, :], other=0.0)
        total = tl.dot(filter, seen, total, input_precision=PRECISION)
    if BIASED:
        # In half precision the sum is rounded, and then the bias added, as eager mode does.
        total = total.to(Y.dtype.element_ty).to(tl.float32) + tl.load(BIAS + rows, mask=known, other=0.0).to(tl.float32)[:, None]
    place = Y + (number * filters * size + rest)[None, :] + (rows * size)[:, None]
    tl.store(place, total.to(Y.dtype.element_ty), mask=known[:, None] & there[None, :])

"""Rows and classes by index: embeddings and their gradients, the loss of the right class.

Nothing here synchronizes.  The kernel reports an index out of range in pinned host memory; the next launch raises the error, and the
context is not lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import PRELUDE, STORED, rounded
from .. import launch_record
from ..faults import watched
from ..launch import CudaKernel
from ..launch_replay import replayed
from .copies import contiguous

_ROWS = """
typedef @T@ T; typedef @I@ I;
extern "C" __global__ void rows_of(const T* table, const I* index, T* out, long long count, int n, long long rows, int* fault) {
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count * n; at += (long long)gridDim.x * blockDim.x) {
        long long row = index[at / n];
        if (row < 0 || row >= rows) { *fault = @FAULT@; continue; }
        out[at] = table[row * n + at % n];
    }
}
"""

_ADD = """
typedef @T@ T; typedef @I@ I;
// Sorted by row, so that one thread per column sums a row: no atomics, deterministic.
extern "C" __global__ void add_rows(const T* grad, const long long* order, const I* sorted, T* out, long long count, int n, long long padding) {
    long long at = blockIdx.y * 8LL + threadIdx.x / 32;
    if (at >= count) return;
    I row = sorted[at];
    if ((at && sorted[at - 1] == row) || row == padding) return;
    for (int column = blockIdx.x * 32 + threadIdx.x % 32; column < n; column += gridDim.x * 32) {
        @A@ total = 0;
        for (long long k = at; k < count && sorted[k] == row; k++) total += (@A@)value(grad[order[k] * n + column]);
        out[(long long)row * n + column] = @STORE@;
    }
}
"""

_FEW = 4096  # indices up to which they are searched, not sorted
_ADD_FEW = """
typedef @T@ T; typedef @I@ I;
// A block per index: the first occurrence of a row finds the others, and adds them in order.
extern "C" __global__ void add_few(const T* grad, const I* index, T* out, int count, int n, long long padding) {
    __shared__ int uses[@FEW@]; __shared__ int found; __shared__ unsigned int marks[32];
    int at = blockIdx.x; I row = index[at];
    if (row == padding) return;
    int earlier = 0;
    for (int k = threadIdx.x; k < at; k += blockDim.x) earlier |= index[k] == row;
    if (__syncthreads_or(earlier)) return;
    if (threadIdx.x == 0) found = 0;
    for (int first = at; first < count; first += blockDim.x) {
        int k = first + threadIdx.x, warp = threadIdx.x / 32;
        unsigned int same = __ballot_sync(~0u, k < count && index[k] == row);
        __syncthreads();
        if (threadIdx.x % 32 == 0) marks[warp] = same;
        __syncthreads();
        int place = found;
        for (int w = 0; w < warp; w++) place += __popc(marks[w]);
        if (same >> (threadIdx.x % 32) & 1) uses[place + __popc(same & ((1u << threadIdx.x % 32) - 1))] = k;
        __syncthreads();
        if (threadIdx.x == 0) for (int w = 0; w < blockDim.x / 32; w++) found += __popc(marks[w]);
    }
    __syncthreads();
    for (int column = threadIdx.x; column < n; column += blockDim.x) {
        @A@ total = 0;
        for (int k = 0; k < found; k++) total += (@A@)value(grad[(long long)uses[k] * n + column]);
        out[(long long)row * n + column] = @STORE@;
    }
}
""".replace("@FEW@", str(_FEW))

_LOSS = """
typedef @T@ T; typedef @I@ I; typedef @A@ A;
extern "C" __global__ void loss(const T* logs, const I* target, const T* weight, A* losses, A* weights, long long count, long long classes,
                                long long inner, long long ignored, int* fault) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    long long chosen = target[at];
    A share = 0, lost = 0;
    if (chosen != ignored) {
        if (chosen < 0 || chosen >= classes) { *fault = @FAULT@; }
        else {
            share = weight ? (A)value(weight[chosen]) : (A)1;
            lost = -(A)value(logs[(at / inner * classes + chosen) * inner + at % inner]) * share;
        }
    }
    losses[at] = lost; weights[at] = share;
}
"""

_LOSS_WHOLE = """
typedef @T@ T; typedef @I@ I; typedef @A@ A;
__device__ inline A block_sum(A x) {
    __shared__ A parts[32];
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : (A)0;
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
// The sum or the mean of few losses, by one block.
extern "C" __global__ void whole_loss(const T* logs, const I* target, const T* weight, T* out, T* total, long long count, long long classes,
                                      long long inner, long long ignored, int mean, int* fault) {
    A shares = 0, lost = 0;
    for (long long at = threadIdx.x; at < count; at += blockDim.x) {
        long long chosen = target[at];
        if (chosen == ignored) continue;
        if (chosen < 0 || chosen >= classes) { *fault = @FAULT@; continue; }
        A share = weight ? (A)value(weight[chosen]) : (A)1;
        shares += share;
        lost -= (A)value(logs[(at / inner * classes + chosen) * inner + at % inner]) * share;
    }
    shares = block_sum(shares); lost = block_sum(lost);
    if (threadIdx.x == 0) { A x = mean ? lost / shares : lost; out[0] = @STORE@; x = shares; total[0] = @STORE@; }
}
"""

_LOSS_GRADIENT = """
typedef @T@ T; typedef @I@ I; typedef @A@ A;
extern "C" __global__ void loss_gradient(const T* grad, const I* target, const T* weight, const T* total, T* out, long long count, long long classes,
                                         long long inner, long long ignored, int scalar, int mean) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    long long chosen = target[at];
    if (chosen == ignored || chosen < 0 || chosen >= classes) return;
    A x = -(A)value(grad[scalar ? 0 : at]) * (weight ? (A)value(weight[chosen]) : (A)1);
    if (mean) x /= (A)value(*total);
    out[(at / inner * classes + chosen) * inner + at % inner] = @STORE@;
}
"""

_kernels: dict[Any, CudaKernel] = {}


def _accumulated(dtype: np.dtype[Any]) -> str:
    return "double" if dtype == np.float64 else "float"


def _kernel(
    cupy: Any, template: str, name: str, format: str, dtype: np.dtype[Any], index: np.dtype[Any], value: str = "", fault: int = 0
) -> CudaKernel:
    key = (name, dtype, index)
    found = _kernels.get(key)
    if found is None:
        marks = {"T": STORED[dtype], "I": STORED[index], "A": _accumulated(dtype), "STORE": rounded(value, dtype), "FAULT": str(fault)}
        source = PRELUDE + template
        for mark, text in marks.items():
            source = source.replace(f"@{mark}@", text)
        found = _kernels[key] = CudaKernel(cupy, source, name, format)
    return found


@replayed
def embedding(cupy: Any, weight: Any, input: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Any:
    """The rows of a table that indices name."""
    if weight.ndim != 2 or weight.dtype not in STORED or input.dtype.kind != "i" or not weight.flags.c_contiguous:
        return NotImplemented
    rows, n = weight.shape
    index = contiguous(cupy, input)
    made = cupy.ndarray((*input.shape, n), weight.dtype)
    if made.size:
        fault, address = watched(cupy, "embedding: index out of range in self")
        kernel = _kernel(cupy, _ROWS, "rows_of", "PPPqiqP", weight.dtype, index.dtype, fault=fault)
        blocks = min(-(-made.size // 256), 132 * 32)
        kernel(blocks, 256, weight.data.ptr, index.data.ptr, made.data.ptr, index.size, n, rows, address)
    return made


@replayed
def embedding_backward(cupy: Any, grad: Any, input: Any, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The gradient of a table: for every row the sum of the gradients of its uses, in the order of the uses."""
    if scale_grad_by_freq or grad.dtype not in STORED or input.dtype.kind != "i":
        return NotImplemented
    n = grad.shape[-1]
    made = launch_record.zeros(cupy, (rows, n), grad.dtype)
    if not grad.size:
        return made
    index, grad = contiguous(cupy, input), contiguous(cupy, grad)
    if index.size <= _FEW:
        kernel = _kernel(cupy, _ADD_FEW, "add_few", "PPPiiq", grad.dtype, index.dtype, "total")
        kernel(index.size, 128 if n <= 128 else 256, grad.data.ptr, index.data.ptr, made.data.ptr, index.size, n, padding_idx)
        return made
    launch_record.invalidate()
    index = index.reshape(-1)
    order = cupy.argsort(index)  # stable in CuPy
    ordered = index[order]
    kernel = _kernel(cupy, _ADD, "add_rows", "PPPPqiq", grad.dtype, index.dtype, "total")
    kernel(
        min(-(-n // 32), 64), 256, grad.data.ptr, order.data.ptr, ordered.data.ptr, made.data.ptr, index.size, n, padding_idx,
        rows=-(-index.size // 8),
    )  # fmt: skip
    return made


def _shape(input: Any) -> tuple[int, int]:
    """The number of classes, and the class stride in elements."""
    if input.ndim == 1:
        return input.shape[0], 1
    return input.shape[1], int(np.prod(input.shape[2:], dtype=np.int64))


@replayed
def nll_forward(cupy: Any, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """The negative of the input at each target's class, weighted; and the sum of the weights."""
    if input.dtype not in STORED or target.dtype.kind not in "iu" or not input.flags.c_contiguous or not input.ndim:
        return NotImplemented
    if (
        tuple(target.shape) != ((input.shape[0], *input.shape[2:]) if input.ndim > 1 else ())
        or target.dtype not in STORED
        or not target.size
    ):
        return NotImplemented
    if weight is not None and (weight.dtype != input.dtype or not weight.flags.c_contiguous):
        return NotImplemented
    classes, inner = _shape(input)
    accumulated = np.dtype(np.float64 if input.dtype == np.float64 else np.float32)
    target = contiguous(cupy, target)
    fault, address = watched(cupy, "nll_loss: a target is out of bounds")
    given = 0 if weight is None else weight.data.ptr
    if reduction != "none" and target.size <= _FEW:
        made, total = cupy.ndarray((), input.dtype), cupy.ndarray((), input.dtype)
        kernel = _kernel(cupy, _LOSS_WHOLE, "whole_loss", "PPPPPqqqqiP", input.dtype, target.dtype, "x", fault=fault)
        kernel(
            1, 1024 if target.size > 512 else 256, input.data.ptr, target.data.ptr, given, made.data.ptr, total.data.ptr, target.size, classes,
            inner, ignore_index, int(reduction == "mean"), address,
        )  # fmt: skip
        return [made, total]
    launch_record.invalidate()
    losses, weights = cupy.ndarray(target.shape, accumulated), cupy.ndarray(target.shape, accumulated)
    kernel = _kernel(cupy, _LOSS, "loss", "PPPPPqqqqP", input.dtype, target.dtype, fault=fault)
    kernel(
        -(-target.size // 256), 256, input.data.ptr, target.data.ptr, given, losses.data.ptr, weights.data.ptr, target.size, classes, inner, ignore_index, address,
    )  # fmt: skip
    total = weights.sum()
    if reduction != "none":
        losses = losses.sum()
        if reduction == "mean":
            losses = losses / total
    return [losses.astype(input.dtype, copy=False), total.astype(input.dtype, copy=False)]


@replayed
def nll_gradient(cupy: Any, grad: Any, shape: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    """The gradient of :func:`nll_forward`."""
    if (
        grad.dtype not in STORED
        or target.dtype not in STORED
        or weight is not None
        and (weight.dtype != grad.dtype or not weight.flags.c_contiguous)
    ):
        return NotImplemented
    made = launch_record.zeros(cupy, shape, grad.dtype)
    classes, inner = _shape(made)
    target, grad = contiguous(cupy, target), contiguous(cupy, grad)
    if not target.size:
        return made
    kernel = _kernel(cupy, _LOSS_GRADIENT, "loss_gradient", "PPPPPqqqqii", grad.dtype, target.dtype, "x")
    kernel(
        -(-target.size // 256), 256, grad.data.ptr, target.data.ptr, 0 if weight is None else weight.data.ptr, total.data.ptr, made.data.ptr,
        target.size, classes, inner, ignore_index, int(grad.size == 1 and target.size != 1 or not grad.ndim), int(reduction == "mean"),
    )  # fmt: skip
    return made


KERNELS: dict[str, Any] = {
    "embedding": embedding,
    "embedding_backward": embedding_backward,
    "nll_forward": nll_forward,
    "nll_gradient": nll_gradient,
}

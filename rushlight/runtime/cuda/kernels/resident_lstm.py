"""LSTM layers: all time steps of a sequence in one block, which keeps the recurrent weights in registers and shared memory.

A step of a small layer is shorter than a launch, so what counts is that there is one launch for all of them.  A thread has a row of the weights (backwards: a
quarter of a column), most of it in registers: on an H200 a layer of 128 units takes a third of the time of the kernel that reads the weights again at every time
(``small_recurrent.py``: 72 µs for 50 times, and 260).  Layers of more than 128 units, or of a number that is no multiple of 32, of other dtypes than float32, and
sequences of different lengths are left to ``recurrent.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..gemm import layer_weight_gradient
from ..launch import CudaKernel
from ..launch_replay import replayed
from . import recurrent
from .copies import contiguous

_LARGEST = 128  # hidden units: more weights do not fit in an SM
_IN_REGISTERS = 96  # weights of a thread, of 128

_HEAD = """
#define H @H@
#define IN @IN@  // weights of a thread that are in registers; the others are in shared memory
extern __shared__ float memory[];
__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float product(const float* own, const float* others, const float* vector, int thread) {
    float a = 0, b = 0, c = 0, d = 0;
    #pragma unroll
    for (int k = 0; k < IN; k += 4) {
        float4 v = *(const float4*)(vector + k);
        a += own[k] * v.x; b += own[k + 1] * v.y; c += own[k + 2] * v.z; d += own[k + 3] * v.w;
    }
    #pragma unroll 8
    for (int k = IN; k < H; k += 4) {
        float4 v = *(const float4*)(vector + k);
        const float* w = others + (k - IN) * 4 * H + thread;
        a += w[0] * v.x; b += w[4 * H] * v.y; c += w[8 * H] * v.z; d += w[12 * H] * v.w;
    }
    return (a + b) + (c + d);
}
"""
_FORWARD = (
    _HEAD
    + """
extern "C" __global__ void __launch_bounds__(4 * H, 1) lstm(
    const float* gates, const float* hidden, const float* cell, const float* weight, float* output, float* last_hidden, float* last_cell,
    float* activated, float* cells, float* before, int times, int batch, int reverse) {
    float *others = memory, *h = others + (H - IN) * 4 * H, *all = h + H;
    int t = threadIdx.x, b = blockIdx.x;
    float own[IN];
    #pragma unroll
    for (int k = 0; k < IN; k++) own[k] = weight[t * H + k];
    for (int k = IN; k < H; k++) others[(k - IN) * 4 * H + t] = weight[t * H + k];
    float c = 0;
    if (t < H) { h[t] = hidden[b * H + t]; c = cell[b * H + t]; }
    __syncthreads();
    long long row = (long long)(reverse ? times - 1 : 0) * batch + b, step = reverse ? -batch : batch;
    float next = gates[row * 4 * H + t];
    for (int time = 0; time < times; time++, row += step) {
        float x = next;
        if (time + 1 < times) next = gates[(row + step) * 4 * H + t];
        x += product(own, others, h, t);
        x = t / H == 2 ? tanhf(x) : sigmoid(x);
        all[t] = x;
        activated[row * 4 * H + t] = x;
        if (t < H) { before[row * H + t] = h[t]; cells[row * H + t] = c; }
        __syncthreads();
        if (t < H) {
            c = all[H + t] * c + all[t] * all[2 * H + t];
            float made = all[3 * H + t] * tanhf(c);
            h[t] = made;
            output[row * H + t] = made;
        }
        __syncthreads();
    }
    if (t < H) { last_hidden[b * H + t] = h[t]; last_cell[b * H + t] = c; }
}
"""
)
_BACKWARD = (
    _HEAD
    + """
extern "C" __global__ void __launch_bounds__(4 * H, 1) lstm(
    const float* grad_output, const float* grad_hidden, const float* grad_cell, const float* weight, const float* activated, const float* cells,
    float* grad_gates, float* first_hidden, float* first_cell, int times, int batch, int reverse) {
    float *others = memory, *all = others + (H - IN) * 4 * H, *parts = all + 4 * H;
    int t = threadIdx.x, b = blockIdx.x, k = t % H, part = t / H;
    float own[IN];
    #pragma unroll
    for (int j = 0; j < IN; j++) own[j] = weight[(part * H + j) * H + k];
    for (int j = IN; j < H; j++) others[(j - IN) * 4 * H + t] = weight[(part * H + j) * H + k];
    float gh = 0, gc = 0;
    if (t < H) { gh = grad_hidden[b * H + t]; gc = grad_cell[b * H + t]; }
    long long row = (long long)(reverse ? 0 : times - 1) * batch + b, step = reverse ? batch : -batch;
    float i = 0, f = 0, c = 0, o = 0, previous = 0, given = 0;
    #define READ { const float* now = activated + row * 4 * H + t; i = now[0]; f = now[H]; c = now[2 * H]; o = now[3 * H]; \
                   previous = cells[row * H + t]; given = grad_output[row * H + t]; }
    if (t < H) READ
    for (int time = 0; time < times; time++) {
        if (t < H) {
            float squashed = tanhf(f * previous + i * c), grad = gh + given;
            float carried = gc + grad * o * (1 - squashed * squashed);
            float gi = carried * c * i * (1 - i), gf = carried * previous * f * (1 - f), gg = carried * i * (1 - c * c);
            float go = grad * squashed * o * (1 - o);
            all[t] = gi; all[H + t] = gf; all[2 * H + t] = gg; all[3 * H + t] = go;
            float* to = grad_gates + row * 4 * H + t;
            to[0] = gi; to[H] = gf; to[2 * H] = gg; to[3 * H] = go;
            gc = carried * f;
            row += step;
            if (time + 1 < times) READ  // of the next step, while the product runs
        }
        __syncthreads();
        parts[t] = product(own, others, all + part * H, t);
        __syncthreads();
        if (t < H) gh = (parts[t] + parts[H + t]) + (parts[2 * H + t] + parts[3 * H + t]);
    }
    if (t < H) { first_hidden[b * H + t] = gh; first_cell[b * H + t] = gc; }
}
"""
)
_kernels: dict[Any, tuple[CudaKernel, int]] = {}


def source(text: str, size: int) -> tuple[str, int]:
    """The source of a kernel for so many hidden units, and its bytes of shared memory."""
    inside = min(size, _IN_REGISTERS)
    return text.replace("@H@", str(size)).replace("@IN@", str(inside)), ((size - inside) * 4 * size + 8 * size) * 4


def _kernel(cupy: Any, text: str, size: int, format: str) -> tuple[CudaKernel, int]:
    key = (text, size)
    if key not in _kernels:
        made, shared = source(text, size)
        _kernels[key] = CudaKernel(cupy, made, "lstm", format), shared
    return _kernels[key]


def _fits(cell: Any, projection: Any, batch_sizes: Any, *arrays: Any) -> bool:
    """Whether a layer is one that the kernels take."""
    size = cell.shape[-1]
    plain = all(each.dtype == np.float32 and each.flags.c_contiguous for each in arrays)
    return plain and projection is None and isinstance(batch_sizes, int) and batch_sizes > 0 and size % 32 == 0 and 0 < size <= _LARGEST


def lstm_layer(cupy: Any, gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool) -> Any:
    """One direction of a layer."""
    gates = contiguous(cupy, gates)
    if not cell.shape[0] or not _fits(cell, projection, batch_sizes, gates, hidden, cell, weight):
        return recurrent.lstm_layer(cupy, gates, hidden, cell, weight, projection, batch_sizes, reverse)
    return _forward(cupy, gates, hidden, cell, weight, batch_sizes, bool(reverse))


@replayed
def _forward(cupy: Any, gates: Any, hidden: Any, cell: Any, weight: Any, times: int, reverse: bool) -> list[Any]:
    (batch, size), total, new, dtype = cell.shape, gates.shape[0], cupy.ndarray, gates.dtype
    output, cells, before = (new((total, size), dtype) for _ in range(3))
    made = (output, new(hidden.shape, dtype), new(cell.shape, dtype), new(gates.shape, dtype), cells, before)
    run, shared = _kernel(cupy, _FORWARD, size, "P" * 10 + "iii")
    places = [each.data.ptr for each in (gates, hidden, cell, weight, *made)]
    run(batch, 4 * size, *places, times, batch, int(reverse), shared=shared)
    return list(made)


def lstm_backward(
    cupy: Any, grad_output: Any, grad_hidden: Any, grad_cell: Any, weight: Any, projection: Any, activated: Any, cells: Any, before: Any,
    batch_sizes: Any, reverse: bool,
) -> Any:  # fmt: skip
    """The gradient of one direction of a layer."""
    given = [contiguous(cupy, each) for each in (grad_output, grad_hidden, grad_cell)]
    if not grad_cell.shape[0] or not _fits(grad_cell, projection, batch_sizes, *given, weight, activated, cells):
        return recurrent.lstm_backward(
            cupy, grad_output, grad_hidden, grad_cell, weight, projection, activated, cells, before, batch_sizes, reverse
        )
    grad_gates, first_hidden, first_cell = _backward(cupy, *given, weight, activated, cells, batch_sizes, bool(reverse))
    of_weight = layer_weight_gradient(cupy, grad_gates, before, weight.shape)
    return [grad_gates, first_hidden, first_cell, of_weight, cupy.ndarray((0,), cells.dtype)]


@replayed
def _backward(
    cupy: Any, grad_output: Any, grad_hidden: Any, grad_cell: Any, weight: Any, activated: Any, cells: Any, times: int, reverse: bool
) -> list[Any]:
    (batch, size), new, dtype = grad_cell.shape, cupy.ndarray, activated.dtype
    made = [new(activated.shape, dtype), new(grad_hidden.shape, dtype), new(grad_cell.shape, dtype)]
    run, shared = _kernel(cupy, _BACKWARD, size, "P" * 9 + "iii")
    places = [each.data.ptr for each in (grad_output, grad_hidden, grad_cell, weight, activated, cells, *made)]
    run(batch, 4 * size, *places, times, batch, int(reverse), shared=shared)
    return made


KERNELS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (lstm_layer, lstm_backward)}

"""Recurrent layers with small weights: one persistent kernel for all time steps; a block runs one sequence and keeps its state.

Sequences are independent, so blocks do not synchronize; the weight is read from the cache at every time step.  ``recurrent.py`` has larger layers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import instantiated
from ..launch import CudaKernel

_LARGEST, _TRAFFIC = 5 << 18, 64 << 20  # bytes of a weight, and of all that blocks read of it at one time
_SOURCE = """
typedef @T@ T; typedef @A@ A;
#define STORE(x) @STORE@
#define EACH(j, n) for (int j = threadIdx.x; j < (n); j += blockDim.x)
__device__ inline A squash(A x) { return (A)1 / ((A)1 + exp(-x)); }
// The dot product of a state in shared memory with a weight column of stride step: several loads are in flight.
__device__ inline A dot(const A* h, const T* w, int n, int step) {
    A sums[4] = {0, 0, 0, 0}; int k = 0;
    for (; k + 16 <= n; k += 16) {
        A v[16];
        #pragma unroll
        for (int q = 0; q < 16; q++) v[q] = value(w[(long long)(k + q) * step]);
        #pragma unroll
        for (int q = 0; q < 16; q++) sums[q % 4] += h[k + q] * v[q];
    }
    for (; k < n; k++) sums[0] += h[k] * (A)value(w[(long long)k * step]);
    return sums[0] + sums[1] + sums[2] + sums[3];
}
// made[j] = the sum over k of given[k] * w[k, j], plus what is kept of made[j]; threads share the sums of a column.
__device__ inline void spread(const A* given, const T* w, A* made, const A* kept, A* parts, int n, int H) {
    int lanes = (H + 31) / 32 * 32, shares = blockDim.x / lanes;
    if (shares > 1) {
        int j = threadIdx.x % lanes, share = threadIdx.x / lanes, length = (n + shares - 1) / shares, first = share * length;
        int count = first + length < n ? length : n - first;
        A sum = 0;
        if (share < shares && j < H && count > 0) sum = dot(given + first, w + (long long)first * H + j, count, H);
        parts[threadIdx.x] = sum;
        __syncthreads();
        EACH(i, H) { A total = kept ? kept[i] : (A)0; for (int s = 0; s < shares; s++) total += parts[s * lanes + i]; made[i] = total; }
    } else EACH(i, H) made[i] = (kept ? kept[i] : (A)0) + dot(given, w + i, n, H);
    __syncthreads();
}
extern __shared__ double memory[];
// times: the first row and the number of sequences of each time step, in execution order.
#define TIMES for (int s = 0; s < count; s++) { int2 time = times[s]; if ((int)blockIdx.x >= time.y) continue; long long at = time.x + (long long)blockIdx.x;
#define TIMES_BACK for (int s = count - 1; s >= 0; s--) { int2 time = times[s]; if ((int)blockIdx.x >= time.y) continue; long long at = time.x + (long long)blockIdx.x;
#define OWN ((long long)blockIdx.x * H + j)
extern "C" __global__ void lstm_rows(const T* gates, const T* transposed, T* hidden, T* cell, T* output, T* activated, T* cells, T* before,
                                     const int2* times, int count, int H) {
    A* h = (A*)memory; A* c = h + H; A* now = c + H;
    EACH(j, H) { h[j] = value(hidden[OWN]); c[j] = value(cell[OWN]); }
    __syncthreads();
    TIMES
        EACH(o, 4 * H) now[o] = (A)value(gates[at * 4 * H + o]) + dot(h, transposed + o, H, 4 * H);
        __syncthreads();
        EACH(j, H) {
            A i = squash(now[j]), f = squash(now[H + j]), g = tanh(now[2 * H + j]), o = squash(now[3 * H + j]), old = c[j], fresh = f * old + i * g;
            T* to = activated + at * 4 * H + j;
            to[0] = STORE(i); to[H] = STORE(f); to[2 * H] = STORE(g); to[3 * H] = STORE(o);
            before[at * H + j] = STORE((h[j])); cells[at * H + j] = STORE(old);
            c[j] = fresh; h[j] = o * tanh(fresh); output[at * H + j] = STORE((h[j]));
        }
        __syncthreads();
    }
    EACH(j, H) { hidden[OWN] = STORE((h[j])); cell[OWN] = STORE((c[j])); }
}
extern "C" __global__ void lstm_rows_back(const T* activated, const T* cells, const T* grad_output, const T* weight, T* grad_hidden, T* grad_cell,
                                          T* grad_gates, const int2* times, int count, int H) {
    A* h = (A*)memory; A* c = h + H; A* to = c + H; A* parts = to + 4 * H;
    EACH(j, H) { h[j] = value(grad_hidden[OWN]); c[j] = value(grad_cell[OWN]); }
    __syncthreads();
    TIMES_BACK
        EACH(j, H) {
            const T* a = activated + at * 4 * H + j; T* out = grad_gates + at * 4 * H + j;
            A i = value(a[0]), f = value(a[H]), g = value(a[2 * H]), o = value(a[3 * H]), old = value(cells[at * H + j]);
            A squashed = tanh(f * old + i * g), grad = h[j] + (A)value(grad_output[at * H + j]), carried = c[j] + grad * o * (1 - squashed * squashed);
            to[j] = carried * g * i * (1 - i); to[H + j] = carried * old * f * (1 - f);
            to[2 * H + j] = carried * i * (1 - g * g); to[3 * H + j] = grad * squashed * o * (1 - o);
            for (int k = 0; k < 4; k++) out[k * H] = STORE((to[k * H + j]));
            c[j] = carried * f;
        }
        __syncthreads();
        spread(to, weight, h, 0, parts, 4 * H, H);
    }
    EACH(j, H) { grad_hidden[OWN] = STORE((h[j])); grad_cell[OWN] = STORE((c[j])); }
}
extern "C" __global__ void gru_rows(const T* gates, const T* transposed, const T* bias, T* hidden, T* output, T* activated, T* before,
                                    const int2* times, int count, int H) {
    A* h = (A*)memory; A* own = h + H;
    EACH(j, H) h[j] = value(hidden[OWN]);
    __syncthreads();
    TIMES
        EACH(o, 3 * H) own[o] = (bias ? (A)value(bias[o]) : (A)0) + dot(h, transposed + o, H, 3 * H);
        __syncthreads();
        EACH(j, H) {
            const T* given = gates + at * 3 * H + j; T* to = activated + at * 4 * H + j;
            A r = squash(own[j] + (A)value(given[0])), z = squash(own[H + j] + (A)value(given[H])), n = own[2 * H + j];
            A candidate = tanh((A)value(given[2 * H]) + r * n);
            to[0] = STORE(r); to[H] = STORE(z); to[2 * H] = STORE(candidate); to[3 * H] = STORE(n);
            before[at * H + j] = STORE((h[j]));
            h[j] = candidate * (1 - z) + z * h[j]; output[at * H + j] = STORE((h[j]));
        }
        __syncthreads();
    }
    EACH(j, H) hidden[OWN] = STORE((h[j]));
}
extern "C" __global__ void gru_rows_back(const T* activated, const T* before, const T* grad_output, const T* weight, T* grad_hidden, T* grad_gates,
                                         T* grad_own, const int2* times, int count, int H) {
    A* h = (A*)memory; A* kept = h + H; A* to = kept + H; A* parts = to + 3 * H;
    EACH(j, H) h[j] = value(grad_hidden[OWN]);
    __syncthreads();
    TIMES_BACK
        EACH(j, H) {
            const T* a = activated + at * 4 * H + j; T* out = grad_gates + at * 3 * H + j; T* mine = grad_own + at * 3 * H + j;
            A r = value(a[0]), z = value(a[H]), candidate = value(a[2 * H]), n = value(a[3 * H]);
            A grad = h[j] + (A)value(grad_output[at * H + j]), slope = grad * (1 - z) * (1 - candidate * candidate);
            to[j] = slope * n * r * (1 - r); to[H + j] = grad * ((A)value(before[at * H + j]) - candidate) * z * (1 - z); to[2 * H + j] = slope * r;
            out[0] = STORE((to[j])); out[H] = STORE((to[H + j])); out[2 * H] = STORE(slope);
            for (int k = 0; k < 3; k++) mine[k * H] = STORE((to[k * H + j]));
            kept[j] = grad * z;
        }
        __syncthreads();
        spread(to, weight, h, kept, parts, 3 * H, H);
    }
    EACH(j, H) grad_hidden[OWN] = STORE((h[j]));
}
extern "C" __global__ void rnn_rows(const T* gates, const T* transposed, T* hidden, T* output, T* before, int relu, const int2* times, int count, int H) {
    A* h = (A*)memory; A* now = h + H;
    EACH(j, H) h[j] = value(hidden[OWN]);
    __syncthreads();
    TIMES
        EACH(j, H) now[j] = (A)value(gates[at * H + j]) + dot(h, transposed + j, H, H);
        __syncthreads();
        EACH(j, H) { before[at * H + j] = STORE((h[j])); h[j] = relu ? larger(now[j], (A)0) : tanh(now[j]); output[at * H + j] = STORE((h[j])); }
        __syncthreads();
    }
    EACH(j, H) hidden[OWN] = STORE((h[j]));
}
extern "C" __global__ void rnn_rows_back(const T* output, const T* grad_output, const T* weight, T* grad_hidden, T* grad_gates, int relu,
                                         const int2* times, int count, int H) {
    A* h = (A*)memory; A* to = h + H; A* parts = to + H;
    EACH(j, H) h[j] = value(grad_hidden[OWN]);
    __syncthreads();
    TIMES_BACK
        EACH(j, H) {
            A y = value(output[at * H + j]), grad = h[j] + (A)value(grad_output[at * H + j]);
            to[j] = grad * (relu ? (A)(y > 0) : 1 - y * y); grad_gates[at * H + j] = STORE((to[j]));
        }
        __syncthreads();
        spread(to, weight, h, 0, parts, H, H);
    }
    EACH(j, H) grad_hidden[OWN] = STORE((h[j]));
}
"""
_FORMATS = {
    "lstm_rows": "PPPPPPPPPii", "lstm_rows_back": "PPPPPPPPii", "gru_rows": "PPPPPPPPii", "gru_rows_back": "PPPPPPPPii", "rnn_rows": "PPPPPiPii",
    "rnn_rows_back": "PPPPPiPii",
}  # fmt: skip
_kernels: dict[Any, CudaKernel] = {}
_times: dict[Any, Any] = {}  # on the device, by content: captured graphs keep reading them


def takes(weight: Any, sequences: int) -> bool:
    """Whether a layer's weight is small enough to be read again at every time."""
    return bool(weight.nbytes <= _LARGEST and weight.nbytes * sequences <= _TRAFFIC)


def times_of(cupy: Any, order: list[tuple[int, int]]) -> Any:
    """The first row and the row count of each time step, on the device."""
    key = (cupy.cuda.runtime.getDevice(), *order)
    found = _times.get(key)
    if found is None:
        found = _times[key] = cupy.asarray(np.array(order, np.int32).reshape(-1, 2))
    return found


def launch(
    cupy: Any, name: str, arrays: tuple[Any, ...], order: list[tuple[int, int]], sequences: int, width: int, gates: int, *numbers: int
) -> None:
    """Run a layer: arrays in the order of the kernel's parameters, its times, and the numbers of sequences, of units and of gates."""
    dtype = arrays[0].dtype
    kernel = _kernels.get((name, dtype))
    if kernel is None:
        kernel = _kernels[name, dtype] = CudaKernel(cupy, instantiated(_SOURCE, dtype), name, _FORMATS[name])
    threads = min(1024, max(128, -(-gates * width // 32) * 32))
    shared = ((2 + gates) * width + threads) * (8 if dtype == np.float64 else 4)
    times = times_of(cupy, order)
    addresses = [0 if each is None else each.data.ptr for each in arrays]
    kernel(sequences, threads, *addresses, *numbers, times.data.ptr, len(order), width, shared=shared)

"""Kernels over the planes of images: the largest element of windows and its gradient, and means and variances of channels."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import PRELUDE, STORED, rounded
from ....core.dtypes import HALF_PRECISION
from ....ops.nn.pooling import make_pool
from ..launch import CudaKernel
from ..launch_replay import replayed
from ..pointwise import Formula
from .copies import contiguous

_WINDOWS = """
typedef @T@ T;
// Windows over planes of one, two or three dimensions: the first largest element; of NaNs, which are larger than any number, the last.
struct Pool { int size[3], kernel[3], stride[3], padding[3], dilation[3], count[3]; };
__device__ inline long long place(const T* x, const Pool& p, int a, int b, int c) {
    long long best = -1; @A@ top = 0;
    for (int i = 0; i < p.kernel[0]; i++) {
        int u = a * p.stride[0] - p.padding[0] + i * p.dilation[0];
        if (u < 0 || u >= p.size[0]) continue;
        for (int j = 0; j < p.kernel[1]; j++) {
            int v = b * p.stride[1] - p.padding[1] + j * p.dilation[1];
            if (v < 0 || v >= p.size[1]) continue;
            for (int k = 0; k < p.kernel[2]; k++) {
                int w = c * p.stride[2] - p.padding[2] + k * p.dilation[2];
                if (w < 0 || w >= p.size[2]) continue;
                long long at = ((long long)u * p.size[1] + v) * p.size[2] + w;
                @A@ here = value(x[at]);
                if (best < 0 || here > top || here != here) { best = at; top = here; }
            }
        }
    }
    return best;
}
extern "C" __global__ void largest(const T* in, T* out, long long* index, long long total, Pool p) {
    long long plane = (long long)p.size[0] * p.size[1] * p.size[2], windows = (long long)p.count[0] * p.count[1] * p.count[2];
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (long long)gridDim.x * blockDim.x) {
        long long n = at / windows; int rest = (int)(at % windows);
        long long found = place(in + n * plane, p, rest / (p.count[1] * p.count[2]), rest / p.count[2] % p.count[1], rest % p.count[2]);
        out[at] = in[n * plane + found];
        if (index) index[at] = found;
    }
}
// Each element gathers from the windows that contain it: no atomics, deterministic.  Without an index, maxima are recomputed.
extern "C" __global__ void spread(const T* grad, const long long* index, const T* in, T* out, long long total, Pool p) {
    long long plane = (long long)p.size[0] * p.size[1] * p.size[2], windows = (long long)p.count[0] * p.count[1] * p.count[2];
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (long long)gridDim.x * blockDim.x) {
        long long n = at / plane, own = at % plane;
        int u = (int)(own / ((long long)p.size[1] * p.size[2])), v = (int)(own / p.size[2] % p.size[1]), w = (int)(own % p.size[2]);
        @A@ sum = 0;
        for (int i = 0; i < p.kernel[0]; i++) {
            int a = u + p.padding[0] - i * p.dilation[0]; if (a < 0 || a % p.stride[0]) continue; a /= p.stride[0]; if (a >= p.count[0]) continue;
            for (int j = 0; j < p.kernel[1]; j++) {
                int b = v + p.padding[1] - j * p.dilation[1]; if (b < 0 || b % p.stride[1]) continue; b /= p.stride[1]; if (b >= p.count[1]) continue;
                for (int k = 0; k < p.kernel[2]; k++) {
                    int c = w + p.padding[2] - k * p.dilation[2]; if (c < 0 || c % p.stride[2]) continue; c /= p.stride[2]; if (c >= p.count[2]) continue;
                    long long window = n * windows + ((long long)a * p.count[1] + b) * p.count[2] + c;
                    if ((index ? index[window] : place(in + n * plane, p, a, b, c)) == own) sum += (@A@)value(grad[window]);
                }
            }
        }
        out[at] = @STORE@;
    }
}
"""

_CHANNELS = """
typedef @T@ T; typedef @A@ A;
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
// A block has one channel, whose planes are strided by image.
// A thread loops over the planes of its channel without a division per element.
#define EACH(at) for (long long q = threadIdx.x, rest = q % inner, plane = q / inner; plane < images; rest += blockDim.x) { \\
    if (rest >= inner) { plane += rest / inner; rest %= inner; if (plane >= images) break; } \\
    long long at = (plane * channels + blockIdx.x) * inner + rest;
extern "C" __global__ void standard(const T* x, T* out, T* means, T* variances, long long images, long long channels, long long inner, A eps) {
    A mean = 0, spread = 0;
    EACH(at) mean += (A)value(x[at]); }
    mean = block_sum(mean) / (images * inner);
    EACH(at) A d = (A)value(x[at]) - mean; spread += d * d; }
    spread = block_sum(spread) / (images * inner);
    A scale = rsqrt(spread + eps);
    EACH(at) A made = ((A)value(x[at]) - mean) * scale; out[at] = @MADE@; }
    if (threadIdx.x == 0) { A made = mean; means[blockIdx.x] = @MADE@; made = spread; variances[blockIdx.x] = @MADE@; }
}
extern "C" __global__ void standard_backward(const T* grad, const T* result, const T* variances, T* out, long long images, long long channels,
                                             long long inner, A eps) {
    A total = 0, slope = 0;
    EACH(at) A g = value(grad[at]); total += g; slope += g * (A)value(result[at]); }
    total = block_sum(total) / (images * inner);
    slope = block_sum(slope) / (images * inner);
    A scale = rsqrt((A)value(variances[blockIdx.x]) + eps);
    EACH(at) A made = scale * ((A)value(grad[at]) - total - (A)value(result[at]) * slope); out[at] = @MADE@; }
}
// Batch normalisation with a factor and a shift of each channel; kept has all means, then the factors that made the variances 1.
extern "C" __global__ void batch_norm(const T* x, const T* weight, const T* bias, T* out, T* variances, A* kept, long long images, long long channels,
                                      long long inner, A eps) {
    A mean = 0, spread = 0;
    EACH(at) mean += (A)value(x[at]); }
    mean = block_sum(mean) / (images * inner);
    EACH(at) A d = (A)value(x[at]) - mean; spread += d * d; }
    spread = block_sum(spread) / (images * inner);
    A scale = rsqrt(spread + eps), factor = scale * (A)value(weight[blockIdx.x]), shift = value(bias[blockIdx.x]);
    EACH(at) A made = ((A)value(x[at]) - mean) * factor + shift; out[at] = @MADE@; }
    if (threadIdx.x == 0) { A made = spread; variances[blockIdx.x] = @MADE@; kept[blockIdx.x] = mean; kept[channels + blockIdx.x] = scale; }
}
extern "C" __global__ void batch_norm_backward(const T* grad, const T* x, const T* weight, const A* kept, T* out, T* of_weight, T* of_bias,
                                               long long images, long long channels, long long inner) {
    A total = 0, slope = 0, mean = kept[blockIdx.x], scale = kept[channels + blockIdx.x];
    EACH(at) A g = value(grad[at]); total += g; slope += g * ((A)value(x[at]) - mean); }
    total = block_sum(total);
    slope = block_sum(slope) * scale;
    if (threadIdx.x == 0) { A made = slope; if (of_weight) of_weight[blockIdx.x] = @MADE@; made = total; if (of_bias) of_bias[blockIdx.x] = @MADE@; }
    total /= images * inner; slope /= images * inner;
    A factor = scale * (weight ? (A)value(weight[blockIdx.x]) : (A)1);
    EACH(at) A made = factor * ((A)value(grad[at]) - total - ((A)value(x[at]) - mean) * scale * slope); out[at] = @MADE@; }
}
extern "C" __global__ void channel_sums(const T* x, const T* y, T* out, long long images, long long channels, long long inner) {
    A made = 0;
    EACH(at) made += y ? (A)value(x[at]) * (A)value(y[at]) : (A)value(x[at]); }
    made = block_sum(made);
    if (threadIdx.x == 0) out[blockIdx.x] = @MADE@;
}
extern "C" __global__ void update_running(T* running, const @S@* found, int n, A momentum, A factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { A made = (1 - momentum) * (A)value(running[i]) + momentum * factor * (A)value(found[i]); running[i] = @MADE@; }
}
extern "C" __global__ void update_both(T* means, T* variances, const A* kept, const T* found, int n, A momentum, A factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A made = (1 - momentum) * (A)value(means[i]) + momentum * kept[i]; means[i] = @MADE@;
    made = (1 - momentum) * (A)value(variances[i]) + momentum * factor * (A)value(found[i]); variances[i] = @MADE@;
}
"""

_kernels: dict[Any, CudaKernel] = {}


def _kernel(cupy: Any, template: str, name: str, format: str, dtype: np.dtype[Any], other: Any = None) -> CudaKernel:
    key = (name, dtype, other)
    found = _kernels.get(key)
    if found is None:
        source = PRELUDE + template
        accumulated = "double" if dtype == np.float64 else "float"
        for mark, text in {
            "T": STORED[dtype],
            "A": accumulated,
            "STORE": rounded("sum", dtype),
            "MADE": rounded("made", dtype),
            "S": STORED[other or dtype],
        }.items():
            source = source.replace(f"@{mark}@", text)
        found = _kernels[key] = CudaKernel(cupy, source, name, format.replace("@", "d" if dtype == np.float64 else "f"))
    return found


def _floating(*arrays: Any) -> bool:
    return all((each.dtype.kind == "f" or each.dtype in HALF_PRECISION) and each.dtype in STORED for each in arrays)


def _pool(input: Any, ndim: int, options: Any) -> tuple[list[int], tuple[int, ...]]:
    """The kernel arguments of a pool in three dimensions, and the shape of the result."""
    pool = make_pool(f"max_pool{ndim}d", input.shape, ndim, *options)
    fields = [tuple(each) for each in pool]
    filled = [(0 if at == 3 else 1,) * (3 - ndim) + each for at, each in enumerate(fields)]  # padding is the fourth
    return [number for each in filled for number in each], (*input.shape[: input.ndim - ndim], *fields[5])


@replayed
def _max_pool(cupy: Any, input: Any, ndim: int, options: Any, indices: bool) -> Any:
    if not _floating(input) or input.ndim <= ndim or not input.size or not input.flags.c_contiguous:
        return NotImplemented
    numbers, shape = _pool(input, ndim, options[:5])
    made: Any = cupy.ndarray(shape, input.dtype)
    places: Any = cupy.ndarray(shape, np.int64) if indices else None
    kernel = _kernel(cupy, _WINDOWS, "largest", "PPPq18i", input.dtype)
    kernel(min(-(-made.size // 256), 132 * 32), 256, input.data.ptr, made.data.ptr, places.data.ptr if indices else 0, made.size, *numbers)
    return (made, places) if indices else made


@replayed
def max_pool_backward(cupy: Any, grad: Any, input: Any, result: Any, ndim: int, *options: Any) -> Any:
    """The gradient of the maximum of windows."""
    if not _floating(grad, input) or not input.size or not input.flags.c_contiguous:
        return NotImplemented
    if input.ndim <= ndim or grad.dtype != input.dtype:
        return NotImplemented
    numbers, _ = _pool(input, ndim, options[:5])
    sizes, strides, dilations = numbers[3:6], numbers[6:9], numbers[12:15]
    apart = all((size - 1) * dilation < stride for size, stride, dilation in zip(sizes, strides, dilations))
    found = None if apart else _max_pool(cupy, input, ndim, options, True)  # non-overlapping windows recompute their maximum
    if found is NotImplemented:
        return NotImplemented
    grad, made = contiguous(cupy, grad), cupy.ndarray(input.shape, grad.dtype)
    kernel = _kernel(cupy, _WINDOWS, "spread", "PPPPq18i", grad.dtype)
    index = 0 if found is None else found[1].data.ptr
    kernel(min(-(-made.size // 256), 132 * 32), 256, grad.data.ptr, index, input.data.ptr, made.data.ptr, made.size, *numbers)
    return made


def _channels(array: Any, dims: Any) -> tuple[int, int, int] | None:
    """Images, channels and elements of a plane, where all dimensions but the second are normalised; None where others are."""
    if (
        array.ndim < 2
        or tuple(dims) != (0, *range(2, array.ndim))
        or not array.size
        or not _floating(array)
        or not array.flags.c_contiguous
    ):
        return None
    return array.shape[0], array.shape[1], math.prod(array.shape[2:])


def channel_sums(cupy: Any, input: Any, shape: Any, other: Any = None) -> Any:
    """The sums of the channels of contiguous images, or of their product with others, in an array of a shape."""
    made = cupy.ndarray(shape, input.dtype)
    images, channels, inner = input.shape[0], input.shape[1], math.prod(input.shape[2:])
    kernel = _kernel(cupy, _CHANNELS, "channel_sums", "PPPqqq", input.dtype)
    threads = 1024 if images * inner >= 1024 else 128
    kernel(channels, threads, input.data.ptr, 0 if other is None else other.data.ptr, made.data.ptr, images, channels, inner)
    return made


@replayed
def channel_products(cupy: Any, grad: Any, input: Any, shape: Any) -> Any:
    """The gradient of a factor of each channel."""
    sizes = _channels(input, (0, *range(2, input.ndim)))
    if sizes is None or grad.shape != input.shape or grad.dtype != input.dtype or not grad.flags.c_contiguous:
        return NotImplemented
    if tuple(shape) != (1, sizes[1], *[1] * (input.ndim - 2)):
        return NotImplemented
    return channel_sums(cupy, grad, tuple(shape), input)


@replayed
def update_running(cupy: Any, running: Any, found: Any, momentum: float, factor: float) -> Any:
    """Update running statistics with those of a batch, in place."""
    if isinstance(found, statistics_type(cupy)):  # the means come first
        found = found[0]
    if running.size != found.size or not running.size or not running.flags.c_contiguous or not found.flags.c_contiguous:
        return NotImplemented
    if not _floating(running, found):
        return NotImplemented
    kernel = _kernel(cupy, _CHANNELS, "update_running", "PPi@@", running.dtype, found.dtype)
    kernel(-(-running.size // 128), 128, running.data.ptr, found.data.ptr, running.size, momentum, factor)
    return running


@replayed
def update_both(cupy: Any, means: Any, variances: Any, kept: Any, found: Any, momentum: float, factor: float) -> Any:
    """Update running means and variances with those of a batch, in place; ``kept`` begins with the means."""
    n = means.size
    if not isinstance(kept, statistics_type(cupy)) or not n or n != variances.size or n != found.size or n != kept.shape[1]:
        return NotImplemented
    if means.dtype != variances.dtype or means.dtype != found.dtype or not _floating(means):
        return NotImplemented
    if not means.flags.c_contiguous or not variances.flags.c_contiguous:
        return NotImplemented
    kernel = _kernel(cupy, _CHANNELS, "update_both", "PPPPi@@", means.dtype)
    kernel(-(-n // 128), 128, means.data.ptr, variances.data.ptr, kept.data.ptr, found.data.ptr, n, momentum, factor)
    return means


@functools.cache
def statistics_type(cupy: Any) -> Any:
    """The class of what normalisations keep instead of their normalised input: means and reciprocal standard deviations."""
    return type("Statistics", (cupy.ndarray,), {"__doc__": "Means and reciprocal standard deviations of rows, or of channels."})


@replayed
def batch_norm(cupy: Any, input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    """Images less the means of their channels, divided by the standard deviations, with a factor and a shift of each channel."""
    sizes = _channels(input, dims)
    if sizes is None or any(each is None or each.dtype != input.dtype or each.size != sizes[1] for each in (weight, bias)):
        return NotImplemented
    if not weight.flags.c_contiguous or not bias.flags.c_contiguous:
        return NotImplemented
    made, variance = cupy.ndarray(input.shape, input.dtype), cupy.ndarray((1, sizes[1], *[1] * (input.ndim - 2)), input.dtype)
    kept = statistics_type(cupy)((2, sizes[1]), np.dtype(np.float64 if input.dtype == np.float64 else np.float32))
    kernel = _kernel(cupy, _CHANNELS, "batch_norm", "PPPPPPqqq@", input.dtype)
    addresses = [each.data.ptr for each in (input, weight, bias, made, variance, kept)]
    kernel(sizes[1], 1024 if sizes[0] * sizes[2] >= 1024 else 128, *addresses, *sizes, eps)
    return [made, kept, variance]


def batch_norm_backward(cupy: Any, grad: Any, input: Any, weight: Any, kept: Any, dims: Any) -> Any:
    """The gradients of :func:`batch_norm`: of images, factors and shifts."""
    sizes = _channels(input, dims)
    if sizes is None or grad.dtype != input.dtype or weight is not None and not weight.flags.c_contiguous:
        return NotImplemented
    grad, made = contiguous(cupy, grad), cupy.ndarray(grad.shape, grad.dtype)
    others = [None, None] if weight is None else [cupy.ndarray(weight.shape, grad.dtype) for _ in range(2)]
    kernel = _kernel(cupy, _CHANNELS, "batch_norm_backward", "PPPPPPPqqq", grad.dtype)
    addresses = [0 if each is None else each.data.ptr for each in (grad, input, weight, kept, made, *others)]
    kernel(sizes[1], 1024 if sizes[0] * sizes[2] >= 1024 else 128, *addresses, *sizes)
    return [made, *others]


def standardize(cupy: Any, input: Any, dims: Any, eps: float) -> Any:
    """Images less the means of their channels, divided by the standard deviations."""
    sizes = _channels(input, dims)
    if sizes is None:
        return NotImplemented
    kept = (1, sizes[1], *[1] * (input.ndim - 2))
    made, mean, variance = cupy.ndarray(input.shape, input.dtype), cupy.ndarray(kept, input.dtype), cupy.ndarray(kept, input.dtype)
    kernel = _kernel(cupy, _CHANNELS, "standard", "PPPPqqq@", input.dtype)
    kernel(
        sizes[1], 1024 if sizes[0] * sizes[2] >= 1024 else 128, input.data.ptr, made.data.ptr, mean.data.ptr, variance.data.ptr, *sizes, eps
    )
    return [made, mean, variance]


def standardize_backward(cupy: Any, grad: Any, input: Any, result: Any, variance: Any, dims: Any, eps: float) -> Any:
    """The gradient of :func:`standardize`."""
    if isinstance(result, statistics_type(cupy)):
        made = batch_norm_backward(cupy, grad, input, None, result, dims)
        return made if made is NotImplemented else made[0]
    sizes = _channels(result, dims)
    if sizes is None or grad.dtype != result.dtype:
        return NotImplemented
    grad, made = contiguous(cupy, grad), cupy.ndarray(grad.shape, grad.dtype)
    kernel = _kernel(cupy, _CHANNELS, "standard_backward", "PPPPqqq@", grad.dtype)
    kernel(
        sizes[1],
        1024 if sizes[0] * sizes[2] >= 1024 else 128,
        grad.data.ptr,
        result.data.ptr,
        variance.data.ptr,
        made.data.ptr,
        *sizes,
        eps,
    )
    return made


SHORTCUTS: dict[str, Any] = {
    "channel_products": channel_products, "channel_statistics": batch_norm,
    "update_running": update_running, "update_both": update_both, "relu_gradient": Formula("relu_backward", lambda xp, g, result: xp.where(result <= 0, 0, g)),
}  # fmt: skip
KERNELS: dict[str, Any] = {"max_pool_backward": max_pool_backward}
for _ndim in (1, 2, 3):
    KERNELS[f"max_pool{_ndim}d"] = lambda cupy, input, *options, ndim=_ndim: _max_pool(cupy, input, ndim, options, False)
    KERNELS[f"max_pool{_ndim}d_with_indices"] = lambda cupy, input, *options, ndim=_ndim: _max_pool(cupy, input, ndim, options, True)

"""Kernels over rows: softmax, layer normalisation and their gradients, sums of columns, rows of tables.

Rows up to a length are kept in registers (``register_rows.py``); a longer one is reduced by one block, which reads it again from the cache.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import PRELUDE, STORED, rounded
from ....core.dtypes import LOW_PRECISION
from ..launch import CudaKernel
from ..launch_replay import replayed
from . import pooling_norms, register_rows
from .copies import contiguous
from .pooling_norms import statistics_type

_SHORT, _LONG = 256, 8192  # elements of a row up to which a warp reduces it, and from which on a large block
_ONE_STRIP = 2048  # rows up to which one launch sums the columns
_REDUCE = """
typedef @T@ T; typedef @A@ A;
#define STORE(x) @STORE@
#define GROUP @GROUP@
__device__ inline A warp_sum(A x) { for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d); return x; }
__device__ inline A warp_max(A x) { for (int d = 16; d; d >>= 1) x = larger(x, __shfl_xor_sync(~0u, x, d)); return x; }
#if GROUP == 32
__device__ inline A row_sum(A x) { return warp_sum(x); }
__device__ inline A row_max(A x) { return warp_max(x); }
#define ROW ((long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32)
#define LANE (threadIdx.x % 32)
#else
__device__ inline A row_sum(A x) {
    __shared__ A parts[32];
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < GROUP / 32 ? parts[threadIdx.x % 32] : (A)0;
    return warp_sum(x);
}
__device__ inline A row_max(A x) {
    __shared__ A parts[32];
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[threadIdx.x % 32 < GROUP / 32 ? threadIdx.x % 32 : 0];
    return warp_max(x);
}
#define ROW ((long long)blockIdx.x)
#define LANE threadIdx.x
#endif
#define EACH(i, n) for (int i = LANE; i < n; i += GROUP)
"""

_BODIES = {
    "softmax": ("const T* in, T* out, long long rows, int n", "PPqi", """
    const T* x = in + row * n; T* y = out + row * n;
    A top = -(A)__int_as_float(0x7f800000);
    EACH(i, n) top = larger(top, (A)value(x[i]));
    top = row_max(top);
    A total = 0;
    EACH(i, n) total += exp((A)value(x[i]) - top);
    total = row_sum(total);
    @FINISH@"""),
    "row_sums": ("const T* in, @R@* out, long long rows, int n, A factor", "PPqi@", """
    const T* x = in + row * n;
    A total = 0;
    EACH(i, n) total += (A)value(x[i]);
    total = row_sum(total) * factor;
    if (LANE == 0) out[row] = @RESULT@;"""),
    "softmax_backward": ("const T* grad, const T* result, T* out, long long rows, int n", "PPPqi", """
    const T* g = grad + row * n; const T* y = result + row * n; T* dx = out + row * n;
    A total = 0;
    EACH(i, n) total += @TERM@;
    total = row_sum(total);
    EACH(i, n) { A d = value(g[i]), r = value(y[i]); dx[i] = STORE((@FINISH@)); }"""),
    "layer_norm": ("const T* in, const T* weight, const T* bias, T* out, T* standard, T* variance, T* means, A* kept, long long rows, int n, A eps", "PPPPPPPPqi@", """
    const T* x = in + row * n;
    A mean = 0;
    EACH(i, n) mean += (A)value(x[i]);
    mean = row_sum(mean) / n;
    A spread = 0;
    EACH(i, n) { A d = (A)value(x[i]) - mean; spread += d * d; }
    spread = row_sum(spread) / n;
    A scale = rsqrt(spread + eps);
    EACH(i, n) {
        A s = ((A)value(x[i]) - mean) * scale;
        if (standard) standard[row * n + i] = STORE(s);
        if (weight) s *= (A)value(weight[i]);
        if (bias) s += (A)value(bias[i]);
        out[row * n + i] = STORE(s);
    }
    if (LANE == 0) { if (variance) variance[row] = STORE(spread); if (means) means[row] = STORE(mean); if (kept) { kept[2 * row] = mean; kept[2 * row + 1] = scale; } }"""),
    "layer_norm_input_backward": ("const T* grad, const T* weight, const T* in, const A* kept, T* out, long long rows, int n", "PPPPPqi", """
    const T* g = grad + row * n; const T* x = in + row * n;
    A total = 0, slope = 0, mean = kept[2 * row], scale = kept[2 * row + 1];
    EACH(i, n) { A d = value(g[i]); if (weight) d *= (A)value(weight[i]); total += d; slope += d * ((A)value(x[i]) - mean) * scale; }
    total = row_sum(total) / n;
    slope = row_sum(slope) / n;
    EACH(i, n) {
        A d = value(g[i]); if (weight) d *= (A)value(weight[i]);
        out[row * n + i] = STORE((scale * (d - total - ((A)value(x[i]) - mean) * scale * slope)));
    }"""),
    "layer_norm_backward": ("const T* grad, const T* weight, const T* standard, const T* variance, T* out, long long rows, int n, A eps", "PPPPPqi@", """
    const T* g = grad + row * n; const T* s = standard + row * n;
    A total = 0, slope = 0;
    EACH(i, n) { A d = value(g[i]); if (weight) d *= (A)value(weight[i]); total += d; slope += d * (A)value(s[i]); }
    total = row_sum(total) / n;
    slope = row_sum(slope) / n;
    A scale = rsqrt((A)value(variance[row]) + eps);
    EACH(i, n) {
        A d = value(g[i]); if (weight) d *= (A)value(weight[i]);
        out[row * n + i] = STORE((scale * (d - total - (A)value(s[i]) * slope)));
    }"""),
}  # fmt: skip

_COLUMNS = """
typedef @T@ T; typedef @A@ A; typedef @R@ R;
// Column sums of a matrix (of its product with another, where one is given): a block sums 32 columns of a strip of rows.
// A second matrix of sums, where there is one, is added by the same kernel in the same way.
extern "C" __global__ void __launch_bounds__(32 * @LANES@) columns(
        const T* __restrict__ x, const T* __restrict__ y, R* __restrict__ out, R* __restrict__ other, long long rows, int n, long long strip,
        const T* __restrict__ z, R* __restrict__ third, const A* __restrict__ kept) {
    __shared__ A sums[@LANES@][33], more[@LANES@][33];
    int column = blockIdx.x * 32 + threadIdx.x % 32, lane = threadIdx.x / 32;
    long long first = blockIdx.y * strip, last = first + strip < rows ? first + strip : rows;
    A total = 0, product = 0;
    #pragma unroll 8
    for (long long row = column < n ? first + lane : last; row < last; row += @LANES@) {
        A v = value(x[row * n + column]);
        total += v;
        if (y) { A w = value(y[row * n + column]); product += v * (kept ? (w - kept[2 * row]) * kept[2 * row + 1] : w); }
        if (z) product += (A)value(z[row * n + column]);
    }
    sums[lane][threadIdx.x % 32] = total; more[lane][threadIdx.x % 32] = product;
    __syncthreads();
    if (lane == 0 && column < n) {
        for (int k = 1; k < @LANES@; k++) { total += sums[k][threadIdx.x]; product += more[k][threadIdx.x]; }
        out[(long long)blockIdx.y * n + column] = @TOTAL@;
        if (y) other[(long long)blockIdx.y * n + column] = @PRODUCT@;
        if (z) third[(long long)blockIdx.y * n + column] = @PRODUCT@;
    }
}
"""

_kernels: dict[Any, CudaKernel] = {}  # by their text
_chosen: dict[Any, tuple[CudaKernel, int, int]] = {}  # by request


def _accumulates(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def takes(*arrays: Any) -> bool:
    """Whether the kernels here take arrays: floating point and contiguous."""
    return all(
        each.dtype in STORED and (each.dtype.kind == "f" or each.dtype in LOW_PRECISION) and each.flags.c_contiguous for each in arrays
    )


def source(name: str, dtype: np.dtype[Any], group: int, vectors: tuple[int, int] | None, extra: dict[str, str]) -> tuple[str, str]:
    """The text of a kernel for rows of ``group`` threads, with the vectors that each of them has in registers (their number and width), and how its arguments are packed."""
    parameters, format, body = _BODIES[name]
    if vectors is not None:
        body = register_rows.BODIES[name]
    text = (
        PRELUDE
        + _REDUCE
        + (register_rows.TEXT if vectors is not None else "")
        + f'extern "C" __global__ void {name}({parameters}) {{\n    long long row = ROW;\n    if (row >= rows) return;\n{body}\n}}\n'
    )
    marks = {
        "T": STORED[dtype], "A": "double" if dtype == np.float64 else "float", "STORE": rounded("(x)", dtype), "GROUP": str(group),
        **extra, "RESULT": extra.get("RESULT", ""), "R": extra.get("R", ""),
    }  # fmt: skip
    if vectors is not None:
        marks["HELD"], marks["VECTOR"] = map(str, vectors)
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text, format.replace("@", "d" if dtype == np.float64 else "f")


def kernel(cupy: Any, name: str, dtype: np.dtype[Any], n: int, aligned: bool = False, **extra: str) -> tuple[CudaKernel, int, int]:
    """The kernel of a body for rows of n elements, the threads of a block, and the rows that a block takes; ``aligned`` is about addresses."""
    key = (name, dtype, n, aligned, *extra.values())
    found = _chosen.get(key)
    if found is None:
        vectors = register_rows.arrangement(name, n, aligned)
        group = vectors[0] if vectors is not None else 32 if n <= _SHORT else 256 if n < _LONG else 1024
        text, format = source(name, dtype, group, None if vectors is None else vectors[1:], extra)
        made = _kernels.get(text)
        if made is None:
            made = _kernels[text] = CudaKernel(cupy, text, name, format)
        if len(_chosen) > 4096:
            _chosen.clear()
        found = _chosen[key] = (made, 128, 4) if group == 32 else (made, group, 1)
    return found


def _launch(cupy: Any, name: str, dtype: np.dtype[Any], rows: int, n: int, *args: Any, tail: tuple[Any, ...] = (), **extra: str) -> None:
    bits = 0
    for each in args:
        bits |= each
    found, threads, each = kernel(cupy, name, dtype, n, not bits % (4 * dtype.itemsize), **extra)
    found(-(-rows // each), threads, *args, rows, n, *tail)


# -- softmax -----------------------------------------------------------------------------------------------------

_FINISH = {
    False: "A factor = 1 / total; EACH(i, n) y[i] = STORE((exp((A)value(x[i]) - top) * factor));",
    True: "A shift = top + log(total); EACH(i, n) y[i] = STORE(((A)value(x[i]) - shift));",
}


@replayed
def softmax(cupy: Any, input: Any, dim: Any, dtype: Any = None, *, logarithm: bool = False) -> Any:
    """softmax or log_softmax along the last dimension."""
    if (
        dtype is not None
        and dtype.numpy != input.dtype
        or not input.ndim
        or dim % input.ndim != input.ndim - 1
        or not takes(input)
        or not input.size
    ):
        return NotImplemented
    made = cupy.ndarray(input.shape, input.dtype)
    n = input.shape[-1]
    _launch(cupy, "softmax", input.dtype, input.size // n, n, input.data.ptr, made.data.ptr, FINISH=_FINISH[logarithm],
            HELD_FINISH=register_rows.SOFTMAX_FINISH[logarithm])  # fmt: skip
    return made


@replayed
def softmax_backward(cupy: Any, grad: Any, result: Any, dim: Any, *, logarithm: bool = False) -> Any:
    """The gradient of softmax or log_softmax along the last dimension."""
    if not grad.ndim or dim % grad.ndim != grad.ndim - 1 or not grad.size or grad.dtype != result.dtype or grad.dtype not in STORED:
        return NotImplemented
    grad, result = contiguous(cupy, grad), contiguous(cupy, result)
    if not takes(grad, result):
        return NotImplemented
    made, n = cupy.ndarray(grad.shape, grad.dtype), grad.shape[-1]
    term, finish = ("(A)value(g[i])", "d - exp(r) * total") if logarithm else ("(A)value(g[i]) * (A)value(y[i])", "(d - total) * r")
    _launch(
        cupy, "softmax_backward", grad.dtype, grad.size // n, n, grad.data.ptr, result.data.ptr, made.data.ptr, TERM=term, FINISH=finish,
        HELD_TERM="g[i]" if logarithm else "g[i] * y[i]",
    )  # fmt: skip
    return made


# -- layer normalisation -----------------------------------------------------------------------------------------


def _rows_of(array: Any, dims: Any) -> int | None:
    """The row length where the trailing dimensions are normalised; None where others are."""
    kept = array.ndim - len(dims)
    if tuple(dims) != tuple(range(kept, array.ndim)) or not array.size:
        return None
    n = math.prod(array.shape[kept:])
    return n if 0 < n < 1 << 31 else None


@replayed
def layer_standardize(cupy: Any, input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    """Layer normalisation, with what its gradient needs: means and scales instead of the normalised input."""
    n = _rows_of(input, dims)
    if n is None:
        return pooling_norms.batch_norm(cupy, input, weight, bias, dims, eps)
    given = [each for each in (weight, bias) if each is not None]
    if any(each.dtype != input.dtype for each in given):
        return NotImplemented
    input = contiguous(cupy, input)
    if not takes(input, *given):
        return NotImplemented
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(input.shape))
    out, kept = cupy.ndarray(input.shape, input.dtype), statistics_type(cupy)((input.size // n, 2), _accumulates(input.dtype))
    variance = cupy.ndarray(shape, input.dtype)
    _launch(
        cupy, "layer_norm", input.dtype, input.size // n, n, input.data.ptr, *[0 if each is None else each.data.ptr for each in (weight, bias)],
        out.data.ptr, 0, variance.data.ptr, 0, kept.data.ptr, tail=(eps,),
    )  # fmt: skip
    return [out, kept, variance]


@replayed
def standardize(cupy: Any, input: Any, dims: Any, eps: float) -> Any:
    """The input less its mean, divided by its standard deviation; with mean and variance."""
    n = _rows_of(input, dims)
    if n is None:
        return pooling_norms.standardize(cupy, input, dims, eps)
    if not takes(input):
        return NotImplemented
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(input.shape))
    out, mean, variance = cupy.ndarray(input.shape, input.dtype), cupy.ndarray(kept, input.dtype), cupy.ndarray(kept, input.dtype)
    _launch(
        cupy,
        "layer_norm",
        input.dtype,
        input.size // n,
        n,
        input.data.ptr,
        0,
        0,
        out.data.ptr,
        0,
        variance.data.ptr,
        mean.data.ptr,
        0,
        tail=(eps,),
    )
    return [out, mean, variance]


@replayed
def standardize_backward(cupy: Any, grad: Any, input: Any, result: Any, variance: Any, dims: Any, eps: float, weight: Any = None) -> Any:
    """The gradient of :func:`standardize`."""
    n = _rows_of(grad, dims)
    if n is None and weight is None:
        return pooling_norms.standardize_backward(cupy, grad, input, result, variance, dims, eps)
    if n is not None and isinstance(result, statistics_type(cupy)):
        grad, input, made = contiguous(cupy, grad), contiguous(cupy, input), cupy.ndarray(grad.shape, grad.dtype)
        given = [input, *([] if weight is None else [weight])]
        if not takes(grad, *given) or any(each.dtype != grad.dtype for each in given):
            return NotImplemented
        addresses = (grad.data.ptr, 0 if weight is None else weight.data.ptr, input.data.ptr, result.data.ptr, made.data.ptr)
        _launch(cupy, "layer_norm_input_backward", grad.dtype, grad.size // n, n, *addresses)
        return made
    given = [result, variance, *([] if weight is None else [weight])]
    if n is None or any(each.dtype != grad.dtype for each in given):
        return NotImplemented
    grad = contiguous(cupy, grad)
    if not takes(grad, *given):
        return NotImplemented
    made = cupy.ndarray(grad.shape, grad.dtype)
    _launch(
        cupy, "layer_norm_backward", grad.dtype, grad.size // n, n, grad.data.ptr, 0 if weight is None else weight.data.ptr, result.data.ptr,
        variance.data.ptr, made.data.ptr, tail=(eps,),
    )  # fmt: skip
    return made


@replayed
def layer_standardize_backward(cupy: Any, grad: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> Any:
    """The gradients of layer normalisation: of the input, the weight and the bias."""
    if _rows_of(grad, dims) is None:
        if not isinstance(standard, statistics_type(cupy)) or weight is None:
            return NotImplemented
        return pooling_norms.batch_norm_backward(cupy, grad, input, weight, standard, dims)
    made = standardize_backward(cupy, grad, input, standard, variance, dims, eps, weight)
    if made is NotImplemented:
        return NotImplemented
    shape = tuple(grad.shape[dim] for dim in dims)
    kept = standard if isinstance(standard, statistics_type(cupy)) else None
    other = standard if kept is None else contiguous(cupy, input)
    of_bias, of_weight = column_sums(cupy, contiguous(cupy, grad), math.prod(shape), other, shape, kept)
    return [made, of_weight, of_bias]


def layer_gradients(cupy: Any, grad: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> Any:
    """:func:`layer_standardize_backward`, which needs no variance where there are means and scales."""
    return layer_standardize_backward(
        cupy, grad, input, weight, standard, variance if standard.__class__ is cupy.ndarray else None, dims, eps
    )


# -- sums of columns ---------------------------------------------------------------------------------------------


def column_sums(cupy: Any, matrix: Any, n: int, other: Any = None, shape: Any = None, kept: Any = None) -> tuple[Any, Any]:
    """The sums of the columns of a contiguous matrix of n columns, and those of its product with another, in arrays of a shape.

    With what was ``kept`` of layer normalisation, the other is its input, and takes part as it was normalised.
    """
    dtype, rows = matrix.dtype, matrix.size // n
    strips, strip = strips_of(rows, n)
    shape = (n,) if shape is None else shape
    sums = cupy.ndarray(shape, dtype)
    more = cupy.ndarray(shape, dtype) if other is not None else None
    results = (sums.data.ptr, 0 if more is None else more.data.ptr)
    stats = 0 if kept is None else kept.data.ptr
    if strips == 1:
        lanes = lanes_of(rows)
        column_kernel(cupy, dtype, dtype, lanes)(
            -(-n // 32), 32 * lanes, matrix.data.ptr, 0 if other is None else other.data.ptr, *results, rows, n, strip, 0, 0, stats,
        )  # fmt: skip
        return sums, more
    accumulated = _accumulates(dtype)
    parts = cupy.ndarray((2 if other is not None else 1, strips, n), accumulated)
    at = parts.data.ptr
    second = at + strips * n * accumulated.itemsize if other is not None else 0
    column_kernel(cupy, dtype, accumulated)(
        -(-n // 32), 256, matrix.data.ptr, 0 if other is None else other.data.ptr, at, second, rows, n, strip, 0, 0, stats, rows=strips,
    )  # fmt: skip
    column_kernel(cupy, accumulated, dtype)(-(-n // 32), 256, at, 0, results[0], 0, strips, n, strips, second, results[1], 0)
    return sums, more


def strips_of(rows: int, n: int) -> tuple[int, int]:
    """The number of strips of rows (split-k), and the rows of each: enough blocks to fill the GPU, or one strip where the sums take less time than
    the second launch, which would add those of the strips."""
    if rows <= _ONE_STRIP:
        return 1, rows
    strips = max(1, min(-(-rows // 64), -(-1056 // -(-n // 32)), 512))
    strip = -(-rows // strips)
    return -(-rows // strip), strip


def column_source(dtype: np.dtype[Any], result: np.dtype[Any], lanes: int = 8) -> str:
    """The source of the kernel that sums columns, ``lanes`` rows at a time."""
    source = PRELUDE + _COLUMNS
    marks = {
        "T": STORED[dtype], "A": "double" if dtype == np.float64 else "float", "R": STORED[result],
        "TOTAL": rounded("total", result), "PRODUCT": rounded("product", result), "LANES": str(lanes),
    }  # fmt: skip
    for mark, text in marks.items():
        source = source.replace(f"@{mark}@", text)
    return source


def lanes_of(rows: int) -> int:
    """How many rows a block of the one launch for all of them adds at a time."""
    return 8 if rows <= 256 else 32


def column_kernel(cupy: Any, dtype: np.dtype[Any], result: np.dtype[Any], lanes: int = 8) -> CudaKernel:
    """The kernel that adds columns: takes two matrices (or one and 0), results, rows, columns, rows of a strip, and more."""
    found = _kernels.get(("columns", dtype, result, lanes))
    if found is None:
        found = _kernels["columns", dtype, result, lanes] = CudaKernel(cupy, column_source(dtype, result, lanes), "columns", "PPPPqiqPPP")
    return found


def row_sums(cupy: Any, matrix: Any, n: int, factor: float = 1.0, result: Any = None, shape: Any = None) -> Any:
    """The sums of the rows, of n elements each, of a contiguous array; long rows are summed in two stages."""
    dtype, rows = matrix.dtype, matrix.size // n
    result = dtype if result is None else result
    if n > 16384 and rows < 256:
        pieces = next((each for each in (1024, 512, 256, 128, 64, 32, 16) if n % each == 0 and rows * each <= 4096), 0)
        if pieces:
            parts = row_sums(cupy, matrix, n // pieces, 1.0, _accumulates(dtype))
            return row_sums(cupy, parts, pieces, factor, result, shape)
    made = cupy.ndarray((rows,) if shape is None else shape, result)
    _launch(
        cupy, "row_sums", dtype, rows, n, matrix.data.ptr, made.data.ptr, tail=(factor,), R=STORED[result], RESULT=rounded("total", result)
    )
    return made


_reductions: dict[Any, Any] = {}  # by shape, dimensions and dtype: what is summed, and the shape of the result


@replayed
def sum_reduction(cupy: Any, input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, mean: bool = False) -> Any:
    """Sums (or means) over the first or the last dimensions, or all but the second; others are left to the array module."""
    if dtype is not None:
        return NotImplemented
    if not input.flags.c_contiguous:
        return channels_last_sum(cupy, input, dim, keepdim) if input.ndim >= 4 and not mean else NotImplemented
    key = (input.shape, tuple(dim) if isinstance(dim, (tuple, list)) else dim, keepdim, input.dtype, mean)
    try:
        found = _reductions[key]
    except KeyError:
        if len(_reductions) > 4096:
            _reductions.clear()
        found = _reductions[key] = _reduction(input, dim, keepdim, mean)
    if found is None:
        return NotImplemented
    kind, count, shape = found
    if kind == "rows":
        return row_sums(cupy, input, count, 1 / count if mean else 1.0, None, shape)
    if kind == "columns":
        return column_sums(cupy, input, count, None, shape)[0]
    return pooling_norms.channel_sums(cupy, input, shape)


def channels_last_sum(cupy: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """The channel sums of channels-last images: the column sums of a matrix."""
    rank, channels = input.ndim, input.shape[1]
    if not isinstance(dim, (tuple, list)) or sorted(each % rank for each in dim) != [0, *range(2, rank)] or not input.size:
        return NotImplemented
    transposed = input.transpose(0, *range(2, rank), 1)
    if not takes(transposed):
        return NotImplemented
    return column_sums(cupy, transposed, channels, None, (1, channels, *[1] * (rank - 2)) if keepdim else (channels,))[0]


def _reduction(input: Any, dim: Any, keepdim: bool, mean: bool) -> tuple[str, int, tuple[int, ...]] | None:
    if not input.size or not takes(input) or input.size >= 1 << 31:
        return None
    rank = input.ndim
    dims = (
        list(range(rank))
        if dim is None or dim == () or dim == []
        else sorted(each % max(rank, 1) for each in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    )
    if not rank or len(set(dims)) != len(dims):
        return None
    shape = tuple(1 if each in dims else size for each, size in enumerate(input.shape) if keepdim or each not in dims)
    count = math.prod(input.shape[each] for each in dims)
    if dims == list(range(rank - len(dims), rank)):
        return "rows", count, shape
    if mean:
        return None
    if dims == list(range(len(dims))):
        return "columns", input.size // count, shape
    return ("planes", count, shape) if dims == [0, *range(2, rank)] else None


@replayed
def sum_to(cupy: Any, gradient: Any, shape: Any) -> Any:
    """A gradient summed to the shape that was broadcast to its own."""
    rank, missing = gradient.ndim, gradient.ndim - len(shape)
    dims = [at for at in range(rank) if at < missing or shape[at - missing] == 1 != gradient.shape[at]]
    kept = tuple(size for at, size in enumerate(gradient.shape) if at not in dims)
    if not dims:
        return NotImplemented
    made = sum_reduction(cupy, gradient, tuple(dims), False)
    return made if made is NotImplemented or kept == tuple(shape) else cupy.ndarray(tuple(shape), made.dtype, made.data)


KERNELS: dict[str, Any] = {
    "softmax": softmax, "log_softmax": functools.partial(softmax, logarithm=True), "softmax_backward": softmax_backward,
    "log_softmax_backward": functools.partial(softmax_backward, logarithm=True), "layer_standardize": layer_standardize,
    "standardize": standardize, "standardize_backward": standardize_backward, "layer_standardize_backward": layer_standardize_backward,
    "sum": sum_reduction, "mean": functools.partial(sum_reduction, mean=True),
}  # fmt: skip
SHORTCUTS: dict[str, Any] = {"sum_to": sum_to, "layer_gradients": layer_gradients}

"""Random numbers on CUDA: the Philox stream of PyTorch's CUDA generator, number for number.

A draw is a function of seed, offset and launch shape: thread ``i`` of a launch has the subsequence ``i``, and each of its steps takes four
words.  Blocks have 256 threads, and there are at most as many as the card holds at once, as in PyTorch, so that the numbers of one card model
are PyTorch's on it.  Poisson, binomial, gamma and Dirichlet numbers and permutations have streams of their own.
"""

from __future__ import annotations

import importlib
import math
import struct
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...core import random as streams
from ...core.base import make
from ...core.devices import available, device, on_device
from ...core.dtypes import BY_NUMPY
from ...core.errors import ArgumentError, NotSupported, OperationError
from ...tensor.generator import Generator

_BLOCK = 256
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_WIDE_RANGE = 2**28  # integers from a range of this size or more take two words each

# What differs between kernels: how four words become numbers (R has UNROLL of them), and what is made of each.
_WORDS = {
    "uniform_float": ("float", 4, "R v[4] = {unit(r.x), unit(r.y), unit(r.z), unit(r.w)};"),
    "uniform_double": ("double", 2, "R v[2] = {unit2(r.x, r.y), unit2(r.z, r.w)};"),
    "normal_float": ("float", 4, "R v[4]; pair(r.x, r.y, v); pair(r.z, r.w, v + 2);"),
    "normal_double": ("double", 2, "R v[2]; pair2(r, v);"),
    "word": ("unsigned int", 4, "R v[4] = {r.x, r.y, r.z, r.w};"),
    "double_word": ("unsigned long long", 2, "R v[2] = {((R)r.x << 32) | r.y, ((R)r.z << 32) | r.w};"),
}
_STORE = {
    "float16": ("unsigned short", "half_bits((float)(x))", "half_value(x)"),
    "bfloat16": ("unsigned short", "bfloat_bits((float)(x))", "bfloat_value(x)"),
    **{
        name: (kind, f"({kind})(x)", "x")
        for name, kind in {
            "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "int32": "int",
            "int64": "long long", "bool": "bool", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
        }.items()
    },
}  # fmt: skip

_SOURCE = r"""
typedef unsigned long long u64;
__device__ inline uint4 philox(u64 step, u64 thread, u64 seed) {
    unsigned int x = (unsigned int)step, y = (unsigned int)(step >> 32), z = (unsigned int)thread, w = (unsigned int)(thread >> 32);
    unsigned int k = (unsigned int)seed, l = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned int a = __umulhi(0xD2511F53u, x), b = 0xD2511F53u * x, c = __umulhi(0xCD9E8D57u, z), d = 0xCD9E8D57u * z;
        x = c ^ y ^ k; y = d; z = a ^ w ^ l; w = b;
        k += 0x9E3779B9u; l += 0xBB67AE85u;
    }
    return make_uint4(x, y, z, w);
}
__device__ inline float unit(unsigned int x) { return x * 2.3283064e-10f + (2.3283064e-10f / 2.0f); }
__device__ inline double unit2(unsigned int x, unsigned int y) {
    return (x ^ ((u64)y << 21)) * 1.1102230246251565e-16 + (1.1102230246251565e-16 / 2.0);
}
__device__ inline void pair(unsigned int x, unsigned int y, float* v) {
    float u = x * 2.3283064e-10f + (2.3283064e-10f / 2), a = y * 1.46291807e-09f + (1.46291807e-09f / 2);
    float s = sqrtf(-2.0f * logf(u));
    __sincosf(a, &v[0], &v[1]);
    v[0] *= s; v[1] *= s;
}
__device__ inline void pair2(uint4 r, double* v) {
    double u = unit2(r.x, r.y), a = (r.z ^ ((u64)r.w << 21)) * (1.1102230246251565e-16 * 2.0) + 1.1102230246251565e-16;
    double s = sqrt(-2.0 * log(u));
    sincospi(a, &v[0], &v[1]);
    v[0] *= s; v[1] *= s;
}
__device__ inline unsigned short half_bits(float x) { unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
__device__ inline float half_value(unsigned short h) { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h)); return x; }
__device__ inline unsigned short bfloat_bits(float x) { unsigned short h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
__device__ inline float bfloat_value(unsigned short h) { return __uint_as_float((unsigned int)h << 16); }
"""

_DRAW = r"""
typedef @R@ R; typedef @T@ T; typedef @A@ A;
#define STORE(x) (@STORE@)
#define VALUE(x) (@VALUE@)
extern "C" __global__ void draw(T* out, u64 n, u64 seed, u64 offset, const u64* base, A a, A b) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
    u64 step = (offset + (base ? *base : 0)) / 4, end = ((n - 1) / (stride * @UNROLL@) + 1) * stride * @UNROLL@;
    for (u64 start = thread; start < end; start += stride * @UNROLL@, step++) {
        uint4 r = philox(step, thread, seed);
        @WORDS@
        for (int k = 0; k < @UNROLL@; k++) {
            u64 at = start + stride * k;
            if (at < n) { R x = v[k]; out[at] = @MAKE@; }
        }
    }
}
"""

_CHANCES = r"""
typedef @T@ T;
#define STORE(x) (@STORE@)
extern "C" __global__ void choose(const @P@* p, T* out, u64 n, u64 seed, u64 offset, const u64* base) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 r = philox((offset + (base ? *base : 0)) / 4, thread, seed);
    unsigned int words[4] = {r.x, r.y, r.z, r.w};
    for (int k = 0; k < 4; k++) {
        u64 at = thread * 4 + k;
        if (at < n) { int x = unit(words[k]) <= p[at]; out[at] = STORE(x); }
    }
}
"""

# nn.functional.dropout: its own vectorised layout, VEC adjacent elements per thread.
_DROPOUT = r"""
typedef @T@ T;
#define STORE(x) (@STORE@)
#define VALUE(x) (@VALUE@)
extern "C" __global__ void drop(T* out, u64 n, u64 seed, u64 offset, const u64* base, float p, float scale) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
    u64 step = (offset + (base ? *base : 0)) / 4;
#if @VEC@ > 1
    bool second = false; uint4 r;
    for (u64 at = thread * @VEC@; at < n; at += stride * @VEC@) {
        #if @VEC@ >= 4
        #pragma unroll
        for (int k = 0; k < @VEC@; k++) {
            if (k % 4 == 0) r = philox(step++, thread, seed);
            unsigned int word = k % 4 == 0 ? r.x : k % 4 == 1 ? r.y : k % 4 == 2 ? r.z : r.w;
            bool keep = unit(word) < p;
            float x = (keep ? scale : 0.0f);
            out[at + k] = STORE(x);
        }
        #else
        if (!second) r = philox(step++, thread, seed);
        for (int k = 0; k < 2; k++) {
            unsigned int word = second ? (k ? r.w : r.z) : (k ? r.y : r.x);
            bool keep = unit(word) < p;
            float x = (keep ? scale : 0.0f);
            out[at + k] = STORE(x);
        }
        second = !second;
        #endif
    }
#else
    u64 end = ((n - 1) / (stride * 4) + 1) * stride * 4;
    for (u64 start = thread; start < end; start += stride * 4, step++) {
        uint4 r = philox(step, thread, seed);
        unsigned int words[4] = {r.x, r.y, r.z, r.w};
        for (int k = 0; k < 4; k++) {
            u64 at = start + stride * k;
            if (at < n) {
                bool keep = unit(words[k]) < p;
                float x = (keep ? scale : 0.0f);
                out[at] = STORE(x);
            }
        }
    }
#endif
}
"""

# Keys that are equal in their low bits leave the order of their elements undefined: each run of them is shuffled.
_SHUFFLE = r"""
extern "C" __global__ void shuffle(const @K@* keys, @T@* values, u64 n, @K@ mask, u64 seed, u64 offset, const u64* base) {
    u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (first + 1 >= n || ((keys[first] ^ keys[first + 1]) & mask) || (first && !((keys[first] ^ keys[first - 1]) & mask))) return;
    u64 end = first + 2, step = (offset + (base ? *base : 0)) / 4;
    while (end < n && !((keys[end] ^ keys[first]) & mask)) end++;
    uint4 r; int used = 4;
    for (u64 last = end - 1 - first; last > 0; last--) {
        if (used == 4) { r = philox(step++, first, seed); used = 0; }
        unsigned int word = used == 0 ? r.x : used == 1 ? r.y : used == 2 ? r.z : r.w, other = word % (unsigned int)(last + 1);
        used++;
        @T@ kept = values[first + last]; values[first + last] = values[first + other]; values[first + other] = kept;
    }
}
"""

# A thread draws one category of a row (or of every gridDim.y-th row), by binary search in the prefix sums of the row's probabilities.
_CATEGORIES = r"""
extern "C" __global__ void categories(const @T@* sums, const @T@* shares, long long* out, int rows, int width, int samples, u64 seed, u64 offset,
                                      const u64* base) {
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    u64 thread = (u64)blockIdx.y * gridDim.x * blockDim.x + sample, step = (offset + (base ? *base : 0)) / 4;
    for (long long row = blockIdx.y; row < rows; row += gridDim.y, step++) {
        if (sample >= samples) continue;
        @T@ drawn = (@T@)unit(philox(step, thread, seed).x);
        const @T@* own = sums + row * width;
        int low = 0, high = width;
        while (low < high) { int middle = low + (high - low) / 2; if (own[middle] < drawn) low = middle + 1; else high = middle; }
        if (low == width) low = width - 1;
        while (low > 0 && shares[row * width + low] == 0) low--;
        out[row * samples + sample] = low;
    }
}
"""

_kernels: dict[Any, Any] = {}


def _quick(function: str, real: str) -> str:
    """A function as PyTorch's kernels call it: in single precision, the GPU's own approximation."""
    return f"__{function}f" if real == "float" else function


def _filled(template: str, **values: Any) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return _SOURCE + template


class PhiloxGenerator(Generator):
    """A stream of random numbers on a GPU that equals PyTorch's for the same seed."""

    __slots__ = ("_base", "_device", "_offset", "_resume", "cupy")

    def __init__(self, device: Any = "cuda") -> None:
        self._device, self._base = available(device), None
        self.cupy = importlib.import_module("cupy")
        super().__init__("cpu")

    @property
    def device(self) -> device:
        """The device whose numbers these are."""
        return self._device

    def manual_seed(self, seed: int) -> Any:
        """Start the stream that belongs to a seed."""
        self._offset = 0
        return super().manual_seed(seed)

    def get_offset(self) -> int:
        """The offset: words that each thread has drawn."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Continue from an offset, a multiple of 4."""
        if offset % 4:
            raise OperationError("offset must be a multiple of 4")
        self._offset = offset

    def _to_bytes(self) -> bytes:
        return struct.pack("<QQ", self._initial_seed % 2**64, self._offset)

    def get_state(self) -> Any:
        """Seed and offset as PyTorch's 16 bytes."""
        return make(np.frombuffer(self._to_bytes(), np.uint8).copy())

    def _from_bytes(self, state: bytes) -> None:
        if len(state) != 16:
            raise ArgumentError("RNG state is wrong size")
        seed, offset = struct.unpack("<QQ", state)
        self.manual_seed(seed)
        self._offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._device,), self._to_bytes())

    def mark(self) -> tuple[Any, ...]:
        """The position of the stream, for :meth:`back`."""
        return (self._initial_seed, self._offset)

    def back(self, mark: tuple[Any, ...]) -> None:
        """Continue from a mark."""
        seed, offset = mark
        super().manual_seed(seed)
        self._offset = offset

    def clone_state(self) -> Any:
        """A second generator that continues where this one stands."""
        twin = type(self)(self._device)
        twin._from_bytes(self._to_bytes())
        return twin

    # -- CUDA graphs: kernels of a captured graph add an offset in device memory to their own ---------------------

    def begin_capture(self) -> Any:
        """Draw, until :meth:`end_capture`, with offsets relative to one in device memory, which is returned."""
        self._resume, self._offset = self._offset, 0
        self._base = self.cupy.zeros(1, np.uint64)
        return self._base

    def end_capture(self) -> int:
        """End what :meth:`begin_capture` began; the words that one replay draws."""
        words, self._offset, self._base = self._offset, self._resume, None
        return words

    def advance_replay(self, words: int) -> int:
        """The offset of a captured graph's kernels in a replay: where the stream stands, which moves on by what a replay takes."""
        with self.lock:
            offset, self._offset = self._offset, self._offset + words
        return offset

    # -- launches ------------------------------------------------------------------------------------------------

    def _grid(self, count: int, unroll: int) -> tuple[int, int]:
        """The grid size for ``count`` numbers, and the increment of the offset."""
        attributes = self.cupy.cuda.Device().attributes
        most = attributes["MultiProcessorCount"] * (attributes["MaxThreadsPerMultiProcessor"] // _BLOCK)
        blocks = min(most, -(-count // _BLOCK))
        return blocks, ((count - 1) // (_BLOCK * blocks * unroll) + 1) * 4

    def _take(self, words: int) -> tuple[Any, Any, Any]:
        """Seed, offset and (inside a CUDA graph) the address of the offset to add; the stream moves on."""
        with self.lock:
            offset, self._offset = self._offset, self._offset + words
        return np.uint64(self._initial_seed % 2**64), np.uint64(offset), np.uintp(0 if self._base is None else self._base.data.ptr)

    def _draw(self, words: str, make: str, shape: Any, dtype: Any, a: Any = 0.0, b: Any = 0.0, argument: str = "") -> Any:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype, result = np.dtype(dtype), self.cupy.empty(shape, dtype)
        if not result.size:
            return result
        kind, unroll, text = _WORDS[words]
        argument = argument or ("double" if kind == "double" else "float")
        key = (words, make, dtype, argument)
        kernel = _kernels.get(key)
        if kernel is None:
            stored, store, value = _STORE[BY_NUMPY[dtype].name]
            source = _filled(_DRAW, R=kind, T=stored, A=argument, STORE=store, VALUE=value, UNROLL=unroll, WORDS=text, MAKE=make)
            kernel = _kernels[key] = self.cupy.RawKernel(source, "draw")
        blocks, offset = self._grid(result.size, unroll)
        number = {"float": np.float32, "double": np.float64, "unsigned long long": np.uint64}[argument]
        kernel((blocks,), (_BLOCK,), (result, np.uint64(result.size), *self._take(offset), number(a), number(b)))
        return result

    def _real(self, dtype: Any) -> str:
        return "double" if np.dtype(dtype) in (np.float64, np.complex128) else "float"

    def _parts(self, draw: Any, shape: Any, dtype: Any) -> Any:
        """Numbers of a type; a complex one has two."""
        dtype = np.dtype(dtype)
        if dtype.kind != "c":
            return draw(shape, dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        real = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
        return draw((*shape, 2), real).view(dtype).reshape(shape)

    # -- distributions -------------------------------------------------------------------------------------------

    def uniform(self, shape: Any, dtype: Any, low: float = 0.0, high: float = 1.0) -> Any:
        """Numbers in [low, high)."""
        _checks.uniform(0, dtype, low, high)
        words = f"uniform_{self._real(dtype)}"
        make = "STORE(x * (b - a) + a); if (VALUE(out[at]) == VALUE(STORE(b))) out[at] = STORE(a)"
        return self._parts(lambda shape, dtype: self._draw(words, make, shape, dtype, low, high), shape, dtype)

    def normal(self, shape: Any, dtype: Any, mean: Any = 0.0, std: Any = 1.0, contiguous: bool = True) -> Any:
        """Normal numbers; arrays as ``mean`` or ``std`` broadcast to the shape."""
        if hasattr(std, "dtype") and std.ndim or hasattr(mean, "dtype"):
            if hasattr(std, "dtype") and not bool((std >= 0).all()):
                raise OperationError("normal expects all elements of std >= 0.0")
            mean, std = (on_device(each, self.device) if hasattr(each, "dtype") else each for each in (mean, std))
            return (self.normal(shape, dtype) * std + mean).astype(dtype, copy=False)
        _checks.normal(0, dtype, mean, std)
        scale = std / math.sqrt(2.0) if np.dtype(dtype).kind == "c" else std
        words = f"normal_{self._real(dtype)}"
        return self._parts(lambda shape, dtype: self._draw(words, "STORE(x * b + a)", shape, dtype, mean, scale), shape, dtype)

    def log_normal(self, shape: Any, dtype: Any, mean: float = 1.0, std: float = 2.0) -> Any:
        """Exponentials of normal numbers."""
        _checks.log_normal(0, dtype, mean, std)
        real = self._real(dtype)
        return self._draw(f"normal_{real}", f"STORE({_quick('exp', real)}(x * b + a))", shape, dtype, mean, std)

    def exponential(self, shape: Any, dtype: Any, rate: float = 1.0) -> Any:
        """Exponential numbers of a rate."""
        _checks.exponential(0, dtype, rate)
        real = self._real(dtype)
        tiny = "1.1102230246251565e-16" if real == "double" else "5.9604645e-08f"
        make = f"STORE((A)-1 / a * (x >= (A)1 - {tiny} ? -{tiny} : {_quick('log', real)}(x)))"
        return self._draw(f"uniform_{real}", make, shape, dtype, rate)

    def cauchy(self, shape: Any, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
        """Cauchy numbers."""
        _checks.cauchy(0, dtype, median, sigma)
        real = self._real(dtype)
        tiny = "2.220446049250313e-16" if real == "double" else "1.1920929e-07f"
        clipped = f"(x > (A)1 - {tiny} ? (A)1 - {tiny} : x < {tiny} ? (A){tiny} : x)"
        return self._draw(
            f"uniform_{real}",
            f"STORE(a + b * {_quick('tan', real)}((A)3.141592653589793 * ({clipped} - (A)0.5)))",
            shape,
            dtype,
            median,
            sigma,
        )

    def geometric(self, shape: Any, dtype: Any, p: float) -> Any:
        """How many trials the first success takes."""
        _checks.geometric(0, dtype, p)
        real = self._real(dtype)
        return self._draw(f"uniform_{real}", f"STORE(ceil({_quick('log', real)}(x) / {_quick('log', real)}((A)1 - a)))", shape, dtype, p)

    def bernoulli(self, shape: Any, dtype: Any, p: Any) -> Any:
        """Ones with probability ``p``, a number or an array."""
        if hasattr(p, "dtype") and not isinstance(p, np.generic):
            if not bool(((p >= 0) & (p <= 1)).all()):
                raise OperationError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
            return self._by_chances(tuple(shape), np.dtype(dtype), p)
        _checks.bernoulli(0, dtype, p)
        return self._draw(f"uniform_{self._real(dtype)}", "STORE(x < a)", shape, dtype, p)

    def _by_chances(self, shape: tuple[int, ...], dtype: np.dtype[Any], p: Any) -> Any:
        """Ones with a probability for each element: a thread draws four adjacent ones."""
        chances = self.cupy.ascontiguousarray(self.cupy.broadcast_to(p, shape), np.float64 if p.dtype == np.float64 else np.float32)
        result = self.cupy.empty(shape, dtype)
        if not result.size:
            return result
        key = ("chances", dtype, chances.dtype)
        kernel = _kernels.get(key)
        if kernel is None:
            stored, store, value = _STORE[BY_NUMPY[dtype].name]
            source = _filled(_CHANCES, T=stored, P="double" if chances.dtype == np.float64 else "float", STORE=store, VALUE=value)
            kernel = _kernels[key] = self.cupy.RawKernel(source, "choose")
        kernel((-(-result.size // 2048),), (512,), (chances, result, np.uint64(result.size), *self._take(12)))
        return result

    def integers(self, shape: Any, dtype: Any, low: int, high: int | None) -> Any:
        """Integers in [low, high)."""
        low, high = self.integer_bounds(np.dtype(dtype), low, high)
        span = high - low
        words = "double_word" if span >= _WIDE_RANGE else "word"
        make = "STORE((long long)(x % b + a))" if span < 2**64 else "STORE((long long)x)"
        return self._draw(words, make, shape, dtype, low % 2**64, span % 2**64, "unsigned long long")

    def integers_full(self, shape: Any, dtype: Any) -> Any:
        """Integers of the type's whole range from zero on."""
        size = self.whole_range(np.dtype(dtype))
        words = "double_word" if np.dtype(dtype).itemsize == 8 else "word"
        return self._draw(words, "STORE((long long)(x % b))", shape, dtype, 0, size, "unsigned long long")

    def permutation(self, n: int, dtype: Any = np.int64) -> Any:
        """The integers from 0 to ``n - 1`` in random order."""
        _checks.permutation(0, dtype)
        if not n:
            return self.cupy.zeros(0, dtype)
        # Enough bits that with probability 0.9 all n keys are distinct.
        bits = min(64, math.ceil(math.log2(n - (6.0 * n * n + 1) / (12 * math.log(0.9)))))
        kind: np.dtype[Any] = np.dtype(np.int32 if bits <= 32 else np.int64)
        largest, mask = 2 ** (8 * kind.itemsize - 1), kind.type((1 << bits) - 1 if bits < 8 * kind.itemsize else -1)
        keys = self.integers(n, kind, -largest, largest - 1)
        order = self.cupy.argsort(keys if mask == -1 else keys & mask)  # stable in CuPy
        keys, values = keys[order], order.astype(np.int64, copy=False)
        source = _filled(_SHUFFLE, K="int" if kind == np.int32 else "long long", T="long long")
        kernel = _kernels.get(source) or _kernels.setdefault(source, self.cupy.RawKernel(source, "shuffle"))
        kernel((-(-n // 512),), (512,), (keys, values, np.uint64(n), mask, *self._take(-(-n // 4) * 4)))
        return values.astype(dtype, copy=False)

    def dropout_plan(self, count: int, dtype: np.dtype[Any], p: float) -> tuple[float, int, int, int, int]:
        """How dropout of so many numbers, each kept with probability ``p``, draws: ``p``, the vector width, the threads, the seed and the
        first counter.  The stream moves on."""
        if self._base is not None:
            raise NotSupported("attention with dropout can't be captured into a CUDA graph")
        vector = self._vector(count, dtype.itemsize, 0)
        blocks, offset = self._grid(count, max(vector, 4))
        seed, first, _ = self._take(offset)
        return float(np.float32(p)), vector, blocks * _BLOCK, int(seed), int(first) // 4

    @staticmethod
    def _vector(count: int, itemsize: int, address: int) -> int:
        """The vector width of dropout: adjacent elements per thread."""
        vector = 16 // itemsize if itemsize < 8 else 2
        while vector > 1 and (count % vector or address % (vector * itemsize)):
            vector //= 2
        return vector

    def dropout_factors(self, array: Any, p: float, scale: Any = None) -> Any:
        """What dropout multiplies an array by: ``1 / p`` (or ``scale``) with probability ``p``, else 0, in the order of PyTorch's kernel."""
        result = self.cupy.empty_like(array)
        vector = self._vector(array.size, array.itemsize, array.data.ptr)
        key = ("dropout", array.dtype, vector)
        kernel = _kernels.get(key)
        if kernel is None:
            stored, store, value = _STORE[BY_NUMPY[array.dtype].name]
            kernel = _kernels[key] = self.cupy.RawKernel(_filled(_DROPOUT, T=stored, STORE=store, VALUE=value, VEC=vector), "drop")
        blocks, offset = self._grid(array.size, max(vector, 4))
        chosen = np.float32(1) / np.float32(p) if scale is None else np.float32(scale)
        kernel((blocks,), (_BLOCK,), (result, np.uint64(array.size), *self._take(offset), np.float32(p), chosen))
        return result

    def multinomial(self, probabilities: Any, num_samples: int, replacement: bool = False) -> Any:
        """Categories drawn from each row of (unnormalised) probabilities."""
        _checks.multinomial(np.ones((*probabilities.shape[:-1], probabilities.shape[-1]), probabilities.dtype), num_samples, replacement)
        if not bool((probabilities >= 0).all() & self.cupy.isfinite(probabilities).all()):
            raise OperationError("probability tensor contains either `inf`, `nan` or element < 0")
        if not replacement or num_samples == 1:  # an exponential race: the categories in the order in which they arrive
            keys = probabilities / self.exponential(probabilities.shape, probabilities.dtype)
            if num_samples == 1:
                return keys.argmax(axis=-1)[..., None]
            return self.cupy.argsort(-keys, axis=-1)[..., :num_samples].copy()
        kind = np.dtype(np.float64 if probabilities.dtype == np.float64 else np.float32)
        rows = self.cupy.ascontiguousarray(probabilities.reshape(-1, probabilities.shape[-1]), kind)
        if not rows.size or not num_samples:
            return self.cupy.empty((*probabilities.shape[:-1], num_samples), np.int64)
        shares = rows / rows.sum(axis=1, keepdims=True)
        sums, (count, width) = self.cupy.cumsum(shares, axis=1), rows.shape
        chosen, across = self.cupy.empty((count, num_samples), np.int64), min(count, 65535)
        source = _filled(_CATEGORIES, T="double" if kind == np.float64 else "float")
        kernel = _kernels.get(source) or _kernels.setdefault(source, self.cupy.RawKernel(source, "categories"))
        numbers = (np.int32(count), np.int32(width), np.int32(num_samples))
        kernel((-(-num_samples // 128), across), (128,), (sums, shares, chosen, *numbers, *self._take(((count - 1) // across + 1) * 4)))
        return chosen.reshape(*probabilities.shape[:-1], num_samples)

    def _other(self) -> Any:
        """CuPy's own stream, for distributions whose streams are not PyTorch's."""
        seed, offset, _ = self._take(4)
        return self.cupy.random.RandomState((int(seed) * 2654435761 + int(offset)) % 2**32)

    def poisson(self, rates: Any) -> Any:
        """A Poisson number for each rate."""
        return self._other().poisson(rates.astype(np.float64), rates.shape).astype(rates.dtype)

    def binomial(self, count: Any, prob: Any) -> Any:
        """A binomial number for each count of trials and probability of success."""
        shape = np.broadcast_shapes(count.shape, prob.shape)
        count, prob = self.cupy.broadcast_to(count, shape), self.cupy.broadcast_to(prob, shape)
        return self._other().binomial(count.astype(np.int64), prob.astype(np.float64), shape).astype(count.dtype)

    def standard_gamma(self, concentration: Any) -> Any:
        """A gamma number of scale 1 for each concentration."""
        return self._other().standard_gamma(concentration.astype(np.float64), concentration.shape).astype(concentration.dtype)

    def dirichlet(self, concentration: Any) -> Any:
        """Probabilities drawn for each row of concentrations."""
        made = self.standard_gamma(concentration)
        return made / made.sum(axis=-1, keepdims=True)


_checks = streams.Generator()  # draws nothing: its methods refuse wrong arguments


class DropoutStream(Generator):
    """The stream of the current device, drawn from in the order of PyTorch's dropout kernel: what dropout in compiled graphs is given."""

    __slots__ = ("_stream",)

    _stream: Callable[[], PhiloxGenerator]

    @classmethod
    def of(cls, stream: Callable[[], PhiloxGenerator]) -> DropoutStream:
        """The one over a device's streams."""
        made = cls("cpu")
        made._stream = stream
        return made

    @property
    def device(self) -> device:
        """The device whose numbers these are."""
        return self._stream().device

    def bernoulli(self, shape: Any, dtype: Any, p: Any) -> Any:
        """Ones with probability ``p``."""
        stream = self._stream()
        made = stream.cupy.empty(shape, dtype)
        return stream.dropout_factors(made, p, 1.0) if made.size else made

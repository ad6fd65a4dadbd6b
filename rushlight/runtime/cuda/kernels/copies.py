"""Copies between arrays of one dtype: contiguous ones by the driver, others by a kernel with strides on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import PRELUDE, STORED, rounded
from ....core.dtypes import LOW_PRECISION
from ....schedule.scalar_ir import ScalarExpression
from ....schedule.scalar_ir import cast as as_type
from .. import launch_record
from ..launch import CudaKernel
from ..launch_replay import replayed
from ..pointwise import Formula, Variant, element_strides, joined, result_like, strided_plan

_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", 16: "Pair"}
_MOST_DIMS, _THREADS = 8, 256
_SOURCE = """
struct alignas(16) Pair { unsigned long long x, y; };
struct Layout { long long sizes[@DIMS@], from[@DIMS@], to[@DIMS@]; };
extern "C" __global__ void copied(const @T@* in, @T@* out, @INDEX@ n, Layout layout) {
    for (@INDEX@ i = (@INDEX@)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (@INDEX@)gridDim.x * blockDim.x) {
        @INDEX@ rest = i, from = 0, to = 0;
        #pragma unroll
        for (int d = @DIMS@ - 1; d > 0; d--) {
            @INDEX@ size = (@INDEX@)layout.sizes[d], at = rest % size;
            rest /= size;
            from += at * (@INDEX@)layout.from[d]; to += at * (@INDEX@)layout.to[d];
        }
        out[to + rest * (@INDEX@)layout.to[0]] = in[from + rest * (@INDEX@)layout.from[0]];
    }
}
"""
_kernels: dict[Any, CudaKernel] = {}
_plans: dict[Any, Any] = {}


def source(size: int, dims: int, wide: bool) -> str:
    """The text of the kernel for elements of a size; ``wide`` counts in 64 bits."""
    text = _SOURCE
    for mark, value in {"T": _TYPES[size], "DIMS": str(dims), "INDEX": "long long" if wide else "unsigned int"}.items():
        text = text.replace(f"@{mark}@", value)
    return text


def _plan(
    cupy: Any, shape: tuple[int, ...], size: int, given: list[int], wanted: list[int]
) -> tuple[CudaKernel, int, int, list[int]] | None:
    """The kernel of a copy, its blocks, the number of elements, and sizes and strides; None where there are too many dimensions."""
    sizes, (first, second) = joined(shape, [given, wanted])
    if len(sizes) > _MOST_DIMS or size not in _TYPES:
        return None
    count = int(np.prod(shape, dtype=np.int64))
    extent = max(sum((each - 1) * abs(step) for each, step in zip(sizes, row)) for row in (first, second))
    wide = count >= 1 << 31 or extent >= 1 << 31 or min(*first, *second) < 0
    key = (size, len(sizes), wide)
    kernel = _kernels.get(key)
    if kernel is None:
        format = f"PP{'q' if wide else 'I'}0q{3 * len(sizes)}q"
        kernel = _kernels[key] = CudaKernel(cupy, source(*key), "copied", format, "copy")
    return kernel, min(-(-count // _THREADS), 132 * 64), count, [*sizes, *first, *second]


def copy_to(cupy: Any, array: Any, address: int, strides: tuple[int, ...]) -> bool:
    """Copy an array to memory of the same shape with strides in bytes; False where it has too many dimensions."""
    key = (array.shape, array.strides, strides, array.itemsize)
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) > 4096:
            _plans.clear()
        size = array.itemsize
        plan = _plans[key] = _plan(cupy, array.shape, size, element_strides(array), [step // size for step in strides])
    if plan is None:
        return False
    kernel, blocks, count, numbers = plan
    kernel(blocks, _THREADS, array.data.ptr, address, count, *numbers)
    return True


def dense(cupy: Any, array: Any, shape: Any = None) -> Any:
    """A new row-major array with an array's elements, in another shape where one is given."""
    made = cupy.ndarray(array.shape if shape is None else shape, array.dtype)
    if not array.size:
        return made
    if array.flags.c_contiguous:
        launch_record.copy(cupy, made.data.ptr, array.data.ptr, array.nbytes)
        return made
    if not copy_to(cupy, array, made.data.ptr, made.strides if made.shape == array.shape else row_major(array.shape, array.itemsize)):
        launch_record.invalidate()
        return cupy.array(array, order="C", copy=True).reshape(made.shape)
    return made


def row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The strides, in bytes, of a row-major array."""
    strides = []
    for each in reversed(shape):
        strides.append(size)
        size *= max(each, 1)
    return tuple(reversed(strides))


def contiguous(cupy: Any, array: Any) -> Any:
    """The array itself where it is row-major, else a row-major copy."""
    return array if array.flags.c_contiguous else dense(cupy, array)


def clone(cupy: Any, input: Any, memory_format: Any = None) -> Any:
    """A copy of a tensor that preserves the memory order of its dimensions."""
    name = "preserve_format" if memory_format is None else memory_format.name
    if name == "contiguous_format" or name == "preserve_format" and input.flags.c_contiguous:
        return dense(cupy, input)
    return NotImplemented


def reshape_copy(cupy: Any, input: Any, shape: Any) -> Any:
    """The elements copied into another shape."""
    known = 1
    for each in shape:
        known *= each
    if -1 in shape or known != input.size:
        return NotImplemented
    return dense(cupy, input, tuple(shape))


_MOST_JOINED = 8  # arrays that one launch concatenates
_JOINED = """
struct alignas(16) Pair { unsigned long long x, y; };
struct Lengths { unsigned int count[@COUNT@], start[@COUNT@]; };
struct Layouts { long long to[@RANK@]; struct { long long sizes[@RANK@], steps[@RANK@]; } from[@COUNT@]; };
extern "C" __global__ void joined(@INPUTS@, @T@* out, Lengths lengths, Layouts layouts) {
    const @T@* all[] = {@NAMES@};
    const @T@* in = all[blockIdx.y];
    unsigned int n = lengths.count[blockIdx.y];
    out += lengths.start[blockIdx.y];
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int rest = i;
        long long from = 0, to = 0;
        #pragma unroll
        for (int d = @RANK@ - 1; d >= 0; d--) {
            unsigned int size = (unsigned int)layouts.from[blockIdx.y].sizes[d], at = rest % size;
            rest /= size;
            from += at * layouts.from[blockIdx.y].steps[d]; to += at * layouts.to[d];
        }
        out[to] = in[from];
    }
}
"""


def cat(cupy: Any, tensors: Any, dim: int = 0) -> Any:
    """The concatenation of arrays along a dimension."""
    first = tensors[0]
    rank, dtype, kind = first.ndim, first.dtype, cupy.ndarray
    if not rank or len(tensors) > 16:
        return NotImplemented
    dim = dim + rank if dim < 0 else dim
    if not 0 <= dim < rank:
        return NotImplemented
    around, total = (first.shape[:dim], first.shape[dim + 1 :]), 0
    for each in tensors:
        if (
            each.__class__ is not kind
            or each.dtype != dtype
            or each.ndim != rank
            or (each.shape[:dim], each.shape[dim + 1 :]) != around
            or not each.size
        ):
            return NotImplemented
        total += each.shape[dim]
    if dtype.itemsize not in _TYPES or rank > _MOST_DIMS:
        return NotImplemented
    return _joined(cupy, dim, (*around[0], total, *around[1]), *tensors)


@replayed
def _joined(cupy: Any, dim: int, shape: tuple[int, ...], *tensors: Any) -> Any:
    """Arrays of one dtype along a dimension in a new one: in one launch where they are few."""
    made, first = cupy.ndarray(shape, tensors[0].dtype), tensors[0]
    address, strides, size = made.data.ptr, made.strides, first.itemsize
    count, rank, most = len(tensors), len(shape), max(each.size for each in tensors)
    if count > _MOST_JOINED or most >= 1 << 31 or made.size >= 1 << 31 or any(step < 0 for each in tensors for step in each.strides):
        for each in tensors:
            copy_to(cupy, each, address, strides)
            address += strides[dim] * each.shape[dim]
        return made
    several = _together((made, *tensors))  # adjacent elements that are copied as one
    unit = size * several
    key = ("joined", unit, rank, count)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = CudaKernel(
            cupy, joined_source(unit, rank, count), "joined", f"{count}PP{2 * count}I0q{rank * (2 * count + 1)}q", "cat"
        )

    def steps(each: Any) -> list[int]:
        return [*[step // unit for step in each.strides[:-1]], 1 if several > 1 else each.strides[-1] // size]

    given, lengths, starts = list[int](), list[int](), list[int]()
    for each in tensors:
        given += [*each.shape[:-1], each.shape[-1] // several, *steps(each)]
        lengths.append(each.size // several)
        starts.append((address - made.data.ptr) // unit)
        address += strides[dim] * each.shape[dim]
    blocks = min(-(-most // (several * _THREADS)), 132 * 16)
    kernel(blocks, _THREADS, *[each.data.ptr for each in tensors], made.data.ptr, *lengths, *starts, *steps(made), *given, rows=count)
    return made


def _together(arrays: tuple[Any, ...]) -> int:
    """The vector width, in elements of the last dimension, that all of these arrays allow: as many as 16 bytes have, or one."""
    size = arrays[0].itemsize
    several = 16 // size
    for each in arrays:
        if each.strides[-1] != size or each.shape[-1] % several or each.data.ptr % 16 or any(step % 16 for step in each.strides[:-1]):
            return 1
    return several


def joined_source(size: int, rank: int, count: int) -> str:
    """The source of the kernel that concatenates arrays of elements of a size: ``blockIdx.y`` selects the array."""
    marks = {
        "T": _TYPES[size], "RANK": str(rank), "COUNT": str(count), "INPUTS": ", ".join(f"const {_TYPES[size]}* in{at}" for at in range(count)),
        "NAMES": ", ".join(f"in{at}" for at in range(count)),
    }  # fmt: skip
    text = _JOINED
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text


_ONES = """
extern "C" __global__ void ones(@T@* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float made = 1; out[i] = @MADE@; } }
"""


def ones(cupy: Any, like: Any) -> Any:
    """Ones of the shape and dtype of a small array."""
    if like.dtype not in _FLOATS:
        return NotImplemented
    kernel = _kernels.get(("ones", like.dtype))
    if kernel is None:
        source = PRELUDE + _ONES.replace("@T@", STORED[like.dtype]).replace("@MADE@", rounded("made", like.dtype))
        kernel = _kernels["ones", like.dtype] = CudaKernel(cupy, source, "ones", "Pi")
    made = cupy.ndarray(like.shape, like.dtype)
    if made.size:
        kernel(-(-made.size // _THREADS), _THREADS, made.data.ptr, made.size)
    return made


_FLOATS = frozenset(each for each in STORED if each.kind == "f" or each in LOW_PRECISION)
_casts: dict[Any, Variant] = {}
_cast_plans: dict[
    Any, Any
] = {}  # by layout and dtypes: kernels for aligned addresses and others, blocks, further arguments, strides, alignment


def cast(cupy: Any, input: Any, dtype: Any) -> Any:
    """A copy in another dtype, with the input's strides; complex numbers are left to the op's own kernel."""
    wanted, shape = dtype.numpy, input.shape
    key = (shape, input.strides, input.dtype, wanted)
    plan = _cast_plans.get(key)
    if plan is None:
        plan = _planned_cast(cupy, input, wanted)
        if plan is None:
            return NotImplemented
        if len(_cast_plans) > 4096:
            _cast_plans.clear()
        _cast_plans[key] = plan
    kernel, slower, blocks, tail, strides, alignment = plan
    kind, address = cupy.ndarray, input.data.ptr
    out = kind.__mro__[-2].__new__(kind)
    out._init(shape, wanted, None, strides)
    if blocks:
        (slower if address % alignment else kernel)(blocks, _THREADS, address, out.data.ptr, *tail)
    return out


def _planned_cast(cupy: Any, input: Any, wanted: np.dtype[Any]) -> Any:
    have, n = input.dtype, input.size
    variant = _casts.get((have, wanted))
    if variant is None:
        if have not in STORED or wanted not in STORED:
            return None
        value: Any = ScalarExpression("operand", (), have, 0)
        if wanted in LOW_PRECISION or have in LOW_PRECISION:  # narrow floats are computed with, and rounded from, float32
            value = as_type(value, np.dtype(np.float32))
        variant = _casts[have, wanted] = Variant(Formula("cast", cast), as_type(value, wanted), [(have, True)], cupy)
    if input.flags.c_contiguous:
        return variant.flat(True), variant.flat(False), -(-n // (_THREADS * 4)), (n,), None, 4 * input.itemsize
    out = result_like(cupy, [input], input.shape, wanted)
    plan = strided_plan(variant, [input], out) if n else None
    return None if plan is None else (plan[0], *plan, out.strides, 1)


KERNELS: dict[str, Any] = {"cast": cast, "clone": clone, "reshape_copy": reshape_copy, "cat": cat}
SHORTCUTS: dict[str, Any] = {"ones": ones}

"""Gather along a dimension.

Nothing here synchronizes: the kernel reports an index out of range, and the next launch raises the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..faults import watched
from ..launch import CudaKernel

_GATHER = """
typedef @I@ I;
extern "C" __global__ void pick(const @U@* from, const I* index, @U@* to, long long count, int rank, long long step, long long size, @SIZES@, int* fault) {
    long long sizes[] = {@SIZE_NAMES@}, steps[] = {@STEP_NAMES@};
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x) {
        long long rest = at, place = 0, chosen = index[at];
        if (chosen < 0 || chosen >= size) { *fault = @FAULT@; continue; }
        for (int dim = rank - 1; dim >= 0; dim--) { place += rest % sizes[dim] * steps[dim]; rest /= sizes[dim]; }
        to[at] = from[place + chosen * step];
    }
}
"""
_UNITS = {8: "long long", 4: "int", 2: "short", 1: "char"}
_INDICES = {np.dtype(np.int64): "long long", np.dtype(np.int32): "int", np.dtype(np.uint8): "unsigned char"}
_RANK = 6
_kernels: dict[Any, CudaKernel] = {}


def gather(cupy: Any, input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    """The elements along a dimension that indices name."""
    rank = input.ndim
    if index.dtype not in _INDICES or not 0 < rank <= _RANK or index.ndim != rank or not index.size or input.dtype.itemsize not in _UNITS:
        return NotImplemented
    dim = dim + rank if dim < 0 else dim
    if not 0 <= dim < rank or any(many > limit for at, (many, limit) in enumerate(zip(index.shape, input.shape)) if at != dim):
        return NotImplemented  # which words the error
    unit = input.dtype.itemsize
    fault, address = watched(cupy, f"index out of bounds for dimension {dim} with size {input.shape[dim]}")
    key = ("gather", unit, index.dtype, fault)
    if key not in _kernels:
        names = [(f"n{at}", f"s{at}") for at in range(_RANK)]
        source = _GATHER.replace("@SIZES@", ", ".join(f"long long {a}, long long {b}" for a, b in names)).replace(
            "@I@", _INDICES[index.dtype]
        )
        source = source.replace("@SIZE_NAMES@", ", ".join(a for a, _ in names)).replace("@STEP_NAMES@", ", ".join(b for _, b in names))
        source = source.replace("@U@", _UNITS[unit]).replace("@FAULT@", str(fault))
        _kernels[key] = CudaKernel(cupy, source, "pick", "PPPqiqq" + "qq" * _RANK + "P", "gather")
    index = cupy.ascontiguousarray(index)
    steps = [0 if at == dim else step // unit for at, step in enumerate(input.strides)]
    layout = [value for pair in (*zip(index.shape, steps), *((1, 0),) * (_RANK - rank)) for value in pair]
    made = cupy.ndarray(index.shape, input.dtype)
    blocks = min(-(-index.size // 256), 132 * 32)
    step = input.strides[dim] // unit
    _kernels[key](blocks, 256, input.data.ptr, index.data.ptr, made.data.ptr, index.size, rank, step, input.shape[dim], *layout, address)
    return made


KERNELS: dict[str, Callable[..., Any]] = {"gather": gather}

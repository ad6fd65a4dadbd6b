"""Optimizer steps on CUDA: one launch for all parameters of a group, whatever the optimizer.

The arithmetic of an optimizer (its ``update``) is traced to scalar IR and printed as CUDA C.  Addresses are launch arguments, since gradients move
from step to step; a constant table in device memory maps each block to its tensors and the chunk of them that it updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen.cuda.scalar_text import PRELUDE, STORED, ScalarText, computed, rounded
from ...core.array_tracer import NotExpressible
from ...core.dtypes import HALF_PRECISION
from ...schedule.optimizer_update import computed_in, traced_update, update_key
from .launch import CudaKernel

_CHUNK = 4096  # elements that a block updates
_MOST_ADDRESSES, _ROUND = 480, 16  # addresses of a launch, whose arguments have 4 KiB; tensor counts of kernels are multiples of this
_THREADS = 256
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

_SOURCE = """
struct Given { @T@* at[@COUNT@]; };
struct Place { int tensor, count; long long first; };
struct Tensors { @FIELDS@ };
extern "C" __global__ void step(const __grid_constant__ Given given, const Place* places@NUMBERS@) {
    Place place = places[blockIdx.x];
    Tensors t;
    @POINTERS@
    for (int i = threadIdx.x; i < place.count; i += blockDim.x) {
        @BODY@
    }
}
"""


def _kernel(
    cupy: Any, update: Any, group: dict[str, Any], dtype: np.dtype[Any], buffers: int, numbers: int, count: int = _ROUND
) -> CudaKernel | None:
    """The kernel of an optimizer's arithmetic for up to so many parameters; None where it can't be traced."""
    compute, traced = computed_in(dtype), traced_update(update, group, dtype, buffers, numbers)
    if traced is None:
        return None
    text = ScalarText(lambda data: data if isinstance(data, str) else f"value(t.x{data}[i])")
    try:
        made = [(at, text.value(each)) for at, each in traced]
    except (NotExpressible, TypeError, AttributeError):
        return None
    kind = computed(compute)
    stores = [f"t.x{at}[i] = {rounded(f'({kind})({each})', dtype)};" for at, each in made]
    width = 2 + buffers
    marks = {
        "T": STORED[dtype], "COUNT": str(count * width), "FIELDS": " ".join(f"{STORED[dtype]}* x{at};" for at in range(width)),
        "NUMBERS": "".join(f", {kind} n{at}" for at in range(numbers)), "BODY": "\n        ".join([*text.lines, *stores]),
        "POINTERS": " ".join(f"t.x{at} = given.at[place.tensor * {width} + {at}] + place.first;" for at in range(width)),
    }  # fmt: skip
    source = PRELUDE + _SOURCE
    for mark, value in marks.items():
        source = source.replace(f"@{mark}@", value)
    format = f"{count * width}PP" + ("d" if compute == _FLOAT64 else "f") * numbers
    return CudaKernel(cupy, source, "step", format, f"{update.__qualname__}")


_kernels: dict[Any, CudaKernel | None] = {}
_places: dict[Any, Any] = {}
_PLACE = np.dtype([("tensor", np.int32), ("count", np.int32), ("first", np.int64)])


def _blocks(cupy: Any, sizes: tuple[int, ...]) -> tuple[int, Any]:
    """The number of blocks, and the table of each block's tensor and chunk, on the current device; cached by sizes."""
    key = (cupy.cuda.runtime.getDevice(), sizes)
    found = _places.get(key)
    if found is None:
        rows = [(at, min(_CHUNK, size - first), first) for at, size in enumerate(sizes) for first in range(0, size, _CHUNK)]
        if len(_places) > 256:
            _places.clear()
        found = _places[key] = len(rows), cupy.asarray(np.array(rows, _PLACE).view(np.int64))
    return found


def optimizer_step(cupy: Any, update: Any, group: dict[str, Any], numbers: tuple[Any, ...], tensors: list[list[Any]]) -> bool:
    """Update parameters: each of ``tensors`` is a parameter, its gradient and its buffers as arrays; False where it can't be done so."""
    first = tensors[0][0]
    dtype, width = first.dtype, len(tensors[0])
    if dtype not in (_FLOAT32, _FLOAT64, *HALF_PRECISION) or any(not isinstance(each, (int, float)) for each in numbers):
        return False
    addresses, sizes = [], []
    for arrays in tensors:
        shape = arrays[0].shape
        for each in arrays:
            if each.dtype is not dtype and each.dtype != dtype or each.shape != shape or not each._c_contiguous:
                return False
            addresses.append(each.data.ptr)
        sizes.append(arrays[0].size)
    known = update_key(update, group)
    most = _MOST_ADDRESSES // width // _ROUND * _ROUND
    for start in range(0, len(tensors), most):
        some = sizes[start : start + most]
        count = -(-len(some) // _ROUND) * _ROUND
        key = (*known, dtype, width, len(numbers), count)
        if key not in _kernels:
            _kernels[key] = _kernel(cupy, update, group, dtype, width - 2, len(numbers), count)
        kernel = _kernels[key]
        if kernel is None:  # nor are there kernels of other counts
            return False
        blocks, places = _blocks(cupy, tuple(some))
        if blocks:
            given = addresses[start * width : (start + most) * width]
            kernel(blocks, _THREADS, *given, *[0] * (count * width - len(given)), places.data.ptr, *numbers)
    return True

"""Optimizer steps on CUDA: one launch for all parameters of a group, whatever the optimizer.

The arithmetic of an optimizer (its ``update``) is traced to scalar IR and printed as CUDA C.  A table of addresses in device memory tells each block
which tensors, and which part of them, it updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen.cuda.scalar_text import PRELUDE, STORED, ScalarText, computed, rounded
from ...core.array_tracer import NotExpressible
from ...core.dtypes import HALF_PRECISION
from ...schedule.scalar_ir import Array, Functions, ScalarExpression, cast
from .launch import CudaKernel

_CHUNK = 4096  # elements that a block updates
_THREADS = 256
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

_SOURCE = """
struct Tensors { @FIELDS@ long long n; };
extern "C" __global__ void step(const Tensors* tensors, const int2* blocks@NUMBERS@) {
    int2 place = blocks[blockIdx.x];
    Tensors t = tensors[place.x];
    long long first = (long long)place.y * @CHUNK@, last = first + @CHUNK@ < t.n ? first + @CHUNK@ : t.n;
    for (long long i = first + threadIdx.x; i < last; i += blockDim.x) {
        @BODY@
    }
}
"""


class _Written(Array):
    """An array that an optimizer writes to as a whole."""

    __slots__ = ()

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        if index is not Ellipsis:
            raise NotExpressible("the optimizer writes to a part of an array")
        self.become(value)


def _kernel(cupy: Any, update: Any, group: dict[str, Any], dtype: np.dtype[Any], buffers: int, numbers: int) -> CudaKernel | None:
    """The kernel of an optimizer's arithmetic; None where it can't be traced."""
    compute = _FLOAT32 if dtype in HALF_PRECISION else dtype
    arrays = [_Written(cast(ScalarExpression("operand", (), dtype, at), compute), (1,)) for at in range(2 + buffers)]
    given = tuple(Array(ScalarExpression("operand", (), compute, f"n{at}"), ()) for at in range(numbers))
    grad: Any = arrays[1]
    try:
        update(Functions(), group, given, arrays[0], -grad if group["maximize"] else grad.copy(), *arrays[2:])
        text = ScalarText(lambda data: data if isinstance(data, str) else f"value(t.x{data}[i])")
        made = [(at, text.value(cast(arrays[at].expression, compute))) for at in (0, *range(2, 2 + buffers))]
    except (NotExpressible, TypeError, AttributeError):
        return None
    kind = computed(compute)
    stores = [f"t.x{at}[i] = {rounded(f'({kind})({each})', dtype)};" for at, each in made]
    marks = {
        "FIELDS": " ".join(f"{STORED[dtype]}* x{at};" for at in range(2 + buffers)), "NUMBERS": "".join(f", {kind} n{at}" for at in range(numbers)),
        "CHUNK": str(_CHUNK), "BODY": "\n        ".join([*text.lines, *stores]),
    }  # fmt: skip
    source = PRELUDE + _SOURCE
    for mark, value in marks.items():
        source = source.replace(f"@{mark}@", value)
    return CudaKernel(cupy, source, "step", "PP" + ("d" if compute == _FLOAT64 else "f") * numbers, f"{update.__qualname__}")


_kernels: dict[Any, CudaKernel | None] = {}
_places: dict[Any, Any] = {}
_tables: dict[Any, Any] = {}


def _blocks(cupy: Any, sizes: tuple[int, ...]) -> Any:
    """For each block the tensor, and the part of it, that it updates: on the current device, kept for sizes that come again."""
    key = (cupy.cuda.runtime.getDevice(), sizes)
    found = _places.get(key)
    if found is None:
        rows = [(at, part) for at, size in enumerate(sizes) for part in range(-(-size // _CHUNK))]
        if len(_places) > 64:
            _places.clear()
        found = _places[key] = cupy.asarray(np.array(rows, np.int32).reshape(-1, 2))
    return found


def optimizer_step(cupy: Any, update: Any, group: dict[str, Any], numbers: tuple[Any, ...], tensors: list[list[Any]]) -> bool:
    """Update parameters: each of ``tensors`` is a parameter, its gradient and its buffers as arrays; False where it can't be done so."""
    first = tensors[0][0]
    dtype = first.dtype
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
    fixed = tuple([(name, value) for name, value in sorted(group.items()) if isinstance(value, (bool, type(None)))])
    signs = tuple([(name, bool(value)) for name, value in sorted(group.items()) if isinstance(value, (int, float))])
    key = (update, fixed, signs, "first" in group, dtype, len(tensors[0]), len(numbers))
    if key not in _kernels:
        _kernels[key] = _kernel(cupy, update, group, dtype, len(tensors[0]) - 2, len(numbers))
    kernel = _kernels[key]
    if kernel is None:
        return False
    blocks = _blocks(cupy, tuple(sizes))
    if not blocks.size:
        return True
    table = _table(cupy, tuple(addresses), tuple(sizes))
    kernel(blocks.shape[0], _THREADS, table.data.ptr, blocks.data.ptr, *numbers)
    return True


def _table(cupy: Any, addresses: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """A table of addresses and sizes on the device: gradients come back to the same memory step after step, so that a table is kept for later."""
    capturing = cupy.cuda.get_current_stream().is_capturing()  # a graph has its own, which lives as long as it does
    found = None if capturing else _tables.get((addresses, sizes))  # no two devices have memory at one address
    if found is None:
        count = len(sizes)
        table = np.concatenate([np.array(addresses, np.int64).reshape(count, -1), np.array(sizes, np.int64)[:, None]], axis=1)
        found = cupy.asarray(table)
        if not capturing:
            if len(_tables) >= 64:
                _tables.clear()
            _tables[addresses, sizes] = found
    return found

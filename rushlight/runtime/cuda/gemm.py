"""Matrix products by cuBLAS, called through ctypes: CuPy's own calls refuse a stream that is being captured into a graph.

Half precision accumulates in float32.  Single precision uses TF32 where ``torch.backends.cuda.matmul.allow_tf32`` (or a float32 matmul precision
below the highest) allows it.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...core.errors import AcceleratorError
from ...core.precision import precision
from .libraries import library

_NORMAL, _TRANSPOSED = 0, 1
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_64F = 68, 77, 70
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# dtype -> cuBLAS's number for it, how it is computed, and the C type of alpha and beta
_TYPES: dict[np.dtype[Any], tuple[int, int, Any]] = {
    np.dtype(np.float32): (0, _COMPUTE_32F, ctypes.c_float),
    np.dtype(np.float64): (1, _COMPUTE_64F, ctypes.c_double),
    np.dtype(np.float16): (2, _COMPUTE_32F, ctypes.c_float),
    _BFLOAT16: (14, _COMPUTE_32F, ctypes.c_float),
    np.dtype(np.complex64): (4, _COMPUTE_32F, ctypes.c_float * 2),
    np.dtype(np.complex128): (5, _COMPUTE_64F, ctypes.c_double * 2),
}
_FLOAT32 = np.dtype(np.float32)
_WORKSPACE = 32 << 20


class Blas:
    """A handle of cuBLAS on one device, with a workspace of its own, so that its calls can be captured."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.library = library(cupy, "cublas")
        self.handle = ctypes.c_void_p()
        _checked(self.library.cublasCreate_v2(ctypes.byref(self.handle)))
        self.workspace = cupy.cuda.Memory(_WORKSPACE)
        self.stream: int | None = None
        self.constants = {kind: (self._number(kind, 1), self._number(kind, 0)) for _, _, kind in _TYPES.values()}
        call = self.library.cublasGemmStridedBatchedEx
        pointer, integer, wide = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
        call.argtypes = [pointer, *[integer] * 5, pointer, pointer, integer, integer, wide, pointer, integer, integer, wide, pointer, pointer,
                         integer, integer, wide, integer, integer, integer]  # fmt: skip
        self.call = call

    @staticmethod
    def _number(kind: Any, value: float) -> Any:
        return kind(value) if kind in (ctypes.c_float, ctypes.c_double) else kind(value, 0)

    def product(self, a: Any, b: Any, out: Any, batch: int, strides: tuple[int, int, int], shapes: tuple[int, int, int]) -> None:
        """``out = a @ b`` for a batch of matrices; a, b and out are (address, transposed, leading dimension)."""
        stream = self.cupy.cuda.get_current_stream().ptr
        if stream != self.stream:
            _checked(self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(stream)))
            _checked(self.library.cublasSetWorkspace_v2(self.handle, ctypes.c_void_p(self.workspace.ptr), ctypes.c_size_t(_WORKSPACE)))
            self.stream = stream
        m, n, k = shapes
        (left, left_turned, left_step), (right, right_turned, right_step), (made, _, made_step), dtype = (
            *[each[:3] for each in (a, b, out)],
            out[3],
        )
        code, compute, kind = _TYPES[dtype]
        if dtype == _FLOAT32 and precision.allow_tf32:
            compute = _COMPUTE_32F_FAST_TF32
        one, zero = self.constants[kind]
        # cuBLAS counts columns first: it computes the transpose of the result, with the operands changed round.
        _checked(self.call(
            self.handle, right_turned, left_turned, n, m, k, ctypes.addressof(one), right, code, right_step, strides[1], left, code, left_step,
            strides[0], ctypes.addressof(zero), made, code, made_step, strides[2], batch, compute, -1,
        ))  # fmt: skip


_handles: dict[int, Blas] = {}


def _checked(status: int) -> None:
    if status:
        raise AcceleratorError(f"cuBLAS failed with status {status}")


def blas(cupy: Any) -> Blas:
    """The handle of the current device."""
    index = cupy.cuda.runtime.getDevice()
    found = _handles.get(index)
    if found is None:
        found = _handles[index] = Blas(cupy)
    return found


def _laid_out(cupy: Any, matrices: Any) -> tuple[Any, int, int]:
    """The matrices such that cuBLAS can read them, whether it reads them transposed, and its leading dimension."""
    rows, columns = matrices.shape[-2:]
    size = matrices.itemsize
    row, column = matrices.strides[-2] // size, matrices.strides[-1] // size
    if column == 1 and row >= max(columns, 1) or columns == 1 and row >= 1 and rows > 1:
        return matrices, _NORMAL, row if rows > 1 else max(columns, 1)
    if (row == 1 or rows == 1) and column >= max(rows, 1):
        return matrices, _TRANSPOSED, column if columns > 1 else max(rows, 1)
    if rows == 1 and column == 1:
        return matrices, _NORMAL, max(columns, 1)
    return cupy.ascontiguousarray(matrices), _NORMAL, max(columns, 1)


def _batched(cupy: Any, matrices: Any, batch: tuple[int, ...]) -> tuple[Any, int]:
    """The matrices with one batch dimension, and its stride in elements (0 where one matrix serves all)."""
    if math.prod(matrices.shape[:-2]) == 1:
        return matrices.reshape(matrices.shape[-2:]), 0
    if matrices.shape[:-2] != batch:
        matrices = cupy.broadcast_to(matrices, batch + matrices.shape[-2:])
    if len(batch) > 1:
        steps, shape = matrices.strides, matrices.shape
        flat = all(steps[dim] == steps[dim + 1] * shape[dim + 1] for dim in range(len(batch) - 1))
        if flat:
            matrices = cupy.ndarray((math.prod(batch), *shape[-2:]), matrices.dtype, matrices.data, (steps[len(batch) - 1], *steps[-2:]))
        else:
            matrices = cupy.ascontiguousarray(matrices).reshape(-1, *shape[-2:])
    return matrices, matrices.strides[0] // matrices.itemsize


@functools.cache
def multiplier(cupy: Any) -> Callable[..., Any]:
    """``numpy.matmul`` on CUDA."""

    def matmul(a: Any, b: Any, out: Any = None) -> Any:
        """The product of matrices, vectors or batches of matrices."""
        if a.dtype != b.dtype or a.dtype not in _TYPES or not a.ndim or not b.ndim:
            return cupy.matmul(a, b) if out is None else cupy.matmul(a, b, out=out)
        vectors = (a.ndim == 1, b.ndim == 1)
        left, right = a[None] if vectors[0] else a, b[:, None] if vectors[1] else b
        if left.shape[-1] != right.shape[-2]:
            raise ValueError(f"matmul: shapes {a.shape} and {b.shape} can't be multiplied")
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        m, n, k = left.shape[-2], right.shape[-1], left.shape[-1]
        shape = (*batch, m, n)
        direct = out is not None and out.flags.c_contiguous and out.dtype == a.dtype and out.size == math.prod(shape)
        result = out.reshape(shape) if direct else cupy.ndarray(shape, a.dtype)
        if result.size and not k:
            result.fill(0)
        elif result.size:
            count = math.prod(batch)
            if count > 1 and math.prod(right.shape[:-2]) == 1 and left.flags.c_contiguous:  # one large product
                left, right, m, count = left.reshape(-1, k), right.reshape(k, n), m * count, 1
                batch = ()
            left, left_stride = _batched(cupy, left, batch)
            right, right_stride = _batched(cupy, right, batch)
            left, left_turned, left_step = _laid_out(cupy, left)
            right, right_turned, right_step = _laid_out(cupy, right)
            if left_stride:
                left_stride = left.strides[0] // left.itemsize
            if right_stride:
                right_stride = right.strides[0] // right.itemsize
            blas(cupy).product(
                (left.data.ptr, left_turned, left_step), (right.data.ptr, right_turned, right_step), (result.data.ptr, 0, n, a.dtype),
                count, (left_stride, right_stride, m * n), (m, n, k),
            )  # fmt: skip
        if direct:
            return out
        kept = [size for size, gone in zip(shape[-2:], vectors) if not gone]
        result = result.reshape(*shape[:-2], *kept)
        if out is None:
            return result
        out[...] = result
        return out

    return matmul

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
        self._stream = cupy.cuda.get_current_stream
        self.plans: dict[Any, Plan | None] = {}
        self.constants = {kind: (self._number(kind, 1), self._number(kind, 0)) for _, _, kind in _TYPES.values()}
        call = self.library.cublasGemmStridedBatchedEx
        pointer, integer, wide = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
        call.argtypes = [pointer, *[integer] * 5, pointer, pointer, integer, integer, wide, pointer, integer, integer, wide, pointer, pointer,
                         integer, integer, wide, integer, integer, integer]  # fmt: skip
        self.call = call

    @staticmethod
    def _number(kind: Any, value: float) -> Any:
        return kind(value) if kind in (ctypes.c_float, ctypes.c_double) else kind(value, 0)

    def enter(self) -> None:
        """Work goes to the current stream."""
        stream = self._stream().ptr
        if stream != self.stream:
            _checked(self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(stream)))
            _checked(self.library.cublasSetWorkspace_v2(self.handle, ctypes.c_void_p(self.workspace.ptr), ctypes.c_size_t(_WORKSPACE)))
            self.stream = stream


class Plan:
    """One product of given shapes, strides and dtype, all of whose arguments but the addresses are known."""

    def __init__(self, blas: Blas, left: Any, right: Any, shape: tuple[int, ...], dtype: np.dtype[Any], tf32: bool) -> None:
        self.blas, self.shape = blas, shape
        (left_turned, left_step, left_stride), (right_turned, right_step, right_stride) = left[:3], right[:3]
        m, n, k, count = left[3], right[3], left[4], right[4]
        code, compute, kind = _TYPES[dtype]
        if tf32:
            compute = _COMPUTE_32F_FAST_TF32
        one, zero = blas.constants[kind]
        # cuBLAS counts columns first: it computes the transpose of the result, with the operands changed round.
        self.head = (blas.handle, right_turned, left_turned, n, m, k, ctypes.addressof(one))
        self.right, self.left = (code, right_step, right_stride), (code, left_step, left_stride, ctypes.addressof(zero))
        self.tail = (code, n, m * n, count, compute, -1)
        self.call = blas.call

    def run(self, left: int, right: int, made: int) -> None:
        """Compute, given the addresses of operands and result."""
        self.blas.enter()
        _checked(self.call(*self.head, right, *self.right, left, *self.left, made, *self.tail))


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


def _laid_out(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[int, int] | None:
    """Whether cuBLAS reads matrices of a layout transposed, and its leading dimension; None where it can't read them."""
    rows, columns = shape[-2:]
    row, column = strides[-2] // size, strides[-1] // size
    if (column == 1 or columns == 1) and (row >= max(columns, 1) or rows == 1):
        return _NORMAL, max(row, columns, 1) if rows > 1 else max(columns, 1)
    if (row == 1 or rows == 1) and (column >= max(rows, 1) or columns == 1):
        return _TRANSPOSED, max(column, rows, 1) if columns > 1 else max(rows, 1)
    return None


def _batch_stride(shape: tuple[int, ...], strides: tuple[int, ...], batch: tuple[int, ...], size: int) -> int | None:
    """The stride, in elements, from matrix to matrix of a batch (0 where one serves all); None where there is no such one."""
    own = shape[:-2]
    if math.prod(own) == 1:
        return 0
    if own != batch:
        return None
    steps = strides[: len(batch)]
    kept = [dim for dim in range(len(batch)) if batch[dim] != 1]
    for outer, inner in zip(kept, kept[1:]):
        if steps[outer] != steps[inner] * batch[inner]:
            return None
    return steps[kept[-1]] // size


def _planned(blas: Blas, a: Any, b: Any, tf32: bool) -> Plan | None:
    """The plan of a product; None where operands have to be copied first."""
    size = a.itemsize
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n, k, count = a.shape[-2], b.shape[-1], a.shape[-1], math.prod(batch)
    shape, left_shape, left_strides = (*batch, m, n), a.shape, a.strides
    if count > 1 and math.prod(b.shape[:-2]) == 1 and a.flags.c_contiguous:  # one large product
        left_shape, left_strides, m, count, batch = (m * count, k), (k * size, size), m * count, 1, ()
    left, right = _laid_out(left_shape, left_strides, size), _laid_out(b.shape, b.strides, size)
    left_stride, right_stride = _batch_stride(left_shape, left_strides, batch, size), _batch_stride(b.shape, b.strides, batch, size)
    if left is None or right is None or left_stride is None or right_stride is None:
        return None
    return Plan(blas, (*left, left_stride, m, k), (*right, right_stride, n, count), shape, a.dtype, tf32)


@functools.cache
def multiplier(cupy: Any) -> Callable[..., Any]:
    """``numpy.matmul`` on CUDA."""

    def matmul(a: Any, b: Any, out: Any = None) -> Any:
        """The product of matrices, vectors or batches of matrices."""
        if a.dtype != b.dtype or a.dtype not in _TYPES or not a.ndim or not b.ndim:
            return cupy.matmul(a, b) if out is None else cupy.matmul(a, b, out=out)
        if a.ndim == 1 or b.ndim == 1:
            made = matmul(a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b)
            shape = made.shape[:-2] + (() if a.ndim == 1 else made.shape[-2:-1]) + (() if b.ndim == 1 else made.shape[-1:])
            made = made.reshape(shape)
        else:
            if a.shape[-1] != b.shape[-2]:
                raise ValueError(f"matmul: shapes {a.shape} and {b.shape} can't be multiplied")
            if not a.size or not b.size:
                made = cupy.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), a.dtype)
                if out is not None:
                    out[...] = made
                return made if out is None else out
            handle = blas(cupy)
            tf32 = precision.allow_tf32 and a.dtype == _FLOAT32
            key = (a.shape, a.strides, b.shape, b.strides, a.dtype, tf32)
            try:
                plan = handle.plans[key]
            except KeyError:
                plan = handle.plans[key] = _planned(handle, a, b, tf32)
            if plan is None:
                batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
                a = cupy.ascontiguousarray(a if math.prod(a.shape[:-2]) == 1 else cupy.broadcast_to(a, batch + a.shape[-2:]))
                b = cupy.ascontiguousarray(b if math.prod(b.shape[:-2]) == 1 else cupy.broadcast_to(b, batch + b.shape[-2:]))
                return matmul(a, b, out)
            direct = out is not None and out.dtype == a.dtype and out.shape == plan.shape and out.flags.c_contiguous
            made = out if direct else cupy.ndarray(plan.shape, a.dtype)
            plan.run(a.data.ptr, b.data.ptr, made.data.ptr)
            if direct:
                return out
        if out is None:
            return made
        out[...] = made
        return out

    return matmul

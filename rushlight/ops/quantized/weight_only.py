"""Products of float rows with weights of 8 or 4 bits, which are read as they are stored: what generation spends its time on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.dtypes import LOW_PRECISION, int32, uint8
from ...core.errors import OperationError
from ...core.kernel_providers import compiled
from ..linalg.matmul import matmul

GROUPS = (32, 64, 128, 256)  # values of a row of a 4-bit weight that share a scale and a zero
_FEW = 1 << 6  # elements of the input from which on compiled code pays: the weight has many more
_EXACT = 1 << 10  # products of bytes whose sum is exact in float32


def _refuse(name: str, message: str) -> None:
    raise OperationError(f"{name} {message}")


# -- bytes times bytes -------------------------------------------------------------------------------------------


def _bytes_meta(self: Any, mat2: Any) -> Spec:
    name = "int_mm_out_cpu:"
    for what, each in (("self", self), ("mat2", mat2)):
        if each.ndim != 2:
            _refuse(name, f"Expected {what} to be of dimension 2 but got {each.ndim}")
    if self.shape[1] != mat2.shape[0]:
        _refuse(name, f"self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}")
    for what, each in (("self", self), ("mat2", mat2)):
        if each.dtype not in (np.int8, np.uint8):
            _refuse(name, f"Expected {what} dtype to be int8 or uint8 but got {each.dtype}")
    return Spec((self.shape[0], mat2.shape[1]), np.dtype(np.int32))


def _bytes_kernel(xp: Any, self: Any, mat2: Any) -> Any:
    _bytes_meta(self, mat2)
    kind = np.float32 if self.shape[1] <= _EXACT // (4 if np.uint8 in (self.dtype, mat2.dtype) else 1) else np.float64
    return xp.matmul(self.astype(kind), mat2.astype(kind)).astype(np.int32)


@composite(name="_int_mm", meta=_bytes_meta, kernel=_bytes_kernel, vjp={}, namespace=None, method=False)
def int_product(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of bytes, in 32 bits."""
    return matmul(self.to(int32), mat2.to(int32))


# -- 8 bits ------------------------------------------------------------------------------------------------------


def _check_rows(name: str, self: Any) -> None:
    if self.dtype != np.float32 and self.dtype not in LOW_PRECISION:
        _refuse(name, "expect A to be either 32-bit or 16-bit float tensor.")


def _int8_meta(self: Any, mat2: Any, scales: Any) -> Spec:
    name = "_weight_int8pack_mm_cpu :"
    _check_rows(name, self)
    if mat2.dtype != np.int8:
        _refuse(name, "expect B to be int8 tensor.")
    if self.ndim != 2 or mat2.ndim != 2 or self.shape[1] != mat2.shape[1]:
        _refuse(name, f"expect A and B to be matrices with rows of one length, got {list(self.shape)} and {list(mat2.shape)}")
    if tuple(scales.shape) != (mat2.shape[0],):
        _refuse(name, f"expect scales to be 1d tensor with size {mat2.shape[0]}")
    return Spec((self.shape[0], mat2.shape[0]), self.dtype)


@compiled("_weight_int8pack_mm", _FEW)
def _int8_kernel(xp: Any, self: Any, mat2: Any, scales: Any) -> Any:
    _int8_meta(self, mat2, scales)
    return xp.matmul(self, mat2.T.astype(self.dtype)) * scales


@composite(name="_weight_int8pack_mm", meta=_int8_meta, kernel=_int8_kernel, vjp={}, namespace=None, method=False)
def weight_int8_product(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """``self @ mat2.T * scales`` with a weight of int8, a row of it to each result."""
    return matmul(self, mat2.t().to(self.dtype)) * scales


# -- 4 bits ------------------------------------------------------------------------------------------------------


def _pack_meta(self: Any, innerKTiles: int) -> Spec:
    name = "_convert_weight_to_int4pack_cpu :"
    if self.dtype != np.int32:
        _refuse(name, "expect weight to be kInt.")
    if self.ndim != 2 or self.shape[0] % 16:
        _refuse(name, "expect N to be dividable by 16")
    if self.shape[1] % 2:
        _refuse("_convert_weight_to_int4pack:", "expect K to be dividable by 2")
    return Spec((self.shape[0], self.shape[1] // 2), np.dtype(np.uint8))


def _half_block(depth: int) -> int:
    """How far apart the two values of a byte are: as many values as a vector of any processor has lanes, or fewer."""
    return next(each for each in (16, 8, 4, 2, 1) if depth % (2 * each) == 0)


def _pack_kernel(xp: Any, self: Any, innerKTiles: int) -> Any:
    _pack_meta(self, innerKTiles)
    blocks = self.astype(np.uint8).reshape(len(self), -1, 2, _half_block(self.shape[1]))
    return (blocks[:, :, 0] & 15 | blocks[:, :, 1] << 4).reshape(len(self), -1)


@composite(name="_convert_weight_to_int4pack_for_cpu", meta=_pack_meta, kernel=_pack_kernel, vjp={}, namespace=None, method=False)
def int4_packed(self: Tensor, innerKTiles: int) -> Tensor:
    """A weight of values from 0 to 15, two to a byte, in the order in which ``_weight_int4pack_mm_for_cpu`` reads them."""
    half = _half_block(self._array.shape[1])
    blocks = self.to(uint8).reshape(self._array.shape[0], -1, 2, half)
    low, high = blocks.select(2, 0), blocks.select(2, 1)
    return (low.bitwise_and(15) + high * 16).reshape(self._array.shape[0], -1)


def _unpacked(xp: Any, packed: Any, kind: Any) -> Any:
    """The values of a packed weight, less 8."""
    half = _half_block(2 * packed.shape[1])
    blocks = packed.reshape(len(packed), -1, 1, half)
    return xp.concatenate((blocks & 15, blocks >> 4), axis=2).reshape(len(packed), -1).astype(kind) - kind(8)


def _int4_meta(self: Any, mat2: Any, qGroupSize: int, qScaleAndZeros: Any) -> Spec:
    name = "_weight_int4pack_mm_cpu :"
    _check_rows(name, self)
    if mat2.dtype != np.uint8:
        _refuse(name, "expect B to be uint8 tensor.")
    if qGroupSize not in GROUPS:
        _refuse("_weight_int4pack_mm_cpu:", f"expect qGroupSize to be 32, 64, 128 or 256, got {qGroupSize}")
    if self.ndim != 2 or mat2.ndim != 2 or self.shape[1] != 2 * mat2.shape[1]:
        _refuse(name, f"expect A to be a matrix with {2 * mat2.shape[-1]} columns, got {list(self.shape)}")
    if self.shape[1] % qGroupSize or tuple(qScaleAndZeros.shape) != (self.shape[1] // qGroupSize, mat2.shape[0], 2):
        _refuse(name, f"expect qScaleAndZeros to be 3d tensor with sizes [:, {mat2.shape[0]}, 2]")
    return Spec((self.shape[0], mat2.shape[0]), self.dtype)


@compiled("_weight_int4pack_mm_for_cpu", _FEW)
def _int4_kernel(xp: Any, self: Any, mat2: Any, qGroupSize: int, qScaleAndZeros: Any) -> Any:
    _int4_meta(self, mat2, qGroupSize, qScaleAndZeros)
    scales, zeros = (xp.repeat(qScaleAndZeros[..., at], qGroupSize, 0) for at in (0, 1))
    return xp.matmul(self, _unpacked(xp, mat2, self.dtype.type).T * scales + zeros)


@composite(name="_weight_int4pack_mm_for_cpu", meta=_int4_meta, kernel=_int4_kernel, vjp={}, namespace=None, method=False)
def weight_int4_product(self: Tensor, mat2: Tensor, qGroupSize: int, qScaleAndZeros: Tensor) -> Tensor:
    """``self @ weight.T`` with a packed weight of 4 bits: ``(value - 8) * scale + zero``, with a scale and a zero for each group of a row."""
    rows, half = mat2._array.shape[0], _half_block(self._array.shape[1])
    blocks = mat2.reshape(rows, -1, half)
    high = blocks.div(16, rounding_mode="floor")
    both = [each.to(self.dtype) for each in (blocks - high * 16, high)]
    values = table["stack"].call(both, 2)
    scales, zeros = (qScaleAndZeros.select(2, at).repeat_interleave(qGroupSize, 0) for at in (0, 1))
    return matmul(self, (values.reshape(rows, -1) - 8).t() * scales + zeros)

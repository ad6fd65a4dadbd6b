"""The description of a product with a weight of few bits, which is read as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lowering import routine
from ..symbolic_shape import SymbolicNumber
from ..tensor_ir import Reference, TensorIRBuilder

ROWS = 32  # of the left matrix, at most: with more, it pays to turn the weight into floats and multiply those


@dataclass(frozen=True)
class FewBits:
    """``left @ weight.T``: of int8 with a scale for each row of it, or of 4 bits with a scale and a zero for each ``group`` of values of a row."""

    left: Reference
    weight: Reference
    scales: Reference
    group: int | None = None


def described(left: Reference, weight: Reference, scales: Reference, group: int | None = None) -> Any:
    """A product of few rows, whose arrays are read row by row; NotImplemented for others."""
    sizes = (*left.shape, *weight.shape)
    single = np.dtype(np.float32)
    if (
        any(isinstance(each, SymbolicNumber) for each in sizes)
        or 0 in sizes
        or left.shape[0] > ROWS
        or left.dtype != single
        or scales.dtype != single
    ):
        return NotImplemented
    if left.strides[1] != 1 or weight.strides[1] != 1 or scales.strides[-1] != 1 or weight.shape[0] < 2:
        return NotImplemented
    return FewBits(left, weight, scales, group)


@routine.register("_weight_int8pack_mm")
def int8(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    return described(*args)


@routine.register("_weight_int4pack_mm_for_cpu")
def int4(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    left, weight, group, scales = args
    return described(left, weight, scales, group) if type(group) is int and left.shape[1] % group == 0 else NotImplemented

"""The description of a matrix product: two matrices with their strides.  Batches of rows are flattened, and outer products become pointwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lowering import routine
from ..scalar_ir import ScalarExpression
from ..symbolic_shape import SymbolicNumber
from ..tensor_ir import Product, Reference, TensorIRBuilder

WIDE = 32  # columns of a right matrix that pay for a copy of the left one


@dataclass(frozen=True)
class Gemm:
    """``result[m, n] = sum over k of left[m, k] * right[k, n]``; the result is contiguous."""

    left: Reference
    right: Reference

    @property
    def m(self) -> Any:
        return self.left.shape[0]

    @property
    def k(self) -> Any:
        return self.left.shape[1]

    @property
    def n(self) -> Any:
        return self.right.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.left.dtype

    @property
    def flops(self) -> Any:
        return 2.0 * self.m * self.k * self.n


@routine.register("matmul")
def matmul(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    """A product of matrices with all dimensions of a batch in front."""
    left, right = args
    if not isinstance(left.shape[-1], SymbolicNumber) and left.shape[-1] == 1:
        return outer(builder, left, right, spec, node)
    whole = Product(-1, tuple(spec.shape), spec.dtype, node)
    whole.left, whole.right = left, right
    a, b = flattened(whole)
    if a is None and is_shared(whole):  # rows in another order than those of the result: a copy is one product, and not one for each matrix
        whole.left = builder.copy(left, None)
        a, b = flattened(whole)
    return NotImplemented if a is None or b is None else Gemm(a, b)


def is_shared(value: Product) -> bool:
    """Whether a batch of matrices, of known sizes, has one right matrix that is wide enough to pay for a copy of the left ones."""
    batch, sizes = value.shape[:-2], (*value.shape, *value.right.shape[-2:])
    return (
        not any(isinstance(each, SymbolicNumber) for each in sizes)
        and not any(value.right.strides[: len(batch)])
        and value.shape[-1] >= WIDE
    )


def outer(builder: TensorIRBuilder, left: Reference, right: Reference, spec: Any, node: Any) -> Reference:
    """An outer product, element by element: it fuses with what is computed from it."""
    columns, rows = (ScalarExpression("operand", (), each.dtype, each) for each in (expanded(left, -1, spec), expanded(right, -2, spec)))
    return builder.pointwise(ScalarExpression("mul", (columns, rows), spec.dtype), tuple(spec.shape), spec.dtype, node)


def expanded(matrix: Reference, axis: int, spec: Any) -> Reference:
    """A column (or row) expanded to the width (height) of a product."""
    shape, strides = list(matrix.shape), list(matrix.strides)
    shape[axis], strides[axis] = spec.shape[axis], 0
    return Reference(matrix.value, tuple(shape), tuple(strides), matrix.offset)


def flattened(value: Product) -> tuple[Reference | None, Reference | None]:
    """A batch of matrices times one matrix as one product with more rows, where the rows have one stride; else None."""
    a, b, batch = value.left, value.right, value.shape[:-2]
    matrix = Reference(b.value, b.shape[-2:], b.strides[-2:], b.offset)
    if all(size == 1 for size in batch):
        return Reference(a.value, a.shape[-2:], a.strides[-2:], a.offset), matrix
    if any(b.strides[: len(batch)]):
        return None, None
    sizes = [(size, stride) for size, stride in zip(a.shape[:-1], a.strides[:-1]) if size > 1]
    for (_, stride), (size, step) in zip(sizes, sizes[1:]):
        if stride != step * size:
            return None, None
    rows = 1
    for size in a.shape[:-1]:
        rows *= size
    if sizes and a.shape[-1] > 1 and (a.strides[-1] != 1 or sizes[-1][1] < a.shape[-1]):
        return None, None  # transposed: its rows have no single stride
    step = sizes[-1][1] if sizes else 0
    return Reference(a.value, (rows, a.shape[-1]), (step, a.strides[-1]), a.offset), matrix


def layout(matrix: Reference) -> tuple[bool, Any]:
    """Whether a matrix is stored transposed (its columns are contiguous, and not its rows), and its leading dimension."""
    (height, width), (rows, columns) = matrix.shape[-2:], matrix.strides[-2:]
    if (columns == 1 or width == 1) and (rows >= width or height == 1):
        return False, rows if height > 1 else width
    return True, columns if width > 1 else height

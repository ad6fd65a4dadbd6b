"""Products of matrices and vectors, and chains of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY, c_name, legacy_name
from ...core.errors import ArgumentError, DtypeError, NotSupported, ShapeError
from ...core.families import broadcast_shapes
from ...core.kernel_providers import faster_product
from ..pointwise.arithmetic import conjugate
from .matmul_onnx import product

Number = int | float | complex | bool
_UNSIGNED_WIDE = ("uint16", "uint32", "uint64")
_EXACT_IN_FLOAT64 = 2.0**53
_SMALL = 32768  # multiplications below which NumPy's own integer loops are as fast as a detour through BLAS


def adjoint(matrix: Any) -> Any:
    """The conjugate transpose of the last two dimensions, as a view where the matrix is real."""
    return conjugate(matrix).transpose(-2, -1)


def _unlike(input: Any, other: Any) -> str:
    """What PyTorch says of operands of two types: what the kernel says that multiplies operands of so many dimensions."""
    a, b = legacy_name(input.dtype), legacy_name(other.dtype)
    if other.ndim == 1:
        if input.ndim == 1:
            return f"dot : expected both vectors to have same dtype, but found {a} and {b}"
        return f"addmv input tensors must have the same dtype, but got {b}, {a}, and {b}"
    if other.ndim == 2:
        return f"expected m1 and m2 to have the same dtype, but got: {c_name(input.dtype)} != {c_name(other.dtype)}"
    return f"expected scalar type {a} but found {b}"


def check_product_dtypes(input: Any, other: Any) -> None:
    """Operands of a product have one type, which is a number (not bool)."""
    if input.dtype != other.dtype:
        raise DtypeError(_unlike(input, other))
    if input.dtype.kind == "b" or BY_NUMPY[input.dtype].name in _UNSIGNED_WIDE:
        raise NotSupported(f"\"matmul\" not implemented for '{legacy_name(input.dtype)}'")


def matmul_meta(input: Any, other: Any) -> Spec:
    """Shape and dtype of ``input @ other``."""
    for value in (input, other):
        if not hasattr(value, "shape"):
            raise ArgumentError(f"matmul(): both arguments must be Tensors, not {type(value).__name__}")
    a, b = tuple(input.shape), tuple(other.shape)
    if not a or not b:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    check_product_dtypes(input, other)
    if len(a) == 1 and len(b) == 1:
        if a != b:
            raise ShapeError(
                f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, "
                f"but got {a[0]} and {b[0]} elements respectively"
            )
        return Spec((), input.dtype)
    if len(b) == 1:
        if a[-1] != b[0]:
            rows = math.prod(a[:-1])
            raise ShapeError(f"size mismatch, got input ({rows}), mat ({rows}x{a[-1]}), vec ({b[0]})")
        return Spec(a[:-1], input.dtype)
    rows = a[-2:-1]
    batch = broadcast_shapes([a[:-2], b[:-2]])
    if a[-1] != b[-2]:
        if len(b) == 2:
            raise ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({math.prod(a[:-1])}x{a[-1]} and {b[-2]}x{b[-1]})")
        count = math.prod(batch)
        raise ShapeError(f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {a[-1]}] but got: [{count}, {b[-2]}].")
    return Spec((*batch, *rows, b[-1]), input.dtype)


def array_product(xp: Any, input: Any, other: Any) -> Any:
    """``input @ other`` of arrays of one type; integers are exact, and go through BLAS where that stays exact."""
    if input.ndim > 2 and other.ndim <= 2:  # one large product instead of one for each matrix of the batch
        folded = array_product(xp, input.reshape(-1, input.shape[-1]), other) if input.size else None
        return xp.matmul(input, other) if folded is None else folded.reshape(input.shape[:-1] + other.shape[1:])
    if input.ndim > 2 and input.shape[-1] == 1 == other.shape[-2]:  # outer products: BLAS is slow at many small ones
        return input * other
    if input.dtype.kind in "iu" and input.size * other.shape[-1] > _SMALL:
        bound = float(_magnitude(xp, input)) * float(_magnitude(xp, other)) * input.shape[-1]
        if bound < _EXACT_IN_FLOAT64:
            return xp.matmul(input.astype(np.float64), other.astype(np.float64)).astype(np.int64).astype(input.dtype)
    return faster_product(np.matmul, input, other) if xp is np and input.ndim == 2 == other.ndim else xp.matmul(input, other)


def _magnitude(xp: Any, array: Any) -> float:
    return max(-float(xp.min(array)), float(xp.max(array))) if array.size else 0.0


def _matmul_kernel(xp: Any, input: Any, other: Any) -> Any:
    if input.dtype != other.dtype or input.dtype.kind not in "fci" and input.dtype != np.uint8:
        matmul_meta(input, other)
    return array_product(xp, input, other)


def matmul_input_gradient(g: Any, input_shape: Any, other: Any) -> Any:
    """The gradient of ``input @ other`` with respect to the first operand."""
    ndim = other._array.ndim
    if len(input_shape) == 1:
        return g * conjugate(other) if ndim == 1 else matmul_input_gradient(g.unsqueeze(-2), (1, *input_shape), other).squeeze(-2)
    if ndim == 1:
        return g.unsqueeze(-1) * conjugate(other)
    if ndim > 2 and len(input_shape) == 2:  # sum over the batch inside one product
        g, other = (each.flatten(0, -3).transpose(0, 1).flatten(1) for each in (g, other))
    return matmul(g, adjoint(other))


def matmul_other_gradient(g: Any, input: Any, other_shape: Any) -> Any:
    """The gradient of ``input @ other`` with respect to the second operand."""
    ndim = input._array.ndim
    if len(other_shape) == 1:
        return g * conjugate(input) if ndim == 1 else matmul(g.flatten(), conjugate(input).flatten(0, -2))
    if ndim == 1:
        return conjugate(input).unsqueeze(-1) * g.unsqueeze(-2)
    if ndim > 2 and len(other_shape) == 2:  # sum over the batch inside one product
        rows = math.prod(input._array.shape[:-1])
        input, g = input.reshape(rows, input._array.shape[-1]), g.reshape(rows, other_shape[1])
    return matmul(adjoint(input), g)


@primitive(
    meta=matmul_meta,
    kernel=_matmul_kernel,
    ufunc="matmul",
    fast=(2, "blas"),
    vjp={"input": matmul_input_gradient, "other": matmul_other_gradient},
    aliases=("linalg.matmul",),
    node_name="MmBackward0",
    onnx={9: product},
)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; leading dimensions broadcast, and 1-dim operands are vectors."""


def _dimensions(name: str, tensor: Any, wanted: int) -> None:
    """Refuse a tensor with another number of dimensions."""
    if tensor._array.ndim != wanted:
        what = {1: "a 1D tensor", 2: "a matrix", 3: "a 3D tensor"}[wanted]
        raise ShapeError(f"{name} must be {what}, got {tensor._array.ndim}-D tensor")


def check_batches(batch1: Any, batch2: Any) -> None:
    """Refuse what is not two batches of matrices that can be multiplied."""
    _dimensions("batch1", batch1, 3)
    _dimensions("batch2", batch2, 3)
    count, _, inner = batch1._array.shape
    if tuple(batch2._array.shape[:2]) != (count, inner):
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] but got: {list(batch2._array.shape[:2])}."
        )


@composite(out=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    _dimensions("self", input, 2)
    _dimensions("mat2", mat2, 2)
    return matmul(input, mat2)


@composite(out=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    check_batches(input, mat2)
    return matmul(input, mat2)


@composite(out=True)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got 1, {input._array.ndim}, {vec._array.ndim}")
    return matmul(input, vec)


def _check_vectors(a: Any, b: Any) -> None:
    if a._array.ndim != 1 or b._array.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {a._array.ndim}D and {b._array.ndim}D tensors")
    if a._array.dtype != b._array.dtype:
        names = f"{legacy_name(a._array.dtype)} and {legacy_name(b._array.dtype)}"
        raise DtypeError(f"dot : expected both vectors to have same dtype, but found {names}")


@composite(out=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _check_vectors(input, tensor)
    return matmul(input, tensor)


@composite(out=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product with the first vector conjugated."""
    _check_vectors(input, other)
    return matmul(conjugate(input), other)


@composite(out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The dot products of the last dimensions; with a 0-dim tensor, the plain product."""
    a, b = tuple(input._array.shape), tuple(other._array.shape)
    if not a or not b:
        return table["mul"].call(input, other)
    if input._array.dtype != other._array.dtype:
        raise DtypeError("both inputs should have same dtype")
    if a[-1] != b[-1]:
        raise ShapeError(f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}")
    columns: Any = other if len(b) < 3 else other.reshape(math.prod(b[:-1]), b[-1])
    product = matmul(input, columns if len(b) == 1 else columns.transpose(0, 1))
    return product if len(b) < 3 else product.reshape((*a[:-1], *b[:-1]))


@composite(aliases=("ger",), out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Every product of an element of one vector with one of another."""
    for name, tensor in (("self", input), ("vec2", vec2)):
        if tensor._array.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {name}, but got {tensor._array.ndim}-D")
    return input.unsqueeze(1) * vec2


# -- chains -------------------------------------------------------------------------------------------------------


def _best_split(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """For every run of matrices in a chain, where to split it so that the fewest multiplications are needed."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            options = [(cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k) for k in range(first, last)]
            cost[first, last], split[first, last] = min(options)
    return split


def _multiply_chain(matrices: Any) -> Any:
    sizes = (matrices[0]._array.shape[0], *(each._array.shape[1] for each in matrices))
    split = _best_split(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return matrices[first]
        middle = split[first, last]
        return matmul(product(first, middle), product(middle + 1, last))

    return product(0, len(matrices) - 1)


def _check_one_type(matrices: Any) -> None:
    first = matrices[0]._array.dtype
    for index, each in enumerate(matrices):
        if each._array.dtype != first:
            raise DtypeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {c_name(first)} and "
                f"tensor {index} {c_name(each._array.dtype)}"
            )


@composite(out=True)
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of a chain of matrices in the cheapest order; the first and the last may be vectors."""
    if len(tensors) < 2:
        raise ShapeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    shapes = [tuple(each._array.shape) for each in tensors]
    for index, shape in enumerate(shapes):
        allowed = (1, 2) if index in (0, len(shapes) - 1) else (2,)
        if len(shape) not in allowed:
            raise ShapeError(f"multi_dot(): tensor {index} must be {' or '.join(f'{n}D' for n in allowed)} but got {len(shape)}D")
    matrices = list(tensors)
    _check_one_type(matrices)
    if len(shapes[0]) == 1:
        matrices[0] = matrices[0].unsqueeze(0)
    if len(shapes[-1]) == 1:
        matrices[-1] = matrices[-1].unsqueeze(-1)
    for index, (a, b) in enumerate(zip(matrices, matrices[1:])):
        if a._array.shape[1] != b._array.shape[0]:
            raise ShapeError(
                f"multi_dot(): tensors {index} and {index + 1} with shapes {list(shapes[index])} and {list(shapes[index + 1])} "
                "cannot be multiplied"
            )
    result = _multiply_chain(matrices)
    if len(shapes[-1]) == 1:
        result = result.squeeze(-1)
    return result.squeeze(0) if len(shapes[0]) == 1 else result


@composite(
    out=True,
    method=False,
)
def chain_matmul(*matrices: Sequence[Tensor]) -> Tensor:
    """The product of a chain of matrices in the cheapest order."""
    if not matrices:
        raise ShapeError("chain_matmul(): Expected one or more matrices")
    warnings.warn("torch.chain_matmul is deprecated: use torch.linalg.multi_dot, which takes a list of tensors.", stacklevel=4)
    for index, each in enumerate(matrices):
        _dimensions(f"chain_matmul(): tensor {index}", each, 2)
    if len(matrices) == 1:
        return table["clone"].call(matrices[0])
    _check_one_type(matrices)
    return _multiply_chain(matrices)

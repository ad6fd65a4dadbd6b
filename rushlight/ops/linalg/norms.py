"""Norms of vectors and matrices, and what is said with them: condition numbers and ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_type_of
from ...core.dtypes import BY_NUMPY, FLOATING, can_cast, legacy_name
from ...core.errors import ArgumentError, DtypeError, OperationError, ShapeError
from ...core.families import normalize_dim, normalize_dims, plain_number, reduced_shape
from ..reduce.reductions_onnx import vector_norm_form
from ..reduce.sums import reduction_backward
from .checks import check_floating, real_type
from .functions_onnx import no_operator
from .kernels import singular, symmetric

Number = int | float | complex | bool
INFINITY = math.inf


def _vector_norm_meta(input: Any, ord: float, dim: Any, keepdim: bool) -> Spec:
    check_floating("linalg.vector_norm", input, low_precision=True)
    axes = normalize_dims(dim, input.ndim)
    if (ord < 0 or ord == INFINITY) and 0 in [input.shape[axis] for axis in axes]:
        raise OperationError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not have an identity"
        )
    return Spec(reduced_shape(input.shape, axes, keepdim), real_type(input.dtype))


def _vector_norm_kernel(xp: Any, input: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if input.dtype.kind not in "fc" or not input.size:
        _vector_norm_meta(input, ord, dim, keepdim)
    axes = normalize_dims(dim, input.ndim)
    if input.dtype.kind == "V":
        raise TypeError("records have no norm")  # complex32 is computed in single precision
    if ord != 0 and all(input.shape[axis] == 1 for axis in axes):  # no square of it, which could overflow
        return xp.abs(input).reshape(reduced_shape(input.shape, axes, keepdim))
    if ord == 2 and len(axes) == input.ndim and input.flags.c_contiguous:  # one pass of BLAS, no temporary
        flat = input.reshape(-1)
        flat = flat if flat.dtype.kind == "f" else flat.view(flat.real.dtype)
        result = xp.sqrt(xp.vdot(flat, flat).real)
        return result.reshape((1,) * input.ndim) if keepdim else result
    if ord == 2 and axes == (input.ndim - 1,) and input.dtype.kind == "f":
        result = xp.sqrt(xp.matmul(input[..., None, :], input[..., :, None])[..., 0])
        return result if keepdim else result[..., 0]
    if ord == 2:
        squares = input * input if input.dtype.kind == "f" else input.real**2 + input.imag**2
        return xp.sqrt(xp.add.reduce(squares, axis=axes, keepdims=keepdim))
    if ord == 0:
        return xp.count_nonzero(input, axis=axes, keepdims=keepdim).astype(input.real.dtype)
    size = xp.abs(input)
    if ord in (INFINITY, -INFINITY):
        return (xp.max if ord > 0 else xp.min)(size, axis=axes, keepdims=keepdim)
    if ord == 1:
        return xp.add.reduce(size, axis=axes, keepdims=keepdim)
    return xp.add.reduce(size**ord, axis=axes, keepdims=keepdim) ** (1 / ord)


def _vector_norm_gradient(g: Any, input: Any, result: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    shape = tuple(input._array.shape)
    everything = dim is None or (isinstance(dim, (tuple, list)) and not dim)
    dims = None if everything else dim
    g, norm = (reduction_backward(each, shape, dims, keepdim) for each in (g, result))
    if ord == 0:
        return input * 0
    if ord == 1:
        return g * input.sgn()
    if ord == 2:
        return g * (input / norm).masked_fill(norm == 0, 0)
    if ord in (INFINITY, -INFINITY):
        reached = table["cast"].call(input.abs() == norm, BY_NUMPY[g._array.dtype])
        share = reached / reached.sum(normalize_dims(dim, len(shape)), True)
        return g * share * input.sgn()
    if ord < 2:
        scaled = input.sgn() * input.abs() ** (ord - 1)
        if ord < 1:
            scaled = scaled.masked_fill(input == 0, 0)
    else:
        scaled = input * input.abs() ** (ord - 2)
    return g * scaled * (norm ** (1 - ord)).masked_fill(norm == 0, 0)


@primitive(
    meta=_vector_norm_meta,
    kernel=_vector_norm_kernel,
    vjp={"input": _vector_norm_gradient},
    namespace=None,
    method=False,
    out=False,
    node_name="LinalgVectorNormBackward0",
    onnx={9: vector_norm_form},
)
def vector_norm(input: Tensor, ord: float, dim: Any, keepdim: bool) -> Tensor:
    """The p-norm over dimensions, in the type of the input."""


def _as_norm_type(name: str, input: Any, dtype: Any) -> Any:
    """The input in the type that a norm is asked for."""
    if dtype is None:
        return input
    have = BY_NUMPY[input._array.dtype]
    if dtype.category < FLOATING:
        raise DtypeError(f"{name}: dtype should be floating point or complex, but got {legacy_name(dtype)}")
    if dtype.is_complex != have.is_complex:
        kind = "complex" if have.is_complex else "real"
        raise DtypeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {legacy_name(dtype)}")
    if not can_cast(have, dtype) or dtype.itemsize < have.itemsize or (dtype is not have and dtype.itemsize == have.itemsize):
        raise DtypeError(
            f"{name}: the dtype of the input ({legacy_name(have)}) should be convertible without narrowing to the specified dtype "
            f"({legacy_name(dtype)})"
        )
    return input if dtype is have else table["cast"].call(input, dtype)


@composite(out=True)
def linalg_vector_norm(input: Tensor, ord: Number = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of the vectors along dimensions (or of all elements); ``ord`` is any number, or infinity."""
    ord = plain_number(ord)
    if isinstance(ord, complex):
        raise OperationError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if not isinstance(ord, (int, float)):
        raise ArgumentError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    return vector_norm(_as_norm_type("linalg.vector_norm", input, dtype), ord, dim, keepdim)


# -- matrices -----------------------------------------------------------------------------------------------------


def _matrix_dims(dim: Any, ndim: int) -> tuple[int, int]:
    if not isinstance(dim, (tuple, list)):
        raise ArgumentError(f"linalg_matrix_norm(): argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    if len(dim) != 2:
        raise ShapeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    first, second = normalize_dim(dim[0], ndim), normalize_dim(dim[1], ndim)
    if first == second:
        raise ShapeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _extreme(tensor: Any, largest: bool, dim: int, keepdim: bool) -> Any:
    """The largest (smallest) along a dimension; of none, 0: that is what norms of empty matrices are."""
    if tensor._array.shape[dim] == 0:
        return tensor.sum(dim, keepdim)
    return tensor.amax(dim, keepdim) if largest else tensor.amin(dim, keepdim)


@composite(out=True)
def linalg_matrix_norm(input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of matrices: "fro" (Frobenius), "nuc" (sum of singular values), 1, -1, 2, -2, inf or -inf."""
    if ord is None:
        raise ArgumentError("linalg_matrix_norm(): argument 'ord' must be a number or a string, not None")
    name = "linalg.matrix_norm"
    if input._array.ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = _matrix_dims(dim, input._array.ndim)
    spectral = ord in ("nuc", 2, -2)
    check_floating(name, input._array, low_precision=not spectral)
    input = _as_norm_type(name, input, dtype)
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim)
    if spectral:
        values = table["linalg_svdvals"].call(input.movedim((rows, columns), (-2, -1)))
        result = values.sum(-1) if ord == "nuc" else _extreme(values, ord == 2, -1, False)
        if not keepdim:
            return result
        for each in sorted((rows, columns)):
            result = result.unsqueeze(each)
        return result
    if ord not in (1, -1, INFINITY, -INFINITY):
        raise OperationError(f"{name}: Order {ord} not supported.")
    inside, outside = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(input, 1, inside, True)
    result = _extreme(sums, ord > 0, outside, True)
    return result if keepdim else result.squeeze((rows, columns))


@composite(out=True)
def linalg_norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of vectors or of matrices, by how many dimensions there are (or are named)."""
    name = "linalg.norm"
    ndim = input._array.ndim
    dims = None if dim is None else (tuple(dim) if isinstance(dim, (tuple, list)) else (dim,))
    if dims is not None and len(dims) not in (1, 2):
        raise ShapeError(f"{name}: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and ndim not in (1, 2):
        raise ShapeError(f"{name}: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")
    if isinstance(ord, str):
        return linalg_matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if ord is None:
        return linalg_vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if (ndim if dims is None else len(dims)) == 1:
        return linalg_vector_norm(input, ord, dims, keepdim, dtype=dtype)
    return linalg_matrix_norm(input, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)


@composite(
    method=False,
    out=True,
)
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices."""
    return linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@composite()
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one (-1: over all), kept with size 1: what weight normalisation divides by."""
    ndim = v._array.ndim
    if dim == -1:
        return vector_norm(v, pow, None, False)
    dim = normalize_dim(dim, ndim)
    return vector_norm(v, pow, [each for each in range(ndim) if each != dim], True)


@composite(out=True)
def linalg_cond(input: Tensor, p: Any = None) -> Tensor:
    """The condition number of matrices in a norm; the default is the ratio of the extreme singular values."""
    name = "linalg.cond"
    if input._array.ndim < 2:
        raise ShapeError(f"{name}: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        values = table["linalg_svdvals"].call(input)
        if not values._array.shape[-1]:
            return values.sum(-1)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return smallest / largest if p == -2 else largest / smallest
    if p not in ("fro", "nuc", 1, -1, INFINITY, -INFINITY):
        raise OperationError(f"{name} got an invalid norm type: {p}")
    rows, columns = input._array.shape[-2:]
    if rows != columns:
        raise ShapeError(f"{name}(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if not rows:
        return linalg_matrix_norm(input)
    inverse, info = table["linalg_inv_ex"].call(input)
    result = linalg_matrix_norm(input, p) * linalg_matrix_norm(inverse, p)
    return result.masked_fill(info != 0, INFINITY)


def tolerance(values: Any, atol: Any, rtol: Any, shape: tuple[int, ...]) -> Any:
    """The singular values below this count as 0: ``max(atol, rtol * largest)``, as arrays broadcast over the batch."""
    xp = device_type_of(values).arrays
    largest = values.max(axis=-1) if values.shape[-1] else xp.zeros(values.shape[:-1], values.dtype)
    atol = xp.asarray(0.0 if atol is None else atol)
    if rtol is None:  # the default is used only where no absolute tolerance is asked for
        rtol = xp.where(atol > 0, 0.0, np.finfo(values.dtype).eps * max(shape[-2:]))
    return xp.maximum(atol, xp.asarray(rtol) * largest)


def _rank_meta(input: Any, atol: Any, rtol: Any, hermitian: bool) -> Spec:
    if input.ndim < 2:
        raise ShapeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    check_floating("linalg.matrix_rank", input)
    if hermitian and input.shape[-1] != input.shape[-2]:
        raise ShapeError(f"linalg.eigh: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices")
    shapes = [tuple(each.shape) for each in (atol, rtol) if hasattr(each, "shape")]
    return Spec(np.broadcast_shapes(tuple(input.shape[:-2]), *shapes), np.dtype(np.int64))


def _rank_kernel(xp: Any, input: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    _rank_meta(input, atol, rtol, hermitian)
    if 0 in input.shape[-2:]:
        return xp.zeros(input.shape[:-2], np.int64)
    values = xp.abs(symmetric(xp, input, vectors=False)) if hermitian else singular(xp, input, vectors=False)
    return xp.count_nonzero(values > tolerance(values, atol, rtol, input.shape)[..., None], axis=-1)


@primitive(
    meta=_rank_meta, kernel=_rank_kernel, vjp={}, exact=True, namespace=None, method=False, out=False, onnx=no_operator("singular values")
)
def matrix_rank_within(input: Tensor, atol: Tensor | Number | None, rtol: Tensor | Number | None, hermitian: bool) -> Tensor:
    """The number of singular values above ``max(atol, rtol * largest)``."""


@composite(out=True)
def linalg_matrix_rank(
    input: Tensor, tol: Tensor | Number | None = None, hermitian: bool = False, *, atol: Tensor | Number | None = None,
    rtol: Tensor | Number | None = None,
) -> Tensor:  # fmt: skip
    """How many singular values of a matrix are not (nearly) 0."""
    if tol is not None:
        atol, rtol = tol, 0.0
    return matrix_rank_within(input, atol, rtol, hermitian)

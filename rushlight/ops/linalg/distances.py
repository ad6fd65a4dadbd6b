"""Distances between every two of many points."""

from __future__ import annotations

import math
from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.dtypes import LOW_PRECISION, legacy_name
from ...core.errors import DtypeError, NotSupported, OperationError, ShapeError, ValueRangeError
from ...core.families import broadcast_shapes, plain_number
from ..reduce.reductions_onnx import vector_norm_form
from .matmul import array_product, matmul
from .norms import vector_norm

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
_FEW = 25  # up to so many points on either side, distances are taken one by one, which is more exact


def _euclidean_kernel(xp: Any, x1: Any, x2: Any) -> Any:
    squares = array_product(xp, x1, x2.swapaxes(-1, -2))
    squares *= -2
    squares += (x1 * x1).sum(axis=-1)[..., :, None]
    squares += (x2 * x2).sum(axis=-1)[..., None, :]
    return xp.sqrt(xp.maximum(squares, 0, out=squares), out=squares)


def _euclidean_form(g: Any, x1: Any, x2: Any) -> Any:
    """``|a|^2 + |b|^2 - 2 a b``, which rounding may make a little negative."""
    product = g.MatMul(x1, g.swap(x2))
    squares = g.Add(g.reduce("ReduceSumSquare", x1, [-1], True), g.swap(g.reduce("ReduceSumSquare", x2, [-1], True)))
    return g.Sqrt(g.Relu(g.Sub(squares, g.Mul(product, g.constant(2, x1.dtype)))))


def _euclidean_gradient(g: Any, x1: Any, x2: Any, result: Any, needs: Any) -> Any:
    ratio = (g / result).masked_fill(result == 0, 0)
    first = x1 * ratio.sum(-1, True) - matmul(ratio, x2) if needs[0] else None
    transposed = ratio.transpose(-2, -1)
    second = x2 * transposed.sum(-1, True) - matmul(transposed, x1) if needs[1] else None
    return first, second


@primitive(
    meta=lambda x1, x2: Spec((*broadcast_shapes([tuple(x1.shape[:-2]), tuple(x2.shape[:-2])]), x1.shape[-2], x2.shape[-2]), x1.dtype),
    kernel=_euclidean_kernel,
    vjp=joint("x1", "x2")(_euclidean_gradient),
    namespace=None,
    method=False,
    out=False,
    node_name="EuclideanDistBackward0",
    onnx={9: _euclidean_form},
)
def euclidean_distances(x1: Tensor, x2: Tensor) -> Tensor:
    """Euclidean distances by one matrix product: ``|a|^2 + |b|^2 - 2 a b``."""


@primitive(
    meta=lambda difference: Spec(tuple(difference.shape[:-1]), difference.dtype),
    kernel=lambda xp, difference: xp.max(xp.absolute(difference), axis=-1),
    vjp={
        "difference": lambda g, difference, result: (g.unsqueeze(-1) * difference.sign()).masked_fill(
            difference.abs() != result.unsqueeze(-1), 0
        )
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, difference: vector_norm_form(g, difference, math.inf, -1, False)},
)
def largest_difference(difference: Tensor) -> Tensor:
    """The maximum norm along the last dimension, of which each of several largest elements gets the whole gradient."""


def _distance(difference: Any, p: float) -> Any:
    if not difference._array.size or not difference._array.shape[-1]:
        return difference.sum(-1)
    if p == math.inf:
        return largest_difference(difference)
    norm = vector_norm(difference, p, -1, False)
    return norm.masked_fill(difference.isnan().any(-1), math.nan) if p == 0 else norm  # a NaN is no element to count


def _check_points(name: str, **tensors: Any) -> None:
    for label, tensor in tensors.items():
        array = tensor._array
        if array.dtype.kind == "c" or array.dtype.kind in "iub":
            raise DtypeError(f"{name} only supports floating-point dtypes, {label} got: {legacy_name(array.dtype)}")
        if array.dtype in LOW_PRECISION:
            raise NotSupported(f"\"{name}\" not implemented for '{legacy_name(array.dtype)}'")


@composite()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distances of every row of ``x1`` from every row of ``x2``."""
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueRangeError(f"{compute_mode} is not a valid value for compute_mode")
    _check_points("cdist", X1=x1, X2=x2)
    a, b = tuple(x1._array.shape), tuple(x2._array.shape)
    for label, shape in (("X1", a), ("X2", b)):
        if len(shape) < 2:
            raise ShapeError(f"cdist only supports at least 2D tensors, {label} got: {len(shape)}D")
    if a[-1] != b[-1]:
        raise ShapeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if x1._array.dtype != x2._array.dtype:
        raise DtypeError(f"expected scalar type {legacy_name(x1._array.dtype)} but found {legacy_name(x2._array.dtype)}")
    p = plain_number(p)
    if p < 0:
        raise OperationError("cdist only supports non-negative p values")
    many = compute_mode in (None, _MODES[0]) and (a[-2] > _FEW or b[-2] > _FEW)
    if p == 2 and (many or compute_mode == _MODES[1]):
        return euclidean_distances(x1, x2)
    return _distance(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _pairs_form(g: Any, input: Any, p: float) -> Any:
    """For an open number of rows: all distances, and of these the ones above the diagonal."""
    count = input.shape[0]
    if type(count) is int:
        return NotImplemented
    distances = vector_norm_form(g, g.Sub(g.unsqueeze(input, [1]), g.unsqueeze(input, [0])), p, -1, False)
    places = g.range(0, count)
    above = g.Less(g.unsqueeze(places, [1]), places)
    return g.op("Compress", g.reshape(distances, (count * count,)), g.reshape(above, (count * count,)), axis_i=0)


@composite(onnx={9: _pairs_form}, method=False, aliases=("nn.functional.pdist",))
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of every two rows, as a vector: (0, 1), (0, 2), ..., (1, 2), ..."""
    _check_points("pdist", input=input)
    if input._array.ndim != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    p = plain_number(p)
    if p < 0:
        raise OperationError("pdist only supports non-negative p values")
    count = input._array.shape[0]
    pairs = table["triu_indices"].call(count, count, 1, device=input.device)
    select = table["index_select"].call
    return _distance(select(input, 0, pairs.select(0, 0)) - select(input, 0, pairs.select(0, 1)), p)

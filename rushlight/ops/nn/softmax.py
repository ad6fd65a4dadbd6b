"""softmax and log_softmax, with gradients computed from their results."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY, FLOATING, LOW_PRECISION
from ...core.errors import NotSupported
from ...core.families import normalize_dim, same
from ...core.kernel_providers import faster_rows
from ...core.parallel import LARGE, over_rows
from ..pointwise.arithmetic import neg
from ..reduce.cumulative import along
from ..reduce.sums import sum_axes, sum_rows

_FLOAT32 = np.dtype(np.float32)
_LARGE = 1 << 13
_BLOCK = 1 << 18  # elements worked on at once, few enough to stay in the cache
_SAFE = 60.0  # numbers this near 0 can go through exp, and thousands of the results be added, without overflow


def _softmax_spec(name: str) -> Any:
    def spec(input: Any, dim: Any, dtype: Any = None) -> Spec:
        normalize_dim(dim, input.ndim)
        kind = BY_NUMPY[input.dtype] if dtype is None else dtype
        if kind.category != FLOATING:
            raise NotSupported(f"{name}() is not implemented for torch.{kind.name}; pass dtype=torch.float32")
        return Spec(input.shape, kind.numpy)

    return spec


def _prepared(xp: Any, input: Any, spec: Spec, dim: Any) -> tuple[Any, int]:
    """The input in the type to compute in, and the axis."""
    compute = _FLOAT32 if spec.dtype in LOW_PRECISION else spec.dtype
    if compute is not spec.dtype and input.dtype is not spec.dtype:
        input = input.astype(spec.dtype)
    return along(input if input.dtype is compute else input.astype(compute), dim)


def _as_rows(array: Any, axis: int) -> Any:
    """A large contiguous array as a matrix whose rows are to be normalised, or None."""
    if array.size < _LARGE or axis != array.ndim - 1 or not array.flags.c_contiguous or array.__class__ is not np.ndarray:
        return None
    return array.reshape(-1, array.shape[-1])


def near_zero(xp: Any, array: Any) -> bool:
    """Whether all numbers can go through ``exp`` as they are: the usual case, which saves shifting them."""
    return bool(xp.maximum.reduce(array, axis=None) < _SAFE and xp.minimum.reduce(array, axis=None) > -_SAFE)


def _normalise_rows(xp: Any, rows: Any, logarithm: bool) -> Any:
    if rows.size >= LARGE:
        result = faster_rows("log_softmax" if logarithm else "softmax", rows)
        if result is not None:
            return result
    result = xp.empty(rows.shape, rows.dtype)
    step = max(1, _BLOCK // rows.shape[1])

    def work(first: int, last: int) -> None:
        for start in range(first, last, step):
            end = min(start + step, last)
            given, made = rows[start:end], result[start:end]
            if not near_zero(xp, given):
                given = xp.subtract(given, xp.maximum.reduce(given, axis=1, keepdims=True), out=made)
            if logarithm:
                xp.subtract(given, xp.log(sum_rows(xp, xp.exp(given)))[:, None], out=made)
            else:
                xp.exp(given, out=made)
                xp.multiply(made, (1 / sum_rows(xp, made))[:, None], out=made)

    over_rows(work, len(rows), rows.size, 16)
    return result


def _softmax_kernel(logarithm: bool) -> Any:
    check = _softmax_spec("log_softmax" if logarithm else "softmax")

    def kernel(xp: Any, input: Any, dim: Any, dtype: Any = None) -> Any:
        spec = check(input, dim, dtype)
        array, axis = _prepared(xp, input, spec, dim)
        if not array.size:
            return xp.empty(input.shape, spec.dtype)
        rows = _as_rows(array, axis)
        if rows is not None:
            result = _normalise_rows(xp, rows, logarithm)
        else:
            result = array - xp.maximum.reduce(array, axis=axis, keepdims=True)
            if logarithm:
                result -= xp.log(sum_axes(xp, xp.exp(result), (axis,), True))
            else:
                xp.exp(result, out=result)
                result /= sum_axes(xp, result, (axis,), True)
        return result.reshape(input.shape).astype(spec.dtype, copy=False)

    return kernel


def _onnx_form(name: str) -> Any:
    """Softmax or LogSoftmax along one dimension; before opset 13 they work on all dimensions from one on, so it goes last."""

    def form(g: Any, input: Any, dim: int, dtype: Any) -> Any:
        value = input if dtype is None else g.cast(input, dtype)
        if not input.rank:
            return g.squeeze(g.make(name, (g.unsqueeze(value, [0]),), {"axis": 0}), [0])
        if g.opset >= 13:
            return g.make(name, (value,), {"axis": dim})
        dim, last = dim % input.rank, input.rank - 1
        moved = value if dim == last else g.swap(value, dim, last)
        made = g.make(name, (moved,), {"axis": last})
        made.shape = moved.shape
        return made if dim == last else g.swap(made, dim, last)

    return form


@primitive(
    layout="contiguous",
    meta=_softmax_spec("softmax"),
    kernel=_softmax_kernel(False),
    vjp={"input": lambda g, result, dim: softmax_backward(g, result, dim)},
    exact=True,
    aliases=("special.softmax",),
    onnx={9: _onnx_form("Softmax")},
)
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Exponentials divided by their sum along a dimension, computed without overflow."""


@primitive(
    layout="contiguous",
    meta=_softmax_spec("log_softmax"),
    kernel=_softmax_kernel(True),
    vjp={"input": lambda g, result, dim: log_softmax_backward(g, result, dim)},
    exact=True,
    aliases=("special.log_softmax",),
    onnx={9: _onnx_form("LogSoftmax")},
)
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed without overflow."""


def _folded(g: Any, x: Any, dim: int) -> Any:
    """Sums along a dimension, which stays; a tensor without dimensions has but one element."""
    return g.reduce("ReduceSum", x, [dim], True) if x.rank else x


def _softmax_backward_kernel(xp: Any, grad: Any, result: Any, dim: Any) -> Any:
    result, axis = along(result, dim)
    shape = grad.shape
    grad = grad.reshape(result.shape)
    if not grad.size:
        return grad.reshape(shape)
    if _as_rows(grad, axis) is not None and _as_rows(result, axis) is not None:
        share = xp.einsum("...j,...j->...", grad, result)[..., None]
    else:
        share = sum_axes(xp, grad * result, (axis,), True)
    made = grad - share
    made *= result
    return made.reshape(shape)


@primitive(
    meta=same,
    kernel=_softmax_backward_kernel,
    vjp={
        "grad": lambda g, result, dim: softmax_backward(g, result, dim),
        "result": lambda g, grad, result, dim: g * (grad - (grad * result).sum(dim, True)) - grad * (g * result).sum(dim, True),
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, grad, result, dim: g.Mul(result, g.Sub(grad, _folded(g, g.Mul(grad, result), dim)))},
)
def softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of :func:`softmax`, from its result: ``result * (grad - sum(grad * result))``."""


def _log_softmax_backward_kernel(xp: Any, grad: Any, result: Any, dim: Any) -> Any:
    result, axis = along(result, dim)
    shape = grad.shape
    grad = grad.reshape(result.shape)
    made = xp.exp(result)
    made *= sum_axes(xp, grad, (axis,), True)
    return xp.subtract(grad, made, out=made).reshape(shape)


@primitive(
    meta=same,
    kernel=_log_softmax_backward_kernel,
    vjp={
        "grad": lambda g, result, dim: g - (g * result.exp()).sum(dim, True),
        "result": lambda g, grad, result, dim: -(g * result.exp() * grad.sum(dim, True)),
    },
    namespace=None,
    method=False,
    out=False,
    onnx={9: lambda g, grad, result, dim: g.Sub(grad, g.Mul(g.Exp(result), _folded(g, grad, dim)))},
)
def log_softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of :func:`log_softmax`, from its result: ``grad - exp(result) * sum(grad)``."""


# -- as functions of nn.functional -------------------------------------------------------------------------------


def _chosen_dim(name: str, input: Any, dim: int | None, stacklevel: int) -> int:
    """The dimension, or the one that PyTorch picks where none is given (with a warning)."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if input._array.ndim in (0, 1, 3) else 1


@composite(namespace="nn.functional", method=False)
def nn_functional_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials divided by their sum along a dimension, computed without overflow."""
    return softmax(input, _chosen_dim("softmax", input, dim, _stacklevel), dtype)


@composite(namespace="nn.functional", method=False)
def nn_functional_log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of softmax, computed without overflow."""
    return log_softmax(input, _chosen_dim("log_softmax", input, dim, _stacklevel), dtype)


@composite(namespace="nn.functional", method=False)
def nn_functional_softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of the negated input: the smallest elements weigh most."""
    return softmax(neg(input), _chosen_dim("softmin", input, dim, _stacklevel), dtype)

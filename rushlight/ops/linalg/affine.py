"""Products that add to something: ``addmm`` and its relatives, linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import sole_accelerator
from ...core.dtypes import BY_NUMPY, c_name, legacy_name
from ...core.errors import DtypeError, OperationError, ShapeError
from ...core.families import broadcast_shapes, factor_of, promoted
from ...core.fast_paths import shortcut, shortcuts
from ...core.kernel_providers import PRODUCTS, compiled
from ...core.recording import together
from ..pointwise.arithmetic import conjugate
from .matmul import (  # fmt: skip
    array_product,
    check_batches,
    matmul,
    matmul_input_gradient,
    matmul_meta,
    matmul_other_gradient,
    outer,
)
from .matmul_onnx import added_form, linear_form

Number = int | float | complex | bool

# -- beta * input + alpha * (a @ b) -------------------------------------------------------------------------------


def _checked_factor(name: str, value: Any, dtype: Any) -> Any:
    if isinstance(value, complex) and dtype.kind != "c":
        raise DtypeError(f"{name}: value cannot be converted to type {legacy_name(dtype)} without overflow")
    return factor_of(value, dtype)


def _check_types(input: Any, a: Any, b: Any) -> None:
    """What is added to a product has the type of its factors."""
    if input.dtype == a.dtype == b.dtype:
        return
    names = [legacy_name(each.dtype) for each in (input, a, b)]
    if b.ndim == 1:
        raise DtypeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    if input.dtype != b.dtype and (b.ndim == 2 or a.dtype == b.dtype):
        raise DtypeError(f"self and mat2 must have the same dtype, but got {names[0]} and {names[2]}")
    if b.ndim == 2:
        raise DtypeError(f"mat1 and mat2 must have the same dtype, but got {names[1]} and {names[2]}")
    raise DtypeError(f"expected scalar type {names[1]} but found {names[2]}")


def _added_meta(ndims: tuple[int, int, int]) -> Any:
    """The meta rule of ``beta * input + alpha * (a @ b)`` for operands of given numbers of dimensions."""

    def meta(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Spec:
        if (a.ndim, b.ndim) != ndims[1:]:
            names = {1: "a vector", 2: "a matrix", 3: "a 3D tensor"}
            raise ShapeError(f"expected {names[ndims[1]]} and {names[ndims[2]]} to multiply, got {a.ndim}D and {b.ndim}D tensors")
        if a.ndim == 3 and tuple(a.shape[::2]) != tuple(b.shape[:2]):
            raise ShapeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: {list(b.shape[:2])}."
            )
        _check_types(input, a, b)
        result = matmul_meta(a, b)
        if input.ndim > ndims[0] or broadcast_shapes([input.shape, result.shape]) != result.shape:
            raise ShapeError(f"a tensor of shape {list(input.shape)} can't be expanded to the shape {list(result.shape)} of the product")
        for name, value in (("beta", beta), ("alpha", alpha)):
            _checked_factor(name, value, a.dtype)
        return result

    return meta


def _added_kernel(ndims: tuple[int, int, int]) -> Any:
    meta = _added_meta(ndims)

    def kernel(xp: Any, input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        plain = beta == 1 and alpha == 1 and input.dtype is a.dtype is b.dtype and a.dtype.kind == "f"
        if not plain or a.ndim != ndims[1] or b.ndim != ndims[2] or (a.ndim == 3 and a.shape[0] != b.shape[0]):
            spec = meta(input, a, b, beta, alpha)
            beta, alpha = _checked_factor("beta", beta, a.dtype), _checked_factor("alpha", alpha, a.dtype)
        result = array_product(xp, a, b) if alpha != 0 else xp.zeros(spec.shape, spec.dtype)
        if alpha not in (0, 1):
            result *= alpha
        if beta != 0:  # with beta 0, NaN in the input does not spread
            result += input if beta == 1 else input * beta
        return result

    return kernel


def _times(g: Any, factor: Any) -> Any:
    return g if factor == 1 else g * conjugate(factor)


@primitive(
    meta=_added_meta((2, 2, 2)),
    kernel=_added_kernel((2, 2, 2)),
    vjp={
        "input": lambda g, beta: _times(g, beta),
        "mat1": lambda g, mat1_shape, mat2, alpha: _times(matmul_input_gradient(g, mat1_shape, mat2), alpha),
        "mat2": lambda g, mat1, mat2_shape, alpha: _times(matmul_other_gradient(g, mat1, mat2_shape), alpha),
    },
    in_place=True,
    onnx={9: added_form},
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for matrices."""


@primitive(
    meta=_added_meta((1, 2, 1)),
    kernel=_added_kernel((1, 2, 1)),
    vjp={
        "input": lambda g, beta: _times(g, beta),
        "mat": lambda g, mat_shape, vec, alpha: _times(matmul_input_gradient(g, mat_shape, vec), alpha),
        "vec": lambda g, mat, vec_shape, alpha: _times(matmul_other_gradient(g, mat, vec_shape), alpha),
    },
    in_place=True,
    onnx={9: added_form},
)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector."""


@primitive(
    meta=_added_meta((3, 3, 3)),
    kernel=_added_kernel((3, 3, 3)),
    vjp={
        "input": lambda g, beta: _times(g, beta),
        "batch1": lambda g, batch1_shape, batch2, alpha: _times(matmul_input_gradient(g, batch1_shape, batch2), alpha),
        "batch2": lambda g, batch1, batch2_shape, alpha: _times(matmul_other_gradient(g, batch1, batch2_shape), alpha),
    },
    in_place=True,
    onnx={9: added_form},
)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""


@composite(in_place=True, out=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha *`` the sum over a batch of products of matrices."""
    check_batches(batch1, batch2)
    count, rows, inner_size = batch1._array.shape
    left = batch1.transpose(0, 1).reshape(rows, count * inner_size)
    return addmm(input, left, batch2.reshape(count * inner_size, batch2._array.shape[2]), beta=beta, alpha=alpha)


@composite(in_place=True, out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha *`` the outer product of two vectors."""
    integral = all(tensor._array.dtype.kind in "iub" for tensor in (input, vec1, vec2))
    for name, value in (("beta", beta), ("alpha", alpha)):
        if integral and isinstance(value, (float, complex)):
            raise DtypeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if isinstance(value, complex) and all(tensor._array.dtype.kind != "c" for tensor in (input, vec1, vec2)):
            raise OperationError("value cannot be converted to type float without overflow")
        if isinstance(value, bool) and any(tensor._array.dtype.kind != "b" for tensor in (input, vec1, vec2)):
            raise DtypeError(f"Boolean {name} only supported for Boolean results.")
    common = BY_NUMPY[promoted([each._array for each in (input, vec1, vec2)])]
    input, vec1, vec2 = (each if each.dtype == common else each.to(common) for each in (input, vec1, vec2))
    if common.numpy.kind == "b":
        product = outer(vec1, vec2)
        product = product if alpha else product ^ product
        return product | input if beta else product
    product = outer(vec1 if alpha == 1 else vec1 * alpha, vec2)
    target: Any = input.expand(product._array.shape)
    if beta == 0:
        return product + table["zeros_like"].call(target)
    return product + (target if beta == 1 else target * beta)


# -- layers -------------------------------------------------------------------------------------------------------


def _linear_meta(input: Any, weight: Any, bias: Any) -> Spec:
    if weight.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if not input.ndim or not weight.ndim:
        raise ShapeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D")
    if bias is not None and weight.ndim == 2:
        _check_types(bias, input, weight)
    result = matmul_meta(input, Spec(tuple(weight.shape)[::-1], weight.dtype))
    if bias is None:
        return result
    if weight.ndim == 1:
        raise ShapeError("linear: with a bias the weight must be a matrix, got 1-D tensor")
    if broadcast_shapes([result.shape, bias.shape]) != result.shape:
        raise ShapeError(f"linear: a bias of shape {list(bias.shape)} can't be added to a result of shape {list(result.shape)}")
    return result


def _linear_kernel(xp: Any, input: Any, weight: Any, bias: Any) -> Any:
    if input.dtype != weight.dtype or input.dtype.kind not in "fc" or weight.ndim != 2 or not input.ndim:
        _linear_meta(input, weight, bias)
    if bias is not None and bias.dtype != input.dtype:
        _linear_meta(input, weight, bias)
    if xp is np and bias is not None and PRODUCTS[0] <= input.size * len(weight) < PRODUCTS[1]:
        return _with_bias(np, input, weight, bias)
    result = array_product(xp, input, weight.T)
    if bias is not None:
        result += bias
    return result


@compiled("linear")
def _with_bias(xp: Any, input: Any, weight: Any, bias: Any) -> Any:
    result = array_product(xp, input, weight.T)
    result += bias
    return result


def _linear_input_gradient(g: Any, weight: Any) -> Any:
    made = shortcut("product", g, weight) if sole_accelerator.kind is not None else None
    if made is not None:
        return made
    weight = conjugate(weight)
    return g.unsqueeze(-1) * weight if weight._array.ndim == 1 else matmul(g, weight)


def _linear_weight_gradient(g: Any, input: Any, weight_shape: Any) -> Any:
    made = shortcut("linear_weight_gradient", g, input, weight_shape) if sole_accelerator.kind is not None else None
    if made is not None:
        return made
    if len(input._array.shape) != 2:
        input = input.reshape(math.prod(input._array.shape[:-1]), weight_shape[-1])
        g = g.reshape(input._array.shape[0], *weight_shape[:-1])
    return matmul(g if len(weight_shape) == 1 else g.transpose(0, 1), conjugate(input))


def _linear_bias_gradient(g: Any, bias_shape: Any) -> Any:
    made = shortcut("sum_to", g, bias_shape) if sole_accelerator.kind is not None else None
    return g if made is None else made  # the engine adds up what was broadcast


@primitive(
    meta=_linear_meta,
    kernel=_linear_kernel,
    vjp={
        "input": _linear_input_gradient,
        "weight": _linear_weight_gradient,
        "bias": _linear_bias_gradient,
    },
    namespace="nn.functional",
    out=False,
    onnx={9: linear_form},
)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: a fully connected layer."""


@together.register("linear")
def _linear_gradients(g: Any, input: Any, weight: Any) -> Any:
    return shortcuts("linear_gradients", g, input, weight)


@composite(namespace="nn.functional", aliases=(".bilinear",))
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output k."""
    a, b, w = (tuple(each._array.shape) for each in (input1, input2, weight))
    if len({each._array.dtype for each in (input1, input2, weight, bias) if each is not None}) > 1:
        found = ", ".join(
            f"{name}: {c_name(each._array.dtype)}" for name, each in zip(("input1", "input2", "weight"), (input1, input2, weight))
        )
        raise DtypeError(f"All tensors must have the same dtype, got {found}")
    if a[:-1] != b[:-1]:
        raise ShapeError(f"bilinear(): input batch dimensions do not match: got {list(a[:-1])} and {list(b[:-1])}")
    if len(w) != 3 or a[-1] != w[1] or b[-1] != w[2]:
        raise ShapeError(f"bilinear(): inputs with {a[-1]} and {b[-1]} features do not match a weight of shape {list(w)}")
    if bias is not None and tuple(bias._array.shape) != w[:1]:
        raise ShapeError(f"bilinear(): bias size does not match weight size: got {list(bias._array.shape)} but expected [{w[0]}]")
    half = matmul(input1, weight.permute(1, 0, 2).reshape(w[1], w[0] * w[2])).reshape((*a[:-1], w[0], w[2]))
    result = matmul(half, input2.unsqueeze(-1)).squeeze(-1)
    return result if bias is None else result + bias

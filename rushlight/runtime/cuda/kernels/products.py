"""Products and fully connected layers: half precision goes to cuBLAS unconverted, which accumulates in float32."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....core.dtypes import HALF_PRECISION
from ....core.precision import precision
from ....ops.linalg.matmul import matmul_meta
from .. import gemm
from ..cudnn import TYPES
from ..launch import CudaKernel
from .convolution import add_bias
from .rows import column_kernel, column_sums, lanes_of, strips_of


def matmul(cupy: Any, input: Any, other: Any) -> Any:
    """``input @ other``."""
    made = gemm.product(cupy, input, other)
    if made is not NotImplemented:
        return made
    if input.dtype != other.dtype or input.dtype.kind not in "fc" and input.dtype not in HALF_PRECISION:
        return NotImplemented
    matmul_meta(input, other)
    return gemm.multiplier(cupy)(input, other)


def linear(cupy: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    known = gemm.known_layer(cupy, input, weight, bias)
    if known is not NotImplemented:
        return known
    if weight.ndim != 2 or input.dtype != weight.dtype or input.dtype.kind not in "fc" and input.dtype not in HALF_PRECISION:
        return NotImplemented
    if not input.ndim or input.shape[-1] != weight.shape[1] or bias is not None and bias.dtype != input.dtype:
        return NotImplemented
    plain = bias is not None and bias.ndim == 1 and bias.size == weight.shape[0] and bias.flags.c_contiguous
    if plain:
        made = gemm.layer(cupy, input, weight, bias)
        if made is not NotImplemented:
            return made
    made = gemm.layer(cupy, input, weight)
    if made is NotImplemented:
        made = gemm.multiplier(cupy)(input, weight.T)
    if plain and made.size and made.dtype in TYPES:
        add_bias(cupy, made, bias, 1)
    elif bias is not None:
        cupy.add(made, bias, out=made)
    return made


class _Gradients(NamedTuple):
    """The plan of a layer's gradients: two products and, where one launch sums the columns, its kernel, blocks, threads, rows and columns."""

    of_input: gemm.ProductPlan
    of_weight: gemm.ProductPlan
    sums: tuple[CudaKernel, int, int, int, int] | None


def linear_gradients(cupy: Any, grad: Any, input: Any, weight: Any) -> Any:
    """The gradients of a layer's input, weight and bias, from dense operands of one dtype; else NotImplemented."""
    handle, dtype = gemm.blas(cupy), grad.dtype
    key = (
        grad.shape,
        grad.strides,
        input.shape,
        input.strides,
        weight.shape,
        weight.strides,
        dtype,
        input.dtype,
        weight.dtype,
        precision.allow_tf32,
    )
    plan = handle.gradients.get(key)
    if plan is None:
        if not gemm.real(grad, weight) or not gemm.real(input, weight) or weight.ndim != 2 or not (grad.size and input.size):
            return NotImplemented
        plan = handle.gradients[key] = _planned(cupy, grad, input, weight)
    new, kind = handle.new, handle.array
    of_input, of_weight, of_bias = new(kind), new(kind), new(kind)
    of_input._init(plan.of_input.shape, dtype)
    address = grad.data.ptr
    plan.of_input.run(address, weight.data.ptr, of_input.data.ptr)
    of_weight._init(plan.of_weight.shape, dtype)
    plan.of_weight.run(address, input.data.ptr, of_weight.data.ptr)
    if plan.sums is None:
        return of_input, of_weight, column_sums(cupy, grad, weight.shape[0])[0]
    kernel, blocks, threads, rows, n = plan.sums
    of_bias._init((n,), dtype)
    kernel(blocks, threads, address, 0, of_bias.data.ptr, 0, rows, n, rows, 0, 0, 0)
    return of_input, of_weight, of_bias


def _planned(cupy: Any, grad: Any, input: Any, weight: Any) -> _Gradients:
    outputs = weight.shape[0]
    rows, (strips, _) = grad.size // outputs, strips_of(grad.size // outputs, outputs)
    lanes = lanes_of(rows)
    sums = (column_kernel(cupy, grad.dtype, grad.dtype, lanes), -(-outputs // 32), 32 * lanes, rows, outputs) if strips == 1 else None
    return _Gradients(gemm.plan_input_gradient(cupy, grad, weight), gemm.plan_weight_gradient(cupy, grad, input, weight.shape), sums)


SHORTCUTS: dict[str, Any] = {
    "linear_weight_gradient": gemm.layer_weight_gradient,
    "product": gemm.layer_input_gradient,
    "linear_gradients": linear_gradients,
}
KERNELS: dict[str, Any] = {"matmul": matmul, "linear": linear}
PAIRS: dict[str, Any] = {"matmul": gemm.product}  # plans by layout

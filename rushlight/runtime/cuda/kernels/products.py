"""Products and fully connected layers: half precision goes to cuBLAS as it is, which accumulates in float32."""

from __future__ import annotations

from typing import Any

from ....core.dtypes import HALF_PRECISION
from ....ops.linalg.matmul import matmul_meta
from .. import gemm
from ..cudnn import TYPES
from .convolution import add_bias


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


SHORTCUTS: dict[str, Any] = {"linear_weight_gradient": gemm.layer_weight_gradient, "product": gemm.layer_input_gradient}
KERNELS: dict[str, Any] = {"matmul": matmul, "linear": linear}
PAIRS: dict[str, Any] = {"matmul": gemm.product}  # of calls whose layouts are known

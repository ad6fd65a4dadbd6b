"""PyTorch's private products with weights of few bits, which programs that generate text call by name."""

from __future__ import annotations

from ..ops.quantized import weight_only as ops

_int_mm = ops.int_product
_weight_int8pack_mm = ops.weight_int8_product
_convert_weight_to_int4pack_for_cpu = ops.int4_packed
_weight_int4pack_mm_for_cpu = ops.weight_int4_product

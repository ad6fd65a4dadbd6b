"""Products of matrices of small floating-point numbers with their scales: ``scaled_mm`` and ``scaled_grouped_mm``."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..core.dtypes import BY_NAME
from ..core.errors import NotSupported, OperationError
from .grouped_products import grouped_mm


class ScalingType(IntEnum):
    """Which elements share a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """The memory layout of scales."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


_BLOCKS = {
    ScalingType.BlockWise1x16: (1, 16),
    ScalingType.BlockWise1x32: (1, 32),
    ScalingType.BlockWise1x128: (1, 128),
    ScalingType.BlockWise128x128: (128, 128),
}


def _only(value: Any, what: str) -> Any:
    """The one of a list of one: two levels of scales are refused."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise NotSupported(f"two levels of {what} are not in rushlight: multiply the scales")
        return value[0]
    return value


def _scaled(matrix: Any, scale: Any, recipe: Any, swizzle: Any) -> Any:
    """A matrix (rows by what is summed) as float32, times its scales."""
    scale, recipe = _only(scale, "scales"), ScalingType(_only(recipe, "recipes"))
    if swizzle is not None and _only(swizzle, "orders") != SwizzleType.NO_SWIZZLE:
        raise NotSupported("scales in the order of a GPU's tiles (SWIZZLE_32_4_4) are not in rushlight: pass them by rows")
    wide, scale = matrix.float(), scale.float()
    if recipe == ScalingType.TensorWise:
        return wide * scale
    rows, columns = matrix.shape[-2:]
    if recipe == ScalingType.RowWise:
        return wide * scale.reshape(*matrix.shape[:-2], rows, 1)
    high, broad = _BLOCKS[recipe]
    scale = scale.reshape(*matrix.shape[:-2], -(-rows // high), -(-columns // broad))
    return wide * scale.repeat_interleave(high, -2)[..., :rows, :].repeat_interleave(broad, -1)[..., :columns]


def scaled_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None,
    bias: Any = None, output_dtype: Any = BY_NAME["bfloat16"], contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """The product of two matrices with their scales, summed in float32.

    >>> import rushlight as torch
    >>> a, one = torch.eye(2).to(torch.float8_e4m3fn), torch.tensor(2.0)
    >>> kind = torch.nn.functional.ScalingType.TensorWise
    >>> torch.nn.functional.scaled_mm(a, a.t(), one, kind, one, kind, output_dtype=torch.float32)
    tensor([[4., 0.],
            [0., 4.]])
    """
    if mat_a.dim() != 2 or mat_b.dim() != 2:
        raise OperationError("mat_a and mat_b must be matrices")
    made = _scaled(mat_a, scale_a, scale_recipe_a, swizzle_a) @ _scaled(mat_b.t(), scale_b, scale_recipe_b, swizzle_b).t()
    made = made if bias is None else made + bias.float()
    return made.to(output_dtype or mat_a.dtype)


def scaled_grouped_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None,
    bias: Any = None, offs: Any = None, output_dtype: Any = BY_NAME["bfloat16"], contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """Products of groups of matrices with their scales, summed in float32: see :func:`grouped_mm`."""
    left = _scaled(mat_a, scale_a, scale_recipe_a, swizzle_a)
    right = _scaled(mat_b.transpose(-2, -1), scale_b, scale_recipe_b, swizzle_b).transpose(-2, -1)
    return grouped_mm(left, right, offs=offs, bias=bias).to(output_dtype or mat_a.dtype)

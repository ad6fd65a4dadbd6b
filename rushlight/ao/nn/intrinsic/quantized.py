"""Fused modules on quantized tensors."""

from __future__ import annotations

from ..quantized import dynamic
from ..quantized.conv import ConvReLU1d, ConvReLU2d, ConvReLU3d
from ..quantized.layers import BNReLU2d, BNReLU3d
from ..quantized.linear import LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU", "dynamic"]

"""Modules on quantized tensors."""

from __future__ import annotations

from ....core.missing import missing
from . import functional
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .layers import (
    ELU,
    BatchNorm2d,
    BatchNorm3d,
    Dropout,
    Embedding,
    GroupNorm,
    Hardswish,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LeakyReLU,
    PReLU,
    ReLU6,
    Sigmoid,
    Softmax,
)
from .linear import Linear
from .modules import DeQuantize, Quantize

__getattr__ = missing(__name__, lazy=("dynamic",))
__all__ = [
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize",
    "Dropout", "ELU", "Embedding", "FXFloatFunctional", "FloatFunctional", "GroupNorm", "Hardswish", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU", "QFunctional", "Quantize", "ReLU6", "Sigmoid",
    "Softmax", "functional",
]  # fmt: skip

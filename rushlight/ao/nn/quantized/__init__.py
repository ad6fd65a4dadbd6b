"""Modules on quantized tensors."""

from __future__ import annotations

import importlib
from typing import Any

from ....core.missing import missing
from ....nn.modules.pooling import MaxPool2d as MaxPool2d
from . import functional
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .layers import (
    ELU,
    BatchNorm2d,
    BatchNorm3d,
    Dropout,
    Embedding,
    EmbeddingBag,
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
from .linear import LinearPackedParams as LinearPackedParams
from .modules import DeQuantize, Quantize

_missing = missing(__name__, lazy=("dynamic",))


def __getattr__(name: str) -> Any:
    if name in ("LSTM", "MultiheadAttention"):  # which are made of observed ones, and those of modules that are here
        return getattr(importlib.import_module("..quantizable", __name__), f"Quantized{name}")
    return _missing(name)


__all__ = [
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize",
    "Dropout", "ELU", "Embedding", "EmbeddingBag", "FXFloatFunctional", "FloatFunctional", "GroupNorm", "Hardswish", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU", "QFunctional", "Quantize", "ReLU6", "Sigmoid",
    "Softmax", "functional",
]  # fmt: skip

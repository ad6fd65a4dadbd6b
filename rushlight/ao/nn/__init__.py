"""Modules for quantization: fused, quantized, and trained for it."""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(__name__, lazy=("intrinsic", "qat", "quantizable", "quantized"))

"""Architecture optimization: quantization, and the modules that it puts in the place of others."""

from __future__ import annotations

from ..core.missing import missing

__getattr__ = missing(__name__, lazy=("nn", "quantization"))

"""PyTorch's place of the table of decompositions that ``default_decompositions`` gives."""

from __future__ import annotations

from .decomposition import CustomDecompTable

__all__ = ["CustomDecompTable"]

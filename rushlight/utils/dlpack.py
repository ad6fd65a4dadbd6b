"""DLPack: exchange of tensors with other libraries without copying."""

from __future__ import annotations

from ..tensor.construct import from_dlpack
from ..tensor.interop import to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]

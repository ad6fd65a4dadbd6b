"""`torch._custom_ops`: the names of `torch.library` before it had them."""

from __future__ import annotations

from ..core.missing import missing
from ..library import get_ctx

__getattr__ = missing("rushlight._custom_ops")

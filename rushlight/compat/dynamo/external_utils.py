"""`torch._dynamo.external_utils`: whether a program is being captured."""

from __future__ import annotations

from ...compiler import is_compiling
from ...core.missing import missing

__getattr__ = missing("rushlight._dynamo.external_utils")
__all__ = ["is_compiling"]

"""Errors of reading a program that is scripted, by PyTorch's names."""

from __future__ import annotations

from ..capture.script.frontend.errors import FrontendError, NotSupportedError
from ..core.missing import missing

UnsupportedNodeError = NotSupportedError
__getattr__ = missing(__name__)

__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError"]

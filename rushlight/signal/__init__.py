"""Signal processing: window functions."""

from __future__ import annotations

from ..core.missing import missing
from . import windows

__getattr__ = missing(__name__)
__all__ = ["windows"]

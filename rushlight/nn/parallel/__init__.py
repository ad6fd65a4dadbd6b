"""Models on several devices."""

from __future__ import annotations

from ...core.missing import missing
from .data_parallel import DataParallel, data_parallel

__getattr__ = missing(__name__)
__all__ = ["DataParallel", "data_parallel"]

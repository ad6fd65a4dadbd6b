"""Models on several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import missing
from .data_parallel import DataParallel, data_parallel

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = ["DataParallel", "data_parallel"]

"""What failed where in a checkpoint, under the module in which libraries look for it."""

from __future__ import annotations

from ...core.missing import missing
from .api import CheckpointException

__getattr__ = missing(__name__)
__all__ = ["CheckpointException"]

"""`torch._higher_order_ops.map`: a function of each row."""

from __future__ import annotations

from ...capture.control.scans import map

__all__ = ["map"]

"""`torch._higher_order_ops.scan`: a function along the rows of tensors."""

from __future__ import annotations

from ...capture.control.scans import scan

__all__ = ["scan"]

"""`torch._higher_order_ops.cond`."""

from __future__ import annotations

from ...capture.control.operators import cond

__all__ = ["cond"]

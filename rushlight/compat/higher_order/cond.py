"""`torch._higher_order_ops.cond`."""

from __future__ import annotations

from ...capture.control.operators import cond
from ...export import higher_order

__all__ = ["cond", "cond_op"]

cond_op = higher_order.packet("higher_order", "cond")

"""`torch._higher_order_ops.wrap`."""

from __future__ import annotations

from ...core.missing import missing
from ...export import higher_order

__all__ = ["wrap", "wrap_with_autocast", "wrap_with_set_grad_enabled"]

wrap = higher_order.operator_of("wrap")
wrap_with_set_grad_enabled = higher_order.operator_of("wrap_with_set_grad_enabled")
wrap_with_autocast = higher_order.operator_of("wrap_with_autocast")

__getattr__ = missing("rushlight._higher_order_ops.wrap")

"""`torch._higher_order_ops`: operators that take functions."""

from __future__ import annotations

from ...compiler import cond, while_loop
from ...core.missing import missing
from .associative_scan import associative_scan

__getattr__ = missing("rushlight._higher_order_ops")

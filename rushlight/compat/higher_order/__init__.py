"""`torch._higher_order_ops`: operators that take functions."""

from __future__ import annotations

from ...core.missing import missing
from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .out_dtype import out_dtype
from .scan import scan
from .while_loop import while_loop

__getattr__ = missing("rushlight._higher_order_ops")

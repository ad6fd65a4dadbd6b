"""`torch._custom_op`: the deprecated API for custom ops that `torch.library.custom_op` has replaced, over the same definitions.

In: an op's name with a function or schema, then implementations by kind of device.  Out: ops of `torch.library`.  Read `impl.py` first.
"""

from __future__ import annotations

from ...core.missing import missing
from . import gradient as autograd
from . import impl

__all__ = ["autograd", "impl"]
__getattr__ = missing("rushlight._custom_op")

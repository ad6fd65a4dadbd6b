"""The older name of :mod:`rushlight.ao.nn.intrinsic`."""

from __future__ import annotations

from ...ao.nn.intrinsic import *
from ...ao.nn.intrinsic import qat, quantized

__all__ = ["qat", "quantized"]

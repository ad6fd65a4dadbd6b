"""The older name of :mod:`rushlight.ao.nn.intrinsic`."""

from __future__ import annotations

from ...ao.nn.intrinsic import *  # noqa: F403
from ...ao.nn.intrinsic import qat, quantized

__all__ = ["qat", "quantized"]

"""The older name of :mod:`rushlight.ao.nn.quantized`."""

from __future__ import annotations

from ...ao.nn.quantized import *
from ...ao.nn.quantized import dynamic, functional

__all__ = ["dynamic", "functional"]

"""`torch._export`: what libraries import from the inside of PyTorch's exporter."""

from ...core.missing import missing
from . import wrappers

__all__ = ["wrappers"]
__getattr__ = missing("rushlight._export")

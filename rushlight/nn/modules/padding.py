"""Padding layers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module
from .utils import _ntuple, _pair, _quadruple

_sextuple = _ntuple(6, "_sextuple")


class _PadNd(Module):
    """Padding by a given number of elements on each side, from the last dimension to the first."""

    __constants__ = ["padding"]
    mode = "constant"
    padding: Any
    _sizes: Any  # a number, or one for each side, as a tuple

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = self._sizes(padding)

    def forward(self, input: Any) -> Any:
        """The input with a border."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The sizes of the border."""
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        dimensions = len(self.padding) // 2 + 1
        if input.dim() not in (dimensions, dimensions + 1):
            raise ValueError(f"expected {dimensions}D or {dimensions + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        """The input continued from its other end."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, self.mode)


class CircularPad1d(_CircularPadNd):
    """Continue signals from their other end."""

    _sizes = staticmethod(_pair)


class CircularPad2d(_CircularPadNd):
    """Continue images from their other side."""

    _sizes = staticmethod(_quadruple)


class CircularPad3d(_CircularPadNd):
    """Continue volumes from their other side."""

    _sizes = staticmethod(_sextuple)


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """The input with a border of one value."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The sizes of the border, and its value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Put a value before and after signals."""

    _sizes = staticmethod(_pair)


class ConstantPad2d(_ConstantPadNd):
    """Put a border of one value around images."""

    _sizes = staticmethod(_quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Put a border of one value around volumes."""

    _sizes = staticmethod(_sextuple)


class ZeroPad1d(ConstantPad1d):
    """Put zeros before and after signals."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad2d(ConstantPad2d):
    """Put a border of zeros around images."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad3d(ConstantPad3d):
    """Put a border of zeros around volumes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror signals at their ends."""

    _sizes = staticmethod(_pair)


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror images at their edges."""

    _sizes = staticmethod(_quadruple)


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror volumes at their faces."""

    _sizes = staticmethod(_sextuple)


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the ends of signals."""

    _sizes = staticmethod(_pair)


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges of images."""

    _sizes = staticmethod(_quadruple)


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the faces of volumes."""

    _sizes = staticmethod(_sextuple)


__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]  # fmt: skip

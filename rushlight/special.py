"""Special functions.  The functions are those of the op table."""

from __future__ import annotations

from . import ops
from .core.declare import public
from .core.missing import missing

globals().update(public("special"))
__getattr__ = missing(__name__)
__all__ = sorted(public("special"))
del ops

"""Window functions.  They are those of the op table."""

from __future__ import annotations

from .. import ops
from ..core.declare import public
from ..core.missing import missing

globals().update(public("signal.windows"))
__getattr__ = missing(__name__)
__all__ = sorted(public("signal.windows"))
del ops

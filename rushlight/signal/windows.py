"""Window functions.  They are those of the op table."""

from __future__ import annotations

from .. import ops
from ..core.declare import public_names
from ..core.missing import listing, missing

__getattr__ = missing(__name__, namespace="signal.windows")
__all__ = sorted(public_names("signal.windows"))
__dir__ = listing(__name__, names=__all__)
del ops

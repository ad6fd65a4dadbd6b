"""Linear algebra.  The functions are those of the op table."""

from __future__ import annotations

from . import ops
from .core.declare import public
from .core.errors import LinAlgError as LinAlgError
from .core.missing import missing

globals().update(public("linalg"))
__getattr__ = missing(__name__)
__all__ = sorted(["LinAlgError", *public("linalg")])
del ops

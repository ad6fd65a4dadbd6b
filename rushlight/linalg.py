"""Linear algebra.  The functions are those of the op table."""

from __future__ import annotations

from . import ops
from .core.declare import public_names
from .core.errors import LinAlgError as LinAlgError
from .core.missing import listing, missing

__getattr__ = missing(__name__, namespace="linalg")
__all__ = sorted(["LinAlgError", *public_names("linalg")])
__dir__ = listing(__name__, names=__all__)
del ops

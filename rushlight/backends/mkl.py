"""Intel's MKL: here where NumPy was built with it."""

from __future__ import annotations

from ..core.missing import missing
from .cpu import blas


def is_available() -> bool:
    """Whether NumPy's matrix products are those of MKL."""
    return "mkl" in blas()[0].lower()


__getattr__ = missing(__name__)

"""The error handler of this process."""

from __future__ import annotations

from .error_handler import ErrorHandler

__all__ = ["get_error_handler"]


def get_error_handler() -> ErrorHandler:
    """What writes errors."""
    return ErrorHandler()

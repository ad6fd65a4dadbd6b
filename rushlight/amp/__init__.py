"""Automatic mixed precision: ops in types chosen for them (``autocast``), and scaled losses (``GradScaler``).

In: calls of ops, and losses.  Out: the same ops in the dtype of their ``autocast`` facet (``autocast_classes.py``), and gradients that do not underflow.  Read
``autocast_mode.py`` first.
"""

from __future__ import annotations

from . import autocast_mode, grad_scaler
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available"]

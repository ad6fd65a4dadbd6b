"""Hooks on the exchange of gradients in ``DistributedDataParallel``."""

from __future__ import annotations

from ....core.missing import missing
from . import default_hooks

__getattr__ = missing(__name__, lazy=("powerSGD_hook", "post_localSGD_hook"))

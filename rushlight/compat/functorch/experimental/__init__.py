"""`functorch.experimental`: what has a place in `torch.func` now, and control flow."""

from __future__ import annotations

from ....core.missing import missing
from ....func import hessian, jacfwd, jvp, vmap
from ...higher_order.associative_scan import associative_scan
from . import control_flow

__getattr__ = missing("rushlight.functorch.experimental")

"""Functions that models are made of.  They are those of the op table, and their files are loaded when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from .. import ops
from ..core.declare import public_names, table
from ..core.missing import listing, missing
from .grouped_products import grouped_mm as grouped_mm

# In-place activations of `torch` that PyTorch has here, too.
_IN_PLACE = {f"{name}_" for name in "celu elu hardtanh leaky_relu relu selu threshold".split()}
_SCALED = ("ScalingType", "SwizzleType", "scaled_grouped_mm", "scaled_mm")
__all__ = sorted({*_IN_PLACE, *public_names("nn.functional"), "grouped_mm", *_SCALED})
_find = missing(__name__, namespace="nn.functional")


def __getattr__(name: str) -> Any:
    if name in _IN_PLACE:
        return globals().setdefault(name, table[name].call)
    if name in _SCALED:
        return globals().setdefault(name, getattr(importlib.import_module(f"{__package__}.scaled_products"), name))
    return _find(name)


__dir__ = listing(__name__, names=__all__)
del ops

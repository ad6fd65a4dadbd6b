"""Engines of quantized layers.

The kernels here sum products of integers exactly and round once.  That is what FBGEMM's, x86's and QNNPACK's mean, up to one
quantum, and so all three names are taken.  An engine chooses nothing in the kernels: they never overflow.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..core.errors import OperationError
from ..core.missing import missing

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
engine = "x86"


class _QuantizedModule(ModuleType):
    """Refuses engines that are not here."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "engine" and value not in supported_engines:
            raise OperationError(f"quantized engine {value} is not supported: there are {', '.join(supported_engines)}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _QuantizedModule
__getattr__ = missing(__name__)

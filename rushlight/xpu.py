"""Intel GPUs: none can be used.  The answers are those of a PyTorch for the CPU alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.missing import missing as _missing
from .no_accelerator import fill as _fill

_fill(globals(), "XPU")

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = _missing(__name__)

"""Back-ends of ``compile``, and the switches of PyTorch's libraries by the names under which programs set and ask them.

In: a captured graph.  Out: an executable.  Read ``protocol.py`` first (what ``compile`` asks of a back-end), then ``registry.py``, ``aot.py``
(differentiated ahead of time) and ``native/`` (machine code).

None of PyTorch's libraries is here, and each says so.  Their settings are accepted, checked and remembered; they have no effect.

>>> import rushlight
>>> rushlight.backends.cudnn.benchmark = True
>>> rushlight.backends.cudnn.is_available()
False
"""

from __future__ import annotations

import sys

from ..core.missing import missing
from .flags import FlagModule, frozen, thawed

fp32_precision = "none"


def flags_frozen() -> bool:
    """Whether settings can be changed only within ``flags(...)``."""
    return frozen.on


def disable_global_flags() -> None:
    """From now on settings are changed only within ``with backends.cudnn.flags(...)``."""
    frozen.on = True


__allow_nonbracketed_mutation = thawed


sys.modules[__name__].__class__ = FlagModule
__getattr__ = missing(
    __name__,
    lazy=("cpu", "cuda", "cudnn", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized", "xnnpack"),
)

"""The op table: every op declared once, in folders by family.

In: nothing but ``core``.  Out: ops in ``core.declare.table``, public functions and methods.  A file is imported when one of its names is
first used; ``manifest.py``, written by ``document.py`` (as is docs/ops.md), says which file declares which.  Read ``pointwise/unary.py``
first for declarations, ``core/declare.py`` for what they can say.
"""

from __future__ import annotations

from ..core.declare import expect
from ..core.missing import missing
from .manifest import FILES

expect(__name__, FILES)
__getattr__ = missing(__name__, lazy={name.partition(".")[0] for name in FILES})  # `torch.ops.quantized` is a module of its own

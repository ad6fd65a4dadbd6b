"""The op table: a file for each family.  A file is loaded when an op of it is first asked for (``manifest`` knows where each one is)."""

from __future__ import annotations

from ..core.declare import expect
from ..core.missing import missing
from .manifest import FILES

expect(__name__, FILES)
__getattr__ = missing(__name__, lazy={name.partition(".")[0] for name in FILES})  # `torch.ops.quantized` is a module of its own

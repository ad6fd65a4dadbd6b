"""Functions that models are made of.  They are those of the op table."""

from __future__ import annotations

from .. import ops
from ..core.declare import public, table
from ..core.missing import missing

globals().update(public("nn.functional"))
# Activations that overwrite their input: of `torch` here too.
globals().update({f"{name}_": table[f"{name}_"].call for name in "celu elu hardtanh leaky_relu relu selu threshold".split()})
__getattr__ = missing(__name__)
__all__ = sorted(name for name, value in globals().items() if hasattr(value, "op"))
del ops

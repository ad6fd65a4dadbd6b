"""Names of ``torch.cuda`` in the module where PyTorch has them."""

from __future__ import annotations

from .. import cuda
from ..core.missing import missing

globals().update({name: getattr(cuda, name) for name in "Stream Event ExternalStream".split()})
__getattr__ = missing(__name__)

"""`torch._library`: the parts of `torch.library` by the names under which PyTorch's own files find them.

In: names of ops, schemas.  Out: overloads, and what was registered about them.  Read `utils.py` first.
"""

from __future__ import annotations

from ...core.missing import missing
from ...library import infer as infer_schema
from ...library import triton_op, wrap_triton
from . import simple_registry, utils

__all__ = ["infer_schema", "simple_registry", "triton_op", "utils", "wrap_triton"]
__getattr__ = missing("rushlight._library")

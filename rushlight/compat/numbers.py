"""Private functions of `torch` that libraries call."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import BY_NAME
from ..tensor.construct import tensor


def _shape_as_tensor(self: Any) -> Any:
    """The sizes of a tensor as a tensor."""
    return tensor(list(self.shape), dtype=BY_NAME["int64"])

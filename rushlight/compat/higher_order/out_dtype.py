"""`torch._higher_order_ops.out_dtype`: an operator whose result has a wider type than its inputs."""

from __future__ import annotations

from typing import Any

from ...core.dtypes import dtype, promote_types
from ...tensor import Tensor


def out_dtype(op: Any, output_dtype: dtype, *args: Any) -> Any:
    """The operator on inputs that were made wide enough for its result: a product of 8-bit numbers, say, with sums of 32 bits."""
    wide = [each.to(promote_types(each.dtype, output_dtype)) if isinstance(each, Tensor) else each for each in args]
    return op(*wide).to(output_dtype)


__all__ = ["out_dtype"]

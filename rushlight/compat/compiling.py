"""Private helpers of `torch` and `torch.amp.autocast_mode` that libraries decorate functions with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler import disable
from ..tensor import Tensor
from .pytree import tree_map


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """A function that is never captured; also a decorator."""
    return (lambda function: disable(function, recursive)) if fn is None else disable(fn, recursive)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """The floating-point tensors of a kind of device in a tree, in another type; float64 stays."""

    def cast(each: Any) -> Any:
        if not isinstance(each, Tensor) or not each.is_floating_point() or each.device.type != device_type or each.element_size() == 8:
            return each
        return each.to(dtype)

    return tree_map(cast, value)

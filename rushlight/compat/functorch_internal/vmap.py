"""`torch._functorch.vmap`: helpers of ``vmap``."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from ...core.missing import absent_function
from ...func import vmap
from ...func.vectorize import STEPS, replaced
from ...tensor import Tensor
from ..c_names._functorch import _add_batch_dim, _remove_batch_dim
from ..pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

_WHY = "vmap runs on the op table: containers of tensors are registered with torch.utils._pytree"
_create_batched_inputs = absent_function("_create_batched_inputs", "rushlight._functorch.vmap", _WHY)
_process_batched_inputs = absent_function("_process_batched_inputs", "rushlight._functorch.vmap", _WHY)
_unwrap_batched = absent_function("_unwrap_batched", "rushlight._functorch.vmap", _WHY)


def _get_name(func: Callable[..., Any]) -> str:
    """The name of a function, for messages."""
    return (
        func.__name__
        if hasattr(func, "__name__")
        else f"functools.partial({_get_name(func.func)}, ...)"
        if isinstance(func, functools.partial)
        else repr(func)
    )


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    """The whole batch of a result; None says that it has none."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set out_dims= to "
            "None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


class _Steps(types.ModuleType):
    """A module in which a library can put its own steps of ``vmap``, as tensordict does for containers with a batch size."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in STEPS:
            replaced[name] = value


sys.modules[__name__].__class__ = _Steps

__all__ = [
    "Tensor",
    "_add_batch_dim",
    "_broadcast_to_and_flatten",
    "_get_name",
    "_maybe_remove_batch_dim",
    "tree_flatten",
    "tree_unflatten",
    "vmap",
]

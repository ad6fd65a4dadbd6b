"""`torch._vmap_internals`: the older `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..func import vmap
from .functorch_internal.vmap import _add_batch_dim, _broadcast_to_and_flatten, _get_name, _remove_batch_dim


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """Map a function over a dimension of its inputs."""
    return vmap(func, in_dims, out_dims)


__all__ = ["_add_batch_dim", "_broadcast_to_and_flatten", "_get_name", "_remove_batch_dim", "vmap"]

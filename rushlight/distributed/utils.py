"""Helpers of data-parallel modules."""

from __future__ import annotations

from typing import Any

from ..core.missing import missing
from .groups import member

__getattr__ = missing(__name__)


def _verify_param_shape_across_processes(process_group: Any, tensors: Any, logger: Any = None) -> None:
    """All processes have the same shapes: there is one."""
    member(process_group)


def _sync_module_states(
    module: Any, process_group: Any, broadcast_bucket_size: int, src: int, params_and_buffers_to_ignore: Any, broadcast_buffers: bool = True
) -> None:
    """Give all processes the parameters of one: there is one."""
    member(process_group)

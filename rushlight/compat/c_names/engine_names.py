"""Names of `torch._C` that ask the autograd engine where it is.

The engine keeps no record of it, which would cost every step: what runs is found in the frames of its calls.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ...autograd.engine import run_backward

_CODE = run_backward.__code__


def _running() -> FrameType | None:
    """The innermost call of the engine, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _CODE:
        frame = frame.f_back
    return frame


def _current_autograd_node() -> Any:
    """The node whose backward runs now, or None."""
    frame = _running()
    return None if frame is None else frame.f_locals.get("current")


def _current_graph_task_id() -> int:
    """A number that backward passes which run at the same time do not share; -1 where none runs."""
    frame = _running()
    return -1 if frame is None else id(frame.f_locals["pending"])


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the backward pass that runs will come to a node: to all that are on the way to what it was asked for."""
    frame = _running()
    if frame is None:
        raise RuntimeError(
            "_get_graph_task_execution_order or _will_engine_execute_node can only be called during a backward pass. Use Node.next_functions to walk the graph otherwise"
        )
    wanted = frame.f_locals["wanted"]
    return True if wanted is None else node in wanted.useful

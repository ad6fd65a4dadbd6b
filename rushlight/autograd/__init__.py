"""Automatic differentiation: ``backward``, ``grad``, custom Functions, grad modes, forward mode.

In: the graph of nodes that calls of ops record (``core/node.py``).  Out: gradients in ``.grad``, or returned by ``grad``.  Read
``engine.py`` first, then ``function.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..core.base import TensorBase
from ..core.missing import missing
from . import forward_ad, function, grad_mode, graph
from .anomaly_mode import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .differentiation import backward, grad
from .engine import queue_callback
from .function import Function
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled  # fmt: skip
from .gradcheck import gradcheck, gradgradcheck

__getattr__ = missing(__name__, lazy=("functional", "profiler", "profiler_util"))

WITHOUT_EFFECT = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class set_multithreading_enabled:
    """Whether backward passes use several threads: kept, they run in the thread that calls; a context, too."""

    _enabled = True

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = set_multithreading_enabled._enabled, mode
        set_multithreading_enabled._enabled = mode

    def __enter__(self) -> None:
        """It is set already."""

    def __exit__(self, *exception: Any) -> None:
        set_multithreading_enabled._enabled = self.prev


def is_multithreading_enabled() -> bool:
    """What :class:`set_multithreading_enabled` was last set to."""
    return set_multithreading_enabled._enabled


def is_view_replay_enabled() -> bool:
    """What :class:`_force_original_view_tracking` was last set to."""
    return _force_original_view_tracking._enabled


class _force_original_view_tracking:
    """Whether a view whose base was written to is made again by the functions that made it; a context, too.

    That is how it is always done here, and PyTorch without it takes the place of some of them by ``as_strided``: gradients are the same.
    """

    _enabled = False

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = _force_original_view_tracking._enabled, mode
        _force_original_view_tracking._enabled = mode

    def __enter__(self) -> None:
        """It is set already."""

    def __exit__(self, *exception: Any) -> None:
        _force_original_view_tracking._enabled = self.prev


class _VariableType(type):
    """Makes every tensor an instance of ``Variable``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase)


class _ExecutionEngine:
    """The engine under the name by which old code finds it."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_VariableType):
    """Kept for old code: a leaf that shares the memory of a tensor."""

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False, _grad_fn: None = None, name: str | None = None) -> Any:
        """A new tensor, apart from the history of ``data``; ``volatile`` and ``name`` say nothing any more."""
        if volatile:
            warnings.warn(WITHOUT_EFFECT, stacklevel=2)
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip

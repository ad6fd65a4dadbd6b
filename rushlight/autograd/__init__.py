"""Automatic differentiation: ``backward``, ``grad``, custom Functions, grad modes, forward mode.

In: the graph of nodes that calls of ops record (``core/node.py``).  Out: gradients in ``.grad``, or returned by ``grad``.  Read
``engine.py`` first, then ``function.py``.
"""

from __future__ import annotations

from typing import Any

from . import forward_ad, function, functional, grad_mode, graph
from .anomaly_mode import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .differentiation import backward, grad
from .function import Function
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled  # fmt: skip
from .gradcheck import gradcheck, gradgradcheck


def Variable(data: Any, requires_grad: bool = False) -> Any:
    """Kept for old code: a tensor is its own variable."""
    return data.requires_grad_(requires_grad)


__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip

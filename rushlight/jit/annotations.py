"""Annotations of scripted functions: PyTorch's names for the types of a function's parameters and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035  (programs import them from here)

from ..capture.script import annotate
from ..capture.script.frontend.types import Broadcasting
from ..capture.trace.fork import Future
from ..core.missing import missing
from ..tensor import Tensor

Module = type(inspect)
BroadcastingList1, BroadcastingList2, BroadcastingList3 = Broadcasting(1), Broadcasting(2), Broadcasting(3)

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "Future", "List", "NamedTuple", "Optional",
           "Tensor", "Tuple", "Union", "annotate", "get_signature", "is_function_or_method"]  # fmt: skip


def is_function_or_method(the_callable: Callable[..., Any]) -> bool:
    """Whether a callable is a Python function or method."""
    return inspect.isfunction(the_callable) or inspect.ismethod(the_callable)


def get_signature(fn: Callable[..., Any]) -> inspect.Signature:
    """The parameters and the result of a function, as it annotates them."""
    return inspect.signature(fn)


__getattr__ = missing(__name__)

"""`torch._refs`: PyTorch's reference implementations by name; here an op's declaration is its reference, so each is the function itself.

A name that is a method alone (``view``, ``to``, ``new_full``) is the method as a function; others are functional forms of ``torch.ops.aten``.
"""

from __future__ import annotations

from typing import Any

import rushlight

from ...core.missing import missing
from ...ops.overloads import namespace
from ...tensor import Tensor
from . import _conversions

__all__ = ["_conversions"]

_absent = missing("rushlight._refs")


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and callable(found := getattr(rushlight, name, None)) and not isinstance(found, type):
        return found
    method = None if name.startswith("_") else getattr(Tensor, name, None)
    if isinstance(method, property):
        return method.fget
    if method is not None:
        return method
    return getattr(namespace("aten"), name) if name in _FUNCTIONAL else _absent(name)


_FUNCTIONAL = frozenset("alias cauchy exponential geometric log_normal zero".split())


def prod(a: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dimension, several, or all."""
    dims = (dim,) if isinstance(dim, int) else dim or range(a.ndim)
    for each in sorted((each % max(a.ndim, 1) for each in dims), reverse=True) or [0]:
        a = a.prod(each, keepdim, dtype=dtype)
    return a

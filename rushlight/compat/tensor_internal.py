"""`torch._tensor`: the class Tensor where PyTorch has it."""

from __future__ import annotations

from typing import Any

from ..core.missing import missing
from ..serialization.rebuild import rebuild_from_type_v2 as _rebuild_from_type_v2
from ..tensor import Tensor

__getattr__ = missing("rushlight._tensor")


def _convert(ret: Any, cls: type) -> Any:
    """A result as a subclass of Tensor; containers with it."""
    if cls is Tensor:
        return ret
    if isinstance(ret, Tensor) and not isinstance(ret, cls):
        return ret.as_subclass(cls)
    if isinstance(ret, (tuple, list)):
        return type(ret)(_convert(each, cls) for each in ret)
    return ret

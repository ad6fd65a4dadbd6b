"""`torch._C._nn`: functions of `nn.functional` by their compiled names."""

from __future__ import annotations

from typing import Any

from ...core.devices import as_device, device
from ...core.dtypes import dtype
from ...core.missing import missing
from ...nn import functional
from ...ops.overloads import namespace
from ...tensor import Tensor
from ...tensor.layout import memory_format as memory_format_class
from ..utils_internal import _flatten_dense_tensors as flatten_dense_tensors
from ..utils_internal import _unflatten_dense_tensors as unflatten_dense_tensors

__all__ = ["_parse_to", "flatten_dense_tensors", "unflatten_dense_tensors"]
_absent = missing("rushlight._C._nn")


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``Tensor.to``: device, dtype, non_blocking, memory_format."""
    place, kind, blocking = kwargs.get("device"), kwargs.get("dtype"), bool(kwargs.get("non_blocking", False))
    order = kwargs.get("memory_format")
    rest: list[Any] = list(args)
    if rest and isinstance(rest[0], Tensor):
        found = rest.pop(0)
        place, kind = found.device, found.dtype
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, device))) and not isinstance(rest[0], bool):
        place, *rest = rest
        if rest and (rest[0] is None or isinstance(rest[0], dtype)):
            kind, *rest = rest
    elif rest and isinstance(rest[0], dtype):
        kind = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        blocking = rest.pop(0)
    if rest and not isinstance(rest[0], (bool, memory_format_class)):
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(type(each).__name__ for each in args)})")
    return (None if place is None else as_device(place)), kind, blocking, order


def __getattr__(name: str) -> Any:
    for place in (functional, namespace("aten")):
        if not name.startswith("__") and hasattr(place, name):
            return getattr(place, name)
    return _absent(name)

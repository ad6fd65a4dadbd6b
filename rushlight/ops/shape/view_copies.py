"""The views as copies: ``permute_copy`` is ``permute`` into new memory, and so on for every view op."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import Op, composite, primitive, table
from .split import split
from .striding import as_strided
from .views import view

VIEWS = (
    "alias", "detach", "diagonal", "expand", "permute", "select", "slice", "split_with_sizes", "squeeze", "t",
    "transpose", "unbind", "unfold", "unsqueeze",
)  # fmt: skip


def _declare_copy(op: Op) -> None:
    """Declare ``<view>_copy``: signature, checks and gradient are the view's."""

    def meta(*values: Any) -> Any:
        found = op.meta(op, values)
        if op.returns is not None:
            return [Spec(each.shape, each.dtype) for each in found]
        return Spec(found.shape, found.dtype)

    def kernel(xp: Any, *values: Any) -> Any:
        found = op.kernel(xp, *values)  # type: ignore[operator]
        if op.returns is not None:
            return [xp.array(each, order="C", copy=True) for each in found]
        return xp.array(found, order="C", copy=True)

    original: Any = op.call.__wrapped__  # type: ignore[attr-defined]
    signature = FunctionType(original.__code__, globals(), original.__name__, original.__defaults__)
    signature.__annotations__, signature.__kwdefaults__ = original.__annotations__, original.__kwdefaults__
    signature.__doc__ = f"{original.__doc__.strip()}  A copy, not a view."
    primitive(
        name=f"{op.name}_copy", meta=meta, kernel=kernel, vjp=op.vjp, returns=op.returns,
        namespace="", method=False, exact=True, out=op.returns is None, node_name=f"{op.node_name}_copy",
        onnx=op.onnx,
    )(signature)  # fmt: skip


for _name in VIEWS:
    _declare_copy(table[_name])


@composite(method=False)
def view_copy(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """A copy in another shape, or (given a dtype) of the bytes read as another type."""
    if dtype is None and not (len(size) == 1 and not isinstance(size[0], (int, tuple, list))):
        return (input.reshape(*size) if size else view(input, *size)).clone()
    return view(input, *size, dtype=dtype).clone()


@composite(method=False)
def as_strided_copy(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy of a view by size, strides and offset."""
    return as_strided(input, size, stride, storage_offset).clone().contiguous()


@composite(method=False)
def split_copy(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """Parts of one size along a dimension (the last may be smaller), copied."""
    return tuple(each.clone() for each in split(input, split_size, dim))

"""`torch._library.utils`: questions about schemas and overloads."""

from __future__ import annotations

from typing import Any

from ...core.missing import missing
from ...core.schema import parse_schema
from ...library.registration import is_functional, parse_namespace
from ...ops.overloads import OpOverload, find_overload
from ..tag import Tag

__all__ = [
    "get_layout_constraint_tag", "has_kwarg_only_args", "has_kwarg_only_tensors", "is_builtin", "is_functional_schema", "is_tensor_like_type",
    "is_tensorlist_like_type", "lookup_op", "parse_namespace",
]  # fmt: skip
__getattr__ = missing("rushlight._library.utils")

_LAYOUTS = (Tag.needs_exact_strides, Tag.needs_contiguous_strides, Tag.needs_fixed_stride_order, Tag.flexible_layout)  # the strictest first


def lookup_op(qualname: str) -> OpOverload:
    """The overload of ``"mylib::scale"`` or ``"mylib::scale.Tensor"``."""
    space, name = parse_namespace(qualname)
    base, _, overload = name.partition(".")
    return find_overload(space, base, overload or "default")


def is_builtin(op: OpOverload) -> bool:
    """Whether an op is PyTorch's own."""
    return op.namespace in {"aten", "prim", "prims"}


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an op writes to no argument, returns no view and returns something."""
    return is_functional(parse_schema(str(schema)), allow_valid_view=allow_valid_view)


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type of a schema is a list of tensors, each of which, or the whole of which, may be None."""
    return bool(typ.base == "Tensor" and typ.listed)


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a type of a schema is a tensor that may be None."""
    return bool(typ.base == "Tensor" and not typ.listed)


def has_kwarg_only_args(schema: Any) -> bool:
    """Whether an op has arguments that are given by keyword alone."""
    return any(each.kwarg_only for each in schema.arguments)


def has_kwarg_only_tensors(schema: Any) -> bool:
    """Whether tensors are among them."""
    return any(each.kwarg_only and each.type.base == "Tensor" for each in schema.arguments)


def get_layout_constraint_tag(fn: OpOverload, *, with_default: bool = True) -> Any:
    """The strictest of an op's tags about the strides of its arguments; without one, that of custom ops."""
    found = [each for each in _LAYOUTS if each in fn.tags]
    if found:
        return found[0]
    return (Tag.flexible_layout if is_builtin(fn) else Tag.needs_exact_strides) if with_default else None

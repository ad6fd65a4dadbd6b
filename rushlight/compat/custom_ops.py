"""`torch._custom_ops`: the deprecated functions that define a custom op, and register its parts by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.missing import missing
from ..library import get_ctx, infer_schema, register_fake
from .custom_op.impl import check_function, define_custom_op, find_custom_op, parse_qualname, validate_namespace

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]
__getattr__ = missing("rushlight._custom_ops")

_Function = Callable[..., Any]


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Define an op by a schema, or by the annotations of a function, which is not run; a decorator without a second argument."""
    space, name = parse_qualname(qualname)
    validate_namespace(space)

    def define(function: _Function) -> _Function:
        check_function(qualname, name, function)
        define_custom_op(qualname, infer_schema(function, mutates_args=()))
        return function

    if isinstance(func_or_schema, str):
        define_custom_op(qualname, func_or_schema)
        return None
    return define if func_or_schema is None else define(func_or_schema)


def _registers(make: Callable[[], _Function], func: _Function | None) -> Any:
    """Register a function now, or as a decorator that gives it back."""

    def register(function: _Function) -> _Function:
        make()(function)
        return function

    return register if func is None else register(func)


def impl(qualname: str, *, device_types: str | Iterable[str] = ("cpu", "cuda"), func: _Function | None = None) -> Any:
    """Implement an op for kinds of devices; a decorator without ``func``."""
    return _registers(lambda: find_custom_op(qualname, True).impl(device_types), func)


def impl_abstract(qualname: str, *, func: _Function | None = None) -> Any:
    """Say what an op returns for fake tensors; a decorator without ``func``."""
    return register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: _Function | None = None) -> Any:
    """Say what the backward of an op needs; a decorator without ``func``."""
    return _registers(lambda: find_custom_op(qualname, True).impl_save_for_backward(), func)


def impl_backward(qualname: str, output_differentiability: Any = None, *, func: _Function | None = None) -> Any:
    """Give an op a gradient; a decorator without ``func``."""
    return _registers(lambda: find_custom_op(qualname, True).impl_backward(output_differentiability), func)


def _destroy(qualname: str) -> None:
    """Forget an op."""
    find_custom_op(qualname)._destroy()

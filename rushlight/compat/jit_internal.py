"""`torch._jit_internal`, and private names of `torch.jit`."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035  (programs import them from here)

from ..capture.script.frontend.annotations import check_empty_containers
from ..capture.script.overloads import _overload, _overload_method
from ..core.missing import missing
from ..jit import Future, export, ignore, is_scripting, script_if_tracing, unused
from ..jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__getattr__ = missing("rushlight._jit_internal")
_script_if_tracing = script_if_tracing


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method that a scripted module has as well; all methods are looked up when they are called."""
    return fn


@contextlib.contextmanager
def _disable_emit_hooks() -> Iterator[None]:
    """Compile without callbacks: there are none."""
    yield


def _drop(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method that a scripted module does not have."""
    return ignore(fn)  # type: ignore[no-any-return]


boolean_dispatched: weakref.WeakKeyDictionary[Callable[..., Any], dict[str, Any]] = (
    weakref.WeakKeyDictionary()
)  # which two a function calls


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, by an argument that is a bool."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__name__, chosen.__module__ = func_name, module_name
    boolean_dispatched[chosen] = {
        "if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name,
    }  # fmt: skip
    return chosen


def get_callable_argument_names(fn: Callable[..., Any]) -> list[str]:
    """The names of the parameters that may be given by position or by name; none, where there are others than those."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return []
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [name for name, each in parameters.items() if each.kind is kinds]


def is_optional(ann: Any) -> bool:
    """Whether an annotation is one of a value or None."""
    if ann is Optional:
        raise RuntimeError("Attempted to use Optional without a contained type. Please add a contained type, e.g. Optional[int]")
    return typing.get_origin(ann) in (Union, types.UnionType) and type(None) in typing.get_args(ann)


def is_list(ann: Any) -> bool:
    """Whether an annotation is one of a list."""
    return typing.get_origin(ann) is list


def is_dict(ann: Any) -> bool:
    """Whether an annotation is one of a dict."""
    return typing.get_origin(ann) is dict


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is one of a tuple."""
    return typing.get_origin(ann) is tuple


def _unique_state_dict(module: Any, keep_vars: bool = False) -> dict[str, Any]:
    """The state of a Module in which each tensor stands once, under its first name."""
    named = module.state_dict(keep_vars=True)
    first = {id(value): name for name, value in reversed(named.items())}
    return type(named)((name, value if keep_vars else value.detach()) for name, value in named.items() if first[id(value)] == name)

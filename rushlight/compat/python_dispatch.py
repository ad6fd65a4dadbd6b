"""``torch.utils._python_dispatch``: modes that see the ``aten`` operators a program runs, and helpers for subclasses that answer for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.base import Spec, storage_of
from ..core.overrides import dispatches_operators, pop_dispatch_mode, push_dispatch_mode
from ..core.state import state
from ..ops.python_dispatch import composites
from ..tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """A context whose ``__torch_dispatch__`` is asked about every operator, of forward and of backward, below autograd.

    While it is asked it is off, so that it may call the operator.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_dispatch_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        pop_dispatch_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of the system's own."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether it sees what compiled functions do inside: they run eagerly while it is on."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a dispatch mode is on in this thread."""
    return any(include_infra_modes or not each.is_infra_mode() for each in state.dispatch_modes)


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a dispatch mode is on that sees inside compiled functions."""
    return bool(state.dispatch_modes)


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    return state.dispatch_modes[-1] if state.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread, outermost first."""
    return list(state.dispatch_modes)


def _push_mode(mode: Any) -> None:
    push_dispatch_mode(mode)


def _pop_mode(k: Any = None) -> Any:
    return pop_dispatch_mode()


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """The innermost mode is off."""
    mode = pop_dispatch_mode()
    try:
        yield mode
    finally:
        push_dispatch_mode(mode)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """All modes of this thread are off."""
    modes = [pop_dispatch_mode() for _ in list(state.dispatch_modes)]
    try:
        yield modes[::-1]
    finally:
        for mode in reversed(modes):
            push_dispatch_mode(mode)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class is a subclass of Tensor that says how it is taken apart and put together."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor says how it is taken apart and put together."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:  # fmt: skip
    """A tensor of the same subclass, put together from what a function makes of its parts."""
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size, stride = t.size() if outer_size is None else outer_size, t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(parts, context, size, stride)
    if tuple(made.shape) != tuple(size):
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape {size}, but got: {made.shape}")
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of a handler with the operator's aliasing: an argument that was written to is returned itself, and a view shares its storage."""
    schema = func._schema
    written: dict[str, Any] = {}
    viewed: dict[str, Any] = {}
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None:
            value = args[position] if position < len(args) else (kwargs or {}).get(argument.name)
            for name in argument.alias_info.before_set:
                (written if argument.is_write else viewed)[name] = value
    if not written and not viewed:
        return out

    def same(result: Any, declared: Any) -> Any:
        names = declared.alias_info.before_set if declared.alias_info is not None else ()
        for source in (viewed[name] for name in names if name in viewed):
            for each in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(each, Tensor) and isinstance(source, Tensor) and each._array.__class__ is source._array.__class__ is Spec:
                    each._storage = storage_of(source)  # type: ignore[attr-defined]
        return next((written[name] for name in names if name in written), result)

    if len(schema.returns) == 1:
        return same(out, schema.returns[0])
    return type(out)(same(each, declared) for each, declared in zip(out, schema.returns))


def autograd_would_have_decomposed(func: Any, flat_args: Any) -> bool:
    """Whether PyTorch writes an operator in others."""
    return func._overloadpacket.__name__ in composites()


def has_dispatch(kind: type) -> bool:
    """Whether operators on tensors of a class are left to the class."""
    return dispatches_operators(kind)

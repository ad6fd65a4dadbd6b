"""Sizes, strides, device and layout of a tensor of a subclass as questions that its ``__torch_dispatch__`` answers.

``_make_wrapper_subclass(dispatch_sizes_strides_policy="sizes", dispatch_device=True)`` asks for it.  The class of such a tensor gets methods
that ask, so that no other tensor pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import runtime
from ..core.process_safety import load_module
from ..core.size import Size
from ..core.state import state
from .layout import contiguous_format

_POLICIES = {None: (), "strides": ("strides",), "sizes": ("strides", "sizes")}
_PACKAGE = __name__.partition(".")[0]


def _ask(tensor: Any, space: str, name: str, overload: str = "default", *args: Any) -> Any:
    """What the handlers of modes and of the tensor's class say about it."""
    dispatch = load_module(f"{_PACKAGE}.ops.python_dispatch")
    packet = getattr(dispatch.namespace(space), name)
    return dispatch.ask_handlers(getattr(packet, overload), [tensor], (tensor, *args), {}, label=f"torch.ops.{space}.{name}")


def _sizes(tensor: Any) -> Size | None:
    found = _ask(tensor, "aten", "sym_size")
    return None if found is None else Size(found)


def _size(tensor: Any, dim: int | None = None) -> Any:
    found = _sizes(tensor)
    return found if found is None or dim is None else found[dim]


def _stride(tensor: Any, dim: int | None = None) -> Any:
    found = _ask(tensor, "aten", "sym_stride")
    return None if found is None else tuple(found) if dim is None else found[dim]


def _is_contiguous(tensor: Any, memory_format: Any = None) -> Any:
    if memory_format is None or memory_format is contiguous_format:
        return _ask(tensor, "aten", "is_contiguous")
    return _ask(tensor, "aten", "is_contiguous", "memory_format", memory_format)


def _contiguous(tensor: Any, memory_format: Any = None) -> Any:
    return tensor if _is_contiguous(tensor, memory_format) else None


_QUESTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "size": ("sizes", _size),
    "shape": ("sizes", _sizes),
    "dim": ("sizes", lambda tensor: _ask(tensor, "aten", "dim")),
    "ndim": ("sizes", lambda tensor: _ask(tensor, "aten", "dim")),
    "numel": ("sizes", lambda tensor: _ask(tensor, "aten", "sym_numel")),
    "nelement": ("sizes", lambda tensor: _ask(tensor, "aten", "sym_numel")),
    "stride": ("strides", _stride),
    "is_contiguous": ("strides", _is_contiguous),
    "contiguous": ("strides", _contiguous),
    "device": ("device", lambda tensor: _ask(tensor, "prim", "device")),
    "layout": ("layout", lambda tensor: _ask(tensor, "prim", "layout")),
    "storage_offset": ("offset", lambda tensor: tensor.__dict__["_wrapper_offset"]),
}


def _asking(name: str, kind: str, question: Callable[..., Any]) -> Any:
    """A method or property that asks for tensors with the policy, and is Tensor's own for others."""
    plain = getattr(runtime.tensor_type, name)

    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kind in self.__dict__.get("_policies", ()) and (kind == "offset" or not state.dispatch_disabled):
            found = question(self, *args, **kwargs)
            if found is not None:  # a handler leaves a question to the tensor by None
                return found
        return plain(self, *args, **kwargs) if callable(plain) else plain.__get__(self)

    answer.__name__ = name
    return answer if callable(plain) else property(answer)


def set_policies(tensor: Any, sizes_strides: str | None, device: bool, layout: bool, offset: Any = None) -> None:
    """Have the questions about a tensor that its maker chose answered by its class, or by the offset that it was given."""
    chosen = {*_POLICIES[sizes_strides], *(["device"] if device else ()), *(["layout"] if layout else ()), *(["offset"] if offset else ())}
    if not chosen:
        return
    tensor._policies = frozenset(chosen)
    if offset:
        tensor._wrapper_offset = offset
    cls = type(tensor)
    for name, (kind, question) in _QUESTIONS.items():
        if kind in chosen and getattr(cls, name) is getattr(runtime.tensor_type, name):
            setattr(cls, name, _asking(name, kind, question))

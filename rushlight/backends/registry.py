"""Back-ends of ``compile`` by name: functions of a graph module and example inputs that give a callable."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..core.errors import NotSupported

_backends: dict[str, Callable[..., Any]] = {}
_late = {
    "aot_eager": "aot",
    "native": "native",
    "inductor": "native",
    "onnxrt": "onnxrt",
}  # modules that are loaded when a program asks for their back-end


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """Make a back-end known by a name; also a decorator."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name)
    _backends[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of the back-ends."""
    return sorted({*_backends, *_late})


def find(backend: Any) -> tuple[Callable[..., Any], str]:
    """A back-end by its name, or as it is."""
    if callable(backend):
        return backend, getattr(backend, "__name__", type(backend).__name__)
    if backend in _late and backend not in _backends:
        importlib.import_module(f"{__package__}.{_late[backend]}")
    if backend not in _backends:
        raise NotSupported(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends: {', '.join(list_backends())}"
        )
    return _backends[backend], backend


@register_backend
def eager(gm: Any, example_inputs: list[Any]) -> Any:
    """Runs the graph as it was captured, op by op."""
    return gm.forward

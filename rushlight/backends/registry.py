"""Back-ends of ``compile`` by name."""

from __future__ import annotations

from typing import Any

from ..core.errors import NotSupported
from ..core.process_safety import load_module
from .protocol import Backend, as_backend

_backends: dict[str, Any] = {}  # back-ends, and functions of a graph module and example inputs
_late = {
    "aot_eager": "aot",
    "aot_eager_decomp_partition": "aot",
    "native": "native",
    "inductor": "native",
    "onnxrt": "onnxrt",
    "triton": "triton_code",
}  # modules that are imported when a program asks for their back-end


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """Register a back-end (or a function in PyTorch's form) by a name; also a decorator."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name)
    _backends[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of the back-ends."""
    return sorted({*_backends, *_late})


def find(backend: Any) -> Backend:
    """A back-end by its name, or from a function in PyTorch's form."""
    if callable(backend):
        return as_backend(backend, getattr(backend, "__name__", type(backend).__name__))
    if backend in _late and backend not in _backends:
        load_module(f"{__package__}.{_late[backend]}")
    if backend not in _backends:
        raise NotSupported(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends: {', '.join(list_backends())}"
        )
    return as_backend(_backends[backend], backend)


@register_backend
def eager(gm: Any, example_inputs: list[Any]) -> Any:
    """Runs the graph as it was captured, op by op."""
    return gm.forward

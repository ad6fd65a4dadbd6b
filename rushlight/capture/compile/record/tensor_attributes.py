"""Attributes of tensors: what a program reads of an input is guarded, and what a graph does not know ends it."""

from __future__ import annotations

from typing import Any

from ....core.base import TensorBase
from ....core.missing import is_own
from ..guards.guard import Kind
from .callables import asks_python, is_users
from .graph_breaks import Break

# Attributes of tensors that depend on their autograd history, and differ from call to call.
_HISTORY = frozenset(("grad_fn", "_version", "_base", "output_nr", "_backward_hooks", "_grad_fn", "__array_interface__"))
_LAYOUT = frozenset(("stride", "is_contiguous", "storage_offset"))


def tensor_attribute(recorder: Any, value: Any, name: str) -> Any:
    """An attribute of a tensor, guarded by what it depends on."""
    source = recorder.sources.get(id(value))
    traced = source is not None or recorder.tracer.is_traced(value)
    if source is not None:
        recorder.tracer.node_of(value)
    if name == "grad" and source is not None:
        result = value.grad
        if ("attribute", id(value), name) in recorder.written:
            return result
        if result is not None:
            place = recorder.new_source.attribute(source, "grad")
            recorder.register(result, place)
            recorder.guards.add(Kind.NOT_NONE, place)
        else:
            recorder.guards.equal(recorder.new_source.attribute(source, "grad"), None)
        return result
    if traced and name in _HISTORY:
        return _without_history(recorder, value, name, source)
    if source is not None and name in _LAYOUT:
        recorder.guards.strides(source, value)
    elif traced and name in _LAYOUT:
        _guard_layout(recorder, value, name)
    if source is not None and name in ("is_leaf", "retains_grad", "is_inference", "is_shared", "is_pinned"):
        called = name.startswith("is_") and name != "is_leaf"
        now = getattr(value, name)
        recorder.guards.add(Kind.ATTRIBUTE, source, (name, called, now() if called else now), key=name)
    fields = getattr(value, "__dict__", {})
    if not is_own(type(value)) and is_users(type(value)):
        inlined = recorder.descriptor(value, type(value), name)
        if inlined is not None:
            return inlined
    try:
        result = getattr(value, name)
    except AttributeError:
        if source is not None:
            recorder.guards.add(Kind.LACKS if asks_python(value) else Kind.ABSENT, source, name, key=name)
        raise
    if source is not None and name in fields:
        return recorder.guard_value(recorder.new_source.attribute(source, name), result)
    if is_users(type(value)):
        recorder.guard_class_part(value, name, result)
    return result


def _without_history(recorder: Any, value: Any, name: str, source: Any) -> None:
    """``grad_fn`` of a tensor without a history; a graph break for others."""
    if name != "grad_fn" or (value._requires_grad if source is None else value.grad_fn is not None):
        raise Break("history", name=name)
    if source is not None:
        recorder.guards.equal(recorder.new_source.attribute(source, name), None)


def _guard_layout(recorder: Any, value: Any, name: str) -> None:
    """The program reads the layout of a computed value: it follows from the layouts of the inputs, and from sizes."""
    if not recorder.in_body:  # what a body is given has no source
        recorder.tracer.compute_deferred()
        for source, each in recorder.tracer.inputs:
            if isinstance(each, TensorBase):
                recorder.guards.layout(source, each)
    if name != "is_contiguous" or value._view is not None:
        base = value if value._view is None else value._view.base
        recorder.specialize(*recorder.tracer.shape_of(value), *recorder.tracer.shape_of(base))

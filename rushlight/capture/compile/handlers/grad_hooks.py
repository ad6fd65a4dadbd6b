"""Hooks on gradients that a captured program registers.

The hook itself may be made of what the graph computes, so it comes after the graph: the graph registers a :class:`DeferredHook` that is
empty, and when the graph has run the program's own function is put into it.  In a backward graph that was differentiated ahead of time
a hook is a node that calls it.
"""

from __future__ import annotations

from typing import Any

from ....core.base import TensorBase
from ....tensor.tensor import Tensor
from ..record.graph_breaks import Break
from ..record.graph_functions import DeferredHook, hook_gradient
from ..record.registry import handles

# -- capturing them ----------------------------------------------------------------------------------------------


@handles(Tensor.register_hook)
def capture_hook(recorder: Any, tensor: Any, hook: Any) -> DeferredHook:
    """``tensor.register_hook(hook)``."""
    return _capture(recorder, tensor, hook, Tensor.register_hook)


@handles(Tensor.register_post_accumulate_grad_hook)
def capture_accumulate_hook(recorder: Any, tensor: Any, hook: Any) -> DeferredHook:
    """``tensor.register_post_accumulate_grad_hook(hook)``."""
    return _capture(recorder, tensor, hook, Tensor.register_post_accumulate_grad_hook)


def _capture(recorder: Any, tensor: Any, function: Any, register: Any) -> DeferredHook:
    tracer = recorder.tracer
    name = register.__name__
    if recorder.pure or not isinstance(tensor, TensorBase):
        raise Break("tensor", name=name)
    source = recorder.sources.get(id(tensor))
    if source is not None:  # an effect
        hook = recorder.track_fresh(DeferredHook())
        tracer.node_of(tensor)
        if tracer.aliases.versions.get(id(tensor._storage)):
            raise Break("tensor", name=name)  # its history is another one after the graph
        recorder.perform(DeferredHook.attach, hook, tensor, register, function)
        return hook
    if not tracer.is_traced(tensor) or register is not Tensor.register_hook or not tensor._requires_grad:
        raise Break("tensor", name=name)
    hook = recorder.track_fresh(hook_gradient(tensor, len(recorder.hooks)))
    node = tracer.graph.call_function(hook_gradient, (tracer.node_of(tensor), hook.number))
    node.meta["source"], node.meta["module"] = tracer.where()
    node.meta["impure"] = True
    tracer.depends.add(node)
    recorder.hooks[id(hook)] = node
    recorder.perform(DeferredHook.fill, hook, function)
    return hook


@handles(DeferredHook.remove, DeferredHook.__exit__)
def _remove(recorder: Any, handle: Any, *exception: Any) -> None:
    if type(handle) is not DeferredHook or recorder.sources.get(id(handle)) is not None:
        raise Break("native", name="RemovableHandle.remove")
    recorder.perform(DeferredHook.remove, handle)

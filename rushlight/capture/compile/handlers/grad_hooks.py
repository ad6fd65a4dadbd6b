"""Hooks on gradients that a captured program registers.

The hook itself may be made of what the graph computes, so it comes after the graph: the graph registers a :class:`Hook` that is
empty, and when the graph has run the program's own function is put into it.  In a backward graph that was differentiated ahead of time
a hook is a node that calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....autograd.engine import through_hooks
from ....core.base import TensorBase
from ....core.errors import CaptureError
from ....core.node import RemovableHandle
from ....core.state import state
from ....tensor.tensor import Tensor
from ..record.graph_breaks import Break


class Hook(RemovableHandle):
    """A hook that gets its function later, and the handle of itself."""

    def __init__(self, number: int = -1) -> None:
        super().__init__({}, 0)
        self.number = number  # which of its graph's it is, if it is one of those
        self.function: Any = None

    def fill(self, function: Any) -> None:
        """What is called with gradients from now on."""
        self.function = function

    def attach(self, tensor: Any, register: Any, function: Any) -> None:
        """Register it with a tensor that was there before the graph."""
        self.function = function
        handle = register(tensor, self)
        self.table, self.id = handle.table, handle.id

    def remove(self) -> None:
        """Take it away: gradients are left as they are."""
        super().remove()
        self.function = None

    def __call__(self, gradient: Any) -> Any:
        traced = getattr(state.capture, "call_hook", None)
        if traced is not None:
            return traced(self.number, gradient)
        return None if self.function is None else self.function(gradient)

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", self.function))


# -- what graphs call --------------------------------------------------------------------------------------------


def hook_gradient(tensor: Any, number: int) -> Hook:
    """Register an empty hook with a value of the graph."""
    hook = Hook(number)
    handle = tensor.register_hook(hook)
    hook.table, hook.id = handle.table, handle.id
    return hook


def call_hook(gradient: Any, number: int) -> Any:
    """A gradient as a hook leaves it, in a backward graph."""
    if state.capture is not None:
        raise CaptureError("a hook on a gradient is called when backward runs, and not before")
    return through_hooks({0: _running.hooks[number]}, gradient)


class _Running(threading.local):
    hooks: Sequence[Hook] = ()  # of the graph whose backward runs


_running = _Running()


def with_hooks(hooks: Sequence[Hook], run: Callable[..., Any], *args: Any) -> Any:
    """Run a backward graph that calls these hooks."""
    before, _running.hooks = _running.hooks, hooks
    try:
        return run(*args)
    finally:
        _running.hooks = before


# -- capturing them ----------------------------------------------------------------------------------------------


def capture_hook(recorder: Any, tensor: Any, hook: Any) -> Hook:
    """``tensor.register_hook(hook)``."""
    return _capture(recorder, tensor, hook, Tensor.register_hook)


def capture_accumulate_hook(recorder: Any, tensor: Any, hook: Any) -> Hook:
    """``tensor.register_post_accumulate_grad_hook(hook)``."""
    return _capture(recorder, tensor, hook, Tensor.register_post_accumulate_grad_hook)


def _capture(recorder: Any, tensor: Any, function: Any, register: Any) -> Hook:
    tracer = recorder.tracer
    name = register.__name__
    if recorder.pure or not isinstance(tensor, TensorBase):
        raise Break("tensor", name=name)
    source = recorder.sources.get(id(tensor))
    if source is not None:  # an effect
        hook = recorder.made(Hook())
        tracer.node_of(tensor)
        if tracer.aliases.versions.get(id(tensor._storage)):
            raise Break("tensor", name=name)  # its history is another one after the graph
        recorder.effect(Hook.attach, hook, tensor, register, function)
        return hook
    if not tracer.is_traced(tensor) or register is not Tensor.register_hook or not tensor._requires_grad:
        raise Break("tensor", name=name)
    hook = recorder.made(hook_gradient(tensor, len(recorder.hooks)))
    node = tracer.graph.call_function(hook_gradient, (tracer.node_of(tensor), hook.number))
    node.meta["source"], node.meta["module"] = tracer.where()
    node.meta["impure"] = True
    tracer.depends.add(node)
    recorder.hooks[id(hook)] = node
    recorder.effect(Hook.fill, hook, function)
    return hook


def _remove(recorder: Any, handle: Any, *exception: Any) -> None:
    if type(handle) is not Hook or recorder.sources.get(id(handle)) is not None:
        raise Break("native", name="RemovableHandle.remove")
    recorder.effect(Hook.remove, handle)


CAPTURED: Mapping[Any, Callable[..., Any]] = {
    Tensor.register_hook: capture_hook, Tensor.register_post_accumulate_grad_hook: capture_accumulate_hook, Hook.remove: _remove, Hook.__exit__: _remove,
}  # fmt: skip

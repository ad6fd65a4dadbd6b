"""Functions and objects that captured graphs call besides ops: modes, gradients, hooks on gradients, custom Functions.

A capture writes them as targets of nodes; a graph that runs calls them, and passes recognize them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ....autograd.differentiation import grad
from ....autograd.engine import through_hooks
from ....core.base import TensorBase
from ....core.declare import table
from ....core.errors import CaptureError
from ....core.node import Node as GradientNode
from ....core.node import RemovableHandle, freed, next_sequence
from ....core.state import flags, state

_new = object.__new__


# -- modes -------------------------------------------------------------------------------------------------------


def set_grad_mode(mode: bool) -> None:
    """Switch recording of gradients on or off, within a graph."""
    state.grad_enabled = mode


def set_inference_mode(mode: bool) -> None:
    """Switch inference mode on or off, within a graph."""
    if state.inference is not mode:
        state.inference = mode
        (flags.enter if mode else flags.leave)()


# -- gradients ---------------------------------------------------------------------------------------------------


def gradients_of(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool, create_graph: bool, allow_unused: bool
) -> tuple[Any, ...]:
    """What ``autograd.grad`` gives; the gradient of a scalar with respect to itself is made by an op, so that graphs can hold it."""
    given = [table["ones_like"].call(each.detach()) if gradient is None else gradient for each, gradient in zip(outputs, grad_outputs)]
    return grad(outputs, inputs, given, retain_graph, create_graph, allow_unused=allow_unused)


class FreedHistory(GradientNode):
    """The autograd history of a value through which a compiled program has run backward: its saved tensors are freed."""

    __slots__ = ("array", "stops_at", "title")

    array: Any
    title: str
    stops_at: str  # the name of the node at which another backward would have stopped
    inputs = ()
    saved = None

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return self.array.shape

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.array.dtype

    def name(self) -> str:
        return self.title

    def backward(self, gradient: Any) -> Any:
        stopped: Any = _new(FreedHistory)
        stopped.title = self.stops_at
        raise freed(stopped)


def with_freed_history(tensor: Any, title: str, stops_at: str) -> Any:
    """Give a value of a compiled program a history that backward has freed."""
    node: Any = _new(FreedHistory)
    node.sequence, node.title, node.stops_at, node.array = next_sequence(), title, stops_at, tensor._array
    tensor._grad_fn, tensor._requires_grad = node, True
    return tensor


def is_freed(tensor: Any) -> bool:
    """Whether backward has freed a part of the history of a value."""
    return freed_node(tensor) is not None


def freed_node(tensor: Any) -> Any:
    """The node in the history of a value at which another backward stops, which goes through the latest first; None where nothing is freed."""
    waiting, seen = [tensor._grad_fn], set()
    found: Any = None
    while waiting:
        node = waiting.pop()
        node = node[0] if node.__class__ is tuple else node
        if node is None or isinstance(node, TensorBase) or node in seen:
            continue
        seen.add(node)
        if node.saved is None:
            found = node if found is None or node.sequence > found.sequence else found
        else:
            waiting += node.inputs
    return found


# -- hooks on gradients ------------------------------------------------------------------------------------------


class DeferredHook(RemovableHandle):
    """A hook that gets its function later, and the handle of itself."""

    def __init__(self, number: int = -1) -> None:
        super().__init__({})
        self.number = number  # which of its graph's it is, if it is one of those
        self.function: Any = None

    def fill(self, function: Any) -> None:
        """What is called with gradients from now on."""
        self.function = function

    def attach(self, tensor: Any, register: Any, function: Any) -> None:
        """Register it with a tensor that was there before the graph."""
        self.function = function
        handle = register(tensor, self)
        self.tables, self.id = handle.tables, handle.id

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


def hook_gradient(tensor: Any, number: int) -> DeferredHook:
    """Register an empty hook with a value of the graph."""
    hook = DeferredHook(number)
    handle = tensor.register_hook(hook)
    hook.tables, hook.id = handle.tables, handle.id
    return hook


def call_hook(gradient: Any, number: int) -> Any:
    """A gradient as a hook leaves it, in a backward graph."""
    if state.capture is not None:
        raise CaptureError("a hook on a gradient is called when backward runs, and not before")
    return through_hooks({0: _running.hooks[number]}, gradient)


class _Running(threading.local):
    hooks: Sequence[DeferredHook] = ()  # of the graph whose backward runs


_running = _Running()


def with_hooks(hooks: Sequence[DeferredHook], run: Callable[..., Any], *args: Any) -> Any:
    """Run a backward graph that calls these hooks."""
    before, _running.hooks = _running.hooks, hooks
    try:
        return run(*args)
    finally:
        _running.hooks = before


# -- custom Functions --------------------------------------------------------------------------------------------


class ApplyFunction:
    """The target of a Function's node: applies the class to the node's arguments."""

    __name__ = __qualname__ = "autograd_function_apply"

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, context: Any, *args: Any, bodies: Any = None) -> Any:
        return self.function.apply(*args)

    def __reduce__(self) -> Any:
        return (ApplyFunction, (self.function,))

"""``once_differentiable``: a backward of a custom Function that can't itself be differentiated."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase, alias
from ..core.errors import FunctionError
from ..core.node import Node, edge_of, next_sequence
from ..core.state import state


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that can't itself be differentiated: double backward raises instead of being wrong."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            results = function(ctx, *gradients)
        finally:
            state.grad_enabled = enabled
        gradients = tuple(each._value if isinstance(each, TensorBase) and each._value is not None else each for each in gradients)
        if not enabled or not any(isinstance(each, TensorBase) and each._requires_grad for each in gradients):
            return results
        several = isinstance(results, tuple)
        poisoned = tuple(_poison(each, gradients) for each in (results if several else (results,)))
        return poisoned if several else poisoned[0]

    _once.add(getattr(wrapper, "__code__", None))
    return wrapper


_once: set[Any] = set()  # the code of the decorator's functions


def undecorated(backward: Callable[..., Any]) -> Callable[..., Any]:
    """The function that `once_differentiable` was given, which does the same where no gradients are recorded."""
    return backward.__wrapped__ if getattr(backward, "__code__", None) in _once else backward  # type: ignore[attr-defined,no-any-return]


class _OnceDifferentiable(Node):
    """Raises when a gradient reaches it."""

    __slots__ = ()

    def backward(self, gradient: Any) -> Any:
        raise FunctionError("trying to differentiate twice a function that was marked with @once_differentiable")


def _poison(result: Any, gradients: tuple[Any, ...]) -> Any:
    if not isinstance(result, TensorBase):
        return result
    if result._value is not None:  # a wrapper: the values behind it are what is differentiated
        result = copy.copy(result)
        result._value = _poison(result._value, gradients)
        return result
    result = alias(result, result._array)
    node = _OnceDifferentiable()
    node.inputs = tuple(edge_of(each) for each in gradients)
    node.saved, node.sequence = (), next_sequence()
    node.shape, node.dtype = result._array.shape, result._array.dtype
    result._grad_fn, result._requires_grad = node, True
    return result

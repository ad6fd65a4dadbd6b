"""Recording calls on sparse tensors: a node whose rule is written for the call, in ops that take sparse tensors themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase, make
from ...core.dispatch import attach, finish_node
from ...core.node import Node, edge_of, freed, next_sequence, save, unpack
from ...core.state import flags, state


class SparseNode(Node):
    """A recorded call whose gradient rule is ``rule(needs, g, *saved)``."""

    __slots__ = ()

    rule: Callable[..., Any]

    def backward(self, gradient: Any) -> Any:
        if self.saved is None:
            raise freed(self)
        needs = tuple(edge is not None for edge in self.inputs)
        return self.rule(needs, gradient, *[unpack(each, self) for each in self.saved])

    def release(self) -> None:
        self.saved = None


_classes: dict[str, type[SparseNode]] = {}


def recorded(name: str, array: Any, inputs: tuple[Any, ...], rule: Callable[..., Any], *saved: Any) -> Any:
    """A tensor over a result that knows how it follows from its inputs: ``rule(needs, g, *saved)`` gives a gradient (or None) for each."""
    result = wrapped(array)
    if not state.grad_enabled or array.dtype.kind not in "fVc":
        return result
    if not any(isinstance(each, TensorBase) and each._requires_grad for each in inputs):
        return result
    kind = _classes.get(name)
    if kind is None:
        kind = _classes[name] = type(name, (SparseNode,), {"__slots__": (), "__module__": "rushlight.autograd"})
    node: Any = kind()
    node.inputs = tuple(edge_of(each) for each in inputs)
    node.saved = tuple(save(each) for each in saved)
    node.rule = rule
    node.sequence = next_sequence()
    node.shape, node.dtype = array.shape, array.dtype
    result._grad_fn, result._requires_grad = node, True
    if flags.special:
        finish_node(node)
    return result


def renamed(result: Any, name: str) -> Any:
    """A result whose node has the name that PyTorch gives the whole of several steps."""
    node = result._grad_fn
    if node is not None and node.name() != name:
        node.__class__ = type(name, (type(node),), {"__slots__": (), "__module__": "rushlight.autograd"})
    return result


def like_dense(op: Any, args: tuple[Any, ...], array: Any) -> Any:
    """A tensor over a result whose gradient rule is the op's own: it is written in ops that take sparse gradients."""
    result = wrapped(array)
    if state.grad_enabled and any(isinstance(each, TensorBase) and each._requires_grad for each in args):
        attach(op, args, result)
    return result


def wrapped(array: Any) -> Any:
    """A tensor over a new array."""
    result = make(array)
    if state.inference:
        result._inference = True
    return result

"""Descriptions of scaled dot-product attention and its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..lowering import call_layout, routine
from ..symbolic_shape import SymbolicNumber
from ..tensor_ir import Reference, TensorIRBuilder


def _is_scale(value: Any) -> bool:
    return isinstance(value, (int, float, SymbolicNumber))


@dataclass(frozen=True)
class Attention:
    """``softmax(query @ key.T * scale + mask) @ value`` for each of a batch of heads; a query that may attend to nothing gives zeros.

    All references have the dimensions of the batch in front.  A mask of booleans says which keys a query sees.
    """

    query: Reference
    key: Reference
    value: Reference
    mask: Reference | None
    causal: bool
    scale: Any

    @property
    def batch(self) -> tuple[Any, ...]:
        return self.query.shape[:-2]

    @property
    def length(self) -> Any:
        """The number of queries."""
        return self.query.shape[-2]

    @property
    def source(self) -> Any:
        """The number of keys."""
        return self.key.shape[-2]

    @property
    def size(self) -> Any:
        """The elements of a query and a key."""
        return self.query.shape[-1]

    @property
    def width(self) -> Any:
        """The elements of a value."""
        return self.value.shape[-1]


@dataclass(frozen=True)
class AttentionGradient(Attention):
    """The gradients of attention; ``weights`` are those of the forward pass, None where they are recomputed."""

    grad: Reference
    weights: Reference | None


@routine.register("attention")
def attention(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    query, key, value, mask, causal, scale = args
    batch = tuple(specs[0].shape[:-2])
    fits = tuple(specs[1].shape[:-2]) == batch and query.dtype == key.dtype == value.dtype and query.dtype.char in "fd"
    empty = not math.prod(specs[0].shape) or not value.shape[-2] * query.shape[-1]
    if not fits or empty or type(causal) is not bool or not _is_scale(scale) or not _takes_mask(mask, query):
        return NotImplemented
    query, key, value = (each.broadcast((*batch, *each.shape[-2:])) for each in (query, key, value))
    mask = None if mask is None else mask.broadcast((*batch, query.shape[-2], key.shape[-2]))
    return Attention(query, key, value, mask, causal, scale)


@routine.register("attention_backward")
def attention_backward(builder: TensorIRBuilder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
    grad, query, key, value, weights, scale, causal, mask = args
    batch = tuple(grad.shape[:-2])
    given = (query, key, value, *([] if weights is None else [weights]))
    fits = all(each.dtype == grad.dtype for each in given) and grad.dtype.char in "fd" and tuple(specs[0].shape[:-2]) == batch
    empty = not math.prod(grad.shape) or not key.shape[-2] * query.shape[-1]
    if not fits or empty or not _is_scale(scale) or not _takes_mask(mask, grad):
        return NotImplemented
    query, key, value = (each.broadcast((*batch, *each.shape[-2:])) for each in (query, key, value))
    mask = None if mask is None else mask.broadcast((*batch, query.shape[-2], key.shape[-2]))
    return AttentionGradient(query, key, value, mask, causal, scale, grad, weights)


def _takes_mask(mask: Reference | None, operand: Reference) -> bool:
    return mask is None or mask.dtype.kind == "b" or mask.dtype == operand.dtype


# -- how devices that call attention lay its results out ---------------------------------------------------------


def _split(source: Any) -> bool:
    """Whether the heads of a position are adjacent in memory, as layers split them."""
    if not isinstance(source, Reference) or len(source.shape) != 4:
        return False
    _, heads, length, _ = source.shape
    return heads > 1 and length > 1 and source.strides[1] < source.strides[2] and source.strides[3] == 1


def _placed(at: int, shape: tuple[int, ...], split: bool) -> tuple[tuple[int, ...], tuple[int, tuple[int, ...], int]]:
    """The shape of the value that holds a result, and where the result is in it."""
    if not split:
        return tuple(shape), (at, row_major(shape), 0)
    batch, heads, length, width = shape
    return (batch, length, heads, width), (at, (length * heads * width, width, heads * width, 1), 0)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in row-major order."""
    return tuple([math.prod(shape[at + 1 :]) for at in range(len(shape))])


@call_layout.register("attention")
def attention_layout(args: tuple[Any, ...], specs: list[Any]) -> Any:
    """The output has the strides of the queries."""
    if not _split(args[0]):
        return None
    found = [_placed(at, each.shape, at == 0) for at, each in enumerate(specs)]
    return [each for each, _ in found], [each for _, each in found]


@call_layout.register("attention_backward")
def attention_backward_layout(args: tuple[Any, ...], specs: list[Any]) -> Any:
    """Gradients have the strides of what they are gradients of; where those are parts of one tensor, they are parts of one value."""
    inputs = args[1:4]
    if not any(map(_split, inputs)):
        return None
    first, shape = inputs[0], specs[0].shape
    if all(map(_split, inputs)) and all(each.shape == shape for each in (*inputs, *specs)):
        batch, heads, length, width = shape
        part = heads * width
        strides = (3 * length * part, width, 3 * part, 1)
        if all(
            each.value is first.value and each.strides[1:] == strides[1:] and each.offset == first.offset + at * part
            for at, each in enumerate(inputs)
        ):
            return [(batch, length, 3, heads, width)], [(0, strides, at * part) for at in range(3)]
    found = [_placed(at, each.shape, _split(own)) for at, (each, own) in enumerate(zip(specs, inputs))]
    return [each for each, _ in found], [each for _, each in found]

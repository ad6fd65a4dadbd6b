"""Descriptions of scaled dot-product attention and its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..lowering import routine
from ..symbolic_shape import differs
from ..tensor_ir import Builder, Reference


def _is_scale(value: Any) -> bool:
    return isinstance(value, (int, float)) or differs(value)


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
def attention(builder: Builder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
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
def attention_backward(builder: Builder, args: tuple[Any, ...], specs: Any, node: Any) -> Any:
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

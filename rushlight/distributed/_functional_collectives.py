"""Collectives that return their result instead of writing it; with one process, their input."""

from __future__ import annotations

from typing import Any

from ..core.missing import missing
from .nn import functional

__getattr__ = missing(__name__)


def wait_tensor(tensor: Any) -> Any:
    """A tensor whose collective has ended: it has when it is returned."""
    return tensor


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The reduced tensor."""
    return functional.all_reduce(self)


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """The tensor of one process."""
    return functional.broadcast(self, src)


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of all processes, along a dimension."""
    return functional.all_reduce(self)


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """The part of this process of the reduced tensor."""
    return functional.all_reduce(self)


def all_to_all_single(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """A part of a tensor from each process."""
    return functional.all_to_all_single(None, self)


all_to_all_single_autograd = all_to_all_single
all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor

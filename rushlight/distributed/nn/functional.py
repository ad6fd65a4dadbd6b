"""Collectives with gradients in a group of one process: each gives its input, and gradients pass."""

from __future__ import annotations

from typing import Any

from ..groups import member
from ..reductions import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced tensor: a copy."""
    member(group)
    return tensor.clone()


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process."""
    member(group)
    return tensor.clone()


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced tensor, for one process."""
    member(group)
    return tensor.clone()


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes."""
    member(group)
    return (tensor.clone(),)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, for one."""
    member(group)
    return (tensor.clone(),)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """One of the tensors for each process."""
    member(group)
    return tensors[0].clone()


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced part of this process."""
    member(group)
    return input_list[0].clone()


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple[Any, ...]:
    """A tensor from each process."""
    member(group)
    return tuple(each.clone() for each in input_tensor_list)


def all_to_all_single(output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None) -> Any:
    """A part of a tensor from each process."""
    member(group)
    return input.clone()

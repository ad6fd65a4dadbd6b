"""Private names of `torch.autograd.functional` and `torch.autograd.graph`."""

from __future__ import annotations

from typing import Any

from ..autograd.functional import _prepared, _settled, _tuple, _unpack, _vector
from ..core.declare import exports

_grad_preprocess = _prepared
_tuple_postprocess = _unpack


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Whether an argument is a tuple, and the argument as one."""
    several, is_tuple = _tuple(inp, arg_name or "inputs", fn_name or "the function")
    return is_tuple, several


def _grad_postprocess(inputs: tuple[Any, ...], create_graph: bool) -> Any:
    """Results with a graph, or without."""
    return _settled(inputs, create_graph)


def _validate_v(v: tuple[Any, ...], other: tuple[Any, ...], is_other_tuple: bool) -> None:
    """Refuse vectors that do not have the sizes of what they are multiplied with."""
    _vector(v if is_other_tuple else v[0], other, is_other_tuple, "the function")


def _construct_standard_basis_for(tensors: tuple[Any, ...], tensor_numels: tuple[int, ...]) -> tuple[Any, ...]:
    """The vectors of a standard basis of the space of several tensors: one matrix for each tensor, with a row for each element of all."""
    total = sum(tensor_numels)
    whole = exports["", "eye"](total)
    made, start = [], 0
    for tensor, count in zip(tensors, tensor_numels):
        made.append(whole[:, start : start + count].to(tensor.dtype))
        start += count
    return tuple(made)


def _get_grad_fn_or_grad_acc(t: Any) -> Any:
    """The node that a tensor's gradient goes to: what made it, or what accumulates it."""
    if t.requires_grad and t.grad_fn is None:
        return t.view_as(t).grad_fn.next_functions[0][0]
    return t.grad_fn

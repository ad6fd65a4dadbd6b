"""Branches and loops by the values of tensors: ``cond`` and ``while_loop``.

They simply run.  A capture keeps both branches, or the loop, in its graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.errors import OperationError
from ...core.state import state
from ...func.batched import BatchedTensor
from ...ops.pointwise.where_clamp import where
from ...utils import trees
from .branches import branch
from .loops import loop

_NO_OPERANDS = "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got {}."


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] | list[Any] = ()) -> Any:
    """``true_fn(*operands)`` where ``pred`` (a bool, or a tensor of one element) holds, else ``false_fn(*operands)``.

    >>> x = torch.arange(3.0)
    >>> torch.cond(x.sum() > 2, lambda x: x * 2, lambda x: x - 1, (x,))
    tensor([0., 2., 4.])
    """
    if isinstance(pred, TensorBase):
        if pred._array.size != 1:
            raise OperationError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        if not callable(true_fn) or not callable(false_fn):
            raise OperationError("Expect both branches to be callable.")
        if not isinstance(operands, (tuple, list)):
            raise OperationError(_NO_OPERANDS.format(operands))
        if isinstance(pred, BatchedTensor):  # each example of a batch takes its own way
            return _either(pred.reshape(()), true_fn(*operands), false_fn(*operands))
        if state.capture is not None:
            if getattr(state.capture, "keeps_control", False):
                return state.capture.control("cond", pred, {"true_graph": true_fn, "false_graph": false_fn}, tuple(operands))
            return branch(pred, *operands, bodies={"then": true_fn, "otherwise": false_fn})
        if not all(isinstance(each, TensorBase) for each in trees.flatten(operands)[0]):
            raise OperationError(_NO_OPERANDS.format(operands))
        pred = bool(pred)  # type: ignore[call-overload]
    elif not isinstance(pred, (bool, int, float)):
        raise OperationError(f"Expected pred to be bool or tensor, but got {pred}.")
    return true_fn(*operands) if pred else false_fn(*operands)


def _either(pred: Any, chosen: Any, other: Any) -> Any:
    """What both branches give, put together element by element."""
    (leaves, structure), (others, same) = trees.flatten(chosen), trees.flatten(other)
    if structure != same:
        raise OperationError("Unmatched output spec from torch.cond branches: both have to give containers of the same structure.")
    return structure.unflatten([where(pred, one, another) for one, another in zip(leaves, others)])


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: tuple[Any, ...] | list[Any]) -> Any:
    """Values carried from turn to turn: ``body_fn`` makes those of the next turn, as long as ``cond_fn`` holds of them.

    >>> torch.while_loop(lambda x: x < 100, lambda x: (x * 3,), (torch.tensor(5),))
    (tensor(135),)
    """
    if not isinstance(carried_inputs, (tuple, list)):
        raise OperationError(f"carried_inputs must be a tuple or list, but got {type(carried_inputs)}")
    if not callable(cond_fn) or not callable(body_fn):
        raise OperationError("Expect cond_fn and body_fn to be callable.")
    kind, carried = type(carried_inputs), tuple(carried_inputs)
    if state.capture is not None and getattr(state.capture, "keeps_control", False):
        return state.capture.control("while_loop", None, {"while_loop_cond_graph": cond_fn, "while_loop_body_graph": body_fn}, carried)
    holds = _truth(cond_fn(*carried))
    if state.capture is not None and isinstance(holds, TensorBase):

        def turn(_: int, *values: Any) -> Any:
            following = _carried(body_fn(*values), carried)
            return (cond_fn(*following), *following)

        return kind(loop(None, holds, carried, bodies={"body": turn}))
    while holds:
        carried = _carried(body_fn(*carried), carried)
        holds = _truth(cond_fn(*carried))
    return kind(carried)


def _truth(value: Any) -> Any:
    """What a condition gives: a bool, or a tensor that is one."""
    if isinstance(value, bool) or (isinstance(value, TensorBase) and value._array.size == 1 and value._array.dtype.kind == "b"):
        return value
    raise OperationError(f"cond_fn must return a boolean scalar tensor or a boolean, but got {value}.")


def _carried(values: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a turn gives: as many values as came in."""
    following = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if len(following) != len(before):
        raise OperationError(f"body_fn must return as many values as there are carried inputs ({len(before)}), but got {len(following)}")
    return following

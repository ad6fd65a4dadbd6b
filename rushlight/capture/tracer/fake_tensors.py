"""Fake tensors: a program is captured on inputs without data, and tensors with data (parameters, constants) are replaced by fake ones."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.forward_ad import start_from
from ...core.base import Spec, TensorBase, make, spec_of
from ...core.declare import Op
from ...core.errors import CaptureError
from ...core.node import edge_of
from ...core.quantized import QuantizedArray
from ...core.symbolic import Expression, SymbolicInt
from .alias_tracking import ValueTable


class FakeTensors:
    """The fake tensors of tensors with data, each made once."""

    def __init__(self, tracer: ValueTable) -> None:
        self.tracer = tracer
        self.made: dict[int, tuple[Any, Any]] = {}  # by id: the tensor, and what stands for it

    def given(self, op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments on which an op is run: where one is fake, all are."""
        if "quantiz" in op.source_module:
            raise CaptureError("a quantized tensor is more than its shape")
        return tuple([self.of(value) for value in args]) if any(map(has_no_data, args)) else args

    def of(self, value: Any) -> Any:
        """A value with fake tensors in place of those with data."""
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.of(each) for each in value)
        if isinstance(value, SymbolicInt):
            return int.__int__(value)  # formulas of shapes are the tracer's matter
        if not isinstance(value, TensorBase) or value._array.__class__ is Spec:
            return value
        if isinstance(value._array, QuantizedArray):
            raise CaptureError("a quantized tensor is more than its shape")
        found = self.made.get(id(value))
        if found is None:
            found = self.made[id(value)] = value, make(spec_of(value._array))
            self.tracer.bind(found[1], self.tracer.node_of(value), self.tracer.shape_of(value))
        connect(found[1], value)
        return found[1]


def connect(fake: Any, value: Any) -> None:
    """Put a fake tensor on the gradient graph of the tensor that it stands for, as it is now."""
    if not value._requires_grad:
        fake._requires_grad, fake._grad_fn = False, None
        return
    edge, known = edge_of(value), fake._grad_fn
    if known is None or known.inputs[0] is not edge:
        fake._requires_grad, fake._grad_fn = True, start_from(value)


def has_no_data(value: Any) -> bool:
    """Whether there is a fake tensor in an argument."""
    if isinstance(value, (tuple, list)):
        return any(map(has_no_data, value))
    return isinstance(value, TensorBase) and value._array.__class__ is Spec


def without_data(value: Any) -> Any:
    """A copy of nested arguments with fake tensors of the same shapes, dtypes and `requires_grad`."""
    if isinstance(value, TensorBase):
        made = make(spec_of(value._array))
        made._requires_grad = value._requires_grad
        return made
    if isinstance(value, dict):
        return {key: without_data(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [without_data(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def quietly(function: Any, *args: Any) -> Any:
    """A call without its warnings, which would be about sizes that are not those of the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def holds(formula: Expression, values: dict[str, int], size: int) -> bool:
    """Whether a formula gives a size for given values of its symbols."""
    try:
        return bool(formula.evaluate(values) == size)
    except ZeroDivisionError:
        return False

"""A program followed on inputs without data: tensors that have some (parameters, constants) join in by their shape alone."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.base import Spec, TensorBase, make, spec_of
from ...core.declare import Op
from ...core.errors import CaptureError
from ...core.quantized import QuantizedArray
from ...core.symbolic import Expression, SymbolicInt
from .entries import ValueTable


class StandIns:
    """Makes tensors without data for those that have some, each once."""

    def __init__(self, tracer: ValueTable) -> None:
        self.tracer = tracer
        self.made: dict[int, tuple[Any, Any]] = {}  # by id: the tensor, and what stands for it

    def given(self, op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as an op is run on them: where one has no data, none has."""
        if "quantiz" in op.source_module:
            raise CaptureError("a quantized tensor is more than its shape")
        return tuple([self.of(value) for value in args]) if any(map(has_no_data, args)) else args

    def of(self, value: Any) -> Any:
        """A value with no data in its tensors."""
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
        return found[1]


def has_no_data(value: Any) -> bool:
    """Whether there is a tensor without data in an argument."""
    if isinstance(value, (tuple, list)):
        return any(map(has_no_data, value))
    return isinstance(value, TensorBase) and value._array.__class__ is Spec


def without_data(value: Any) -> Any:
    """A copy of nested arguments whose tensors have shapes, types and needs for gradients, and no data."""
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
    """A call whose warnings are about sizes that are not those of the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def holds(formula: Expression, values: dict[str, int], size: int) -> bool:
    """Whether a formula gives a size for given values of its symbols."""
    try:
        return bool(formula.evaluate(values) == size)
    except ZeroDivisionError:
        return False

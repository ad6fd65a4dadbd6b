"""Lists and what may be None as inputs and outputs of a file: ONNX's sequences and optionals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.control.dynamic_lists import is_present, items_of, optional_of, present_value, ragged_items_of, stacked_items
from .ir import OnnxGraph, OnnxValue


def from_tensor(g: Any, tensor: OnnxValue) -> OnnxValue:
    """A list of the rows of a tensor."""
    if g.opset < 11:
        raise g.unsupported("the model returns a list whose length depends on the inputs", since=11)
    made: OnnxValue = g.op("SplitToSequence", tensor, axis_i=0, keepdims_i=0)
    return typed(made, "sequence", tensor.dtype, None if tensor.shape is None else tensor.shape[1:])


def from_items(g: Any, items: list[list[OnnxValue]]) -> OnnxValue:
    """A list of tensors as a sequence, those of lists in it one after another."""
    values = [g.place(value) for each in items for value in each]
    if not values:
        return typed(g.op("SequenceEmpty"), "sequence", np.dtype(np.float32), None)
    made: OnnxValue = g.op("SequenceConstruct", *values)
    shapes = {value.shape for value in values}
    return typed(made, "sequence", values[0].dtype, shapes.pop() if len(shapes) == 1 else None)


def from_ragged(g: Any, tensor: OnnxValue, sizes: OnnxValue, dim: int) -> OnnxValue:
    """A list of tensors, from their concatenation and sizes."""
    if g.opset < 11:
        raise g.unsupported("the model returns a list whose length depends on the inputs", since=11)
    made: OnnxValue = g.op("SplitToSequence", tensor, sizes, axis_i=dim)
    shape = None if tensor.shape is None else tuple(None if at == dim else size for at, size in enumerate(tensor.shape))
    return typed(made, "sequence", tensor.dtype, shape)


def to_tensor(g: Any, items: OnnxValue) -> OnnxValue:
    """All items of a list as one tensor."""
    if g.opset < 11:
        raise g.unsupported("the model takes a list of tensors", since=11)
    made: OnnxValue = g.op("ConcatFromSequence", items, axis_i=0, new_axis_i=1)
    return typed(made, "", items.dtype, None)


def optional(g: Any, present: Any, value: Any) -> OnnxValue:
    """A value that is there or not."""
    if g.opset < 16:
        raise g.unsupported("the model returns what is None for some inputs", since=16)
    value = g.place(value if isinstance(value, OnnxValue) else g.number(value))
    condition = g.place(g.cast(g.reshape(g.number(present, np.bool_), ()), np.bool_))
    kind = OnnxValue(None, value.dtype, None)
    found = either(
        g,
        condition,
        lambda: g._node("onnx::Optional", [value], {}, 1)[0],
        lambda: g._node("onnx::Optional", [], {"type": kind}, 1)[0],
        "optional",
        value.dtype,
    )
    return typed(found, "optional", value.dtype, None)


def either(
    g: Any, condition: OnnxValue, then: Callable[[], OnnxValue], otherwise: Callable[[], OnnxValue], container: str, dtype: Any
) -> OnnxValue:
    """``If``, of one value."""
    graphs = []
    for compute in (then, otherwise):
        around, g.graph = g.graph, OnnxGraph()
        g.graph._outputs.append(typed(compute(), container, dtype, None))
        graphs.append(g.graph)
        g.graph = around
    return g._node("onnx::If", [condition], {"then_branch": graphs[0], "else_branch": graphs[1]}, 1)[0]  # type: ignore[no-any-return]


def has_element(g: Any, value: OnnxValue) -> OnnxValue:
    """Whether an input that may be None is there."""
    made: OnnxValue = g.op("OptionalHasElement", value)
    return typed(made, "", np.dtype(np.bool_), ())


def element(g: Any, value: OnnxValue) -> OnnxValue:
    """An input that may be None; where it is, zeros at which nobody looks."""
    shape = tuple([each if type(each) is int else 0 for each in value.shape or ()])
    zeros = np.zeros(shape, value.dtype)
    found = either(
        g,
        has_element(g, value),
        lambda: g._node("onnx::OptionalGetElement", [value], {}, 1)[0],
        lambda: g._node("onnx::Constant", [], {"value": zeros}, 1)[0],
        "",
        value.dtype,
    )
    return typed(found, "", value.dtype, value.shape)


def typed(value: OnnxValue, container: str, dtype: Any, shape: Any) -> OnnxValue:
    """A value that is known to be a container of tensors of a type."""
    value.container, value.dtype, value.shape = container, dtype, shape
    return value


CONTAINERS: dict[Any, Callable[..., OnnxValue]] = {
    items_of: from_tensor, ragged_items_of: from_ragged, stacked_items: to_tensor, optional_of: optional, is_present: has_element, present_value: element,
}  # fmt: skip

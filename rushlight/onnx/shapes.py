"""The shapes of nodes that symbolic functions of users make, by ONNX's own inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.symbolic import SymbolicInt
from .types import onnx_type

_LARGEST = 256  # elements of a constant that may say something about a shape


def infer(node: Any, opset: int) -> None:
    """Give the outputs of a node their shapes, as far as ONNX infers them from those of its inputs; None stands for a size that it does not know."""
    import onnx
    from onnx import defs, helper, numpy_helper, shape_inference

    if node.domain or not defs.has(node.op_type):
        return
    named: dict[str, Any] = {}  # symbolic sizes: ONNX knows them by names
    types: dict[str, Any] = {}
    data: dict[str, Any] = {}

    def size(value: Any) -> Any:
        if not isinstance(value, SymbolicInt):
            return value
        text = str(value.expression)
        named[text] = value
        return text

    for at, each in enumerate(node._inputs):
        if each is None:
            continue
        if each.dtype is None or each.container:
            return
        shape = each.known_shape()
        types[f"i{at}"] = helper.make_tensor_type_proto(onnx_type(each.dtype), None if shape is None else [size(one) for one in shape])
        if each.constant is not None and each.constant.size <= _LARGEST:
            data[f"i{at}"] = numpy_helper.from_array(np.ascontiguousarray(each.constant), f"i{at}")
    attributes: dict[str, Any] = {}
    for name, value in node.attributes.items():
        if isinstance(value, np.ndarray):
            attributes[name] = numpy_helper.from_array(value)
        elif isinstance(value, (int, float, str, list, tuple)):
            attributes[name] = value
        else:
            return  # a body
    proto = helper.make_node(
        node.op_type,
        ["" if each is None else f"i{at}" for at, each in enumerate(node._inputs)],
        [f"o{at}" for at in range(len(node._outputs))],
        **attributes,
    )
    schema = defs.get_schema(node.op_type, opset, "")
    try:
        found = shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=[helper.make_opsetid("", opset)])
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return
    for at, value in enumerate(node._outputs):
        kind = found.get(f"o{at}")
        if value.shape is None and kind is not None and kind.tensor_type.HasField("shape"):
            value.shape = tuple([_size(dim, named) for dim in kind.tensor_type.shape.dim])


def _size(dim: Any, named: dict[str, Any]) -> Any:
    return dim.dim_value if dim.HasField("dim_value") else named.get(dim.dim_param)

"""Functions written with the package onnxscript, in exports: their operators become nodes of the graph that is made, and functions of a script are written out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .errors import ExportInputError, OnnxExporterError
from .ir import NO_PYTHON, OnnxValue
from .registration import registered

_COUNTS = {
    "BatchNormalization": 1,
    "LayerNormalization": 1,
    "Dropout": 1,
    "MaxPool": 1,
    "RNN": 2,
    "GRU": 2,
    "LSTM": 3,
}  # outputs of nodes that may have fewer


class Recorder:
    """The evaluator of onnxscript that makes nodes: what ``op.Relu(x)`` asks while a function runs."""

    def __init__(self, g: Any) -> None:
        self.g = g

    def eval_op(self, op: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """A node of an operator."""
        attributes = {name: _plain(value) for name, value in kwargs.items() if value is not None}
        if op.domain not in ("", "ai.onnx"):
            return self.g.op(f"{op.domain}::{op.name}", *args, **{f"{name}_{_suffix(value)}": value for name, value in attributes.items()})
        if op.name == "Constant":
            return self.g.constant(_constant(attributes))
        schema = op.op_schema
        inputs = list(args)
        if not schema.inputs or schema.inputs[-1].option.name != "Variadic":
            names = [each.name for each in schema.inputs]
            inputs += [attributes.pop(name, None) for name in names[len(inputs) :] if name in attributes]
        count = _COUNTS.get(op.name, len(schema.outputs))
        if op.name == "Split":
            count = attributes.get("num_outputs") or (inputs[1].constant.size if len(inputs) > 1 and inputs[1] is not None else 2)
        return self.g.make(op.name, tuple(inputs), attributes, count)

    def eval_function(self, function: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The nodes of a function."""
        return written_out(self.g, function, *args, **kwargs)


def written_out(g: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The nodes of a function of a script, with values for its inputs and numbers for its attributes."""
    proto = function.to_function_proto()
    values: dict[str, Any] = {"": None, **dict(zip(proto.input, args))}
    values.update({name: kwargs[name] for name in proto.input if name in kwargs})
    given = {
        **{each.name: _plain(_value_of(each)) for each in proto.attribute_proto},
        **{name: kwargs[name] for name in proto.attribute if name in kwargs},
    }
    given.update(zip(proto.attribute, args[len(proto.input) :]))
    for node in proto.node:
        if node.domain not in ("", "ai.onnx"):
            raise OnnxExporterError(
                f"the onnxscript function {proto.name} calls {node.domain}::{node.op_type}, which is not written out: write it with operators of ONNX alone"
            )
        attributes = {each.name: given[each.ref_attr_name] if each.ref_attr_name else _plain(_value_of(each)) for each in node.attribute}
        if any(type(each).__name__ in ("GraphProto", "NoneType") for each in attributes.values()):
            raise OnnxExporterError(f"the onnxscript function {proto.name} has control flow, or an attribute that was not given")
        if node.op_type == "Constant":
            made = g.constant(_constant(attributes))
        else:
            made = g.make(node.op_type, tuple(values[name] for name in node.input), attributes, len(node.output))
        values.update(zip(node.output, made if len(node.output) > 1 else (made,)))
    results = [values[name] for name in proto.output]
    return results[0] if len(results) == 1 else tuple(results)


@contextlib.contextmanager
def translated(table: Mapping[Any, Any] | None) -> Iterator[None]:
    """Exports in which PyTorch's operators (``torch.ops.aten.add.Tensor``) are what functions of onnxscript say."""
    with contextlib.ExitStack() as stack:
        for target, function in (table or {}).items():
            schema = getattr(target, "_schema", None)
            if schema is None:
                raise ExportInputError(
                    f"the keys of custom_translation_table are operators, such as torch.ops.aten.add.Tensor, and not {target!r}"
                )
            function = function[0] if isinstance(function, (list, tuple)) else function
            stack.enter_context(registered(schema.name, _symbolic(function, [each.name for each in schema.arguments]), 1))
        yield


def _symbolic(function: Any, names: list[str]) -> Callable[..., Any]:
    """A function of onnxscript as a symbolic function; it gets as many arguments as it has parameters, those that follow a star by name."""

    def symbolic(g: Any, *args: Any) -> Any:
        given = [each.python if isinstance(each, OnnxValue) and each.python is not NO_PYTHON else each for each in args]
        if hasattr(function, "to_function_proto"):
            return written_out(g, function, *given)
        parameters = list(inspect.signature(function).parameters.values())
        positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        every = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        named = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
        from onnxscript import evaluator

        with evaluator.default_as(Recorder(g)):
            return function(
                *(given if every else given[: len(positional)]), **{name: each for name, each in zip(names, given) if name in named}
            )

    return symbolic


def _value_of(attribute: Any) -> Any:
    import onnx

    return onnx.helper.get_attribute_value(attribute) if attribute.type else None


def _plain(value: Any) -> Any:
    """An attribute's value in the form that graphs have: text and arrays for what protobuf has."""
    import onnx

    if isinstance(value, bytes):
        return value.decode()
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _suffix(value: Any) -> str:
    """The type of an attribute as names of attributes say it."""
    many = "s" if isinstance(value, (list, tuple)) else ""
    first = value[0] if many and value else value
    return ("i" if isinstance(first, int) else "f" if isinstance(first, float) else "s" if isinstance(first, str) else "t") + many


def _constant(attributes: Mapping[str, Any]) -> np.ndarray:
    """What a ``Constant`` holds."""
    ((name, value),) = attributes.items()
    return np.asarray(value) if name == "value" else np.asarray(value, np.float32 if "float" in name else np.int64)

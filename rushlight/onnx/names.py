"""Names in the file: of inputs and outputs, and of dynamic dimensions."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..capture.trace.capture import Captured, bind_arguments, holds_tensor
from ..core.base import TensorBase
from ..core.symbolic import Expression, SymbolicInt
from ..nn.modules.module import Module
from .errors import ExportInputError
from .ir import OnnxValue


def axis_names(axes: Any, name: str) -> dict[int, str]:
    """The dynamic dimensions of one input, with their names: from a dict, or from a list, for which names are made."""
    if isinstance(axes, dict):
        found = {}
        for dim, given in axes.items():
            label = given if isinstance(given, str) else getattr(given, "__name__", None)
            found[dim] = label if label and label.isidentifier() else f"{_plain(name)}_dim_{dim}"
            if isinstance(given, str):
                found[dim] = given
        return found
    return {dim: f"{_plain(name)}_dynamic_axes_{index + 1}" for index, dim in enumerate(axes)}


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


def dynamic_names(
    dynamic_axes: Any, dynamic_shapes: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[str, int, int], str | None]:
    """A function (input name, dimension, position) that gives the symbol of a dynamic dimension, or None."""
    if dynamic_axes and dynamic_shapes:
        raise ExportInputError("give dynamic_axes or dynamic_shapes, not both")
    by_name = {name: axis_names(axes, name) for name, axes in (dynamic_axes or {}).items()}
    by_position: dict[int, dict[int, str]] = {}
    if dynamic_shapes is not None:
        by_position = shapes_by_position(dynamic_shapes, model, args, kwargs)

    def symbol(name: str, dim: int, position: int) -> str | None:
        axes = by_position.get(position) if by_position else by_name.get(name)
        if not axes:
            return None
        return axes.get(dim)

    return symbol


def shapes_by_position(shapes: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, dict[int, str]]:
    """``dynamic_shapes``, which mirrors the arguments, as dimensions by the position of the input tensor."""
    found: dict[int, dict[int, str]] = {}
    count = 0

    def walk(value: Any, shape: Any, name: str) -> None:
        nonlocal count
        if isinstance(value, TensorBase):
            if shape is not None:
                axes = shape if isinstance(shape, dict) else {dim: each for dim, each in enumerate(shape) if each is not None}
                found[count] = axis_names({d: s for d, s in axes.items() if s is not None and not isinstance(s, int)}, name)
            count += 1
            return
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for key, each in items:
            if holds_tensor(each):
                part = None if shape is None else (shape.get(key) if isinstance(shape, dict) else shape[key])
                walk(each, part, f"{name}_{key}")

    bound = bind_arguments(model, args, kwargs)
    shapes = without_packs(shapes, model, args, kwargs)
    if isinstance(shapes, dict):
        unknown = set(shapes) - {name for name, _ in bound}
        if unknown:
            raise ExportInputError(
                f"dynamic_shapes names '{sorted(map(str, unknown))[0]}', which is no argument of the model; its arguments are "
                f"{', '.join(name for name, _ in bound)}"
            )
    for position, (name, value) in enumerate(bound):
        if holds_tensor(value):
            walk(value, shapes.get(name) if isinstance(shapes, dict) else (shapes[position] if position < len(shapes) else None), name)
    return found


def without_packs(shapes: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``dynamic_shapes`` in which an entry for ``*args`` or ``**kwargs`` is replaced by the entries in it."""
    try:
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
    except (TypeError, ValueError):
        return shapes
    bound = signature.bind(*args, **kwargs).arguments
    kinds = {name: signature.parameters[name].kind for name in bound}
    if isinstance(shapes, dict):
        found = dict(shapes)
        for name, kind in kinds.items():
            if name in found and kind is inspect.Parameter.VAR_POSITIONAL:
                found.update({f"{name}_{index}": each for index, each in enumerate(found.pop(name) or ())})
            elif name in found and kind is inspect.Parameter.VAR_KEYWORD:
                found.update(found.pop(name) or {})
        return found
    listed: list[Any] = []
    for name, shape in zip(bound, shapes):
        if kinds[name] is inspect.Parameter.VAR_POSITIONAL and _is_pack(shape, len(bound[name])):
            listed += shape
        elif kinds[name] is inspect.Parameter.VAR_KEYWORD and isinstance(shape, dict) and set(shape) <= set(bound[name]):
            listed += [shape.get(key) for key in bound[name]]
        else:
            listed.append(shape)
    return [*listed, *list(shapes)[len(bound) :]]


def _is_pack(shape: Any, count: int) -> bool:
    """Whether an entry has one for each of several arguments, and is not that of one tensor, whose entries are dimensions."""
    return (
        isinstance(shape, (tuple, list))
        and len(shape) == count
        and all(each is None or isinstance(each, (dict, tuple, list)) for each in shape)
    )


def input_symbols(dynamic_axes: Any, captured: Captured, output_names: list[str]) -> None:
    """Refuse dynamic axes that inputs do not have, and warn of names that are none of an input or output."""
    inputs = {name: node.meta["val"].shape for name, node in captured.inputs}
    for name, axes in (dynamic_axes or {}).items():
        if name not in inputs:
            if name in output_names:
                continue
            warnings.warn(
                f"Provided key {name} for dynamic axes is not a valid input/output name: the inputs are {', '.join(inputs) or 'none'}"
                + (f", the outputs {', '.join(output_names)}" if output_names else " (name the outputs with output_names)"),
                stacklevel=2,
            )
            continue
        for dim in axes:
            rank = len(inputs[name])
            if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim < rank:
                raise ExportInputError(
                    f"dynamic_axes: the input '{name}' has {rank} dimensions (0 to {rank - 1}), and none of number {dim!r}"
                )


def output_names_of(result: Any) -> list[str]:
    """Names of the outputs by what the model returns: the keys of a dict, the fields of a named tuple, else numbers."""

    def walk(value: Any, path: str) -> list[str]:
        if isinstance(value, dict):
            return [name for key, each in value.items() for name in walk(each, f"{path}_{key}" if path else str(key))]
        if hasattr(value, "_fields"):
            return [name for key in value._fields for name in walk(getattr(value, key), f"{path}_{key}" if path else key)]
        if isinstance(value, (tuple, list)):
            return [name for at, each in enumerate(value) for name in walk(each, f"{path or 'output'}_{at}")]
        return [] if value is None else [path or "output"]

    return walk(result, "")


def stand_behind(nodes: list[Any], value: OnnxValue) -> None:
    """Move the last node, which copies a value, behind the one that makes it and other copies of it."""
    if value.owner not in nodes:
        return
    at = nodes.index(value.owner) + 1
    while nodes[at] is not nodes[-1] and nodes[at].kind() == "onnx::Identity" and nodes[at].inputsAt(0) is value:
        at += 1
    nodes.insert(at, nodes.pop())


def name_outputs(g: Any, outputs: list[OnnxValue], found: list[str], wanted: list[str], dynamic_axes: Any) -> None:
    """Give the outputs of the graph their names; one that is an input, a constant or an output already gets a node of its own."""
    if len(wanted) > len(outputs):
        raise ExportInputError(f"output_names has {len(wanted)} names, but the model returns {len(outputs)} tensors")
    inputs = {value.name for value in g.graph._inputs}
    seen: set[int] = set()
    for index, value in enumerate(outputs):
        name = wanted[index] if index < len(wanted) else (found[index] if index < len(found) else f"output_{index}")
        if name in inputs:
            if index < len(wanted):
                raise ExportInputError(f"'{name}' is the name of an input and of an output: names must differ")
            name = g.fresh(f"{name}_output")
        while index >= len(wanted) and (name in wanted or name in inputs):
            name += "_"
        value = g.place(value)
        if value.owner is None or id(value) in seen:
            before = value
            value = g._node("onnx::Identity", [before], {}, 1)[0]
            value.dtype, value.shape = before.dtype, before.shape
            stand_behind(g.graph._nodes, before)
        seen.add(id(value))
        value.name = name
        if dynamic_axes and name in dynamic_axes and value.shape is not None:
            for dim, label in axis_names(dynamic_axes[name], name).items():
                if not 0 <= dim < len(value.shape):  # PyTorch takes no notice of it
                    warnings.warn(
                        f"dynamic_axes: the output '{name}' has {len(value.shape)} dimensions, and none of number {dim!r}", stacklevel=2
                    )
                    continue
                if not isinstance(value.shape[dim], SymbolicInt):
                    sizes = list(value.shape)
                    sizes[dim] = SymbolicInt(sizes[dim] or 0, Expression.symbol(label))
                    value.shape = tuple(sizes)
        g.graph._outputs.append(value)

"""``export_modules_as_functions``: the nodes of a Module become a function of the file, and its calls single nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from .cleanup import drop_dead
from .errors import ExportInputError
from .ir import OnnxGraph, OnnxNode, OnnxValue

FIRST_OPSET = 15  # functions of a model are in the format since then


class LocalFunction:
    """A function of the file: nodes with names of their own for what comes in and goes out."""

    def __init__(self, domain: str, name: str, inputs: list[OnnxValue], outputs: list[OnnxValue], nodes: list[OnnxNode]) -> None:
        self.domain = domain
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.nodes = nodes


def group_modules(graph: OnnxGraph, classes: dict[str, type], chosen: bool | Collection[type], opset: int) -> list[LocalFunction]:
    """Put the nodes of Modules (all, or those of the given classes) into functions, inner ones first."""
    if opset < FIRST_OPSET:
        raise ExportInputError(
            f"export_modules_as_functions needs opset {FIRST_OPSET} or later, and opset {opset} was asked for: export with "
            f"opset_version={FIRST_OPSET}"
        )
    kinds = None if chosen is True else tuple(chosen)  # type: ignore[arg-type]
    for each in kinds or ():
        if not isinstance(each, type):
            raise ExportInputError(f"export_modules_as_functions takes True or a set of Module classes, not {each!r}")
    paths = [path for path, kind in classes.items() if path and (kinds is None or issubclass(kind, kinds))]
    functions: dict[Any, LocalFunction] = {}
    for path in sorted(paths, key=lambda each: -each.count(".")):
        kind = classes[path]
        for part in list(nested(graph, path)):
            for start, stop in runs(part, path):
                replace(part, start, stop, path, kind, functions)
    drop_dead(graph)  # constants that stood before their only user
    return list(functions.values())


def nested(graph: OnnxGraph, path: str) -> Iterator[OnnxGraph]:
    """A graph and those of the branches and loops in it, inner ones first; but not those of the Module itself, which go with it."""
    for node in graph._nodes:
        for value in node.attributes.values():
            if isinstance(value, OnnxGraph) and not is_inside(node, path):
                yield from nested(value, path)
    yield graph


def is_inside(node: OnnxNode, path: str) -> bool:
    """Whether a node is of a Module, or of one below it."""
    return node.module == path or node.module.startswith(path + ".")


def runs(graph: OnnxGraph, path: str) -> list[tuple[int, int]]:
    """Where nodes of a Module stand one after the other; constants in between do not count.  The last run first."""
    found: list[tuple[int, int]] = []
    start = last = -1
    for at, node in enumerate(graph._nodes):
        if node.kind() == "onnx::Constant":
            continue
        inside = is_inside(node, path)
        if inside and start < 0:
            start = at
        if inside:
            last = at
        elif start >= 0:
            found.append((start, last + 1))
            start = -1
    if start >= 0:
        found.append((start, last + 1))
    return found[::-1]


def replace(graph: OnnxGraph, start: int, stop: int, path: str, kind: type, functions: dict[Any, LocalFunction]) -> None:
    """Put a run of nodes into a function and a call in their place."""
    nodes = [node for node in graph._nodes[start:stop] if node.kind() != "onnx::Constant"]
    constants = [node for node in graph._nodes[start:stop] if node.kind() == "onnx::Constant"]
    made = {id(value) for node in nodes for value in node._outputs}
    used_outside = {id(value) for value in graph._outputs}
    for node in (*graph._nodes[:start], *graph._nodes[stop:]):
        used_outside.update(id(value) for value in used_by(node))
    inputs: list[OnnxValue] = []
    inner_constants: list[OnnxNode] = []
    for node in nodes:
        for value in used_by(node):
            if id(value) in made:
                continue
            if value.owner is not None and value.owner.kind() == "onnx::Constant":
                if value.owner not in inner_constants:
                    inner_constants.append(value.owner)
            elif value not in inputs:
                inputs.append(value)
    outputs = [value for node in nodes for value in node._outputs if id(value) in used_outside]
    body = [*inner_constants, *nodes]
    domain, name = kind.__module__, kind.__name__
    key = (domain, name, signature(body, inputs, outputs))
    function = functions.get(key)
    if function is None:
        taken = sum(each.domain == domain and each.name.partition(".")[0] == name for each in functions.values())
        function = functions[key] = LocalFunction(domain, f"{name}.{taken}" if taken else name, inputs, outputs, body)
    call = OnnxNode(f"{domain}::{function.name}", list(inputs), {}, 0)
    # In the graph the values keep their names; the function has values of the same names of its own.
    call._outputs = outputs
    call.name, call.source, call.module = f"/{path.replace('.', '/')}", nodes[0].source, path.rpartition(".")[0]
    still_used = [node for node in constants if any(id(value) in used_outside for value in node._outputs)]
    graph._nodes[start:stop] = [*still_used, call]


def used_by(node: OnnxNode) -> list[OnnxValue]:
    """The values that a node refers to, those in its sub-graphs too."""
    found = [value for value in node._inputs if value is not None]
    for attribute in node.attributes.values():
        if isinstance(attribute, OnnxGraph):
            inside = {id(value) for each in attribute._nodes for value in each._outputs} | {id(value) for value in attribute._inputs}
            for each in (*attribute._nodes, _FunctionOutputs(attribute)):
                found += [value for value in used_by(each) if id(value) not in inside]  # type: ignore[arg-type]
    return found


class _FunctionOutputs:
    """The outputs of a sub-graph, as something that uses values."""

    def __init__(self, graph: OnnxGraph) -> None:
        self._inputs = graph._outputs
        self.attributes: dict[str, Any] = {}


def signature(nodes: list[OnnxNode], inputs: list[OnnxValue], outputs: list[OnnxValue]) -> Any:
    """What nodes compute, whatever their values are called: equal for equal functions."""
    numbers: dict[int, int] = {id(value): at for at, value in enumerate(inputs)}
    rows = []
    for node in nodes:
        rows.append(
            (
                node.kind(),
                tuple(-1 if each is None else numbers.get(id(each), -2) for each in node._inputs),
                len(node._outputs),
                attributes(node),
            )
        )
        for value in node._outputs:
            numbers[id(value)] = len(numbers)
    return tuple(rows), tuple(numbers[id(value)] for value in outputs)


def attributes(node: OnnxNode) -> Any:
    found: list[Any] = []
    for name, value in sorted(node.attributes.items()):
        if isinstance(value, OnnxGraph):
            found.append((name, id(value)))  # a function with a sub-graph is never taken for another
        elif hasattr(value, "tobytes"):
            found.append((name, str(value.dtype), value.shape, value.tobytes()))
        else:
            found.append((name, repr(value)))
    return tuple(found)

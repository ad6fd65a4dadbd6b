"""Where a file goes wrong: the first of its nodes whose value is not what the program computes there.

The program is exported anew on the inputs in question.  That gives what each op computed, and the name of the ONNX value that
stands for it; the file under test is run with all its values as outputs.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..capture.trace.capture import bind_arguments
from ..core.base import TensorBase
from ..core.errors import RushlightError
from ..core.quantized import QuantizedArray
from .comparison import OnnxSession, OutputDifference, copied, difference
from .enums import OperatorExportTypes, TrainingMode
from .exporter import ExportRequest
from .ir import OnnxValue
from .proto import OnnxModel
from .random_inputs import InputSpec

STACK, SCOPE = "pkg.torch.onnx.stack_trace", "namespace"
_PLACE = re.compile(r'File "(.*)", line (\d+), in (.*)')


@dataclass
class WrongNode:
    """A node of the file, what it should give and what it gives, and the line of the program that it comes from."""

    op: str
    name: str
    output: str
    difference: OutputDifference | None
    source: tuple[str, int, str] | None
    module: str
    inputs: list[str]
    changed: list[str] = field(default_factory=list)  # stored tensors and attributes that are not those of a fresh export
    by_value: bool = False  # whether the names of the file say nothing, and values were looked for

    @property
    def line(self) -> str:
        """The text of the user's line, where it can be read."""
        return linecache.getline(self.source[0], self.source[1]).strip() if self.source else ""

    def __str__(self) -> str:
        lines = [f"first wrong node: {self.op} '{self.name}', which gives '{self.output}' from {', '.join(self.inputs) or 'nothing'}"]
        if self.module:
            lines.append(f"  in the module {self.module}")
        if self.source:
            lines.append(f'  File "{self.source[0]}", line {self.source[1]}, in {self.source[2]}')
            lines += [f"    {self.line}"] if self.line else []
        if self.difference is not None:
            lines.append(f"  {self.difference}")
        lines += [f"  {each}" for each in self.changed]
        if self.by_value:
            lines.append("  (the names in the file are not those of a fresh export: found by comparing values)")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        found = self.difference
        return {
            "op": self.op, "name": self.name, "output": self.output, "inputs": self.inputs, "module": self.module,
            "source": None if self.source is None else {"file": self.source[0], "line": self.source[1], "function": self.source[2], "text": self.line},
            "expected": None if found is None else plain(found.expected), "got": None if found is None else plain(found.got),
            "index": None if found is None else list(found.index), "changed": self.changed, "by_value": self.by_value,
        }  # fmt: skip


def plain(value: Any) -> Any:
    """A number, a string, a bool or None as it is; anything else as text."""
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


class ReferenceExport:
    """A fresh export, with what each op computed by the name of the ONNX value that stands for it."""

    def __init__(self, request: ExportRequest) -> None:
        request.with_values = True
        self.model: OnnxModel = request.model_file()
        self.values: dict[str, np.ndarray] = {}
        lowering = request.lowering
        for entry in lowering.captured.tracer.entries.values():
            value, tensor = lowering.values.get(entry.node), entry.tensor
            written = getattr(tensor, "_version", 0)
            if isinstance(value, OnnxValue) and value.name and value.pair is None and isinstance(tensor, TensorBase) and not written:
                array = tensor._array
                if not isinstance(array, QuantizedArray) and isinstance(array, np.ndarray):
                    self.values[value.name] = np.asarray(array)

    def complete(self, tensors: Sequence[Any], outputs: Sequence[np.ndarray]) -> None:
        """Add what the fresh export's own nodes give inside ops of several nodes, if that export is right as a whole."""
        proto = self.model.proto()
        try:
            found = all_values(proto, tensors)
        except (RushlightError, ValueError):
            return
        for each, want in zip(proto.graph.output, outputs):
            if each.name not in found or difference(each.name, want, found[each.name])[0] is not None:
                return
        for name, array in found.items():
            self.values.setdefault(name, array)


def fresh(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], opset: int, specs: Sequence[InputSpec] = (), training: TrainingMode = TrainingMode.EVAL,
    folding: bool = True,
) -> ReferenceExport:  # fmt: skip
    """Export the program anew, with the names and the open sizes of the file's inputs."""
    taken = [name for name, _ in bind_arguments(model, args, kwargs)]
    ordered = sorted(specs, key=lambda spec: taken.index(spec.name) if spec.name in taken else -1)
    names = [spec.name or "" for spec in ordered] if len(ordered) == len(taken) and all(spec.name for spec in ordered) else None
    axes = {spec.name: spec.symbols() for spec in specs if spec.symbols()} if names else None
    return ReferenceExport(
        ExportRequest(
            model, copied(args), kwargs=copied(kwargs), input_names=names, output_names=None, opset_version=opset, dynamic_axes=axes, dynamic_shapes=None,
            training=training, mode=OperatorExportTypes.ONNX, folding=folding, custom_opsets=None, autograd_inlining=True, export_params=True,
            keep_initializers_as_inputs=None, modules_as_functions=False,
        )
    )  # fmt: skip


def with_all_outputs(model: Any, only: Sequence[str] | None = None) -> Any:
    """A copy of an ONNX model that gives all values of its graph, or some of them."""
    import onnx.inliner

    made = onnx.ModelProto()
    made.CopyFrom(model)
    if made.functions:
        made = onnx.inliner.inline_local_functions(made)
    known = {each.name for each in made.graph.output}
    wanted = None if only is None else set(only)
    for node in made.graph.node:
        for name in node.output:
            if name and name not in known and (wanted is None or name in wanted):
                known.add(name)
                made.graph.output.add(name=name)
    return made


def all_values(model: Any, tensors: Sequence[Any]) -> dict[str, np.ndarray]:
    """Every tensor that an ONNX model computes on the way, by name."""
    runtime = OnnxSession(with_all_outputs(model).SerializeToString(), optimized=False)
    return {name: each for name, each in zip(runtime.outputs, runtime.run(tensors)) if isinstance(each, np.ndarray)}


def conditions_of(model: Any) -> dict[str, str]:
    """The Ifs of a graph: of each, by its name, the value that decides."""
    return {node.name or node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "If" and not node.domain}


def condition_reader(model: Any) -> Any:
    """A function that tells for inputs which way each If of a graph goes; None where there is no If."""
    conditions = conditions_of(model)
    given = {each.name for each in model.graph.input}
    conditions = {name: value for name, value in conditions.items() if value not in given}
    if not conditions:
        return None
    runtime = OnnxSession(with_all_outputs(model, list(conditions.values())).SerializeToString())

    def read(tensors: Sequence[Any]) -> dict[str, bool]:
        found = dict(zip(runtime.outputs, runtime.run(tensors)))
        return {name: bool(np.asarray(found[value]).reshape(-1)[0]) for name, value in conditions.items() if value in found}

    return read


def first_wrong(
    model: Any,
    reference: ReferenceExport,
    tensors: Sequence[Any],
    outputs: Sequence[np.ndarray],
    rtol: float | None = None,
    atol: float | None = None,
) -> WrongNode | None:
    """The first node of an ONNX model whose value is not the program's; None where all that can be compared is the same."""
    reference.complete(tensors, outputs)
    expected = dict(reference.values)
    for each, want in zip(model.graph.output, outputs):
        expected[each.name] = want
    found = all_values(model, tensors)
    nodes = list(with_all_outputs(model).graph.node)
    if names_are_known(model, nodes, expected):
        for node in nodes:
            for name in node.output:
                if name in expected and name in found:
                    wrong = difference(name, expected[name], found[name], rtol, atol)[0]
                    if wrong is not None:
                        return described(node, name, wrong, model, reference)
        return None
    return by_values(model, nodes, reference, expected, found, outputs, rtol, atol)


def names_are_known(model: Any, nodes: list[Any], expected: dict[str, np.ndarray]) -> bool:
    """Whether the values of a file have the names of a fresh export, rather than those of another exporter."""
    own = {each.name for each in model.graph.output}
    inner = [name for node in nodes if node.op_type != "Constant" for name in node.output if name and name not in own]
    return not inner or 5 * sum(name in expected for name in inner) >= 4 * len(inner)


def by_values(
    model: Any, nodes: list[Any], reference: ReferenceExport, expected: dict[str, np.ndarray], found: dict[str, np.ndarray],
    outputs: Sequence[np.ndarray], rtol: float | None, atol: float | None,
) -> WrongNode | None:  # fmt: skip
    """The same for a file with other names: from a wrong output back to values that the program has somewhere too."""
    by_shape: dict[Any, list[str]] = {}
    for name, array in expected.items():
        by_shape.setdefault((array.shape, array.dtype), []).append(name)
    producers = {name: node for node in nodes for name in node.output if name}
    order = {id(node): at for at, node in enumerate(nodes)}
    partners: dict[str, str | None] = {}  # of a value of the file: that of the fresh export with the same elements

    def partner(name: str) -> str | None:
        if name not in partners:
            got = found[name]
            same = (
                each for each in by_shape.get((got.shape, got.dtype), ()) if difference(name, expected[each], got, rtol, atol)[0] is None
            )
            partners[name] = next(same, None)
        return partners[name]

    def agreed(name: str) -> bool:
        node, got = producers.get(name), found.get(name)
        if node is None or got is None or got.dtype.kind not in "fc" or node.op_type == "Constant":
            return True  # an input, a stored tensor, or what can't be told
        return partner(name) is not None

    wrong = next(
        (each.name for each, want in zip(model.graph.output, outputs) if difference(each.name, want, found[each.name], rtol, atol)[0]), None
    )
    if wrong is None or wrong not in producers:
        return None
    waiting, reached, edge = [producers[wrong]], set(), []
    while waiting:
        node = waiting.pop()
        if id(node) in reached:
            continue
        reached.add(id(node))
        apart = [name for name in node.input if name and not agreed(name)]
        waiting += [producers[name] for name in apart]
        if not apart:
            edge.append(node)
    node = min(edge, key=lambda each: order[id(each)])
    given = {each.name for each in model.graph.input}
    inputs = {
        name if name in given else partner(name)
        for name in node.input
        if name in given or (name in producers and name in found and found[name].dtype.kind in "fc")
    }
    twin = counterpart(node.op_type, {each for each in inputs if each}, reference, set(partners.values()))
    shown = None
    if twin is not None and node.output[0] in found and twin._outputs[0].name in expected:
        shown = difference(node.output[0], expected[twin._outputs[0].name], found[node.output[0]], rtol, atol)[0]
    return described(node, node.output[0], shown, model, reference, twin, by_value=True)


def counterpart(op: str, inputs: set[str], reference: ReferenceExport, met: set[str | None]) -> Any:
    """The node of a fresh export that reads the same values, and whose result the file does not have."""
    readers = [
        each for each in reference.model.graph._nodes
        if inputs and inputs <= {value.name for value in each._inputs if value is not None} and each._outputs[0].name not in met
    ]  # fmt: skip
    return next((each for each in readers if each.op_type == op), readers[0] if readers else None)


def described(
    node: Any, output: str, wrong: OutputDifference | None, model: Any, reference: ReferenceExport, twin: Any = None, by_value: bool = False
) -> WrongNode:
    """A description of a node, with the stored tensors that differ between the file and a fresh export."""
    if twin is None and not by_value:
        twin = next((each for each in reference.model.graph._nodes if any(value.name == output for value in each._outputs)), None)
    facts = {each.key: each.value for each in node.metadata_props}
    place = _PLACE.search(facts.get(STACK, "").splitlines()[-1] if facts.get(STACK) else "")
    source = (place[1], int(place[2]), place[3]) if place else None
    if twin is not None and twin.source is not None:
        source = twin.source
    return WrongNode(
        node.op_type, node.name, output, wrong, source, facts.get(SCOPE, "").replace("/", "."), [name for name in node.input if name],
        changes(node, twin, model, reference), by_value,
    )  # fmt: skip


def changes(node: Any, twin: Any, model: Any, reference: ReferenceExport) -> list[str]:
    """What is otherwise than in a fresh export: the operation, its attributes, stored tensors that it reads."""
    import onnx

    notes = []
    if twin is not None and twin.op_type != node.op_type:
        notes.append(f"a fresh export has {twin.op_type} here")
    elif twin is not None:
        proto = onnx.NodeProto()
        reference.model.write_node(proto, twin)
        mine = {each.name: onnx.helper.printable_attribute(each) for each in proto.attribute}
        theirs = {each.name: onnx.helper.printable_attribute(each) for each in node.attribute}
        notes += [
            f"a fresh export has the attribute {mine.get(key, f'{key} not set')}, the file {theirs.get(key, 'none of that name')}"
            for key in sorted(mine.keys() | theirs.keys()) if mine.get(key) != theirs.get(key)
        ]  # fmt: skip
    stored = {each.name: each for each in model.graph.initializer}
    for name in node.input:
        if name in stored and name in reference.model.graph.initializers:
            kept = reference.model.arrays[name]
            wrong = difference(name, np.asarray(kept), np.asarray(onnx.numpy_helper.to_array(stored[name])), 0, 0)[0]
            if wrong is not None:
                notes.append(f"the stored tensor {wrong}")
    return notes


__all__ = ["ReferenceExport", "WrongNode", "all_values", "condition_reader", "first_wrong", "fresh"]

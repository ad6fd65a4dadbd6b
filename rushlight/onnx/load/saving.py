"""Loaded models in files of ``jit.save``: the graph as plain data, in which an operator is named by domain, name and opset."""

from __future__ import annotations

import json
from typing import Any

from ...capture.graph_data import NAMERS, from_data, to_data
from ...capture.graph_module import assign
from ...capture.trace.traced import READERS, WRITERS
from ...core.errors import CaptureError
from ...nn.parameter import Parameter
from .control_flow import choose, map_sequence, repeat, scan, scan_batch
from .gradients import derivatives
from .model import ModuleRoot, OnnxGraphModule, chosen
from .numbers import as_tensor
from .operators import CountOf, NumericOperator, OnnxOperator, SizesOf
from .strings import Strings

_FUNCTIONS = {each.__name__: each for each in (as_tensor, choose, chosen, derivatives, map_sequence, repeat, scan, scan_batch)}
_KINDS = {each.__name__: each for each in (OnnxOperator, NumericOperator, SizesOf, CountOf)}


def name_of(target: Any) -> str | None:
    """The name of what a node of a loaded model calls."""
    if isinstance(target, OnnxOperator):
        return f"{type(target).__name__}/{target.domain}/{target.kind}/{target.opset}"
    name = getattr(target, "__name__", "")
    return name if _FUNCTIONS.get(name) is target else None


def target_of(name: str) -> Any:
    """What a name in a file stands for: an operator that is known here, or a function of control flow."""
    parts = name.split("/")
    if len(parts) != 4:
        return _FUNCTIONS.get(name)
    kind, domain, operator, opset = parts
    if kind not in _KINDS or not opset.isdecimal():
        raise CaptureError(f"the file names the operator '{name}', which a graph can't call")
    return _KINDS[kind](domain, operator, int(opset))


def write(model: OnnxGraphModule) -> dict[str, Any]:
    """What a file holds of a loaded model."""
    texts = model.texts()
    return {
        "kind": "onnx", "name": type(model).__name__, "training": model.training, "graph": json.dumps(to_data(model.graph)),
        "parameters": {name: each.detach() for name, each in model.named_parameters(remove_duplicate=False)},
        "buffers": dict(model.named_buffers(remove_duplicate=False)),
        "frozen": [name for name, each in model.named_parameters(remove_duplicate=False) if not each.requires_grad],
        "texts": {path: [list(each.array.shape), each.array.ravel().tolist()] for path, each in texts.items()},
        "inputs": list(model.input_names), "outputs": list(model.output_names), "opsets": dict(model.opsets), "metadata": dict(model.metadata),
    }  # fmt: skip


def read(content: dict[str, Any]) -> OnnxGraphModule:
    """The model of a file."""
    frozen = set(content["frozen"])
    parts: dict[str, Any] = {name: Parameter(value, requires_grad=name not in frozen) for name, value in content["parameters"].items()}
    parts.update(content["buffers"])
    for path, (shape, items) in content["texts"].items():
        parts[path] = Strings(items)
        parts[path].array = parts[path].array.reshape(shape)
    made = OnnxGraphModule(ModuleRoot(parts), from_data(json.loads(content["graph"])), content["name"])
    for path, value in parts.items():
        assign(made, path, value)
    made.describe(content["inputs"], content["outputs"], content["opsets"], content["metadata"])
    return made.train(content["training"])  # type: ignore[no-any-return]


NAMERS["onnx"] = (name_of, target_of)
WRITERS.append((OnnxGraphModule, write))
READERS["onnx"] = read

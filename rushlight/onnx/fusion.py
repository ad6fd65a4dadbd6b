"""A batch normalization after a convolution becomes part of its weights: in evaluation mode both are linear."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .ir import OnnxGraph, OnnxNode, OnnxValue


def fuse_batch_norms(g: Any, outputs: list[OnnxValue]) -> None:
    """Multiply the weights of each convolution whose only use is a batch normalization with stored statistics."""
    graph: OnnxGraph = g.graph
    counts = use_counts(graph)
    counts.update(map(id, outputs))  # which are not those of the graph yet
    for norm in list(graph._nodes):
        if norm.kind() != "onnx::BatchNormalization" or norm.attributes.get("training_mode") or len(norm._outputs) != 1:
            continue
        conv = norm.inputsAt(0).owner
        if conv is None or conv.kind() != "onnx::Conv" or counts[id(conv._outputs[0])] != 1 or conv not in graph._nodes:
            continue
        stored = [known_array(each) for each in (*conv._inputs[1:], *norm._inputs[1:])]
        if any(each is None or each.dtype.kind != "f" for each in stored):
            continue
        fuse(g, conv, norm, stored)
        graph._nodes.remove(norm)


def fuse(g: Any, conv: OnnxNode, norm: OnnxNode, stored: list[Any]) -> None:
    """Make a convolution compute what the batch normalization after it gives."""
    weight, *bias = stored[:-4]
    scale, shift, mean, variance = stored[-4:]
    kind = weight.dtype
    factor = scale / np.sqrt(variance + np.asarray(norm.attributes.get("epsilon", 1e-5), variance.dtype))
    made = (weight * factor.reshape(-1, *(1,) * (weight.ndim - 1)), ((bias[0] if bias else 0) - mean) * factor + shift)
    conv._inputs[1:] = [g.initializer(f"onnx::Conv_{len(g.graph.initializers)}", each.astype(kind, copy=False), True) for each in made]
    conv._outputs = norm._outputs
    conv._outputs[0].owner = conv


def known_array(value: OnnxValue | None) -> Any:
    """The elements of a value that is stored in the file."""
    return None if value is None else value.constant


def use_counts(graph: OnnxGraph) -> Counter[int]:
    """How often each value is taken by a node, of bodies too, or returned."""
    found = Counter(id(each) for each in graph._outputs)
    for node in graph._nodes:
        found.update(id(each) for each in node._inputs if each is not None)
        for value in node.attributes.values():
            if isinstance(value, OnnxGraph):
                found.update(use_counts(value))
    return found

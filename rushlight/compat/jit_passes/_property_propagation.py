"""`torch.jit._passes._property_propagation`: types of examples for the inputs of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...capture.script.aten_graph.analysis import set_inputs
from ..c_names.graph_names import shown


def apply_input_props_using_example(graph: Any, example_input: Sequence[Any]) -> None:
    """Give the inputs of a graph the types of examples, before passes that find what follows from them."""
    found = shown(graph)
    count = sum(getattr(each._type, "kind", lambda: "")() != "ClassType" for each in found._param._outputs)
    if count != len(example_input):
        raise RuntimeError(f"Number of inputs does not match: the graph has {count}, and {len(example_input)} examples are given")
    set_inputs(found, example_input)

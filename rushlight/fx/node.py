"""``Node`` and the functions over nested arguments."""

from __future__ import annotations

from typing import Any

from ..graph.node import FrozenDict, FrozenList, Node, has_side_effect, map_aggregate, map_arg
from .graph import qualified_name as _get_qualified_name
from .graph import type_name as _type_repr
from .operator_schemas import normalize_function, normalize_module

Argument = Any
Target = Any
base_types = (str, int, float, bool, complex)


def _normalized_arguments(
    self: Node, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
) -> Any:
    """Arguments of a call by the names of the function's, or the Module's, parameters; None where these are not known."""
    if self.op == "call_function":
        return normalize_function(self.target, self.args, dict(self.kwargs), arg_types, kwarg_types, normalize_to_only_use_kwargs)
    if self.op == "call_module":
        return normalize_module(root, self.target, self.args, dict(self.kwargs), normalize_to_only_use_kwargs)
    return None


for _name, _value in {
    "normalized_arguments": _normalized_arguments, "_rename": Node.rename, "_pretty_print_target": lambda self, target: _get_qualified_name(target),
    "_replace_input_with": Node.replace_input_with, "_input_nodes": property(lambda self: dict.fromkeys(self.all_input_nodes)),
}.items():  # fmt: skip
    setattr(Node, _name, _value)

__all__ = ["FrozenDict", "FrozenList", "Node", "_get_qualified_name", "_type_repr", "has_side_effect", "map_aggregate", "map_arg"]

"""Checks of the calls in a file that take graphs, ``torch.ops.higher_order.cond`` and its like: found when the file is read, not when it runs."""

from __future__ import annotations

import inspect
from typing import Any

from ..core.base import TensorBase
from ..fx.graph_module import GraphModule
from ..graph.node import Node
from .errors import ArchiveError
from .higher_order import HigherOrderOperator

# Of each operator the arguments that are graphs, those whose items the graphs take, and those that are cut into rows.
_FORMS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "cond": (("true_fn", "false_fn"), ("operands",), ""),
    "while_loop": (("cond_fn", "body_fn"), ("carried_inputs", "additional_inputs"), ""),
    "scan": (("combine_fn",), ("init", "xs", "additional_inputs"), "xs"),
    "map_impl": (("f",), ("xs", "args"), "xs"),
    "wrap": (("func",), ("args",), ""),
    "wrap_with_set_grad_enabled": (("wrapped",), ("args",), ""),
    "wrap_with_autocast": (("wrapped",), ("args",), ""),
}


def check_regions(
    function: HigherOrderOperator, args: list[Any], kwargs: dict[str, Any], parts: dict[str, GraphModule], where: str
) -> None:
    """Refuse a call whose graphs are none, or take and give other numbers of values than the operator passes and expects."""
    graphs, lists, rows = _FORMS[function.name()]
    try:
        bound = inspect.signature(function._run).bind(*args, **kwargs)
    except TypeError as error:
        raise ArchiveError(f"{where} is called with other arguments than it takes: {error}") from None
    bound.apply_defaults()
    given = bound.arguments
    for name in lists:
        if not isinstance(given[name], (list, tuple)):
            raise ArchiveError(f"{where}: its argument '{name}' is no list")
    count = sum(len(given[name]) for name in lists)
    results = []
    for name in graphs:
        value = given[name]
        part = parts.get(value.target) if isinstance(value, Node) and value.op == "get_attr" and isinstance(value.target, str) else None
        if part is None:
            raise ArchiveError(f"{where}: its argument '{name}' is no graph")
        taken = len(part.graph.find_nodes(op="placeholder"))
        if taken != count and not given.get("kwargs"):
            raise ArchiveError(f"{where}: its graph '{name}' takes {taken} values and is given {count}")
        (output,) = part.graph.find_nodes(op="output")
        results.append(len(output.args[0]) if isinstance(output.args[0], (list, tuple)) else 1)
    for each in given[rows] if rows else ():
        value = each.meta.get("val") if isinstance(each, Node) else None
        if not isinstance(value, TensorBase) or not value._array.shape:
            raise ArchiveError(f"{where}: '{rows}' has an item that is no tensor with rows")
    if rows and not given[rows]:
        raise ArchiveError(f"{where}: '{rows}' is empty")
    carried = len(given.get("carried_inputs", given.get("init", ())))
    wrong = (
        results[0] != results[1]
        if function.name() == "cond"
        else results[-1] != carried
        if "carried_inputs" in given
        else results[0] < carried
    )
    if wrong:
        raise ArchiveError(
            f"{where}: its graphs give {' and '.join(map(str, results))} values, which do not fit together or what is carried"
        )

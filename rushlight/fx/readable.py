"""A graph module as a class in Python: the types of values, and the lines of the user's program that they come from."""

from __future__ import annotations

import re
from typing import Any

from ..capture.graph_module import GraphModule as HouseGraphModule
from ..core.base import TensorBase
from ..core.dtypes import BY_NUMPY
from ..core.symbolic import SymbolicFloat, SymbolicInt
from ..graph.node import Node, last_uses
from .graph import Writer, code_names

_PLACE = re.compile(r'File "([^"]*)", line (\d+), in ([^\n]*)\n\s*([^\n]*)')


def size_text(size: Any) -> str:
    """A size: a number, or its formula."""
    return str(size.expression) if isinstance(size, SymbolicInt) else str(int(size))


def value_text(value: Any) -> str:
    """The annotation of a value: ``f32[2, s77]``, ``Sym(s77)``; "" where there is none."""
    if isinstance(value, TensorBase):
        value = value._array
    if hasattr(value, "shape"):
        return f"{BY_NUMPY[value.dtype].abbr}[{', '.join(map(size_text, value.shape))}]"
    if isinstance(value, (SymbolicInt, SymbolicFloat)):
        return f"Sym({size_text(value) if isinstance(value, SymbolicInt) else float.__repr__(value)})"
    return f"Sym({value})" if isinstance(value, str) and type(value) is not str else ""  # a comparison of sizes


def place_of(node: Node) -> str:
    """The comment that says which line of the user's program a node comes from; "" where that is not known."""
    found = _PLACE.findall(node.meta.get("stack_trace") or "")
    if not found:
        return ""
    file, line, name, code = found[-1]
    return f"# File: {file}:{line} in {name}, code: {code.strip()}"


def readable(module: Any, name: str) -> str:
    """The class of a graph module, with those of graph modules inside it."""
    with code_names(module.graph):
        return _readable(module, name)


def _readable(module: Any, name: str) -> str:
    graph = module.graph
    writer = Writer(graph, "self", graph._codegen)
    dead = last_uses(graph)
    free: list[str] = []
    body: list[str] = []
    before: str | None = None
    annotation = ""
    for node in graph.nodes:
        kind = value_text(node.meta.get("val")) if "val" in node.meta else ""
        if node.op == "placeholder":
            default = f" = {writer.value(node.args[0])}" if node.args else ""
            free.append(f'{node.target}: "{kind}"{default}' if kind else f"{node.target}{writer.annotation(node)}{default}")
            if node.target.lstrip("*") != node.name:
                body.append(f"{node.name} = {node.target.lstrip('*')}")
            continue
        if node.op == "output":
            if node.type is not None:
                annotation = f" -> {writer.type(node.type)}"
            body.append(graph._codegen.generate_output(node.args[0]))
            continue
        place = place_of(node)
        if place != before:
            before = place
            body += ([""] if body else []) + [place or "# No stacktrace found for following nodes"]
        gone = dead.get(node, [])
        end = f";  {' = '.join([*(each.name for each in gone), 'None'])}" if gone else ""
        statement = writer.statement(node)
        if kind and node.type is None and statement.startswith(f"{node.name} = "):
            statement = f'{node.name}: "{kind}"' + statement[len(node.name) :]
        body.append(statement + end)
    lines = [*graph._codegen.gen_fn_def(free, annotation).split("\n"), *("    " + line if line else "" for line in body)]
    text = "\n".join([f"class {name}(torch.nn.Module):", *("    " + line if line else "" for line in lines)]) + "\n"
    for key, child in module.named_children():
        if isinstance(child, HouseGraphModule):
            text += "\n" + "\n".join("    " + line if line else "" for line in readable(child, key).split("\n")[:-1]) + "\n"
    return text

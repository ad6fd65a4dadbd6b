"""`rushlight explain`: what `compile` makes of a program: graphs, breaks, and why it compiles again."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ..compiler import Unsupported, counters
from ..compiler import compile as compile_program
from ..onnx.comparing import arguments
from ..onnx.files import first_line
from ..onnx.sampling import draw, other_sizes
from . import inputs, target
from .output import DONE, Progress, give, give_json, raised, say, users_code

NAME = "explain"
HELP = "show what compile makes of a program: graphs, breaks, recompilations"
DESCRIPTION = """\
Run a program compiled, and show what was captured: each graph with its operations, where graphs end and why, and, where sizes are
open, why the program was compiled again for another size: the guards that failed.
"""
EXAMPLES = """\
examples:
  rushlight explain model.py:Net --input 1x3x224x224
  rushlight explain model.py:Net --input Nx3x32x32 --graphs
  rushlight explain model.py:Net --input 1x3x32x32 --json | jq .breaks
"""
NOTES = "\n" + inputs.HELP


def grammar(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("target", metavar=target.FORM, help="the program")
    inputs.add(parser)
    parser.add_argument("--weights", metavar="FILE", help="tensors for the Module: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--graphs", action="store_true", help="print each graph as Python")


class Watched:
    """A compiled program, with the graphs that it hands to its back-end and what is counted meanwhile."""

    def __init__(self, model: Any) -> None:
        self.graphs: list[Any] = []
        self.before = {name: counters[name].copy() for name in ("graph_break", "recompiles")}
        self.program = compile_program(model, backend=self.take)
        self.whole = compile_program(model, backend="eager", fullgraph=True)

    def take(self, graph: Any, examples: list[Any]) -> Any:
        """The back-end: keeps a graph, and runs it as it is."""
        self.graphs.append(graph)
        return graph.forward

    def first_break(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The first break with its line and what to do about it: what ``fullgraph=True`` says."""
        try:
            self.whole(*args, **kwargs)
        except Unsupported as error:
            return str(error)
        return None

    def counted(self, name: str) -> list[str]:
        """What was counted since, each once."""
        return [text for text, count in counters[name].items() if count > self.before[name][text]]

    def facts(self, first: str | None) -> dict[str, Any]:
        """All of it as data."""
        graphs = [{"operations": operations(each), "code": each.print_readable(print_output=False)} for each in self.graphs]
        return {
            "graphs": graphs, "graph_count": len(graphs), "operation_count": sum(len(each["operations"]) for each in graphs),
            "breaks": self.counted("graph_break"), "first_break": first, "recompilations": self.counted("recompiles"),
        }  # fmt: skip


def operations(module: Any) -> list[str]:
    """The operations of a graph."""
    calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
    return [node.table_op.public_name if node.table_op is not None else str(getattr(node.target, "__name__", node.target)) for node in calls]


def run(options: argparse.Namespace) -> int:
    """Compile, run, and show."""
    specs = [inputs.parse(text) for text in options.input]
    with Progress(options.json) as progress, users_code():
        progress.step(f"loading {options.target}")
        model = target.model(options.target, options.weights)
        given = inputs.Inputs(model, specs, inputs.pairs(options.size, "--size"))
        watched = Watched(model)
        stream = np.random.default_rng(0)
        for sizes in [given.sizes, given.sizes, *list(other_sizes(given.sizes))[:2]]:
            progress.step(f"running: {sizes}")
            args, kwargs = arguments(model, given.specs, draw(given.specs, sizes, stream))
            try:
                watched.program(*args, **kwargs)
            except Exception as error:
                if sizes is given.sizes:
                    raise raised("the program raised an exception", error) from error
                say(f"note: the program does not take {sizes} ({first_line(error)})")
        first = watched.first_break(*arguments(model, given.specs, draw(given.specs, given.sizes, stream)))
        found = watched.facts(first)
    if options.json:
        give_json(found)
    else:
        give(in_words(found, options.graphs))
    return DONE


def in_words(found: dict[str, Any], graphs: bool) -> str:
    """The same for people."""
    lines = [f"{counted(found['graph_count'], 'graph')}, {counted(found['operation_count'], 'operation')}, {counted(len(found['breaks']), 'break')}"]
    for at, each in enumerate(found["graphs"], 1):
        names = each["operations"]
        shown = ", ".join(names[:12]) + (f", and {len(names) - 12} more" if len(names) > 12 else "")
        lines.append(f"\ngraph {at}: {counted(len(names), 'operation')}: {shown}")
        if graphs:
            lines += [f"  | {line}" for line in each["code"].splitlines()]
    if found["first_break"]:
        lines.append(f"\nthe first break:\n  {found['first_break']}")
    for title, key in (("all breaks", "breaks"), ("compiled again because", "recompilations")):
        if found[key]:
            lines += [f"\n{title}:", *(f"  {each}" for each in found[key])]
    return "\n".join(lines)


def counted(count: int, thing: str) -> str:
    """1 graph, 2 graphs."""
    return f"{count} {thing}{'' if count == 1 else 's'}"

"""Descriptions of compiled graphs: their steps and notes, and a dump of kernel plans with LLVM text."""

from __future__ import annotations

import linecache
import os
from operator import attrgetter
from pathlib import Path
from typing import Any

from ...codegen.llvm.target import processor
from ...core.base import Spec
from ...graph.printer import source_of
from ...passes.decompose import Declined, decompose
from ...schedule.schedule import Schedule
from ...schedule.tensor_ir import Call
from .executable import CompiledSchedule


def parts_of(thing: Any) -> list[tuple[str, Any]]:
    """The graphs (with their programs) behind something that is compiled, each with a title.

    Takes compiled functions and Modules, what the back-end gave for a graph, and programs.
    """
    if isinstance(thing, CompiledSchedule) or hasattr(thing, "programs"):
        return [("the graph", thing)]
    if "_compiled" in getattr(thing, "__dict__", {}):
        compiled = thing.__dict__["_compiled"]
        segments = compiled.cache.all()
        parts = [(number, part) for number, each in enumerate(segments, 1) for part in parts_of(each.executable)]
        return [(f"segment {number}, {title}" if len(segments) > 1 else title, part) for number, (title, part) in parts]
    if hasattr(thing, "plain") and hasattr(thing, "differentiated"):
        found = [("the graph", thing.plain)] if thing.plain.programs or thing.plain.declined else []
        for plan in thing.differentiated.plans.values():
            if plan is not None:
                found.append(("forward", plan.forward))
                found += [("backward", each) for each in plan.backwards.values()]
        return found or [("the graph", thing.plain)]
    if isinstance(getattr(thing, "made", None), dict):  # one for each value of some numbers
        return [part for each in thing.made.values() for part in parts_of(each)]
    return []


def describe(thing: Any) -> str:
    """The steps of what is compiled, and why others run as in eager mode."""
    lines: list[str] = []
    for title, part in parts_of(thing):
        if isinstance(part, CompiledSchedule):
            texts = [part.describe()]
        elif getattr(part, "declined", ""):
            texts = [f"runs as in eager mode: {part.declined}"]
        else:
            texts = [each.describe() for each in part.programs] or [outline(part.module)]
        general = getattr(part, "for_any", None)
        if general is not None and general.refused:
            texts.append(f"a program for each size, since {general.refused[-1]}")
        lines += [f"{title}: {text}" for text in texts]
    return "\n".join(lines)


def outline(module: Any) -> str:
    """The steps that a graph module would be compiled to, where it has not been called yet."""
    graph = module.graph
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    specs: list[Any] = [node.meta.get("val") for node in inputs]
    if not all(isinstance(each, Spec) and all(type(size) is int for size in each.shape) for each in specs):
        return "not compiled yet"

    try:
        plain = [each.sized(each.shape) for each in specs]
        layouts = [Spec(each.shape, each.dtype).element_strides for each in specs]
        schedule = Schedule(decompose(graph, plain, lambda name: attrgetter(name)(module)), layouts, processor().target)
    except Declined as error:
        return f"runs as in eager mode: {error}"
    return "\n".join(["to be compiled", *(f"  {each}" for each in schedule.steps), *(f"  note: {each}" for each in schedule.notes)])


def dump(thing: Any, path: str | os.PathLike[str]) -> None:
    """Write the kernels of something compiled to a file: for each, the user's lines, the kernel plan, and LLVM's text."""
    lines: list[str] = []
    for title, part in parts_of(thing):
        programs = [part] if isinstance(part, CompiledSchedule) else getattr(part, "programs", [])
        for program in programs:
            lines += [f"; ==== {title} ====", *(f"; {line}" for line in program.describe().splitlines()), ""]
            lines += kernels_of(program)
        if not programs:
            lines += [f"; ==== {title}: {getattr(part, 'declined', '') or 'not compiled yet'} ====", ""]
    if not lines:
        raise ValueError("native.dump() takes what compile(..., backend='native') gave, after it was called, or a program")
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def kernels_of(program: CompiledSchedule) -> list[str]:
    """The kernel plans and LLVM text of a compiled schedule, step by step."""
    module = program.module
    functions = {id(step): [] if module is None else module.functions[found] for step, found in program.written}
    lines: list[str] = []
    for step in program.schedule.steps:
        lines += ["; " + "-" * 100, f"; {step}"]
        lines += [f";   {each}" for each in sources(step)]
        lines += [f";   {line}" for plan in program.schedule.kernel_plans(step) for line in str(plan).splitlines()]
        if isinstance(getattr(step, "value", None), Call):
            lines.append("; called as in eager mode")
        elif not functions.get(id(step)):
            lines.append("; by the same code as a step before")
        lines += ["", *functions.get(id(step), []), ""]
    return lines


def sources(step: Any) -> list[str]:
    """The user's lines that a step comes from."""
    found: dict[str, None] = {}
    for value in step.members:
        if value.node is not None and source_of(value.node):
            file, line, _ = value.node.meta["source"]
            found[f"{source_of(value.node)}: {linecache.getline(file, line).strip()}"] = None
    return list(found)

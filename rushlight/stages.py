"""The stages of a compilation, printed: what each stage gets and gives, for one call of a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .backends.native import available
from .backends.native.executable import compile_graph
from .codegen.llvm.target import processor
from .codegen.triton import TARGET
from .codegen.triton.module import GeneratedModule
from .compiler import compile as compile_function
from .compiler import explain
from .core.errors import CaptureError
from .passes.decompose import Declined, decompose
from .passes.differentiate import differentiate
from .passes.partition import partition
from .passes.rematerialize import rematerialize
from .schedule.schedule import Schedule


class Stage(NamedTuple):
    """What one stage of a compilation gave."""

    name: str
    room: str  # the folder of the package that did it
    text: str


def stages(function: Any, *args: Any, for_target: str = "cpu", **kwargs: Any) -> list[Stage]:
    """The stages in which ``compile`` makes code of a function, for a call with these arguments; the call is made once.

    A function that breaks into several graphs has the stages of each.  ``for_target="cuda"`` gives the code for a GPU, which need not be there.
    """
    captured: list[tuple[Any, list[Any]]] = []

    def keep(gm: Any, example_inputs: list[Any]) -> Any:
        captured.append((gm, example_inputs))
        return gm.forward

    compiled = compile_function(function, backend=keep)
    explanation = explain(compiled)(*args, **kwargs)
    found = [Stage("guards", "capture/compile/guards", explanation.text(["guards"]).rstrip())]
    for gm, inputs in captured:
        found += stages_of_graph(gm, inputs, for_target)
    return found


def stages_of_graph(gm: Any, inputs: list[Any], for_target: str) -> Iterator[Stage]:
    """The stages of a captured graph."""
    yield Stage("captured graph", "capture/compile", gm.code.strip())
    if any(each.__class__ in (int, float) for each in inputs):
        yield Stage("no further stage", "backends", "numbers among the inputs are put in their place first (backends/scalar_inputs.py)")
        return
    try:
        joint = differentiate(gm, inputs)
    except CaptureError as error:
        yield Stage("no further stage", "passes", f"the graph can't be differentiated ahead of time: {error}")
        return
    yield Stage("joint graph", "passes/differentiate.py", str(joint.graph))
    rematerialize(joint)
    halves = partition(joint)
    for name, graph in (("forward", halves.forward), ("backward", halves.backward)):
        if name == "backward" and not joint.differentiable:
            return
        yield Stage(f"{name} graph", "passes/partition.py", str(graph))
        specs = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"]
        try:
            decomposed = decompose(graph, specs, joint.constants.__getitem__)
        except Declined as error:
            yield Stage(f"no further stage of {name}", "passes/decompose.py", str(error))
            continue
        yield Stage(f"{name}, decomposed", "passes/decompose.py", str(decomposed.graph))
        layouts = [each.element_strides for each in specs]
        if for_target == "cuda":
            schedule = Schedule(decomposed, layouts, TARGET)
            yield Stage(f"{name}, scheduled", "schedule", str(schedule))
            yield Stage(f"{name}, Triton", "codegen/triton", GeneratedModule(schedule).text)
        elif available():
            yield Stage(f"{name}, scheduled", "schedule", str(Schedule(decomposed, layouts, processor().target)))
            yield Stage(f"{name}, LLVM IR", "codegen/llvm", compile_graph(graph, specs, joint.constants.__getitem__).text)


__all__ = ["Stage", "stages"]

"""``pipeline``: a model that is traced and taken apart into stages, at ``pipe_split`` calls in its forward or before and after submodules.

A stage is a graph module with the parameters that its nodes use, by the names that the model has for them.  It takes the values that later
nodes need of earlier ones, and passes on those that stages after the next one need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from operator import getitem
from typing import Any

from ...core.errors import NotSupported
from ...export import export
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...graph.node import Node, map_arg
from ...library import custom_op
from ...nn.modules.module import Module
from .stage import PipelineStage

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "build_stage", "pipe_split", "pipeline"]


class SplitPoint(Enum):
    """Where a model is taken apart: before or after a submodule."""

    BEGINNING = 1
    END = 2


@custom_op("pippy::_pipe_split", mutates_args=())
def _pipe_split() -> None:
    """A node of a traced model between two stages."""


@_pipe_split.register_fake
def _pipe_split_shapes() -> None:
    return None


def pipe_split() -> None:
    """Mark the end of a stage in a model's forward; without effect where the model is not traced by ``pipeline``."""
    _pipe_split()


@dataclass
class PipeInfo:
    """What is known of a pipeline: its graph, and how many stages it has."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe(Module):
    """A model in stages."""

    def __init__(self, stages: list[Any]) -> None:
        super().__init__()
        self.num_stages, self.has_loss_and_backward, self.loss_spec = len(stages), False, None
        graph = Graph()
        values: Any = [graph.placeholder(node.target) for node in stages[0].graph.nodes if node.op == "placeholder"]
        for at in range(len(stages)):
            called = graph.call_module(f"submod_pp_{at}", tuple(values))
            count = sum(node.op == "placeholder" for node in stages[at + 1].graph.nodes) if at + 1 < len(stages) else 0
            values = [graph.call_function(getitem, (called, number)) for number in range(count)] if count > 1 else [called]
        last = next(node for node in stages[-1].graph.nodes if node.op == "output")
        graph.output(values[0] if isinstance(last.args[0], tuple) else (values[0],))
        self.split_gm = GraphModule({f"submod_pp_{at}": stage for at, stage in enumerate(stages)}, graph)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The tensors of the model's result, in a tuple: all stages in turn, in this process."""
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> Any:
        """A stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_pp_{stage_idx}")

    def info(self) -> PipeInfo:
        """What is known of the pipeline."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """A stage as a schedule takes it."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Print the graphs."""
        self.split_gm.print_readable()

    def __repr__(self) -> str:
        return repr(self.split_gm)


def build_stage(stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None) -> PipelineStage:
    """A stage of a pipeline as a schedule takes it."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)


def pipeline(
    module: Any, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None, split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[Any], Any] | None = None,
) -> Pipe:  # fmt: skip
    """Take a model apart: it is traced on the arguments of a microbatch, and split where its forward or ``split_spec`` (by names of submodules) says."""
    if split_policy is not None:
        raise NotSupported("pipeline(split_policy=...): give split_spec, or call pipe_split() in the model's forward")
    known = dict(module.named_modules())
    for name, point in (split_spec or {}).items():
        if name not in known:
            parts = name.split(".")
            missing = next(path for at in range(len(parts)) if (path := ".".join(parts[: at + 1])) not in known)
            raise AttributeError(f"Specified target {name} referenced nonexistent module {missing}")
        if not isinstance(point, SplitPoint):
            raise ValueError("Unknown split point type.")
    traced = export(module, tuple(mb_args), mb_kwargs or {}).module()
    stage_of = _stages(traced, split_spec or {})
    return Pipe(_taken_apart(traced, stage_of))


def _stages(traced: Any, spec: dict[str, SplitPoint]) -> dict[Node, int]:
    """The stage of each node that computes."""
    found: dict[Node, int] = {}
    stage, inside = 0, dict.fromkeys(spec, False)
    for node in traced.graph.nodes:
        if node.op == "call_module" and node.target == "_guards_fn":
            continue
        if node.op not in ("call_function", "call_module", "call_method"):
            continue
        if "_pipe_split" in str(node.target):
            stage += 1
            continue
        paths = {path for path, _ in (node.meta.get("nn_module_stack") or {}).values()}
        for name, point in spec.items():
            entered, left = name in paths and not inside[name], name not in paths and inside[name]
            inside[name] = name in paths
            stage += (entered and point is SplitPoint.BEGINNING) or (left and point is SplitPoint.END)
        found[node] = stage
    return found


def _taken_apart(traced: Any, stage_of: dict[Node, int]) -> list[Any]:
    """The stages: each with placeholders for the values that come from before it, and the values that later ones need as its results."""
    nodes = list(traced.graph.nodes)
    end = next(node for node in nodes if node.op == "output")
    numbers = {stage: at for at, stage in enumerate(sorted(set(stage_of.values())))}  # a stage without nodes is none
    count = max(len(numbers), 1)
    made_in = {
        node: 0 if node.op == "placeholder" else numbers[stage_of[node]] for node in nodes if node.op == "placeholder" or node in stage_of
    }
    last_use = {node: max([numbers[stage_of[user]] for user in node.users if user in stage_of] + ([count - 1] if end in node.users else [])) for node in made_in
                if any(user in stage_of or user is end for user in node.users)}  # fmt: skip
    results = _leaves(end.args[0])
    stages = []
    for stage in range(count):
        graph, environment = Graph(), dict[Node, Any]()
        given = [node for node in nodes if node.op == "placeholder"] if stage == 0 else _live(made_in, last_use, stage)
        for node in given:
            environment[node] = graph.placeholder(node.name)
        for node in nodes:
            if node.op == "get_attr" and any(numbers.get(stage_of.get(user, -1)) == stage for user in node.users):
                environment[node] = graph.get_attr(node.target)
            elif node in stage_of and made_in[node] == stage:
                environment[node] = graph.create_node(
                    node.op, node.target, map_arg(node.args, environment.__getitem__), map_arg(dict(node.kwargs), environment.__getitem__)
                )
                environment[node].meta = dict(node.meta)
        if stage + 1 < count:
            following = tuple(environment[node] for node in _live(made_in, last_use, stage + 1))
            graph.output(following if len(following) != 1 else following[0])
        else:
            graph.output(map_arg(results[0] if len(results) == 1 else tuple(results), environment.__getitem__))
        stages.append(GraphModule(traced, graph))
    return stages


def _live(made_in: dict[Node, int], last_use: dict[Node, int], stage: int) -> list[Node]:
    """The values that go into a stage: made before it, and used in it or later."""
    return [node for node, made in made_in.items() if made < stage <= last_use.get(node, -1)]


def _leaves(value: Any) -> list[Any]:
    return [each for one in value for each in _leaves(one)] if isinstance(value, (tuple, list)) else [value]

"""Ahead-of-time differentiation for compilers of a user's own, one for the forward and one for the backward graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..capture.graph_module import GraphModule
from ..graph import Graph
from ..passes.differentiate import JointGraph
from ..passes.functionalize import nothing_special
from ..passes.partition import Partition
from .aot import AheadOfTime
from .protocol import Executable, GraphCompiler
from .scalar_inputs import with_numbers

Compiler = Callable[[Any, list[Any]], Callable[..., Any]]


class CompiledAtFirstCall:
    """A graph that a user's compiler gets, with the inputs of the first call, when it is first called.

    So a backward graph is compiled when there is a backward, and not where only the forward runs; and what a compiler raises is raised.
    """

    def __init__(self, gm: GraphModule, compiler: Compiler) -> None:
        self.gm = gm
        self.compiler = compiler
        self.function: Callable[..., Any] | None = None

    def ready(self, args: Any) -> Callable[..., Any]:
        """The compiled function, made for such inputs where it isn't there."""
        if self.function is None:
            self.function = self.compiler(self.gm, [each.detach() for each in args])
        return self.function

    def __call__(self, *args: Any) -> Any:
        function = self.ready(args)
        boxed = getattr(function, "_boxed_call", False)  # takes a list, which it may empty
        return tuple(function([*args]) if boxed else function(*args))


class UserCompiledGraph(AheadOfTime):
    """A captured graph, differentiated, whose parts a user's compilers compile."""

    def __init__(self, gm: Any, forward: Compiler, backward: Compiler, inference: Compiler) -> None:
        super().__init__(gm, GraphCompiler(forward))
        self.compilers = forward, backward, inference
        self.first: Graph | None = None  # the forward graph of the plan that is being made

    def partitioned(self, args: Any, gradients: bool) -> tuple[JointGraph, Partition, bool]:
        """See :meth:`AheadOfTime.partitioned`."""
        joint, parts, whole = super().partitioned(args, gradients)
        self.first = parts.forward
        return joint, parts, whole

    def compiled(self, graph: Any, joint: JointGraph) -> Callable[..., Any]:
        """A graph as a function that is compiled when it is called."""
        forward, backward, inference = self.compilers
        compiler = backward if graph is not self.first else forward if joint.differentiable else inference
        return CompiledAtFirstCall(GraphModule(joint.constants, graph), compiler)


def differentiated(
    gm: Any, example_inputs: Any, forward: Compiler, backward: Compiler | None = None, inference: Compiler | None = None
) -> Executable:
    """A captured graph, run by what the compilers make of its forward and its backward.

    The forward is compiled at once; its compiler takes the graphs that have none of their own.
    """
    made = with_numbers(gm, lambda each: UserCompiledGraph(each, forward, backward or forward, inference or forward))
    if isinstance(made, UserCompiledGraph) and nothing_special(example_inputs):
        plan = made.plan(example_inputs)
        if plan is not None:
            plan.forward.ready(example_inputs)
    return made

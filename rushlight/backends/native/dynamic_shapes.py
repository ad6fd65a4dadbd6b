"""Dynamic shapes: a graph with symbolic sizes is compiled once as a template, and instantiated for each size.

For sizes that no template's guards accept, another template is made, a few times (``shape_templates.py``).  After that, or where none can be made,
the graph is specialized to the sizes of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any

from ...capture.graph_module import GraphModule
from ...core.base import make
from ...core.state import state
from ...core.symbolic import Expression, SymbolicInt
from ...graph import Graph, map_aggregate
from ...passes.differentiate import OutputSource
from ...runtime.cpu.jit import log
from ...schedule.symbolic_shape import Fixed, Sizes
from ..aot import AheadOfTime, AotPlan, ForwardBackward
from .executable import CompiledSchedule
from .shape_templates import (
    InputLayout,
    Inputs,
    MustSpecialize,
    Template,
    check_same,
    copied_for,
    evaluated,
    other_sizes,
    recording_guards,
    small_sizes,
    specializer,
    with_hint,
)

TEMPLATES = 6  # for one graph and one set of input strides
LAYOUTS = 16  # sets of input strides
ATTEMPTS, MORE = 2, 8  # attempts that may fail, where sizes are equal by chance: before the first success, and in all
KEPT = 256  # instances: a sequence that grows token by token has one for each length


class TemplateCache:
    """The templates and instances of a graph with symbolic sizes."""

    def __init__(
        self, graph: Graph, inputs: Inputs, attribute: Callable[[str], Any], equal: Mapping[str, Expression] | None = None
    ) -> None:
        """``equal`` are symbols that are known to be equal to others in all calls."""
        self.graph = graph
        self.inputs = inputs
        self.attribute = attribute
        self.equal = equal
        self.templates: dict[tuple[InputLayout, ...], list[Template]] = {}  # by the strides of inputs
        self.programs: dict[Any, CompiledSchedule] = {}  # instances, by that and by sizes
        self.refused: list[str] = []  # why there is no template
        self.specializations: dict[Any, TemplateCache] = {}  # where some sizes are 0 or 1: the graph specialized to those

    @staticmethod
    def of(module: Any) -> TemplateCache | None:
        """For a captured graph; None where it has no symbolic size."""
        inputs = Inputs.of(module.graph)

        return None if inputs is None else TemplateCache(module.graph, inputs, lambda name: attrgetter(name)(module))

    def program(self, arrays: list[Any], given: Mapping[str, int] | None) -> CompiledSchedule | None:
        """The instance for such inputs and sizes (None: those of the inputs); None where there is no template for them."""
        values = self.inputs.values(arrays) if given is None else given
        small = small_sizes(values or {})
        if values is not None and small:
            return None if len(small) == len(values) else self.specialization(small, values).program(arrays, given)
        layouts = None if values is None or gives_up(self.refused, self.templates) else self.inputs.layouts(arrays, values)
        if layouts is None or values is None:
            return None
        key = (layouts, tuple(values.values()))
        instance = self.programs.get(key)
        if instance is None:
            try:
                instance = self.template_instance(layouts, values)
            except MustSpecialize as error:
                if given is None and error.names and error.names < values.keys():
                    self.graph, self.inputs = self.specialized(error.names, values)
                    return self.program(arrays, None)
                self.refused.append(why(error))
            except Exception as error:  # also an error of the compiler: a specialized graph does not depend on it
                self.refused.append(why(error))
            if instance is None:
                return None
            self.programs[key] = instance
            while len(self.programs) > KEPT:
                del self.programs[next(iter(self.programs))]
        return instance

    def specialized(self, names: Collection[str], values: Mapping[str, int]) -> tuple[Graph, Inputs]:
        """The graph and its inputs, specialized to some of the present sizes."""
        one = specializer(names, values)
        return copied_for(self.graph, values, lambda each, _: one(each)), self.inputs.specialized(names, values)

    def specialization(self, small: Any, values: Mapping[str, int]) -> TemplateCache:
        """The templates of the graph specialized to these small sizes."""
        if small not in self.specializations:
            self.specializations[small] = TemplateCache(*self.specialized(dict(small), values), self.attribute)
        return self.specializations[small]

    def template_instance(self, layouts: tuple[InputLayout, ...], values: Mapping[str, int]) -> CompiledSchedule | None:
        """An instance of the template whose guards hold for such sizes, or of a new one."""
        known = self.templates.get(layouts, [])
        for each in known:
            if each.holds(**values):
                return each.instance(values)
        if len(known) >= TEMPLATES or (not known and len(self.templates) >= LAYOUTS):
            return None
        template = Template(self.graph, layouts, Sizes(values, self.equal), self.attribute)
        instance = template.instance(values)
        self.templates[layouts] = [*known, template]
        log.info("for any sizes: %s", template.program.describe())
        return instance


def gives_up(refused: list[str], made: Mapping[Any, list[Any]]) -> bool:
    """Whether no more attempts are made."""
    return len(refused) >= (MORE if any(made.values()) else ATTEMPTS)


def why(error: Exception) -> str:
    """Why there is no template; logged."""
    reason = f"{type(error).__name__}: {error}"
    log.info("a graph is specialized to each size: %s", reason)
    log.debug("traceback", exc_info=True)
    return reason


class SpecializedModule:
    """The module of a graph specialized to one size, made when it is first used."""

    def __init__(self, constants: dict[str, Any], graph: Graph, values: Mapping[str, int]) -> None:
        self.given = constants, graph, values

    def __getattr__(self, name: str) -> Any:
        if "module" not in self.__dict__:
            constants, graph, values = self.given
            self.__dict__["module"] = GraphModule(constants, copied_for(graph, values))
        return getattr(self.__dict__["module"], name)


class DifferentiatedGraph:
    """A captured graph, differentiated for all sizes for which its guards hold."""

    def __init__(self, owner: AheadOfTime, inputs: Inputs, args: Any, values: Mapping[str, int], gradients: bool) -> None:
        self.owner = owner
        self.gradients = gradients
        sizes = Sizes(values)
        layouts = inputs.layouts([each._array for each in args], values)
        if layouts is None:
            raise Fixed("inputs with other strides")
        with recording_guards(sizes):
            self.joint, self.parts, self.writes_inside = owner.partitioned(
                [example(each, one, values) for each, one in zip(args, layouts)], gradients
            )
        sources: list[Any] = []
        map_aggregate(self.joint.structure, sources.append)
        if any(isinstance(each, SymbolicInt) or (isinstance(each, OutputSource) and each.chain) for each in sources):
            raise Fixed("an output is a view")
        for other in other_sizes(sizes):
            check_same(
                self.joint.graph, owner.joint([example(each, one, other, True) for each, one in zip(args, layouts)], gradients).graph, other
            )
        self.holds = sizes.function(" and ".join(sizes.guards) or "True")
        constants = self.joint.constants.__getitem__
        graphs = [self.parts.forward, *([self.parts.backward] if self.joint.differentiable else [])]
        self.programs = [
            TemplateCache(each, Inputs([node.meta["val"] for node in each.nodes if node.op == "placeholder"]), constants, sizes.equal)
            for each in graphs
        ]

    def plan(self, args: Any, values: Mapping[str, int]) -> AotPlan:
        """The plan for some sizes."""
        compiler: Any = self.owner.compiler
        made = [compiler.compile(SpecializedModule(self.joint.constants, each.graph, values), each, values) for each in self.programs]
        forward, backward = made if len(made) > 1 else (*made, None)
        return AotPlan(self.owner, args, self.gradients, ForwardBackward(self.joint, self.parts, self.writes_inside, forward, backward))


def example(tensor: Any, layout: InputLayout, values: Mapping[str, int], plain: bool = False) -> Any:
    """A fake tensor for an input."""
    fake = make(layout.spec(tuple([(evaluated if plain else with_hint)(each, values) for each in layout.shape])))
    fake._requires_grad = tensor._requires_grad
    return fake


class SymbolicPlans:
    """The plans of a captured graph with symbolic sizes."""

    def __init__(self, owner: AheadOfTime, inputs: Inputs | None = None) -> None:
        self.owner = owner
        self.inputs = inputs or Inputs.of(owner.gm.graph)
        self.specializations: dict[Any, SymbolicPlans] = {}  # where some sizes are 0 or 1: the plans specialized to those
        self.known: dict[Any, list[DifferentiatedGraph]] = {}
        self.refused: list[str] = []

    def plan(self, args: Any, gradients: bool) -> AotPlan | None:
        """A plan for such inputs; None where it must be specialized to their sizes."""
        values = None if self.inputs is None or gives_up(self.refused, self.known) else self.inputs.values([each._array for each in args])
        if values is None or self.inputs is None:
            return None
        small = small_sizes(values)
        if small:
            if small not in self.specializations:
                self.specializations[small] = SymbolicPlans(self.owner, self.inputs.specialized(dict(small), values))
            return self.specializations[small].plan(args, gradients) if len(small) < len(values) else None
        kinds = [(each._requires_grad, each.is_contiguous()) for each in args]  # the strides of outputs follow those of inputs
        known = self.known.setdefault((state.grad_enabled, gradients, *kinds), [])
        parts = next((each for each in known if each.holds(**values)), None)
        if parts is None and len(known) >= TEMPLATES:
            return None
        try:
            if parts is None:
                parts = DifferentiatedGraph(self.owner, self.inputs, args, values, gradients)
                known.append(parts)
            return parts.plan(args, values)
        except MustSpecialize as error:
            if error.names and error.names < values.keys():
                self.inputs = self.inputs.specialized(error.names, values)
                self.known.clear()  # their guards accept all sizes
                return self.plan(args, gradients)
            self.refused.append(why(error))
            return None
        except Exception as error:
            self.refused.append(why(error))
            return None

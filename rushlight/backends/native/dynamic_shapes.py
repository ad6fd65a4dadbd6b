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
from ...passes.differentiate import Place
from ...runtime.cpu.jit import log
from ...schedule.symbolic_shape import Fixed, Sizes
from ..aot import AheadOfTime, AotPlan, ForwardBackward
from .executable import CompiledSchedule
from .shape_templates import (
    InputLayout,
    Inputs,
    Pinned,
    Template,
    check_same,
    copied_for,
    evaluated,
    few,
    others,
    pinning,
    watching,
    with_value,
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
        self.fewer: dict[Any, TemplateCache] = {}  # where some sizes are 0 or 1: the graph specialized to those

    @staticmethod
    def of(module: Any) -> TemplateCache | None:
        """For a captured graph; None where it has no symbolic size."""
        inputs = Inputs.of(module.graph)

        return None if inputs is None else TemplateCache(module.graph, inputs, lambda name: attrgetter(name)(module))

    def program(self, arrays: list[Any], given: Mapping[str, int] | None) -> CompiledSchedule | None:
        """The instance for such inputs and sizes (None: those of the inputs); None where there is no template for them."""
        values = self.inputs.values(arrays) if given is None else given
        small = few(values or {})
        if values is not None and small:
            return None if len(small) == len(values) else self.without(small, values).program(arrays, given)
        laid = None if values is None or gives_up(self.refused, self.templates) else self.inputs.laid(arrays, values)
        if laid is None or values is None:
            return None
        key = (laid, tuple(values.values()))
        found = self.programs.get(key)
        if found is None:
            try:
                found = self.made(laid, values)
            except Pinned as error:
                if given is None and error.names and error.names < values.keys():
                    self.graph, self.inputs = self.pinned(error.names, values)
                    return self.program(arrays, None)
                self.refused.append(why(error))
            except Exception as error:  # also an error of the compiler: a specialized graph does not depend on it
                self.refused.append(why(error))
            if found is None:
                return None
            self.programs[key] = found
            while len(self.programs) > KEPT:
                del self.programs[next(iter(self.programs))]
        return found

    def pinned(self, names: Collection[str], values: Mapping[str, int]) -> tuple[Graph, Inputs]:
        """The graph and its inputs, specialized to some of the present sizes."""
        one = pinning(names, values)
        return copied_for(self.graph, values, lambda each, _: one(each)), self.inputs.pinned(names, values)

    def without(self, small: Any, values: Mapping[str, int]) -> TemplateCache:
        """The templates of the graph specialized to these small sizes."""
        if small not in self.fewer:
            self.fewer[small] = TemplateCache(*self.pinned(dict(small), values), self.attribute)
        return self.fewer[small]

    def made(self, laid: tuple[InputLayout, ...], values: Mapping[str, int]) -> CompiledSchedule | None:
        """An instance of the template whose guards hold for such sizes, or of a new one."""
        known = self.templates.get(laid, [])
        for each in known:
            if each.holds(**values):
                return each.instance(values)
        if len(known) >= TEMPLATES or (not known and len(self.templates) >= LAYOUTS):
            return None
        template = Template(self.graph, laid, Sizes(values, self.equal), self.attribute)
        found = template.instance(values)
        self.templates[laid] = [*known, template]
        log.info("for any sizes: %s", template.program.describe())
        return found


def gives_up(refused: list[str], made: Mapping[Any, list[Any]]) -> bool:
    """Whether no more attempts are made."""
    return len(refused) >= (MORE if any(made.values()) else ATTEMPTS)


def why(error: Exception) -> str:
    """Why there is no template; logged."""
    found = f"{type(error).__name__}: {error}"
    log.info("a graph is specialized to each size: %s", found)
    log.debug("traceback", exc_info=True)
    return found


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
        laid = inputs.laid([each._array for each in args], values)
        if laid is None:
            raise Fixed("inputs with other strides")
        with watching(sizes):
            self.joint, self.parts, self.whole = owner.halves([example(each, one, values) for each, one in zip(args, laid)], gradients)
        places: list[Any] = []
        map_aggregate(self.joint.structure, places.append)
        if any(isinstance(each, SymbolicInt) or (isinstance(each, Place) and each.chain) for each in places):
            raise Fixed("an output is a view")
        for other in others(sizes):
            check_same(
                self.joint.graph, owner.joint([example(each, one, other, True) for each, one in zip(args, laid)], gradients).graph, other
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
        return AotPlan(self.owner, args, self.gradients, ForwardBackward(self.joint, self.parts, self.whole, forward, backward))


def example(tensor: Any, laid: InputLayout, values: Mapping[str, int], plain: bool = False) -> Any:
    """A fake tensor for an input."""
    made = make(laid.spec(tuple([(evaluated if plain else with_value)(each, values) for each in laid.shape])))
    made._requires_grad = tensor._requires_grad
    return made


class SymbolicPlans:
    """The plans of a captured graph with symbolic sizes."""

    def __init__(self, owner: AheadOfTime, inputs: Inputs | None = None) -> None:
        self.owner = owner
        self.inputs = inputs or Inputs.of(owner.gm.graph)
        self.fewer: dict[Any, SymbolicPlans] = {}  # where some sizes are 0 or 1: the plans specialized to those
        self.known: dict[Any, list[DifferentiatedGraph]] = {}
        self.refused: list[str] = []

    def plan(self, args: Any, gradients: bool) -> AotPlan | None:
        """A plan for such inputs; None where it must be specialized to their sizes."""
        values = None if self.inputs is None or gives_up(self.refused, self.known) else self.inputs.values([each._array for each in args])
        if values is None or self.inputs is None:
            return None
        small = few(values)
        if small:
            if small not in self.fewer:
                self.fewer[small] = SymbolicPlans(self.owner, self.inputs.pinned(dict(small), values))
            return self.fewer[small].plan(args, gradients) if len(small) < len(values) else None
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
        except Pinned as error:
            if error.names and error.names < values.keys():
                self.inputs = self.inputs.pinned(error.names, values)
                self.known.clear()  # their guards accept all sizes
                return self.plan(args, gradients)
            self.refused.append(why(error))
            return None
        except Exception as error:
            self.refused.append(why(error))
            return None

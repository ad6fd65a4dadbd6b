"""The schedule of a graph: fused kernels, routines and calls in execution order, with the memory of every value.  No target's code is in it."""

from __future__ import annotations

from typing import Any

from ..passes.decompose import Decomposed
from . import routines as routines  # which ops have routines
from .epilogue import fuse_epilogues, update_early
from .fold_constants import fold_constants
from .fusion import Fusion, FusionGroup
from .in_place import plan_in_place
from .kernel_plan import KernelPlan, name_of
from .launch_order import inputs_first, sum_late
from .memory_plan import assign_offsets, lend_results, plan_memory
from .output_layout import lay_out
from .plan_kernel import plan_kernel
from .symbolic_shape import Sizes
from .target import Target
from .tensor_ir import SIZES, Call, Constant, Input, Leaf, Origin, Reference, Routine, TensorIRBuilder, Value


class Schedule:
    """What runs in the place of a graph, in which order, and where its values are."""

    def __init__(self, decomposed: Decomposed, layouts: list[Any], target: Target, sizes: Sizes | None = None) -> None:
        """Schedule a decomposed graph for inputs with such strides; ``sizes`` are its symbolic sizes."""
        self.target = target
        self.sizes = sizes
        self.builder = TensorIRBuilder(decomposed, layouts, target)  # until the code is there: see release()
        if decomposed.orders:
            lay_out(self.builder, decomposed.orders)
        self.notes = self.builder.notes
        self.fuse()

    def fuse(self) -> None:
        """Fusion, epilogues, order, in-place updates and memory."""
        values, results = self.builder.values, self.builder.outputs
        if self.target.folds_constants:
            fold_constants(values)
        fusion = Fusion(values, [each for each in results if each is not None], self.target)
        self.partials = fusion.partials
        self.steps: list[Any] = fuse_epilogues(fusion.steps, results)
        if self.target.sums_late:
            self.steps = inputs_first(sum_late(self.steps, self.partials))
        if self.target.updates_early:
            self.steps = update_early(self.steps, self.builder.final_values())
        self.inputs = [each for each in values if isinstance(each, Input)]
        self.constants = [each for each in values if isinstance(each, Constant)]
        self.writes = self.builder.writes  # the positions of inputs that are written to
        self.copies: list[tuple[Reference | None, int]] = [
            (results[number], at) for number, at in plan_in_place(self.steps, results, self.writes, self.inputs)
        ]  # results that are copied to inputs in the end
        self.outputs = results[: len(results) - len(self.writes)]
        made = [each.value for each in (*self.outputs, *(each for each, _ in self.copies)) if each is not None]
        self.roots = list(dict.fromkeys(each for each in made if not isinstance(each, (Leaf, Call))))  # values with memory of their own
        self.live_ranges = plan_memory(self.steps, set(self.roots))  # of values in the arena
        self.lent = lend_results(self.steps, self.roots, self.live_ranges) if self.target.lends_results else {}  # values in results' memory
        self.offsets, self.arena = assign_offsets(self.live_ranges)
        self.slots = self.number_buffers()

    def number_buffers(self) -> dict[Value, int]:
        """The position of every value in the table of addresses; those that share memory share a position."""
        slots: dict[Value, int] = {}
        for value in [*self.inputs, *self.constants, *self.roots, *self.offsets, *self.lent]:
            slots[value] = len(slots)
        for value in [each for step in self.steps for each in step.members if each.alias_of is not None]:
            slots[value] = slots[value.alias_of]
        for step in self.steps:
            if not isinstance(step, FusionGroup) and isinstance(step.value, Call):
                for value in step.value.others:
                    slots[value] = len(slots)
        if self.sizes is not None:
            slots[SIZES] = len(slots)
        return slots

    def calls(self) -> int:
        """The number of results of ops that run as in eager mode."""
        return sum(isinstance(each, Call) for each in self.builder.values)

    def release(self) -> None:
        """Let go of the graph that values come from, and of what wrote the code of routines."""
        origins: dict[Any, Origin] = {}
        for value in [*self.builder.values, *self.partials]:
            node: Any = value.node
            if node is not None and node not in origins:
                origins[node] = Origin(node.name, {key: node.meta.get(key) for key in ("source", "module")})
            value.node = None if node is None else origins[node]
            if isinstance(value, Routine):
                value.write = code_is_there
        del self.builder, self.partials

    # -- text ----------------------------------------------------------------------------------------------------

    def kernel_plans(self, step: Any) -> list[KernelPlan]:
        """The kernel plan of a fused group, or of a routine's epilogue."""
        group = step if isinstance(step, FusionGroup) else getattr(step.value, "epilogue", None)
        return [] if group is None else [plan_kernel(group, self.target, whole=group is step)]

    def __str__(self) -> str:
        """The steps with their kernel plans, and the memory of values."""
        lines = [f"schedule for {self.target.name}: {len(self.steps)} steps, {self.arena} bytes of memory inside"]
        for at, step in enumerate(self.steps):
            lines.append(f"  {at}: {step}")
            lines += [f"    {line}" for each in self.kernel_plans(step) for line in str(each).splitlines()]
        for value, (start, end) in self.live_ranges.items():
            lines.append(f"  memory: {name_of(value)} at {self.offsets[value]}, live in steps {start}..{end}")
        lines += [f"  memory: {name_of(value)} in {name_of(root)} at {offset}" for value, (root, offset) in self.lent.items()]
        return "\n".join([*lines, *(f"  note: {each}" for each in self.notes)])


def code_is_there(*args: Any) -> Any:
    """In the place of what wrote the code of a routine."""
    raise AssertionError("its code was written when the graph was compiled")


__all__ = ["Schedule"]

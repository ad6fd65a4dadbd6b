"""A schedule run by NumPy: kernel plans by ``kernel.py``, everything else by the ops' own eager kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...core.base import make
from ...graph import map_aggregate
from ...schedule.fusion import FusionGroup
from ...schedule.kernel_plan import KernelPlan
from ...schedule.plan_kernel import plan_kernel
from ...schedule.schedule import Schedule
from ...schedule.tensor_ir import Call, Reference, Value
from .kernel import flat, run_kernel


class Run:
    """One run of a schedule: the memory of its values, and the kernel plans that were run."""

    def __init__(self, schedule: Schedule, arrays: list[Any]) -> None:
        self.schedule = schedule
        self.plans: list[KernelPlan] = []
        self.memory: dict[Value, Any] = {each: arrays[each.position] for each in schedule.inputs}
        self.memory.update((each, each.array) for each in schedule.constants)
        for step in schedule.steps:
            if isinstance(step, FusionGroup):
                self.kernel(step)
            else:
                assert isinstance(step.value, Call), "a routine of another target"
                self.call(step.value)
        for source, position in [(self.array(each), at) for each, at in schedule.copies]:
            arrays[position][...] = source

    def kernel(self, group: FusionGroup) -> None:
        plan = plan_kernel(group, self.schedule.target)
        plan.check()
        for value in plan.buffers:
            if value not in self.memory:
                self.memory[value] = np.empty(value.shape, value.dtype)
        run_kernel(plan, self.memory)
        self.memory.update((each, self.memory[each.alias_of]) for each in group.members if each.alias_of is not None)
        self.plans.append(plan)

    def call(self, value: Call) -> None:
        args, kwargs = map_aggregate(
            (value.args, value.kwargs), lambda each: make(self.array(each)) if isinstance(each, Reference) else each
        )
        made = value.target(*args, **kwargs)
        for each in value.others:
            result = made if each.part is None else made[each.part]
            self.memory[each] = np.array(result._array, order="C")

    def array(self, reference: Reference | None) -> Any:
        """A reference as a new array."""
        if reference is None:
            return None
        memory = self.memory[reference.value]
        steps = [step * memory.itemsize for step in reference.strides]
        return as_strided(flat(memory)[reference.offset :], reference.shape, steps).copy()

    def outputs(self) -> list[Any]:
        return [self.array(each) for each in self.schedule.outputs]

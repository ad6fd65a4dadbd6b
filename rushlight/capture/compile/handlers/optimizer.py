"""Optimizers inside a captured program: ``step`` is arithmetic of the graph, with its numbers as an input; ``zero_grad`` sets gradients.

The numbers of a step (rates, corrections for bias) are computed in Python before the graph, as in eager mode.  So a schedule or the count
of steps changes no graph.  What is guarded is the structure: which parameters there are, which options are on, which state they have.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....core.base import TensorBase, make
from ....core.dtypes import BY_NUMPY, COMPLEX, LOW_PRECISION
from ....core.state import state
from ....ops.pointwise.complex import view_as_real
from ....optim import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RMSprop, Rprop
from ....optim.elementwise import filled_like, scalar_tensor, tensor_functions
from ....optim.optimizer import Optimizer, _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from ..guards.guard import Kind
from ..guards.sources import Names, Source
from ..record.base import SideEffect
from ..record.callables import PACKAGE, module_of
from ..record.graph_breaks import Break
from ..record.registry import deferrable_methods, flagged, handles
from ..record.tensor_attributes import tensor_attribute

# Those whose `update` looks at the numbers of a step as numbers alone, and makes no choice by them.
CAPTURED = frozenset((SGD, Adam, AdamW, NAdam, Adadelta, Adagrad, Adamax, RMSprop, Rprop))
deferrable_methods.update(dict.fromkeys(CAPTURED, ("step", "zero_grad")))


class StateOf(Source):
    """What an optimizer's state has for a parameter."""

    __slots__ = ("base", "beside")

    def __init__(self, base: Source, param: Source) -> None:
        self.base, self.beside = base, (param,)

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.get({beside[0]})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}[{self.beside[0].describe()}]"


class StepNumbers(Source):
    """The numbers of a step of several parameters, as a tensor."""

    __slots__ = ("ahead", "base", "beside", "cached", "last", "options", "scalars", "values")

    def __init__(
        self,
        optimizer: Source,
        group: Source,
        entries: Sequence[Source],
        scalars: tuple[str, ...],
        values: tuple[float, ...],
        ahead: int,
        options: OptionFlags,
    ) -> None:
        self.base, self.beside = optimizer, (group, *entries)
        self.scalars, self.values, self.ahead, self.options = scalars, values, ahead, options
        self.last: list[Any] = [] if scalars or ahead else [None, None]  # the tensor of the last call, and the options it was made for
        self.cached = None if scalars or ahead else (self.last, options, "last")

    def expression(self, base: str, names: Names, *beside: str) -> str:
        entries = "".join(f"{each}, " for each in beside[1:])
        if not self.scalars and not self.ahead:  # they follow from the options alone
            last, options = names.of(self.last), names.of(self.options)
            return f"{last}[0] if {last}[1] is {options}.last else {names.of(plain_numbers)}({base}, {beside[0]}, {options}, {last})"
        return f"{names.of(numbers)}({base}, {beside[0]}, ({entries}), {names.of(self.scalars)}, {names.of(self.values)}, {self.ahead}, {names.of(self.last)})"

    def describe(self) -> str:
        return "numbers of the step"


def numbers(optimizer: Any, group: Any, entries: Any, scalars: Any, values: Any, ahead: int, last: list[Any]) -> Any:
    """The numbers of a step, and as ``after`` the scalars of the state that it leaves; all entries must have the same."""
    if entries:
        values = [entries[0][name]._array.item() for name in scalars]
        for name, value in zip(scalars, values):
            for each in entries:
                if each[name]._array.item() != value:
                    raise ValueError("parameters that went together have taken different numbers of steps")
    after, found = optimizer._plan(group, *values)
    for _ in range(ahead):
        after, found = optimizer._plan(group, *after)
    found = tuple([float(each) if isinstance(each, TensorBase) else each for each in found])  # type: ignore[arg-type]
    known = last[0] if last else None  # graphs do not write to it
    if known is not None and known.found == found and known.after == after:
        return known
    made = make(np.array(found, np.float64))
    made.after, made.found = after, found
    last[:] = (made,)
    return made


def plain_numbers(optimizer: Any, group: Any, options: OptionFlags, last: list[Any]) -> Any:
    """The numbers of a step that follow from the options of a group alone."""
    made = numbers(optimizer, group, (), (), (), 0, last[:1] if last[0] is not None else [])
    last[:] = made, options.last
    return made


def advance(made: Any, entries: Any, scalars: Any) -> None:
    """Put the scalars of the state to what they are after a step."""
    for each in entries:
        for name, value in zip(scalars, made.after):
            each[name]._array[()] = value


def begun(made: Any, scalars: Any, buffers: Any) -> dict[str, Any]:
    """The state of a parameter after its first step."""
    return {**{name: scalar_tensor(value) for name, value in zip(scalars, made.after)}, **buffers}


def capture_step(recorder: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    """``optimizer.step()`` without a closure."""
    if recorder.pure or type(optimizer) not in CAPTURED or kwargs or args not in ((), (None,)):
        return NotImplemented
    return StepCapture(recorder, optimizer).run()


def capture_hooked(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The ``step`` of a class of optimizers, wrapped to run its hooks."""
    return capture_step(recorder, *args, **kwargs) if args else NotImplemented


@handles(Optimizer.zero_grad)
def capture_zero_grad(recorder: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    """``optimizer.zero_grad()`` of one of the package's optimizers."""
    if recorder.pure or not isinstance(optimizer, Optimizer) or module_of(type(optimizer)).partition(".")[0] != PACKAGE:
        return NotImplemented
    return zero_grad(recorder, optimizer, *args, **kwargs)


def capture_watched(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A ``step`` that a schedule has wrapped, to know whether it was called."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    optimizer = cells["reference"].cell_contents()
    if not cells["takes_self"].cell_contents or id(optimizer) not in recorder.sources:
        return NotImplemented
    recorder.guards.identity(recorder.sources[id(optimizer)], optimizer)
    found = capture_step(recorder, optimizer, *args, **kwargs)
    if found is not NotImplemented:
        recorder.store_plain(optimizer, "_opt_called", True)
    return found


flagged.update(hooked=capture_hooked, _wrapped_by_lr_sched=capture_watched)


def groups_of(recorder: Any, optimizer: Any) -> list[tuple[Any, Source, list[Any]]]:
    """The groups of an optimizer with their sources and parameters; their structure is guarded."""
    if id(optimizer) not in recorder.sources:
        if id(optimizer) in recorder.fresh:
            raise Break("native", name=f"{type(optimizer).__name__} that the program has made")
        recorder.register(optimizer, recorder.new_source.known(optimizer))
    source = recorder.sources[id(optimizer)]
    recorder.guards.value(source, optimizer)
    groups = recorder.load_plain(optimizer, "param_groups")
    recorder.guard_elements(groups)
    found = []
    for group in groups:
        place = recorder.sources.get(id(group))
        if place is None or id(group) in recorder.snapshots or type(group) is not dict or type(group.get("params")) is not list:
            raise Break("native", name="an optimizer whose groups were changed")
        recorder.guards.length(place, group, group)
        params = recorder.guard_value(recorder.new_source.item(place, "params"), group["params"])
        recorder.guard_elements(params)
        if id(params) in recorder.snapshots or not all(id(each) in recorder.sources for each in params):
            raise Break("native", name="an optimizer whose parameters were changed")
        found.append((group, place, params))
    return found


def zero_grad(recorder: Any, optimizer: Any, set_to_none: bool = True) -> None:
    """Drop gradients, or fill them with zeros."""
    for _, _, params in groups_of(recorder, optimizer):
        for param in params:
            if set_to_none:
                recorder.set_gradient(param, None)
                continue
            gradient = tensor_attribute(recorder, param, "grad")
            if gradient is not None:
                if gradient._grad_fn is not None or gradient._requires_grad:
                    raise Break("tensor", name="detach_")
                gradient.zero_()


class OptionFlags:
    """Whether the same options of a group are on.

    ``last`` are those for which it was found out last, without the parameters; another list, and an empty one, where one of them may
    change by itself.
    """

    def __init__(self, group: dict[str, Any]) -> None:
        self.params = list(group).index("params")
        self.on = [not each for name, each in group.items() if name != "params"]
        self.last: list[Any] = []

    def __call__(self, group: dict[str, Any]) -> bool:
        options = [each for name, each in group.items() if name != "params"]
        if [not each for each in options] != self.on:
            return False
        self.last = options if all(map(is_constant, options)) else []
        return True


def is_constant(value: Any) -> bool:
    """Whether a value can't change by itself, as a tensor can."""
    return value is None or type(value) in (bool, int, float, str) or (type(value) is tuple and all(map(is_constant, value)))


class StepCapture:
    """The capture of one ``step``."""

    def __init__(self, recorder: Any, optimizer: Any) -> None:
        self.recorder = recorder
        self.optimizer = optimizer
        self.scalars = optimizer._scalars
        self.options: dict[int, OptionFlags] = {}

    def run(self) -> None:
        """Update the parameters, by ops."""
        recorder, optimizer, guards = self.recorder, self.optimizer, self.recorder.guards
        groups = groups_of(recorder, optimizer)
        source = recorder.sources[id(optimizer)]
        hooks = (
            optimizer._optimizer_step_pre_hooks,
            optimizer._optimizer_step_post_hooks,
            _global_optimizer_pre_hooks,
            _global_optimizer_post_hooks,
        )
        if any(hooks) or any(group["differentiable"] for group, _, _ in groups) or optimizer.defaults["differentiable"]:
            raise Break("native", name=f"{type(optimizer).__name__}.step with hooks, or differentiable")
        own = [recorder.new_source.attribute(source, each) for each in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")]
        tables = [*own, *[recorder.new_source.known(each) for each in hooks[2:]]]
        guards.add(Kind.ALL_EMPTY, source, None, tables, lambda: f"{source.describe()} has no hooks")
        for group, place, _ in groups:
            for option in group.values():
                if isinstance(option, TensorBase) and id(option) in recorder.tracer.entries:
                    raise Break("native", name="an optimizer with an option that the program computes")
            chosen = self.options[id(group)] = OptionFlags(group)
            guards.add(Kind.OPTIONS, place, chosen)
        table = recorder.load_plain(optimizer, "state")
        states = recorder.sources[id(table)]
        recorder.mutated[id(table)] = table
        ahead = recorder.steps.get(id(optimizer), 0)
        recorder.steps[id(optimizer)] = ahead + 1
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            for group, place, params in groups:
                self.group(
                    group, place, [each for each in params if tensor_attribute(recorder, each, "grad") is not None], table, states, ahead
                )
        finally:
            state.grad_enabled = enabled

    def group(self, group: Any, place: Source, params: list[Any], table: Any, states: Source, ahead: int) -> None:
        """A step of the parameters of a group that have a gradient."""
        initial = self.optimizer._initial(group)
        together: dict[Any, list[Any]] = {}  # parameters whose states have the same scalars
        for param in params:
            entries = table.get(param)
            if not initial:
                together.setdefault((None, ()), []).append(param)
                continue
            fresh = not entries or (len(entries) == 1 and entries.get("momentum_buffer", table) is None)
            if not fresh and any(each not in entries for each in initial):
                raise Break("native", name="an optimizer whose state is not complete")
            self.guard_state(param, entries, states, fresh)
            scalars = [initial[each] if fresh else float(entries[each]._array) for each in self.scalars]
            together.setdefault((fresh, tuple(scalars)), []).append(param)
        for (fresh, values), members in together.items():
            self.members(group, place, members, table, states, initial, fresh, values, ahead)

    def guard_state(self, param: Any, entries: Any, states: Source, fresh: bool) -> None:
        """The state of a parameter is there, or it is not."""
        recorder = self.recorder
        if id(entries) in recorder.fresh:
            return
        source = StateOf(states, recorder.sources[id(param)])
        if fresh:
            recorder.guards.add(Kind.PREDICATE, source, has_no_state, (), f"no state of {source.beside[0].describe()}", id(param))
        elif id(entries) not in recorder.sources:
            recorder.register(entries, source)

    def members(
        self, group: Any, place: Source, params: list[Any], table: Any, states: Source, initial: Any, fresh: Any, values: Any, ahead: int
    ) -> None:
        """A step of parameters whose numbers are the same."""
        recorder, optimizer, scalars = self.recorder, self.optimizer, self.scalars
        old = [table[each] for each in params] if fresh is False and scalars else []
        known = [each for each in old if id(each) in recorder.sources]
        if len(known) < len(old):
            raise Break("native", name="a second step of an optimizer whose state is new")
        turns = ahead if old else 0
        source = StepNumbers(
            recorder.sources[id(optimizer)],
            place,
            [recorder.sources[id(each)] for each in known],
            scalars,
            values,
            turns,
            self.options[id(group)],
        )
        made = numbers(optimizer, group, (), scalars, values, 0, [])
        recorder.register(made, source)
        tracer = recorder.tracer
        tracer.add_input(made, tracer.new_input(source, made))
        parts = made.unbind(0)
        chosen = {**group, "first": True} if fresh and "momentum_buffer" in initial and type(optimizer) is SGD else group
        names = [each for each in initial if each not in scalars]
        for param in params:
            buffers: dict[str, Any] = {}
            if fresh:
                if tracer.deferred is not None:
                    tracer.deferred.stop()  # the next step has a state, and another graph
                buffers = {name: filled_like(param, initial[name]) for name in names}
            elif fresh is False:
                buffers = {name: recorder.guard_value(recorder.new_source.item(recorder.sources[id(table[param])], name), table[param][name])
                           if id(table[param]) in recorder.sources else table[param][name] for name in names}  # fmt: skip
            self.update(chosen, parts, param, buffers)
            if fresh:
                entries = table[param] = recorder.track_fresh(begun(made, scalars, buffers))
                if scalars:
                    recorder.effects.append(SideEffect(begin_state, table, param, made, scalars, recorder.track_fresh(dict(buffers))))
                else:
                    recorder.effects.append(SideEffect(operator.setitem, table, param, entries))
        if old:
            advance(made, old, scalars)
            recorder.effects.append(SideEffect(advance, made, recorder.track_fresh(tuple(old)), scalars))

    def update(self, group: Any, parts: Any, param: Any, buffers: dict[str, Any]) -> None:
        """The arithmetic of one parameter; narrow types are computed in float32 and rounded once."""
        kind = param._array.dtype
        gradient = param._grad
        tensors = [param, -gradient if group["maximize"] else gradient, *buffers.values()]
        if BY_NUMPY[kind].category == COMPLEX:
            tensors = [view_as_real(each) for each in tensors]
        if kind not in LOW_PRECISION:
            self.optimizer._update(tensor_functions, group, parts, *tensors)
            return
        wide = [each.float() for each in tensors]
        self.optimizer._update(tensor_functions, group, parts, *wide)
        for at, (target, value) in enumerate(zip(tensors, wide)):
            if at != 1:
                target.copy_(value)


def has_no_state(entries: Any) -> bool:
    """Whether the state of a parameter is empty, or holds nothing but None."""
    return not entries or all(each is None for each in entries.values())


def begin_state(table: Any, param: Any, made: Any, scalars: Any, buffers: Any) -> None:
    """Give a parameter its first state."""
    table[param] = begun(made, scalars, buffers)

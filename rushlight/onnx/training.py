"""``onnx.export_training_step``: forward, backward and the optimizer's update as one ONNX file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from ..capture.tracer.tracer import tensors_in
from ..core.base import TensorBase, make
from ..core.dtypes import BY_NUMPY
from ..core.errors import CaptureError
from ..core.state import state
from ..nn.modules.module import Module
from ..ops.pointwise.copy_cast import cast
from ..optim.elementwise import ElementwiseOptimizer, filled_like, scalar_tensor, tensor_functions
from ..optim.optimizer import Optimizer
from .errors import ExportInputError, UnsupportedOperatorError
from .gradient import GradientArguments, check_scalar, chosen_names, input_slots, state_slots, swapped_in, write
from .gradient_tracer import GradientTrace, GradientTracer, GraphInput, checked_opset, flat, lowered, trace
from .names import output_names_of
from .trainer import STATE_KEY, TrainingProgram

RATE = "learning_rate"
PREFIX = "optimizer."  # of the names of what an optimizer remembers
NEXT = ".next"  # of the names of outputs that are states after the step
EXPORTABLE = "SGD, Adam, AdamW, Adamax, NAdam, RMSprop, Rprop, Adagrad and Adadelta can"
_FLOAT64 = np.dtype(np.float64)


class OptimizerGroup:
    """A parameter group: its options, and for each parameter the name and what the optimizer remembers of it."""

    def __init__(self, options: dict[str, Any], rate: str) -> None:
        self.options = options
        self.rate = rate  # the name of the learning rate
        self.members: list[OptimizedParameter] = []


class OptimizedParameter:
    """A parameter in an optimizer: the names of its tensors among the states of the file."""

    def __init__(self, name: str, param: Any, scalars: dict[str, str], buffers: dict[str, str]) -> None:
        self.name = name
        self.param = param
        self.scalars = scalars
        self.buffers = buffers


class OptimizerUpdate:
    """An optimizer's update, as arithmetic on tensors of the file."""

    def __init__(self, optimizer: Any, names: dict[int, str]) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.slots: list[GraphInput] = []
        self.groups: list[OptimizerGroup] = []
        self.shared: dict[Any, str] = {}  # counters that all parameters of a group share
        self.rates: list[GraphInput] = []
        several = len(optimizer.param_groups) > 1
        for number, group in enumerate(optimizer.param_groups):
            rate = f"{RATE}_{number}" if several else RATE
            value = group["lr"]
            value = value.item() if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]
            self.rates.append(GraphInput(rate, make(np.array(value, np.float32)), stored=True))
            made = OptimizerGroup(group, rate)
            self.groups.append(made)
            for param in group["params"]:
                if id(param) not in names:
                    raise ExportInputError(
                        f"the optimizer has a parameter of shape {tuple(param.shape)} that is none of the model's: build it from model.parameters()"
                    )
                if param._array.dtype.kind == "c":
                    raise ExportInputError(f"the parameter '{names[id(param)]}' is complex: ONNX has no complex arithmetic")
                made.members.append(self.member(names[id(param)], param, group, number))

    def member(self, name: str, param: Any, group: dict[str, Any], number: int) -> OptimizedParameter:
        """What the optimizer remembers of a parameter, as states."""
        known = self.optimizer.state.get(param, {})
        scalars: dict[str, str] = {}
        buffers: dict[str, str] = {}
        for entry, value in self.optimizer._initial(group).items():
            if entry in self.optimizer._scalars:
                tensor = known.get(entry) if known.get(entry) is not None else scalar_tensor(value)
                scalars[entry] = self.counter(entry, tensor, number)
                continue
            found = known.get(entry)
            if found is None:
                if entry == "momentum_buffer" and group.get("dampening"):
                    raise ExportInputError(
                        "SGD with dampening begins with an undamped step, which is another program than the steps after it: take one "
                        "step with the optimizer before the export"
                    )
                found = filled_like(param, value)
            buffers[entry] = f"{PREFIX}{name}.{entry}"
            self.slots.append(GraphInput(buffers[entry], found))
        return OptimizedParameter(name, param, scalars, buffers)

    def counter(self, entry: str, tensor: Any, number: int) -> str:
        """The state that a number (how many steps there were) is: one for all parameters of a group that agree."""
        key = (entry, number, float(tensor._array))
        if key not in self.shared:
            taken = sum(each[0] == entry for each in self.shared)
            self.shared[key] = f"{PREFIX}{entry}" + (f"_{taken}" if taken else "")
            self.slots.append(GraphInput(self.shared[key], tensor))
        return self.shared[key]

    def apply(self, tensors: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
        """Write the update to parameters and buffers, in place; the new values of the counters."""
        try:
            return self.applied(tensors, gradients)
        except CaptureError as error:
            name = type(self.optimizer).__name__
            message = f"{name} can't be exported: what it does depends on the values of its state ({error}). {EXPORTABLE}"
            raise UnsupportedOperatorError(name, message=message) from error

    def applied(self, tensors: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
        counters: dict[str, Any] = {}
        for group in self.groups:
            # Rates and powers of decay rates are computed in double precision, as eager steps do.
            options = {**group.options, "lr": cast(tensors[group.rate], BY_NUMPY[_FLOAT64])}
            planned: dict[tuple[str, ...], Any] = {}
            for member in group.members:
                grad = gradients.get(member.name)
                if grad is None:
                    continue  # nothing that the loss depends on: eager steps leave it alone too
                key = tuple(member.scalars.values())
                if key not in planned:
                    given = [cast(tensors[each], BY_NUMPY[_FLOAT64]) for each in key]
                    after, planned[key] = self.optimizer._plan(options, *given)
                    for name, value in zip(key, after):
                        kind = BY_NUMPY[tensors[name]._array.dtype]
                        counters[name] = cast(value, kind)
                grad = -grad if options["maximize"] else grad
                buffers = [tensors[each] for each in member.buffers.values()]
                self.optimizer._update(tensor_functions, options, planned[key], tensors[member.name], grad, *buffers)
        return counters


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer, or one whose step is more than arithmetic on elements."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be an instance of torch.optim.Optimizer, not {type(optimizer).__name__}")
    cls = type(optimizer)
    if not isinstance(optimizer, ElementwiseOptimizer) or getattr(cls.step, "__wrapped__", cls.step) is not _plain_step:
        raise UnsupportedOperatorError(
            cls.__name__, message=f"the optimizer {cls.__name__} can't be exported: its step is not written as arithmetic on the elements of "
            f"each parameter. {EXPORTABLE}",
        )  # fmt: skip


_plain_step = getattr(ElementwiseOptimizer.step, "__wrapped__", ElementwiseOptimizer.step)


def split_batch(model: Any, loss: Any, example_inputs: Any) -> tuple[tuple[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]:
    """Example inputs as arguments of the model, and those of the loss behind the model's outputs.

    They are what a DataLoader gives: inputs and, last, targets; each of both may be a tuple of positional arguments, or a dict of
    keywords.  Without a loss, all of it is the model's.
    """
    if loss is None:
        return arguments(example_inputs), ((), {})
    if isinstance(example_inputs, TensorBase) or not isinstance(example_inputs, (tuple, list)) or len(example_inputs) < 2:
        return arguments(example_inputs), ((), {})
    *inputs, targets = example_inputs
    return arguments(inputs[0] if len(inputs) == 1 else tuple(inputs)), arguments(targets)


def arguments(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(value, dict):
        return (), value
    return (tuple(value), {}) if isinstance(value, (tuple, list)) else ((value,), {})


class TrainingStep:
    """The arguments of one export, checked; and the program that is traced."""

    before_update: Callable[[list[Any]], Any] | None = None

    def __init__(
        self, model: Any, loss: Any, optimizer: Any, example_inputs: Any, input_names: Any, dynamic_axes: Any, dynamic_shapes: Any
    ) -> None:
        if not isinstance(model, Module):
            raise TypeError(f"export_training_step() takes a Module, not {type(model).__name__}")
        if loss is not None and not callable(loss):
            raise TypeError(f"loss must be a function, a Module or None, not {type(loss).__name__}")
        self.model = model
        self.loss = loss
        modules = [(model, ""), (loss, "loss.")] if isinstance(loss, Module) else [(model, "")]
        self.modules = modules
        self.states = [slot for module, prefix in modules for slot in state_slots(module, prefix)]
        self.update = OptimizerUpdate(optimizer, {id(slot.tensor): slot.name for slot in self.states})
        given, targets = split_batch(model, loss, example_inputs)
        self.inputs, self.targets = GradientArguments(model, *given), self.target_arguments(targets)
        found = self.inputs.names + [name if name not in self.inputs.names else f"target_{name}" for name in self.targets.names]
        tensors = self.inputs.tensors + self.targets.tensors
        self.slots = input_slots(chosen_names(found, input_names, "input_names"), tensors, dynamic_axes, dynamic_shapes)
        stepped = {member.name for group in self.update.groups for member in group.members if member.param.requires_grad}
        self.trained = [slot.name for slot in self.states if slot.name in stepped]
        self.states = [slot._replace(differentiable=slot.name in stepped) for slot in self.states]

    def target_arguments(self, targets: Any) -> GradientArguments:
        """The loss's arguments behind the outputs, named as its parameters are."""
        if self.loss is None:
            return GradientArguments(lambda: None, (), {})
        args, kwargs = targets
        first = object()  # where the model's outputs go
        return GradientArguments(self.loss, (first, *args), kwargs)

    def run(self, tracer: GradientTracer, tensors: list[Any]) -> Any:
        """The step itself, on tensors without data: names and values of outputs, and which of them are states."""
        slots = self.all_slots()
        by_name = dict(zip([slot.name for slot in slots], tensors))
        given = tensors[: len(self.slots)]
        inputs, targets = given[: len(self.inputs.tensors)], given[len(self.inputs.tensors) :]
        args, kwargs = self.inputs.filled(inputs)
        tables = [{slot.name[len(prefix) :]: by_name[slot.name] for slot in state_slots(module, prefix)} for module, prefix in self.modules]
        with ExitStack() as swapped:
            for (module, _), table in zip(self.modules, tables):
                swapped.enter_context(swapped_in(module, table))
            result = self.model(*args, **kwargs)
            with scope(tracer, "loss"):
                loss = result if self.loss is None else self.loss_of(result, targets)
            names, values = output_names_of(result), tensors_in(result)
            if self.loss is None:  # one of the model's outputs: that of this name, or the first
                at = names.index("loss") if "loss" in names else 0
                loss = flat(result)[at]
                names, values = names[:at] + names[at + 1 :], values[:at] + values[at + 1 :]
            loss = flat(loss)[0]
            check_scalar(loss, "the loss")
            found = tracer.gradients(loss, [by_name[name] for name in self.trained])  # a backward may call parts of the model again
        gradients = {name: each for name, each in zip(self.trained, found) if each is not None}
        if not gradients:
            raise ExportInputError("the loss does not depend on any parameter of the optimizer")
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            with scope(tracer, "optimizer"):
                if self.before_update is not None:
                    gradients = changed_gradients(self.before_update, by_name, gradients)
                after = self.update.apply(by_name, gradients)
        finally:
            state.grad_enabled = enabled
        for (_, prefix), table in zip(self.modules, tables):
            after |= {prefix + name: each for name, each in table.items()}
        states = [(slot.name, after.get(slot.name, by_name[slot.name])) for slot in (*self.states, *self.update.slots)]
        return [("loss", loss), *zip(names, values), *states], len(names) + 1

    def loss_of(self, result: Any, targets: list[Any]) -> Any:
        (_, *args), kwargs = self.targets.filled(targets)
        return self.loss(result, *args, **kwargs)

    def all_slots(self) -> list[GraphInput]:
        return [*self.slots, *self.update.rates, *self.states, *self.update.slots]


@contextmanager
def scope(tracer: GradientTracer, path: str) -> Iterator[None]:
    """What is traced is shown under a name of its own, beside the model's modules."""
    tracer.modules.append(path)
    try:
        yield
    finally:
        tracer.modules.pop()


def changed_gradients(change: Callable[[list[Any]], Any], tensors: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
    """What a function makes of the gradients: it gets the parameters, which have them, and may write to them."""
    for name, gradient in gradients.items():
        tensors[name].grad = gradient
    change([tensors[name] for name in gradients])
    found = {name: tensors[name].grad for name in gradients}
    for name in gradients:
        tensors[name].grad = None
    return found


def changed_states(outcome: GradientTrace, results: int) -> list[str]:
    """The names of the states that the step changes."""
    before = {slot.name: node for slot, node in zip(outcome.slots, outcome.nodes)}
    return [name for name, node in outcome.outputs[results:] if node is not before[name]]


def export_training_step(
    model: Any, loss: Callable[..., Any] | None, optimizer: Any, example_inputs: Any, f: Any = None, *, outputs: bool = False,
    before_update: Callable[[list[Any]], Any] | None = None, input_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamic_axes: Any = None, dynamic_shapes: Any = None, external_data: bool | None = None,
) -> TrainingProgram:  # fmt: skip
    """Write one step of training as an ONNX file: forward, backward (also of custom Functions) and the optimizer's update.

    ``loss(outputs, *targets)`` is a function or a Module; with None the model gives the loss itself.  ``example_inputs`` is a batch as
    a DataLoader gives it: the model's inputs and, last, the targets.  ``dynamic_axes={"x": {0: "batch"}, "target": {0: "batch"}}`` says
    which dimensions are dynamic.  With ``outputs=True`` the file gives the model's outputs beside the loss.

    What the step changes (parameters, running statistics, the optimizer's averages) are inputs of the file, named as in the
    ``state_dict``, and outputs, of the same name with ``.next`` behind it; the file's metadata has the pairs.  What it does not change is
    stored in the file.  ``learning_rate`` is an input with a default, the optimizer's (``learning_rate_0``, ... where it has several parameter
    groups).  ``before_update`` is called with the list of parameters that have a gradient, as between ``backward()`` and ``step()``:
    ``lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0)``.  Random numbers, those of dropout, are drawn by the runtime, anew at
    each step and the same for forward and backward.  The model is taken in the mode it is in.

        >>> import rushlight
        >>> from rushlight import nn, optim
        >>> model = nn.Linear(2, 1)
        >>> step = export_training_step(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), (rushlight.ones(4, 2), rushlight.ones(4, 1)))
        >>> trainer = step.trainer()
        >>> first, second = (trainer.step(rushlight.ones(4, 2), rushlight.ones(4, 1)) for _ in range(2))
        >>> second < first
        True
    """
    opset = checked_opset(opset_version)
    request = TrainingStep(model, loss, optimizer, example_inputs, input_names, dynamic_axes, dynamic_shapes)
    request.before_update = before_update
    if not model.training:
        warnings.warn(
            "the model is in eval mode, and the step is exported so: call model.train() first to train it", UserWarning, stacklevel=2
        )
    outcome = trace(request.all_slots(), request.run, model)
    results = outcome.notes
    changed = set(changed_states(outcome, results))
    shown = results if outputs else 1
    outcome.slots = [
        slot._replace(stored=slot.name not in changed) if slot.name not in names_of(request.slots) else slot for slot in outcome.slots
    ]
    outcome.outputs = [
        *outcome.outputs[:shown], *((name + NEXT, node) for name, node in outcome.outputs[results:] if name in changed),
    ]  # fmt: skip
    states = {slot.name: slot.name + NEXT for slot in outcome.slots if slot.name in changed}
    rates = [slot.name for slot in request.update.rates]
    facts = {
        STATE_KEY: json.dumps(states),
        "rushlight.optimizer": type(optimizer).__name__,
        "rushlight.learning_rate": json.dumps({slot.name: float(slot.tensor._array) for slot in request.update.rates}),
    }
    made = lowered(outcome, opset, optional=rates, metadata=facts)
    write(made, f, external_data)
    initial = {slot.name: slot.tensor._array.copy() for slot in outcome.slots if slot.name in changed}
    return TrainingProgram(made, names_of(request.slots), states, initial, request.update.groups)


def names_of(slots: Sequence[GraphInput]) -> list[str]:
    """The names of slots."""
    return [slot.name for slot in slots]


__all__ = ["export_training_step"]

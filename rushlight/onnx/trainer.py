"""An exported training step, and training by it in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..capture.tracer.tracer import tensors_in
from ..core.base import TensorBase, make
from .errors import ExportInputError
from .program import ONNXProgram
from .proto import OnnxModel

STATE_KEY = "rushlight.state"  # in the file's metadata: a JSON object of states and the outputs that are their next values


class TrainingProgram(ONNXProgram):
    """What ``onnx.export_training_step`` gives: the model of one step, and the values that training begins with.

    ``states`` maps the inputs that are states to the outputs that are their values after the step; ``input_names`` are the others.
    """

    def __init__(
        self, model: OnnxModel, input_names: Sequence[str], states: dict[str, str], initial: dict[str, np.ndarray], groups: Any
    ) -> None:
        super().__init__(model)
        self.input_names = list(input_names)
        self.states = states
        self._initial = initial
        self._groups = groups

    def initial_state(self) -> dict[str, np.ndarray]:
        """The states as they were when the step was exported: copies of parameters, buffers and what the optimizer remembers."""
        return {name: array.copy() for name, array in self._initial.items()}

    def run_step(
        self, state: Mapping[str, np.ndarray], *inputs: Any, learning_rate: float | Mapping[str, float] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """One step in ONNX Runtime: what the file gives (``loss``, perhaps the model's outputs), and the states after it.

        ``learning_rate`` is a number for all parameter groups, or a dict by the names of the inputs; without one, what was exported holds.
        """
        values = [each._array if isinstance(each, TensorBase) else np.asarray(each) for each in leaves(inputs)]
        if len(values) != len(self.input_names):
            raise ExportInputError(
                f"the step has {len(self.input_names)} inputs ({', '.join(self.input_names)}), and {len(values)} were given"
            )
        missing = [name for name in self.states if name not in state]
        if missing:
            raise ExportInputError(f"the state has no '{missing[0]}'")
        feeds = dict(zip(self.input_names, values)) | {name: state[name] for name in self.states} | self.rates(learning_rate)
        session = self.session()
        names = [each.name for each in session.get_outputs()]
        found = dict(zip(names, session.run(names, feeds)))
        after = {name: found.pop(output) for name, output in self.states.items()}
        return found, after

    def rates(self, given: float | Mapping[str, float] | None) -> dict[str, np.ndarray]:
        """Learning rates as inputs."""
        if given is None:
            return {}
        known = [group.rate for group in self._groups if group.rate in self._model.graph.initializers]
        by_name = given if isinstance(given, Mapping) else dict.fromkeys(known, given)
        unknown = [name for name in by_name if name not in known]
        if unknown:
            raise ExportInputError(f"there is no learning rate '{unknown[0]}'; there is {', '.join(known) or 'none'}")
        return {name: np.array(value, np.float32) for name, value in by_name.items()}

    def trainer(self, state: Mapping[str, np.ndarray] | None = None) -> Trainer:
        """Training from a state on (the exported one, if none is given)."""
        return Trainer(self, self.initial_state() if state is None else dict(state))


class Trainer:
    """Trains in ONNX Runtime: holds the state, and takes steps."""

    def __init__(self, program: TrainingProgram, state: dict[str, np.ndarray]) -> None:
        self.program = program
        self.state = state
        self.outputs: dict[str, np.ndarray] = {}  # what the last step gave

    def step(self, *inputs: Any, learning_rate: float | Mapping[str, float] | None = None) -> float:
        """Take one step on a batch; its loss."""
        self.outputs, self.state = self.program.run_step(self.state, *inputs, learning_rate=learning_rate)
        return float(self.outputs["loss"].reshape(()))

    def copy_to(self, model: Any, optimizer: Any = None) -> None:
        """Write the state to a model like the exported one, and to an optimizer of its parameters."""
        tensors = dict([*model.named_parameters(), *model.named_buffers()])
        for name, value in self.state.items():
            if name in tensors:
                tensors[name]._array[...] = value
        if optimizer is None:
            return
        params = [param for group in optimizer.param_groups for param in group["params"]]
        members = [member for group in self.program._groups for member in group.members]
        for param, member in zip(params, members, strict=True):
            for entry, name in {**member.scalars, **member.buffers}.items():
                if name in self.state:
                    optimizer.state[param][entry] = make(np.array(self.state[name]))


def leaves(value: Any) -> list[Any]:
    """The tensors and arrays in nested arguments, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [each for part in value for each in leaves(part)]
    return tensors_in(value) if isinstance(value, TensorBase) else [value]


__all__ = ["STATE_KEY", "Trainer", "TrainingProgram"]

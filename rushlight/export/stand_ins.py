"""Stand-ins for the tensors of an exported program: inputs, parameters and buffers in whose place others are while it is traced."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make, spec_of
from ..core.state import state
from ..graph.node import Node
from ..nn.modules.module import Module
from ..nn.parameter import Parameter


def like(tensor: Any, shape: list[int], values: bool) -> Any:
    """A stand-in for a tensor: of a shape alone, or with its values, which are repeated where a size is larger than its own."""
    array = tensor._array
    if values and list(array.shape) == list(shape) and array.__class__ is not Spec:
        made = tensor.detach().clone()
    elif values and array.__class__ is np.ndarray and array.size and all(shape):
        made = make(_repeated(array, shape))
    else:
        found = spec_of(array)
        made = make(Spec(tuple(shape), found.dtype, device=found.device))
    if isinstance(tensor, Parameter):
        return Parameter(made, tensor.requires_grad)
    made._requires_grad = tensor._requires_grad
    return made


def _repeated(array: np.ndarray, shape: list[int]) -> np.ndarray:
    """An array of another shape with the elements of a given one, in its order of dimensions in memory."""
    order = np.argsort([-step for step in array.strides], kind="stable")
    made = array.transpose(order)
    for axis, dim in enumerate(order):
        made = np.take(made, np.arange(shape[dim]) % array.shape[dim], axis)
    return made.transpose(np.argsort(order))


def held(mod: Module) -> list[tuple[str, Any, str, Any]]:
    """The buffers of a Module and its submodules: path, owner, name, value."""
    return [
        (f"{path}.{name}" if path else name, owner, name, value)
        for path, owner in mod.named_modules(remove_duplicate=False)
        for name, value in owner._buffers.items()
    ]


class AssignedBuffers(dict[str, Any]):
    """The buffers of a Module, with the nodes of those that are assigned while it runs."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.assigned: dict[str, Node] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        tracer = state.capture
        if isinstance(value, TensorBase) and tracer is not None:
            state.capture = None
            try:
                self.assigned[name] = tracer.node_of(value)
            finally:
                state.capture = tracer


@contextmanager
def swapped(mod: Module, values: bool) -> Any:
    """Put stand-ins in the place of a Module's parameters and buffers, so that a run leaves it as it was."""
    made: dict[int, Any] = {}
    standing: list[tuple[str, Any]] = []
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []
    constants: list[tuple[str, Any]] = []
    for path, owner in mod.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        constants += [(prefix + name, value) for name, value in vars(owner).items() if isinstance(value, TensorBase)]
        if any(owner._parameters is place for place, _ in kept):
            standing += [
                (prefix + name, value) for name, value in (*owner._parameters.items(), *owner._buffers.items()) if value is not None
            ]
            continue
        for place in (owner._parameters, owner._buffers):
            kept.append((place, dict(place)))
            for name, value in place.items():
                if value is not None:
                    if id(value) not in made:
                        made[id(value)] = like(value, list(value._array.shape), values)
                    place[name] = made[id(value)]
                    standing.append((prefix + name, place[name]))
        kept.append((vars(owner), dict(vars(owner))))
        vars(owner)["_buffers"] = AssignedBuffers(owner._buffers)
    try:
        yield standing, constants
    finally:
        for place, before in reversed(kept):
            place.clear()
            place.update(before)

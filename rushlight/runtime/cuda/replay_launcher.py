"""The fast path of a replayed program: calls with the tensors of an earlier call, checked and replayed in a few steps of Python.

It also handles numbers on the host (those of an optimizer's step), which it uploads when they change, and results that replace
gradients: the same tensors are overwritten by each call, as long as only their owners reference them.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any

import numpy as np

from ...core.base import TensorBase, make, storage_of
from ...core.devices import device, device_types
from ...schedule.tensor_ir import Constant, Input
from .captured_work import put_words
from .graph_replay import GraphInstance, ReplayedSchedule, referenced_objects

_array, _gradient, _requires = attrgetter("_array"), attrgetter("_grad"), attrgetter("_requires_grad")


class SentNumbers:
    """Host numbers that a program on a device takes: their device copy at a fixed address, uploaded when they change."""

    def __init__(self, host: np.ndarray[Any, Any], place: device) -> None:
        self.place, self.dtype, self.shape = place, host.dtype, host.shape
        self.bytes = host.tobytes()
        self.tensor = make(device_types[place.type].from_host(np.array(host), place))

    def fits(self, host: np.ndarray[Any, Any], place: device) -> bool:
        """Whether numbers have the type and the shape of those uploaded."""
        return host.dtype == self.dtype and host.shape == self.shape and place == self.place

    def send(self, host: np.ndarray[Any, Any]) -> Any:
        """The numbers on the device."""
        data = host.tobytes()
        if data != self.bytes:
            kind: Any = device_types[self.place.type]
            if self.place.type == "cuda":  # as launch arguments: asynchronous
                words = np.frombuffer(data + bytes(-len(data) % 8), np.uint64).tolist()
                put_words(kind.cupy, self.tensor._array.data.ptr, *words)
            else:
                self.tensor._array[...] = kind.from_host(np.array(host), self.place)
            self.bytes = data
        return self.tensor


class ReplayLauncher:
    """Calls of a captured program with tensors like those of an earlier call."""

    def __init__(
        self, program: ReplayedSchedule, args: tuple[Any, ...], gradients: Mapping[int, int], sent: Mapping[int, SentNumbers]
    ) -> None:
        self.program, self.sent = program, dict(sent)
        self.types, self.requires = list(map(type, args)), list(map(_requires, args))
        self.writes = list(program.writes)
        self.results = list(gradients)
        self.owners = list(gradients.values())
        self.tensors: list[Any] = []  # the gradients, once computed
        program.gradients = tuple(self.results)

    def __call__(self, *args: Any) -> Any:
        """The outputs, or NotImplemented, with nothing done."""
        program = self.program
        if list(map(type, args)) != self.types or list(map(_requires, args)) != self.requires or program.refused:
            return NotImplemented
        with program.lock:
            if program.cupy.cuda.get_current_stream().is_capturing():
                return NotImplemented
            if self.sent:
                args = self.on_device(args)
            given = [args[at]._array for at in program.positions]
            if not program.instances:
                if not program.accepts(args):
                    return NotImplemented
                program.note(given)
                if not program.capture(args, given):
                    return NotImplemented
                self.tensors = []
            if not program.in_place(given):
                return NotImplemented
            for at, own, _ in program.copies:
                each = given[at]
                if (
                    each.shape != own.shape
                    or each.dtype != own.dtype
                    or each.strides != own.strides
                    or each.data.mem.ptr in program.written
                ):
                    return NotImplemented
            gradients = list(map(_gradient, map(args.__getitem__, self.owners)))
            steady = len(self.tensors) == len(gradients) and all(map(is_, gradients, self.tensors))
            instance = program.free(args, given) if self.are_free(gradients, steady) else None
            if instance is None:
                return NotImplemented
            program.replay(instance, given)
            return self.finish(args, instance, steady)

    def on_device(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with numbers uploaded to the device."""
        made = list(args)
        for at, sent in self.sent.items():
            made[at] = sent.send(args[at]._array)
        return tuple(made)

    def are_free(self, gradients: list[Any], steady: bool) -> bool:
        """Whether only their owners reference the gradients of the last replay."""
        if not self.tensors:
            return True
        counts = list(map(getrefcount, self.tensors))
        if steady:  # two more: the owner's, and one in ``gradients``
            return counts == self.counts and list(map(getrefcount, self.own)) == self.own_counts
        expected = [count if one is other else count - 2 for count, one, other in zip(self.counts, gradients, self.tensors)]
        return counts == expected and list(map(getrefcount, self.own)) == self.own_counts

    def finish(self, args: tuple[Any, ...], instance: GraphInstance, steady: bool) -> list[Any]:
        """Outputs and effects of a replay."""
        if not self.tensors and self.owners:
            arrays = [self.program.shared[number] for number in self.results]
            self.tensors = [make(each) for each in arrays]
            self.own = referenced_objects(arrays)
            del arrays
            self.counts = [count + 2 for count in map(getrefcount, self.tensors)]
            self.own_counts = list(map(getrefcount, self.own))
        if not steady:
            for at, tensor in zip(self.owners, self.tensors):
                args[at]._grad = tensor
        for at in self.writes:
            storage_of(args[at]).version += 1
        made = [None if each is None else make(each) for each in instance.results]
        for number, tensor in zip(self.results, self.tensors):
            made[number] = tensor
        return made


def make_launcher(
    program: Any, args: tuple[Any, ...], gradients: Mapping[int, int], sent: Mapping[int, SentNumbers]
) -> ReplayLauncher | None:
    """The launcher of a program for calls like an earlier one; None where there can be none."""
    if not isinstance(program, ReplayedSchedule) or program.refused or not all(isinstance(each, TensorBase) for each in args):
        return None
    values = [None if each is None else each.value for each in program.outputs]
    if any(isinstance(each, (Input, Constant)) for each in values):
        return None
    own = [values[number] for number in gradients]
    if len(set(own)) < len(own) or None in own or any(values.count(each) > 1 for each in own):
        return None
    return ReplayLauncher(program, args, gradients, sent)


__all__ = ["ReplayLauncher", "SentNumbers", "make_launcher"]

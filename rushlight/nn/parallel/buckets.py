"""Buckets: gradients that are all-reduced together, and their contiguous memory."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from ...core.base import make
from ...core.declare import exports
from ...tensor.layout import channels_last, channels_last_3d

UNLIMITED = 1 << 62
LARGE = 1 << 18  # bytes from which several threads copy a gradient


class GradBucket:
    """A bucket of gradients that are reduced together, as a communication hook gets it."""

    def __init__(self, index: int, buffer: Any, gradients: list[Any], parameters: list[Any], last: bool) -> None:
        self._index, self._buffer, self._gradients, self._parameters, self._last = index, buffer, gradients, parameters, last

    def index(self) -> int:
        """The number of the bucket."""
        return self._index

    def buffer(self) -> Any:
        """The gradients, flat, in one tensor."""
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Replace the flat tensor."""
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """The gradients of each parameter: views of the flat tensor."""
        return self._gradients

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._parameters

    def is_last(self) -> bool:
        """Whether it is the last bucket that is reduced in an iteration."""
        return self._last


class Memory:
    """The flat tensor of a bucket, and the offset of each parameter's gradient in it."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        first = parameters[0]
        self.buffer = exports["", "zeros"](sum(each.numel() for each in parameters), dtype=first.dtype, device=first.device)
        self.views: list[Any] = []
        start = 0
        for each in parameters:
            part = self.buffer[start : start + each.numel()]
            dense = each.is_contiguous() or not each.is_contiguous(memory_format=_channels_last(each))
            self.views.append(part.view(each.shape) if dense else part.as_strided(each.shape, each.stride()))
            start += each.numel()
        self.known = UNLIMITED

    @property
    def is_free(self) -> bool:
        """Whether nothing references a gradient in this memory, or a view of one."""
        return getrefcount(self.buffer._array) <= self.known

    def count(self) -> None:
        """Record the reference counts before gradients are handed out."""
        self.known = getrefcount(self.buffer._array)

    def gradient(self, slot: int) -> Any:
        """A gradient in this memory, as a tensor of its own: while one is referenced, the memory is not reused."""
        array = self.views[slot]._array
        return make(array.view()) if array.__class__ is np.ndarray else self.views[slot].clone()


class Bucket:
    """Parameters whose gradients are reduced together, and the memory for them.

    Also without ``gradient_as_bucket_view``, gradients are in the bucket's memory, which saves copies: while one of them is referenced,
    the next iteration uses other memory.
    """

    def __init__(self, parameters: Sequence[Any], indices: Sequence[int]) -> None:
        self.indices = tuple(indices)
        self.parameters = [parameters[index] for index in indices]
        self.memory = Memory(self.parameters)
        self.spare: list[Memory] = []
        self.pending = len(self.indices)
        self.work: Any = None
        self.sparse = False
        self.begun = False  # its memory was chosen before its first gradient was ready

    @property
    def buffer(self) -> Any:
        """The gradients, flat."""
        return self.memory.buffer

    @property
    def views(self) -> list[Any]:
        """The gradients, each in its shape."""
        return self.memory.views

    def begin(self, fixed: bool) -> None:
        """Begin an iteration: in memory without referenced gradients, unless the memory is ``fixed`` (``gradient_as_bucket_view``)."""
        if fixed or self.memory.is_free:
            return
        self.spare.append(self.memory)
        free = next((each for each in self.spare if each.is_free), None)
        if free is not None:
            self.spare.remove(free)
        del self.spare[:-2]
        self.memory = Memory(self.parameters) if free is None else free

    @property
    def nbytes(self) -> int:
        """Its size."""
        return int(self.buffer.numel() * self.buffer.element_size())


def _channels_last(parameter: Any) -> Any:
    return channels_last_3d if parameter.dim() == 5 else channels_last


def bucket_assignment(
    tensors: Sequence[Any], limits: Sequence[int], sparse: Sequence[bool] = (), order: Sequence[int] = ()
) -> list[list[int]]:
    """The numbers of tensors in buckets: of one dtype and device each, closed when a limit is reached; a sparse gradient has its own."""
    numbers = list(order) or list(range(len(tensors)))
    result: list[list[int]] = []
    open_buckets: dict[Any, tuple[list[int], int]] = {}
    reached: dict[Any, int] = {}
    for number, each in zip(numbers, tensors):
        if sparse and sparse[number]:
            result.append([number])
            continue
        key = (each.dtype, each.device)
        held, size = open_buckets.get(key, ([], 0))
        held.append(number)
        size += each.numel() * each.element_size()
        open_buckets[key] = (held, size)
        at = reached.get(key, 0)
        if size >= limits[at]:
            result.append(held)
            del open_buckets[key]
            reached[key] = min(at + 1, len(limits) - 1)
    result += [held for held, _ in open_buckets.values()]
    return result if order else sorted(result, key=min)


def scale_into(view: Any, gradient: Any, factor: float) -> None:
    """Copy a gradient to its offset, multiplied by a factor."""
    array, into = gradient._array, view._array
    plain = array.__class__ is np.ndarray and array.dtype is into.dtype and array.dtype.char in "fd" and array.shape == into.shape
    if plain and factor == 1:
        into[...] = array
    elif plain and array.nbytes < LARGE:
        np.multiply(array, array.dtype.type(factor), out=into)
    elif gradient.dtype == view.dtype:
        exports["", "mul"](gradient, factor, out=view)
    else:
        view.copy_(gradient).mul_(factor)

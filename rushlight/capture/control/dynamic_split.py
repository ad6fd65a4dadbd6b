"""``split``, ``chunk`` and ``unbind`` under a capture, where how many parts there are depends on the inputs: lists of unknown length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import lookup
from ...core.state import state
from ...core.symbolic import SymbolicInt, is_symbolic, plain
from .dynamic_lists import Ragged, sequence_from
from .region_tracer import paused


class Even(Ragged):
    """The parts of one size of a tensor, of which the last may be smaller."""

    def __init__(self, items: list[Any], count: int, dim: int, tensor: Any, size: Any, number: Any) -> None:
        self.items = items
        self.count = count
        self.dim = dim
        self.flat = tensor
        self.size = size
        self.number = number  # of parts, by a formula

    @property
    def sizes(self) -> Any:  # type: ignore[override]
        """The size of each part, as a tensor."""
        starts = lookup("arange").call(self.number) * self.size
        return lookup("clamp").call(self.flat.size(self.dim) - starts, None, self.size)

    def length(self) -> Any:
        return self.number + (len(self.items) - self.count)

    def item(self, index: Any) -> Any:
        if len(self.items) > self.count:  # something was appended
            return super().item(index)
        start = (index % self.number if index < 0 or is_symbolic(index) else index) * self.size
        return self.flat[(*[slice(None)] * self.dim, slice(start, start + self.size))]

    def holding(self, items: list[Any]) -> Ragged:
        return Even(items, self.count, self.dim, self.flat, self.size, self.number)


def rounded_up(a: Any, b: Any) -> Any:
    """How often ``b`` goes into ``a``, the last time in part."""
    return (a + b - 1) // b


def by_size(tensor: Any, size: Any, dim: int) -> Any:
    """Parts of one size; of a tensor where their number is not known, a list of unknown length."""
    dim = dim % tensor._array.ndim
    with paused(state.capture):
        parts = list(lookup("split").call(tensor, plain(size), dim))
    state.capture.sequences[id(parts)] = Even(parts, len(parts), dim, tensor, size, rounded_up(tensor.size(dim), size))
    return parts


def length_of(tensor: Any, dim: int) -> Any:
    """The size of a dimension, by its formula."""
    return tensor.size(dim) if tensor._array.ndim and -tensor._array.ndim <= dim < tensor._array.ndim else 0


def is_fixed(number: Any) -> bool:
    """Whether a number is the same for all inputs."""
    return not isinstance(number, SymbolicInt) or number.expression.constant is not None


def split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> Any:
    """``torch.split``."""
    size = split_size if split_size_or_sections is None else split_size_or_sections
    if not isinstance(size, int) or size <= 0 or is_fixed(size) and is_fixed(length_of(tensor, dim)):
        return lookup("split").call(tensor, size, dim)
    return by_size(tensor, size, dim)


def chunk(input: Any, chunks: Any, dim: int = 0) -> Any:
    """``torch.chunk``; of a number that is known, so many parts."""
    if is_fixed(chunks) or chunks <= 0:
        return lookup("chunk").call(input, chunks, dim)
    return by_size(input, rounded_up(input.size(dim), chunks), dim)


def unbind(input: Any, dim: int = 0) -> Any:
    """``torch.unbind``."""
    if is_fixed(length_of(input, dim)):
        return lookup("unbind").call(input, dim)
    with paused(state.capture):
        items = list(lookup("unbind").call(input, dim))
    return sequence_from(items, lookup("movedim").call(input, dim, 0), False)


def tensor_split(input: Any, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None) -> Any:
    """``torch.tensor_split``."""
    number = next((each for each in (indices_or_sections, sections, indices) if each is not None), None)
    if is_fixed(number) or number is None or number <= 0:
        return lookup("tensor_split").call(input, number, dim)
    dim = dim % input._array.ndim
    with paused(state.capture):
        parts = list(lookup("tensor_split").call(input, plain(number), dim))
    sizes = lookup("floor_divide").call(input.size(dim) + number - 1 - lookup("arange").call(number), number)
    state.capture.sequences[id(parts)] = Ragged(parts, len(parts), dim, input, sizes)
    return parts


PARTS: dict[Any, Callable[..., Any]] = {lookup(each.__name__).call: each for each in (split, chunk, unbind, tensor_split)}

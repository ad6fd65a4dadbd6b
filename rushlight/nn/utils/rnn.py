"""Sequences of different lengths: padded, packed, and back.

A packed batch holds the rows of all sequences at time 0, then at time 1, and so on; ``batch_sizes`` says how many sequences are
still running at each time.  Sequences are sorted from long to short, and ``sorted_indices`` remembers where they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core.base import TensorBase, make
from ...core.devices import CPU
from ...core.dtypes import int64
from ...core.errors import OperationError
from ...ops.create.factories import empty_like
from ...ops.create.ranges import arange
from ...ops.nn.packed_sequences import _pack_padded_sequence, _pad_packed_sequence
from ...ops.shape.concat import stack
from .. import functional as F


class PackedSequence_(NamedTuple):
    """The fields of a :class:`PackedSequence`."""

    data: TensorBase
    batch_sizes: TensorBase
    sorted_indices: TensorBase | None
    unsorted_indices: TensorBase | None


class PackedSequence(PackedSequence_):
    """A packed batch of sequences: made by ``pack_padded_sequence`` and ``pack_sequence``, taken and given by recurrent layers."""

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("batch_sizes is not given: data must be a pair of data and batch_sizes")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                f"instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. Got {batch_sizes.device}"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data: Any) -> PackedSequence:
        """The same packing of other data, which may be on another device."""
        if data is self.data:
            return self

        def moved(indices: Any) -> Any:
            return None if indices is None else indices.to(data.device)

        return type(self)(data, self.batch_sizes, moved(self.sorted_indices), moved(self.unsorted_indices))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch in another type, or on another device."""
        return self._with_data(self.data.to(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch in the memory of the CPU."""
        return self._with_data(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch on a GPU."""
        return self._with_data(self.data.cuda(*args, **kwargs))

    def pin_memory(self, device: Any = None) -> PackedSequence:
        """The batch in pinned memory."""
        return self._with_data(self.data.pin_memory(device))

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return bool(self.data.is_cuda)

    def double(self) -> PackedSequence:
        """The batch as float64."""
        return self._with_data(self.data.double())

    def float(self) -> PackedSequence:
        """The batch as float32."""
        return self._with_data(self.data.float())

    def half(self) -> PackedSequence:
        """The batch as float16."""
        return self._with_data(self.data.half())

    def long(self) -> PackedSequence:
        """The batch as int64."""
        return self._with_data(self.data.long())

    def int(self) -> PackedSequence:
        """The batch as int32."""
        return self._with_data(self.data.int())

    def short(self) -> PackedSequence:
        """The batch as int16."""
        return self._with_data(self.data.short())

    def char(self) -> PackedSequence:
        """The batch as int8."""
        return self._with_data(self.data.char())

    def byte(self) -> PackedSequence:
        """The batch as uint8."""
        return self._with_data(self.data.byte())


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes another (of None, None)."""
    if permutation is None:
        return None
    result = empty_like(permutation)
    return result.scatter_(0, permutation, arange(permutation.numel(), device=permutation.device))


def _integers(values: Any) -> Any:
    """A tensor over integers, on the CPU whatever the default device."""
    return make(np.asarray(values, np.int64))


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded batch, (length, batch, ...) or with ``batch_first`` (batch, length, ...).

    The lengths fall from sequence to sequence, unless ``enforce_sorted=False``.
    """
    if not isinstance(lengths, TensorBase):
        lengths = _integers(lengths)
    lengths = lengths.to(device=CPU, dtype=int64)  # type: ignore[attr-defined]
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    elsewhere = input.device.type not in ("cpu", "meta")  # lengths and batch sizes are on the CPU, wherever the data are
    data, batch_sizes = _pack_padded_sequence(input, lengths.to(input.device) if elsewhere else lengths, batch_first)
    return PackedSequence(data, batch_sizes.cpu() if elsewhere else batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """A packed batch as a padded one, in its original order, and the lengths of its sequences."""
    if total_length is not None and total_length < 1:  # longer ones are compared with what the op finds
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {sequence.batch_sizes.size(0)}"
        )
    sizes, elsewhere = sequence.batch_sizes, sequence.data.device.type not in ("cpu", "meta")
    if elsewhere:
        sizes = sizes.to(sequence.data.device)
    try:
        padded, lengths = _pad_packed_sequence(
            sequence.data, sizes, batch_first, padding_value, -1 if total_length is None else total_length
        )
    except OperationError as error:
        raise ValueError(*error.args) from None
    lengths = lengths.cpu() if elsewhere else lengths
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Any:
    """Sequences of different lengths as one tensor, (length, batch, ...) or with ``batch_first`` (batch, length, ...)."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    found = list(sequences.unbind(0) if isinstance(sequences, TensorBase) else sequences)  # type: ignore[attr-defined]
    if not found:
        raise RuntimeError("received an empty list of sequences")
    for position, each in enumerate(found):
        if not isinstance(each, TensorBase):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(each).__name__}")
        if each.shape[1:] != found[0].shape[1:]:  # type: ignore[attr-defined]
            raise RuntimeError(
                f"pad_sequence: all but the first dimension must agree, but sequence {position} has size {each.shape} and sequence "
                f"0 {found[0].shape}"  # type: ignore[attr-defined]
            )
    longest = max(each.shape[0] for each in found)

    def padded(each: Any) -> Any:
        more = longest - each.shape[0]
        border = [0] * (2 * (each.dim() - 1)) + ([more, 0] if padding_side == "left" else [0, more])
        return F.pad(each, border, value=padding_value) if more else each

    return stack([padded(each) for each in found], 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded batch, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sizes = lengths.tolist() if isinstance(lengths, TensorBase) else list(lengths)  # type: ignore[attr-defined]
    return [each[:size] for each, size in zip(padded_sequences.unbind(0), sizes)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths; these fall, unless ``enforce_sorted=False``."""
    lengths = [each.shape[0] for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip

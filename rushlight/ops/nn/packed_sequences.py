"""Packed sequences: padded batches without their padding.

A packed batch holds the rows of all sequences at time 0, then at time 1, and so on; ``batch_sizes`` says how many sequences are
still running at each time.  Each of the two ops here is the gradient of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.errors import DimensionError, OperationError, ShapeError
from ...core.symbolic import unknown_size
from .rnn_onnx import pack_form, pad_form

_INT64 = np.dtype(np.int64)


def _check_rank(input: Any) -> None:
    if input.ndim < 2:
        raise DimensionError(f"a padded batch has at least 2 dimensions, but this has {input.ndim}")


def _check_lengths(lengths: Any, time: int, batch: int) -> None:
    if lengths.dtype != _INT64 or lengths.ndim != 1:
        raise OperationError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu {lengths.dtype}")
    if lengths.shape != (batch,):
        raise ShapeError(f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size} (batch_size={batch})")
    if not batch:
        raise OperationError("Cannot pack empty tensors.")
    if (lengths <= 0).any():
        raise OperationError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (lengths[1:] > lengths[:-1]).any():
        raise OperationError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need "
            "ONNX exportability."
        )
    if lengths[0] > time:
        raise OperationError(f"'lengths' has a sequence of length {lengths[0]}, but the padded batch is only {time} long")


def _pack_meta(input: Any, lengths: Any, batch_first: bool) -> list[Spec]:
    _check_rank(input)
    unknown = unknown_size("_pack_padded_sequence()")
    return [Spec((unknown, *input.shape[2:]), input.dtype), Spec((unknown,), _INT64)]


def _pack_kernel(xp: Any, input: Any, lengths: Any, batch_first: bool) -> list[Any]:
    _check_rank(input)
    if batch_first:
        input = input.swapaxes(0, 1)
    time, batch = input.shape[:2]
    _check_lengths(lengths, time, batch)
    running = xp.arange(int(lengths[0]))[:, None] < lengths[None, :]  # which sequences run at each time
    return [input[: int(lengths[0])][running], running.sum(1)]


def _pack_gradient(g: Any, input_shape: Any, batch_sizes: Any, batch_first: bool) -> Any:
    time = input_shape[1 if batch_first else 0]
    return _pad_packed_sequence(g, batch_sizes, batch_first, 0.0, time)[0]


@primitive(
    meta=_pack_meta,
    kernel=_pack_kernel,
    vjp={"input": _pack_gradient},
    returns=("data", "batch_sizes"),
    nondifferentiable=("batch_sizes",),
    exact=True,
    method=False,
    out=False,
    data_dependent=True,
    onnx={9: pack_form},
)
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> Tensor:
    """A padded batch without its padding, and how many sequences run at each time; the lengths fall."""


def _pad_meta(data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int) -> list[Spec]:
    unknown = unknown_size("_pad_packed_sequence()")
    time = batch_sizes.shape[0] if total_length <= 0 else total_length
    shape = (unknown, time) if batch_first else (time, unknown)
    return [Spec((*shape, *data.shape[1:]), data.dtype), Spec((unknown,), _INT64)]


def _pad_kernel(xp: Any, data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int) -> list[Any]:
    longest = batch_sizes.shape[0]
    if 0 < total_length < longest:
        raise OperationError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    time, batch = total_length if total_length > 0 else longest, int(batch_sizes[0])
    running = xp.arange(batch)[None, :] < batch_sizes[:, None]
    padded = xp.full((time, batch, *data.shape[1:]), padding_value, data.dtype)
    padded[:longest][running] = data
    return [padded.swapaxes(0, 1) if batch_first else padded, running.sum(0)]


def _pad_gradient(g: Any, lengths: Any, batch_first: bool) -> Any:
    return _pack_padded_sequence(g, lengths, batch_first)[0]


@primitive(
    meta=_pad_meta,
    kernel=_pad_kernel,
    vjp={"data": _pad_gradient},
    returns=("output", "lengths"),
    nondifferentiable=("lengths",),
    exact=True,
    method=False,
    out=False,
    data_dependent=True,
    onnx={9: pad_form},
)
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any, total_length: int) -> Tensor:
    """A packed batch with padding, to the longest sequence or to ``total_length`` where that is positive, and the lengths."""

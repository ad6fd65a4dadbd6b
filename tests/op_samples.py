"""Shared by the op tests and the recorder: samples as calls, results as plain arrays, keys in the recorded data."""

from __future__ import annotations

from typing import Any

import numpy as np
from samples import Sample

# Ops that need sorted, factored or full-rank arguments: shuffling the elements would leave their domain.
SCALED = {"cholesky_inverse", "linalg_ldl_solve", "qr", "searchsorted"}


def convert(value: Any, tensor: Any, dtype: Any) -> Any:
    """A sample's argument for some package: arrays through ``tensor``, NumPy dtypes through ``dtype``."""
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, np.dtype):
        return dtype(value)
    if isinstance(value, list):
        return [convert(each, tensor, dtype) for each in value]
    if isinstance(value, tuple):
        return tuple(convert(each, tensor, dtype) for each in value)
    return value


def flatten(result: Any) -> list[Any]:
    """The tensors (and numbers) of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [leaf for each in result for leaf in flatten(each)]
    return [result]


def same_layout(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, so that non-contiguous samples stay so."""
    if array.flags.forc or any(step <= 0 for step in array.strides):
        return np.array(array, order="K", copy=True)
    extent = sum((size - 1) * step for size, step in zip(array.shape, array.strides)) + array.itemsize if array.size else 0
    copy = np.ndarray(array.shape, array.dtype, np.zeros(extent, np.uint8), 0, array.strides)
    copy[...] = array
    return copy


def family(op: Any) -> str:
    """The file that declares an op, below `ops/`, as in `linalg/matmul`: data is recorded by file."""
    return op.source_module.removeprefix("rushlight.ops.").replace(".", "/")


def vary(op: Any, samples: list[Sample]) -> list[Sample]:
    """Samples of an op with other values of the same layout: the elements shuffled, or doubled for the ops in ``SCALED``.

    The values are the same in every process, so that two of them can compare their results.
    """
    stream = np.random.default_rng(0)

    def change(array: np.ndarray) -> np.ndarray:
        result = same_layout(array)
        if op.name not in SCALED:
            result[...] = stream.permutation(array.reshape(-1)).reshape(array.shape)
        elif array.dtype.kind in "fc":
            result *= 2
        return result

    def varied(sample: Sample) -> Sample:
        args = convert(sample.args, change, lambda dtype: dtype)
        kwargs = {name: convert(value, change, lambda dtype: dtype) for name, value in sample.kwargs.items()}
        return Sample(*args, gradient=sample.gradient, compare=sample.compare, constants=sample.constants, **kwargs)

    return [varied(sample) for sample in samples]

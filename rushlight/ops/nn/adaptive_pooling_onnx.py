"""ONNX forms of pooling to a given size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .pooling_onnx import batched, gathered_max, in_plane
from .sliding_windows import adaptive_windows

_INT64 = np.dtype(np.int64)


def _fixed(sizes: Any) -> bool:
    return all(type(each) is int for each in sizes)


def _sizes(g: Any, input: Any, ndim: int) -> tuple[list[Any], list[Any]]:
    """The sizes of the last dimensions before and after."""
    return list(input.shape[-ndim:]), list(g.outputs[0].shape[-ndim:])


def _even(size: list[Any], counts: list[Any]) -> dict[str, Any] | None:
    """The attributes of a plain pool with the same windows, where they all are of one size."""
    if not _fixed(size) or not _fixed(counts) or not all(counts) or any(n % count for n, count in zip(size, counts)):
        return None
    kernel = [n // count for n, count in zip(size, counts)]
    return {"kernel_shape": kernel, "pads": [0] * (2 * len(kernel)), "strides": kernel}


def _window(g: Any, size: Any, count: Any) -> tuple[Any, Any]:
    """Along one dimension a matrix (windows, taps) of places, and how many taps are in each window.

    Windows differ in size by one or two: taps that one does not have repeat its last.
    """
    if _fixed([size, count]):
        first, last = adaptive_windows(size, count)
        taps = np.arange(max(int((last - first).max()), 1))
        places = np.minimum(first[:, None] + taps, last[:, None] - 1)
        return g.constant(places.astype(np.int64)), g.constant((last - first).astype(np.int64))
    steps, n, whole = g.range(0, count), g.number(size, _INT64), g.number(count, _INT64)
    first = g.Div(g.Mul(steps, n), whole)
    last = g.Div(g.Add(g.Mul(g.Add(steps, 1), n), g.Sub(whole, 1)), whole)
    longest = g.Add(g.Div(g.Sub(n, 1), whole), 2)
    first, last = g.unsqueeze(_vector(first, count), [1]), g.unsqueeze(_vector(last, count), [1])
    places = g.minimum(g.Add(first, g.range(0, longest)), g.Sub(last, 1))
    places.shape = (count, None)
    return places, g.squeeze(g.Sub(last, first), [1])


def _vector(value: Any, count: Any) -> Any:
    value.shape = (count,)
    return value


def average(ndim: int) -> Any:
    """GlobalAveragePool, AveragePool, or means of windows that are gathered one dimension after another."""

    def form(g: Any, input: Any, output_size: Any) -> Any:
        size, counts = _sizes(g, input, ndim)
        if _fixed(counts) and 0 in counts:
            return g.full(g.outputs[0].shape, 0, input.dtype)
        if _fixed(counts) and all(each == 1 for each in counts):
            return batched(g, input, ndim, lambda each: g.GlobalAveragePool(each))
        even = _even(size, counts)
        if even is not None:
            return batched(g, input, ndim, lambda each: g.AveragePool(each, **even))
        for axis, (n, count) in enumerate(zip(size, counts), input.rank - ndim):
            input = _means(g, input, axis, n, count)
        return input

    return form


def _means(g: Any, input: Any, axis: int, size: Any, count: Any) -> Any:
    """Means along one dimension."""
    if _same(size, count):
        return input
    after = range(1, input.rank - axis)
    if type(count) is int and count == 1:
        return g.reduce("ReduceMean", input, [axis], True)
    places, lengths = _window(g, size, count)
    gathered = g.gather(input, places, axis)
    if lengths.constant is not None and (lengths.constant == lengths.constant[0]).all():
        return g.reduce("ReduceMean", gathered, [axis + 1])
    widest = places.constant.shape[1] if places.constant is not None else None
    taps = g.constant(np.arange(widest)) if widest is not None else g.range(0, g.Gather(g.Shape(places), g.constant(1, _INT64), axis=0))
    inside = g.Less(taps, g.unsqueeze(_vector(lengths, count), [1]))
    inside.shape = (count, widest)
    shown = g.where(g.unsqueeze(inside, range(2, 1 + len(after) + 1)), gathered, 0.0)
    total = g.reduce("ReduceSum", shown, [axis + 1])
    made = g.Div(total, g.unsqueeze(g.cast(_vector(lengths, count), input.dtype), after))
    made.shape = (*input.shape[:axis], count, *input.shape[axis + 1 :])
    return made


def _same(size: Any, count: Any) -> bool:
    """Whether a dimension stays as it is."""
    return size is count or (_fixed([size, count]) and size == count) or (
        not _fixed([size]) and getattr(count, "expression", None) == size.expression
    )  # fmt: skip


def maximum(ndim: int) -> Any:
    """MaxPool with indices, or maxima of gathered windows."""

    def form(g: Any, input: Any, output_size: Any, return_indices: bool) -> Any:
        size, counts = _sizes(g, input, ndim)
        if _fixed(counts) and 0 in counts:
            shape = g.outputs[0].shape
            return g.full(shape, 0, input.dtype), g.full(shape, 0, _INT64)
        even = _even(size, counts)
        if even is not None:
            found, places = batched(g, input, ndim, lambda each: g.MaxPool(each, outputs=2, **even))
            return found, in_plane(g, places, math.prod(size))
        return gathered_max(g, input, [_window(g, n, count)[0] for n, count in zip(size, counts)], True)

    return form


def _spread(steps: np.ndarray, axis: int, kernel: Any) -> np.ndarray:
    """Numbers along one dimension of a window, for all its elements in order."""
    shape = [1] * len(kernel)
    shape[axis] = -1
    return np.broadcast_to(steps.reshape(shape), tuple(kernel)).reshape(-1).astype(np.int64)


def fractional(g: Any, input: Any, samples: Any, kernel: Any, size: Any) -> Any:
    """Windows that begin where samples say, gathered from flattened planes."""
    ndim = len(kernel)
    given = list(input.shape[-ndim:])
    batch = (input.shape[0] if input.rank == ndim + 2 else 1, input.shape[-ndim - 1])
    order = (1, 0) if ndim == 2 else (0, 1, 2)  # in two dimensions the first sample is the width's
    base: Any = None
    for axis, (n, k, count) in enumerate(zip(given, kernel, size)):
        sample = g.gather(samples, [order[axis]], 2)
        pace = g.Div(g.number(n - k, samples.dtype), g.constant(max(count - 1, 1), samples.dtype))
        steps = g.constant(np.arange(count).astype(samples.dtype))
        starts = g.Sub(g.cast(g.Mul(g.Add(sample, steps), pace), _INT64), g.cast(g.Mul(sample, pace), _INT64))
        starts = g.where(g.constant(np.arange(count) == count - 1), g.number(n - k, _INT64), starts)
        starts.shape = (*batch, count)
        starts = g.unsqueeze(starts, [2 + at for at in range(ndim) if at != axis])
        base = starts if base is None else g.Add(g.Mul(base, g.number(n, _INT64)), starts)
    taps, count = g.constant(np.zeros(1, np.int64)), math.prod(kernel)
    for axis, (n, k) in enumerate(zip(given, kernel)):
        taps = g.Add(g.Mul(taps, g.number(n, _INT64)), g.constant(_spread(np.arange(k), axis, kernel)))
    base.shape = (*batch, *size)
    places = g.Add(g.unsqueeze(base, [ndim + 2]), taps)
    shape = (*batch, *size, count)
    flat = g.reshape(input, (*batch, math.prod(given)))
    picked = g.GatherElements(flat, g.reshape(places, (*batch, math.prod(size) * count)), axis=2)
    picked.shape = (*batch, math.prod(size) * count)
    windows = g.reshape(picked, shape)
    found = g.reduce("ReduceMax", windows, [ndim + 2], True)
    nowhere = g.constant(np.iinfo(np.int64).max)
    indices = g.reduce("ReduceMin", g.where(g.Less(windows, found), nowhere, places), [ndim + 2])
    found = g.squeeze(found, [ndim + 2])
    if input.rank == ndim + 2:
        return found, indices
    return g.squeeze(found, [0]), g.squeeze(indices, [0])


def unpool(g: Any, input: Any, indices: Any, size: Any) -> Any:
    """Elements scattered over flattened planes of zeros."""
    lead = input.shape[: input.rank - len(size)]
    flat = (*lead, math.prod(input.shape[len(lead) :]))
    zeros = g.full((*lead, math.prod(size)), 0, input.dtype)
    name = "ScatterElements" if g.opset >= 11 else "Scatter"
    made = g.make(name, (zeros, g.reshape(indices, flat), g.reshape(input, flat)), {"axis": len(lead)})
    made.shape = (*lead, math.prod(size))
    return g.reshape(made, (*lead, *size))


def scatter_planes(g: Any, input: Any, indices: Any, size: Any, combine: bool) -> Any:
    """The same, with elements that meet added up."""
    if not combine:
        return unpool(g, input, indices, size)
    lead = input.shape[: input.rank - len(size)]
    flat = (*lead, math.prod(input.shape[len(lead) :]))
    zeros = g.full((*lead, math.prod(size)), 0, input.dtype)
    made = g.scatter_elements(zeros, g.reshape(indices, flat), g.reshape(input, flat), len(lead), "add")
    made.shape = (*lead, math.prod(size))
    return g.reshape(made, (*lead, *size))


def gather_planes(g: Any, input: Any, indices: Any, ndim: int) -> Any:
    """Elements at places of flattened planes."""
    if g.opset < 11:
        raise g.unsupported("elements at places of planes", since=11)
    lead = input.shape[: input.rank - ndim]
    planes = g.reshape(input, (*lead, math.prod(input.shape[len(lead) :])))
    made = g.GatherElements(planes, g.reshape(indices, (*lead, math.prod(indices.shape[len(lead) :]))), axis=len(lead))
    made.shape = (*lead, math.prod(indices.shape[len(lead) :]))
    return g.reshape(made, indices.shape)

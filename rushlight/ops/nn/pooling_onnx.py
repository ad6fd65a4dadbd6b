"""ONNX forms of pooling over sliding windows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .sliding_windows import window_count

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


class Windows(NamedTuple):
    """How windows slide, and how many there are, for each of the last dimensions."""

    size: list[Any]
    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    counts: list[Any]
    ceil_mode: bool

    @property
    def fixed(self) -> bool:
        """Whether the sizes are plain numbers."""
        return all(type(each) is int for each in self.size)

    @property
    def overhang(self) -> list[int]:
        """How far the last windows reach over the padding at the end, for fixed sizes."""
        parts = zip(self.size, self.kernel, self.stride, self.padding, self.dilation, self.counts)
        return [max(0, (count - 1) * s + d * (k - 1) + 1 - n - 2 * p) for n, k, s, p, d, count in parts]


def _numbers(value: Any, ndim: int) -> list[int]:
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    return values * ndim if len(values) == 1 else values


def windows(
    g: Any, input: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, counts: Any = None
) -> Windows:
    """The windows of a call (``counts`` of them, or as many as its result has); ceil mode is on only where it makes a difference."""
    kernel = _numbers(kernel_size, ndim)
    step = kernel if stride is None or stride in ([], ()) else _numbers(stride, ndim)
    around, apart = _numbers(padding, ndim), _numbers(dilation, ndim)
    size = list(input.shape[-ndim:])
    counts = list((g.outputs[0].shape if counts is None else counts)[-ndim:])
    made = Windows(size, kernel, step, around, apart, counts, ceil_mode)
    if ceil_mode and made.fixed:
        without = [window_count(n, k, s, p, p, d) for n, k, s, p, d in zip(size, kernel, step, around, apart)]
        made = made._replace(ceil_mode=without != counts)
    return made


def batched(g: Any, input: Any, ndim: int, pool: Any) -> Any:
    """Pool an input with a batch dimension, or one that gets one for the while; of several results, each."""
    if input.rank == ndim + 2:
        return pool(input)
    made = pool(g.unsqueeze(input, [0]))
    if isinstance(made, tuple):
        return tuple(g.squeeze(each, [0]) for each in made)
    return g.squeeze(made, [0])


def _attributes(g: Any, pool: Windows, dilated: bool) -> dict[str, Any]:
    """What pools share; where the opset has no ceil mode, or its windows are others, padding at the end stands for it."""
    after = list(pool.padding)
    mode: dict[str, int] = {}
    if pool.ceil_mode and (g.opset < 10 or (pool.fixed and not _ceil_agrees(pool))):
        if not pool.fixed:
            raise g.unsupported("ceil_mode for sizes that are not fixed", since=10)
        after = [p + more for p, more in zip(pool.padding, pool.overhang)]
    elif g.opset >= 10:
        mode = {"ceil_mode": int(pool.ceil_mode)}
    apart: dict[str, Any] = {}
    if dilated and g.opset >= 10:
        apart = {"dilations": pool.dilation}
    return {**mode, **apart, "kernel_shape": pool.kernel, "pads": pool.padding + after, "strides": pool.stride}


def _ceil_agrees(pool: Windows) -> bool:
    """Whether rounding up gives our number of windows: we leave out one that would start in the padding at the end."""
    parts = zip(pool.size, pool.kernel, pool.stride, pool.padding, pool.dilation, pool.counts)
    return all(-(-(n + 2 * p - d * (k - 1) - 1) // s) + 1 == count for n, k, s, p, d, count in parts)


def max_values(ndim: int) -> Any:
    """The form of ``max_pool1d`` and its like: MaxPool."""

    def form(g: Any, input: Any, *options: Any) -> Any:
        pool = windows(g, input, ndim, *options)
        if g.opset < 10 and any(each != 1 for each in pool.dilation):
            return gathered_max(g, input, _taps(g, pool), False)
        attributes = _attributes(g, pool, True)
        return batched(g, _as_floats(g, input), ndim, lambda each: g.MaxPool(each, **attributes))

    return form


def max_with_indices(ndim: int) -> Any:
    """MaxPool counts indices through the whole tensor, we through each plane."""

    def form(g: Any, input: Any, *options: Any) -> Any:
        pool = windows(g, input, ndim, *options[:5])
        if g.opset < 10 and any(each != 1 for each in pool.dilation):
            return gathered_max(g, input, _taps(g, pool), True)
        attributes = _attributes(g, pool, True)
        found, places = batched(g, _as_floats(g, input), ndim, lambda each: g.MaxPool(each, outputs=2, **attributes))
        return found, in_plane(g, places, math.prod(input.shape[-ndim:]))

    return form


def _as_floats(g: Any, input: Any) -> Any:
    """MaxPool takes floats (and bytes since opset 12): other integers go by way of doubles."""
    if input.dtype.kind not in "iu" or (g.opset >= 12 and input.dtype.itemsize == 1):
        return input
    return g.cast(input, _FLOAT64)


def _taps(g: Any, pool: Windows) -> list[Any]:
    """For each dimension a matrix (windows, taps) of places in the input; a tap outside repeats one inside."""
    if not pool.fixed:
        raise g.unsupported("dilated pooling of sizes that are not fixed", since=10)
    found = []
    for n, k, s, p, d, count in zip(*pool[:6]):
        places = np.arange(count)[:, None] * s - p + np.arange(k) * d
        inside = (places >= 0) & (places < n)
        if not inside.any(1).all():
            raise g.unsupported("windows wholly in the padding", since=10)
        first = np.take_along_axis(places, inside.argmax(1)[:, None], 1)
        found.append(g.constant(np.where(inside, places, first).astype(np.int64)))
    return found


def gathered_max(g: Any, input: Any, taps: list[Any], with_places: bool) -> Any:
    """The largest element of windows given by their taps along the last dimensions, and its place in the plane."""
    ndim, lead = len(taps), input.rank - len(taps)
    if not with_places:
        for axis, places in enumerate(taps, lead):
            input = g.reduce("ReduceMax", g.gather(input, places, axis), [axis + 1])
        return input
    size = input.shape[lead:]
    plane = g.reshape(g.range(0, math.prod(size)), size)
    for axis, places in enumerate(taps):
        input, plane = (g.gather(each, places, at + 2 * axis) for each, at in ((input, lead), (plane, 0)))
    over = [lead + 2 * axis + 1 for axis in range(ndim)]
    found = g.reduce("ReduceMax", input, over, True)
    lower = g.Less(input, found)
    nowhere = g.constant(np.iinfo(np.int64).max)
    places = g.reduce("ReduceMin", g.where(lower, nowhere, plane), over)
    return g.squeeze(found, over), places


def in_plane(g: Any, places: Any, plane: Any) -> Any:
    """Places counted through a tensor, counted through each of its planes."""
    count = g.number(plane, _INT64)
    if g.opset >= 10:
        return g.Mod(places, count)
    return g.Sub(places, g.Mul(g.Div(places, count), count))


def _max_places(g: Any, input: Any, result: Any, ndim: int, options: Any) -> tuple[Any, bool]:
    """Where each window has its maximum, counted through the whole tensor; and whether two windows may share a place."""
    kernel_size, stride, padding, dilation, ceil_mode = options
    pool = windows(g, input, ndim, kernel_size, stride, padding, dilation, ceil_mode, result.shape)
    if g.opset < 10 and any(each != 1 for each in pool.dilation):
        raise g.unsupported("the gradient of dilated pooling", since=10)
    attributes = _attributes(g, pool, True)
    _, places = batched(g, input, ndim, lambda each: g.MaxPool(each, outputs=2, **attributes))
    places.shape = result.shape
    overlap = any(s < d * (k - 1) + 1 for k, s, d in zip(pool.kernel, pool.stride, pool.dilation)) or any(pool.padding)
    return g.reshape(places, (math.prod(result.shape),)), overlap


def max_backward(g: Any, grad: Any, input: Any, result: Any, ndim: int, *options: Any) -> Any:
    """Each window's gradient, scattered to where MaxPool found the maximum."""
    places, overlap = _max_places(g, input, result, ndim, options)
    zeros = g.full((math.prod(input.shape),), 0, grad.dtype)
    updates = g.reshape(grad, (math.prod(result.shape),))
    return g.reshape(g.scatter_elements(zeros, places, updates, 0, "add" if overlap else None), input.shape)


def max_select(g: Any, other: Any, input: Any, result: Any, ndim: int, *options: Any) -> Any:
    """Of each window, the element of another tensor where MaxPool found the maximum."""
    places, _ = _max_places(g, input, result, ndim, options)
    return g.reshape(g.gather(g.reshape(other, (math.prod(other.shape),)), places, 0), result.shape)


def average_backward(
    g: Any, grad: Any, shape: Any, ndim: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: Any,
) -> Any:  # fmt: skip
    """Each window's share, spread by a ConvTranspose with a kernel of ones, and cut to the input's size."""
    kernel = _numbers(kernel_size, ndim)
    step = kernel if stride is None or stride in ([], ()) else _numbers(stride, ndim)
    around, counts, size = _numbers(padding, ndim), list(grad.shape[-ndim:]), list(shape[-ndim:])
    pool = Windows(size, kernel, step, around, [1] * ndim, counts, ceil_mode)
    share = g.Div(grad, _divisors(g, pool, count_include_pad, divisor_override, grad.dtype))
    share.shape = grad.shape
    planes = math.prod(grad.shape[:-ndim])
    ones = g.constant(np.ones((1, 1, *kernel), grad.dtype))
    full = [(count - 1) * s + k for count, s, k in zip(counts, step, kernel)]
    made = g.ConvTranspose(g.reshape(share, (planes, 1, *counts)), ones, kernel_shape=kernel, strides=step)
    made.shape = (planes, 1, *full)
    ends = [n + p - each for n, p, each in zip(size, around, full)]
    made = g.pad(made, [0, 0, *(-p for p in around), 0, 0, *ends])
    made.shape = (planes, 1, *size)
    return g.reshape(made, tuple(shape))


def _divisors(g: Any, pool: Windows, count_include_pad: bool, override: Any, kind: Any) -> Any:
    """What each window's sum is divided by."""
    if override is not None:
        return g.constant(override, kind)
    if not pool.ceil_mode and (count_include_pad or not any(pool.padding)):
        return g.constant(math.prod(pool.kernel), kind)
    found: Any = None
    for axis, (n, k, s, p, _, count) in enumerate(zip(*pool[:6])):
        start = g.Sub(g.Mul(g.range(0, count), s), p)
        stop = g.minimum(g.Add(start, k), g.number(n + p, _INT64))
        if not count_include_pad:
            start, stop = g.maximum(start, g.constant(0, _INT64)), g.minimum(stop, g.number(n, _INT64))
        length = g.Sub(stop, start)
        length.shape = (count,)
        length = g.reshape(g.cast(length, kind), (count, *[1] * (len(pool.kernel) - 1 - axis)))
        found = length if found is None else g.Mul(found, length)
    return found


def average(ndim: int) -> Any:
    """The form of ``avg_pool1d`` and its like: AveragePool."""

    def form(
        g: Any, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
        divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        pool = windows(g, input, ndim, kernel_size, stride, padding, 1, ceil_mode)
        if input.dtype.kind in "iu":
            return _average_integers(g, input, pool, count_include_pad, divisor_override)
        if divisor_override is not None:
            total = math.prod(pool.kernel) / divisor_override
            return g.Mul(_whole_average(g, input, pool), g.constant(total, input.dtype))
        return batched(g, input, ndim, lambda each: _average(g, each, pool, count_include_pad))

    return form


def _average(g: Any, input: Any, pool: Windows, count_include_pad: bool) -> Any:
    """What windows have beyond the padding never counts: in ceil mode padding that counts becomes part of the input."""
    if pool.ceil_mode and count_include_pad and any(pool.padding):
        input = g.pad(input, [0, 0, *pool.padding] * 2)
        pool = pool._replace(size=[n + 2 * p for n, p in zip(pool.size, pool.padding)], padding=[0] * len(pool.kernel))
    counted = int(count_include_pad and any(pool.padding))
    return g.AveragePool(input, **_attributes(g, pool, False), count_include_pad=counted)


def _whole_average(g: Any, input: Any, pool: Windows) -> Any:
    """Sums of windows over their full size, whatever they reach over."""
    ndim = len(pool.kernel)
    after = [0] * ndim
    if pool.ceil_mode and pool.fixed:
        after = pool.overhang
    elif pool.ceil_mode:  # room for one more window, which may be one too many
        lead = [0] * (input.rank - ndim)
        wide = g.pad(input, [*lead, *[0] * ndim, *lead, *(s - 1 for s in pool.stride)])
        wide.shape = (*input.shape[: len(lead)], *(n + s - 1 for n, s in zip(pool.size, pool.stride)))
        made = _whole_average(g, wide, pool._replace(ceil_mode=False))
        parts = zip(wide.shape[len(lead) :], pool.kernel, pool.stride, pool.padding)
        made.shape = (*input.shape[: len(lead)], *(window_count(n, k, s, p, p, 1) for n, k, s, p in parts))
        return g.slice(made, [0] * ndim, pool.counts, range(len(lead), input.rank))
    attributes = {
        "count_include_pad": 1, "kernel_shape": pool.kernel, "strides": pool.stride,
        "pads": pool.padding + [p + more for p, more in zip(pool.padding, after)],
    }  # fmt: skip
    return batched(g, input, ndim, lambda each: g.AveragePool(each, **attributes))


def _average_integers(g: Any, input: Any, pool: Windows, count_include_pad: bool, divisor_override: Any) -> Any:
    """Sums as doubles, divided as integers are: towards zero."""
    if divisor_override is None and (pool.ceil_mode or (any(pool.padding) and not count_include_pad)):
        raise g.unsupported("means of integers over windows of different sizes")
    count = math.prod(pool.kernel)
    total = g.Mul(_whole_average(g, g.cast(input, _FLOAT64), pool), float(count))
    quotient = g.Div(_rounded(g, total), float(divisor_override or count))
    return g.cast(quotient, _INT64)  # a Cast drops the fraction


def _rounded(g: Any, value: Any) -> Any:
    return g.Round(value) if g.opset >= 11 else g.Floor(g.Add(value, 0.5))


def norms(ndim: int) -> Any:
    """LpPool for even powers: it takes absolute values first, we do not."""

    def form(g: Any, input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
        pool = windows(g, input, ndim, kernel_size, stride, 0, 1, ceil_mode)
        if pool.ceil_mode or norm_type <= 0 or norm_type % 2:
            return NotImplemented
        attributes = {
            "kernel_shape": pool.kernel,
            "p": int(norm_type),
            "pads": [0] * (2 * ndim),
            "strides": pool.stride,
        }
        return batched(g, input, ndim, lambda each: g.LpPool(each, **attributes))

    return form

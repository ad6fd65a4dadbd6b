"""Pooling on arrays: loops over the taps of a window, each a whole slice of the input, in blocks that fit a cache."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .sliding_windows import adaptive_windows, padded

Ints = Sequence[int]
BLOCK_BYTES = 1 << 19  # of input worked on at a time


class Pool(NamedTuple):
    """Windows over the last dimensions: as many of each number as there are dimensions."""

    size: Ints
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    counts: Ints

    @property
    def pads(self) -> list[tuple[int, int]]:
        """The border that the windows need before and after each dimension."""
        return [
            (p, max(0, (count - 1) * s + d * (k - 1) + 1 - n - p))
            for n, k, s, p, d, count in zip(self.size, self.kernel, self.stride, self.padding, self.dilation, self.counts)
        ]

    def slices(self, axis: int) -> list[slice]:
        """For each tap along one dimension, its positions in the padded input, for all windows."""
        step, count, apart = self.stride[axis], self.counts[axis], self.dilation[axis]
        return [slice(k * apart, k * apart + (count - 1) * step + 1, step) for k in range(self.kernel[axis])]

    def taps(self) -> Iterator[tuple[Any, ...]]:
        """An index for each tap of the window, in the order of memory."""
        for taps in itertools.product(*(self.slices(axis) for axis in range(len(self.kernel)))):
            yield (..., *taps)


def even_pool(size: Ints, counts: Ints) -> Pool | None:
    """The windows of adaptive pooling, where they all are of one size and none overlap."""
    if not all(counts) or any(n % count for n, count in zip(size, counts)):
        return None
    kernel = tuple(n // count for n, count in zip(size, counts))
    return Pool(size, kernel, kernel, (0,) * len(size), (1,) * len(size), counts)


def _blocks(planes: int, bytes_of_plane: int) -> Iterator[slice]:
    step = max(1, BLOCK_BYTES // max(bytes_of_plane, 1))
    for start in range(0, planes, step):
        yield slice(start, start + step)


def _planes(array: Any, ndim: int) -> Any:
    """All leading dimensions as one."""
    shape = array.shape[array.ndim - ndim :]
    return array.reshape((math.prod(array.shape[: array.ndim - ndim]), *shape))


def lowest(dtype: Any) -> Any:
    """What loses against everything."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _fold(xp: Any, block: Any, pool: Pool, combine: Any) -> Any:
    """Fold each window with a ufunc, one dimension after another (the first first: its slices are whole rows)."""
    ndim = len(pool.kernel)
    for axis in range(ndim):
        after = (slice(None),) * (ndim - 1 - axis)
        first, *rest = ((..., each, *after) for each in pool.slices(axis))
        result = block[first]
        for number, tap in enumerate(rest):
            result = combine(result, block[tap]) if not number else combine(result, block[tap], out=result)
        block = result
    return block


def _fold_all(xp: Any, input: Any, pool: Pool, combine: Any, fill: Any) -> Any:
    ndim = len(pool.kernel)
    source = _planes(input, ndim)
    result = xp.empty((source.shape[0], *pool.counts), input.dtype)
    pads = pool.pads
    for block in _blocks(source.shape[0], source[:1].nbytes):
        result[block] = _fold(xp, padded(xp, source[block], pads, fill), pool, combine)
    return result.reshape((*input.shape[: input.ndim - ndim], *pool.counts))


def max_values(xp: Any, input: Any, pool: Pool) -> Any:
    """The largest element of each window."""
    return _fold_all(xp, input, pool, xp.maximum, lowest(input.dtype))


def window_sums(xp: Any, input: Any, pool: Pool) -> Any:
    """The sum of each window."""
    return _fold_all(xp, input, pool, xp.add, 0)


def _first_equal(xp: Any, rows: Sequence[Any], value: Any) -> Any:
    """Which of several arrays holds a value, element by element: the first that is equal, and of nan the last.

    Numbers are kept in bytes, and the first is the one that scores highest: both are what makes this fast.
    """
    number = len(rows)
    kind = np.uint8 if number < 256 else np.uint32
    score = xp.zeros(value.shape, kind)
    for place, row in enumerate(rows):
        xp.maximum(score, (row == value).view(np.uint8) * kind(number - place), out=score)
    winners = number - score
    if xp.any(score == 0):  # nan equals nothing
        for place, row in enumerate(rows):
            winners[xp.isnan(row)] = place
    return winners


def _winners(xp: Any, block: Any, result: Any, pool: Pool) -> Any:
    """Which tap of each window gave its maximum."""
    winners = _first_equal(xp, [block[where] for where in pool.taps()], result)
    if any(pool.padding):
        lost = result == lowest(block.dtype)
        if xp.any(lost):  # the border must not win, even against its equals
            winners = xp.where(lost, _first_inside(xp, pool), winners)
    return winners


def _first_inside(xp: Any, pool: Pool) -> Any:
    """The first tap of each window that is not in the border."""
    number: Any = 0
    for axis, (count, k, s, p, d) in enumerate(zip(pool.counts, pool.kernel, pool.stride, pool.padding, pool.dilation)):
        first = xp.maximum(-((xp.arange(count) * s - p) // d), 0)
        number = number * k + first.reshape(-1, *[1] * (len(pool.counts) - 1 - axis))
    return number


def _max_blocks(xp: Any, input: Any, values: Any, pool: Pool) -> Iterator[tuple[slice, Any]]:
    """Block by block, the place of each window's maximum in the plane of the input, counted in the order of memory."""
    ndim = len(pool.kernel)
    offset, base = xp.zeros(1, np.int64), xp.zeros((), np.int64)
    for axis, (n, k, s, p, d, count) in enumerate(zip(*pool)):
        offset = (offset[:, None] * n + xp.arange(k) * d).reshape(-1)
        base = base * n + (xp.arange(count) * s - p).reshape(-1, *[1] * (ndim - 1 - axis))
    source, found = _planes(input, ndim), _planes(values, ndim)
    pads, fill = pool.pads, lowest(input.dtype)
    for block in _blocks(source.shape[0], source[:1].nbytes):
        winners = _winners(xp, padded(xp, source[block], pads, fill), found[block], pool)
        places = xp.take(offset, winners)
        places += base
        if any(pool.padding) and any(d > 1 for d in pool.dilation):  # windows may step right over a small input
            xp.clip(places, 0, math.prod(pool.size) - 1, out=places)
        yield block, places


def max_with_indices(xp: Any, input: Any, pool: Pool) -> tuple[Any, Any]:
    """The largest element of each window, and its place in the plane of the input, counted in the order of memory."""
    values = max_values(xp, input, pool)
    indices = xp.empty(values.shape, np.int64)
    planes = _planes(indices, len(pool.kernel))
    for block, places in _max_blocks(xp, input, values, pool):
        planes[block] = places
    return values, indices


def _in_block(xp: Any, places: Any, length: int) -> Any:
    """Places counted through all planes of a block."""
    starts = xp.arange(places.shape[0]) * length
    return (places + starts.reshape(-1, *[1] * (places.ndim - 1))).reshape(-1)


def max_backward(xp: Any, grad: Any, input: Any, values: Any, pool: Pool) -> Any:
    """Each window's gradient, added to the element that was its maximum."""
    ndim, length = len(pool.kernel), math.prod(pool.size)
    result = xp.zeros(input.shape, grad.dtype)
    grads, planes = _planes(grad, ndim), _planes(result, ndim)
    for block, places in _max_blocks(xp, input, values, pool):
        xp.add.at(planes[block].reshape(-1), _in_block(xp, places, length), grads[block].reshape(-1))
    return result


def max_select(xp: Any, other: Any, input: Any, values: Any, pool: Pool) -> Any:
    """Of each window, the element of ``other`` at the place of the maximum: the transpose of :func:`max_backward`."""
    ndim, length = len(pool.kernel), math.prod(pool.size)
    result = xp.empty(values.shape, other.dtype)
    others, planes = _planes(other, ndim), _planes(result, ndim)
    for block, places in _max_blocks(xp, input, values, pool):
        planes[block] = xp.take(others[block].reshape(-1), _in_block(xp, places, length)).reshape(places.shape)
    return result


def _inside(pool: Pool) -> tuple[Any, ...]:
    return (..., *(slice(p, p + n) for n, p in zip(pool.size, pool.padding)))


def divisors(xp: Any, pool: Pool, count_include_pad: bool, override: int | None) -> Any:
    """What the sum of each window is divided by; of a window that exceeds the padded input only the part inside counts."""
    if override is not None:
        return np.int64(override)
    result: Any = np.int64(1)
    for axis, (n, k, s, p, _, count) in enumerate(zip(*pool)):
        start = xp.arange(count) * s - p
        stop = xp.minimum(start + k, n + p)
        if not count_include_pad:
            start, stop = xp.maximum(start, 0), xp.minimum(stop, n)
        result = result * (stop - start).reshape(-1, *[1] * (len(pool.counts) - 1 - axis))
    return result[(0,) * len(pool.counts)] if result.size and (result == result.flat[0]).all() else result


def average(xp: Any, input: Any, pool: Pool, count_include_pad: bool, override: int | None) -> Any:
    """The mean of each window."""
    whole = tuple(pool.kernel) == tuple(pool.size) and not any(pool.padding) and math.prod(pool.counts) == 1
    if whole and input.dtype.kind == "f" and override is None:
        return input.mean(axis=tuple(range(input.ndim - len(pool.size), input.ndim)), keepdims=True)
    total = window_sums(xp, input, pool)
    divisor = divisors(xp, pool, count_include_pad, override)
    if input.dtype.kind == "i":  # rounded towards zero, as integers are divided in C
        return xp.trunc(total / divisor).astype(input.dtype) if xp.any(total < 0) or override else total // divisor
    total /= divisor.astype(input.dtype)
    return total


def average_backward(xp: Any, grad: Any, pool: Pool, count_include_pad: bool, override: int | None) -> Any:
    """Each window's gradient, shared among its elements."""
    ndim = len(pool.kernel)
    grads = _planes(grad / divisors(xp, pool, count_include_pad, override).astype(grad.dtype), ndim)
    result = xp.empty((grads.shape[0], *pool.size), grad.dtype)
    extent = [n + before + after for n, (before, after) in zip(pool.size, pool.pads)]
    for block in _blocks(grads.shape[0], result[:1].nbytes):
        share = grads[block]
        for axis in reversed(range(ndim)):  # the last first, while there is little
            after = (slice(None),) * (ndim - 1 - axis)
            shape = list(share.shape)
            shape[axis + 1] = extent[axis]
            spread = xp.zeros(shape, grad.dtype)
            for tap in pool.slices(axis):
                if pool.stride[axis] >= pool.kernel[axis]:
                    spread[(..., tap, *after)] = share
                else:
                    spread[(..., tap, *after)] += share
            share = spread
        result[block] = share[_inside(pool)]
    return result.reshape((*grad.shape[: grad.ndim - ndim], *pool.size))


# -- windows that are not all alike ------------------------------------------------------------------------------


def adaptive_max(xp: Any, input: Any, counts: Ints) -> tuple[Any, Any]:
    """The largest element of each window of adaptive pooling, and its place in the plane."""
    ndim = len(counts)
    size = input.shape[input.ndim - ndim :]
    pool = even_pool(size, counts)
    if pool is not None:
        return max_with_indices(xp, input, pool)
    values: Any = _planes(input, ndim)
    places: Any = None
    step = 1
    for axis in range(ndim, 0, -1):  # one dimension after another: of equals, the first row and in it the first column
        shape = (*values.shape[:axis], counts[axis - 1], *values.shape[axis + 1 :])
        best, where = xp.empty(shape, values.dtype), xp.empty(shape, np.int64)
        at = [(*(slice(None),) * axis, place) for place in range(max(size[axis - 1], counts[axis - 1]))]
        for number, (start, stop) in enumerate(zip(*adaptive_windows(size[axis - 1], counts[axis - 1]))):
            rows = [values[at[place]] for place in range(start, stop)]
            best[at[number]] = value = functools.reduce(xp.maximum, rows)
            winners = _first_equal(xp, rows, value)
            chosen = (winners.astype(np.int64) + start) * step
            if places is not None:  # and where it was in the dimensions before
                for place in range(start, stop):
                    xp.add(chosen, places[at[place]], out=chosen, where=winners == place - start)
            where[at[number]] = chosen
        values, places = best, where
        step *= size[axis - 1]
    shape = (*input.shape[: input.ndim - ndim], *counts)
    return values.reshape(shape), places.reshape(shape)


def fractional_max(xp: Any, input: Any, kernel: Ints, counts: Ints, samples: Any) -> tuple[Any, Any]:
    """The largest element of each window, where the windows' starts follow from a random sample for each dimension."""
    ndim = len(counts)
    size = input.shape[input.ndim - ndim :]
    planes = _planes(input, ndim)
    if not planes.size:
        shape = (*input.shape[: input.ndim - ndim], *counts)
        return xp.empty(shape, input.dtype), xp.empty(shape, np.int64)
    flat = planes.reshape(planes.shape[0], math.prod(planes.shape[1:]))
    samples = samples.reshape(-1, ndim)
    order = (1, 0) if ndim == 2 else (0, 1, 2)  # in two dimensions the first sample is the width's
    base: Any = 0
    for axis, (n, k, count) in enumerate(zip(size, kernel, counts)):
        sample = samples[:, order[axis], None]
        steps = xp.arange(count).astype(samples.dtype)
        pace = samples.dtype.type(n - k) / samples.dtype.type(max(count - 1, 1))
        starts = ((steps + sample) * pace).astype(np.int64) - (sample * pace).astype(np.int64)
        starts[:, -1:] = n - k
        base = base * n + starts.reshape(-1, *[1] * axis, count, *[1] * (ndim - 1 - axis))
    values: Any = None
    places: Any = None
    for tap in itertools.product(*map(range, kernel)):
        offset = 0
        for n, k in zip(size, tap):
            offset = offset * n + k
        place = base + offset
        found = xp.take_along_axis(flat, place.reshape(place.shape[0], -1), 1).reshape(place.shape)
        if values is None:
            values, places = found, place
        else:
            better = (found > values) | xp.isnan(found)
            values, places = xp.where(better, found, values), xp.where(better, place, places)
    shape = (*input.shape[: input.ndim - ndim], *counts)
    return values.reshape(shape), places.reshape(shape)


def to_places(xp: Any, values: Any, places: Any, size: Ints, combine: bool) -> Any:
    """Planes of zeros with values at places; those that meet are added up, or the last one stays."""
    ndim = len(size)
    result = xp.zeros((*values.shape[: values.ndim - ndim], *size), values.dtype)
    where = _in_block(xp, _planes(places, ndim), math.prod(size))
    if combine:
        xp.add.at(result.reshape(-1), where, values.reshape(-1))
    else:
        result.reshape(-1)[where] = values.reshape(-1)
    return result


def from_places(xp: Any, values: Any, places: Any, ndim: int) -> Any:
    """The elements at places of planes: the transpose of :func:`to_places`."""
    where = _in_block(xp, _planes(places, ndim), math.prod(values.shape[values.ndim - ndim :]))
    return xp.take(values.reshape(-1), where).reshape(places.shape)

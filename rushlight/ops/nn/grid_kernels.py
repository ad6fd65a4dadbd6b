"""Sampling at the points of a grid, on arrays: input ``(N, C, *size)``, grid ``(N, *counts, dimensions)``.

Along each dimension a point has taps: an index, a weight, and the derivative of the weight by the grid's coordinate.
Their products are all there is to it, forward and backward, in two dimensions and three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Tap(NamedTuple):
    """One of the elements along a dimension that points are made of."""

    index: Any
    weight: Any
    slope: Any


def _reflect(xp: Any, place: Any, size: int, align_corners: bool) -> tuple[Any, Any]:
    """Places folded back at the borders (of elements, or of their cells), and the direction that each then runs in."""
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if not span:
        return xp.zeros_like(place), xp.zeros_like(place)
    offset = place - place.dtype.type(low)
    sign = xp.where(offset < 0, place.dtype.type(-1), place.dtype.type(1))
    offset = xp.abs(offset)
    rest = xp.fmod(offset, place.dtype.type(span))
    back = xp.floor(offset / place.dtype.type(span)) % 2 != 0
    return xp.where(back, span - rest, rest) + place.dtype.type(low), xp.where(back, -sign, sign)


def _inside(xp: Any, place: Any, size: int, padding_mode: int, align_corners: bool) -> tuple[Any, Any]:
    """Places brought into the input as the padding says, and their derivative."""
    slope = xp.ones_like(place)
    if padding_mode == REFLECTION:
        place, slope = _reflect(xp, place, size, align_corners)
    if padding_mode != ZEROS:
        place = xp.where(xp.isnan(place), place.dtype.type(0), place)
        slope = xp.where((place <= 0) | (place >= size - 1), place.dtype.type(0), slope)
        place = xp.clip(place, 0, place.dtype.type(size - 1))
    return place, slope


def _cubic(xp: Any, t: Any) -> list[tuple[Any, Any]]:
    """Weights of four neighbours and their derivatives, for a place ``t`` after the second."""
    a = t.dtype.type(-0.75)

    def far(x: Any) -> tuple[Any, Any]:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a

    def near(x: Any) -> tuple[Any, Any]:
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    found = [far(t + 1), near(t), near(1 - t), far(2 - t)]
    return [(weight, slope if number < 2 else -slope) for number, (weight, slope) in enumerate(found)]


def _taps(xp: Any, grid: Any, size: int, mode: int, padding_mode: int, align_corners: bool) -> list[Tap]:
    """The taps of all points along one dimension; those outside weigh nothing."""
    kind = grid.dtype.type
    per_unit = kind((size - 1) / 2 if align_corners else size / 2)
    place = (grid + 1) * per_unit if align_corners else ((grid + 1) * kind(size) - 1) / 2
    found: list[tuple[Any, Any, Any]]
    if mode == BICUBIC:
        base = xp.floor(place)
        found = []
        for number, (weight, slope) in enumerate(_cubic(xp, place - base), -1):
            found.append((_inside(xp, base + kind(number), size, padding_mode, align_corners)[0], weight, slope * per_unit))
    else:
        place, slope = _inside(xp, place, size, padding_mode, align_corners)
        slope = slope * per_unit
        if mode == NEAREST:
            found = [(xp.rint(place), xp.ones_like(place), xp.zeros_like(place))]
        else:
            base = xp.floor(place)
            part = place - base
            found = [(base, 1 - part, -slope), (base + 1, part, slope)]
    taps = []
    for index, weight, slope in found:
        there = (index >= 0) & (index <= size - 1)
        nothing = kind(0)
        index = xp.where(there, index, nothing).astype(np.int64)
        taps.append(Tap(index, xp.where(there, weight, nothing), xp.where(there, slope, nothing)))
    return taps


def _points(xp: Any, grid: Any, size: Sequence[int], *options: Any) -> Iterator[tuple[Any, Any, tuple[Tap, ...]]]:
    """Each combination of taps: the place in the plane, the weight, and the taps (grids count the last dimension first)."""
    ndim = len(size)
    along = [_taps(xp, grid[..., ndim - 1 - axis], size[axis], *options) for axis in range(ndim)]
    for taps in itertools.product(*along):
        place, weight = taps[0].index, taps[0].weight
        for tap, n in zip(taps[1:], size[1:]):
            place, weight = place * n + tap.index, weight * tap.weight
        yield place, weight, taps


def _rows(xp: Any, array: Any) -> Any:
    """Channels last, so that what is at a place is one run of memory: ``(N, places, C)``, C rounded up where it is small.

    Runs of 4, 8, 16 or 32 bytes are copied much faster than those in between.
    """
    batch, channels = array.shape[:2]
    width = next((each for each in (1, 2, 4, 8) if each >= channels), channels)
    result = xp.zeros((batch, math.prod(array.shape[2:]), width), array.dtype)
    result[..., :channels] = array.reshape(batch, channels, math.prod(array.shape[2:])).swapaxes(1, 2)
    return result


def sample(xp: Any, input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool) -> Any:
    """The input at the points of a grid."""
    batch, channels = input.shape[:2]
    counts = grid.shape[1:-1]
    result = xp.zeros((batch, channels, *counts), input.dtype)
    if not result.size:
        return result
    rows = _rows(xp, input)
    points = grid.reshape(batch, -1, grid.shape[-1])
    for image in range(batch):  # an image at a time stays in the cache
        total = xp.zeros((points.shape[1], rows.shape[2]), input.dtype)
        for place, weight, _ in _points(xp, points[image], input.shape[2:], mode, padding_mode, align_corners):
            found = xp.take(rows[image], place, axis=0)
            found *= weight[:, None]
            total += found
        result[image] = total.T[:channels].reshape(channels, *counts)
    return result


def sample_backward(
    xp: Any, grad: Any, input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool, needs: Sequence[bool]
) -> tuple[Any, Any]:
    """The gradients of the input and of the grid; one that is not needed is left zero."""
    batch, channels = input.shape[:2]
    size = input.shape[2:]
    ndim = len(size)
    of_grid = xp.zeros((batch, math.prod(grid.shape[1:-1]), ndim), grid.dtype)
    rows, grads = _rows(xp, input), _rows(xp, grad)
    of_rows = xp.zeros_like(rows)
    if grad.size:
        points = grid.reshape(batch, -1, ndim)
        column = xp.arange(channels)
        for image in range(batch):
            g = grads[image]
            for place, weight, taps in _points(xp, points[image], size, mode, padding_mode, align_corners):
                if needs[0]:
                    where = (place[:, None] * rows.shape[2] + column).reshape(-1)
                    xp.add.at(of_rows[image].reshape(-1), where, (g[:, :channels] * weight[:, None]).reshape(-1))
                if needs[1] and mode != NEAREST:
                    share = xp.einsum("pc,pc->p", g, xp.take(rows[image], place, axis=0))
                    for axis in range(ndim):
                        slope = taps[axis].slope
                        for other in range(ndim):
                            if other != axis:
                                slope = slope * taps[other].weight
                        of_grid[image, :, ndim - 1 - axis] += share * slope
    of_input = xp.ascontiguousarray(of_rows[..., :channels].swapaxes(1, 2)).reshape(input.shape)
    return of_input, of_grid.reshape(grid.shape)


def base_grid(xp: Any, size: Sequence[int], align_corners: bool, dtype: Any) -> Any:
    """The points of an unmoved grid, one a row, with a last column of ones: ``(points, dimensions + 1)``."""
    ndim = len(size)
    columns = [xp.ones(tuple(size), dtype)]
    for axis, n in enumerate(size):
        steps = xp.linspace(-1, 1, n, dtype=dtype) if n > 1 else xp.zeros(n, dtype)
        if not align_corners:
            steps = steps * dtype.type(n - 1) / dtype.type(n)
        columns.insert(0, xp.broadcast_to(steps.reshape(-1, *[1] * (ndim - 1 - axis)), tuple(size)))
    return xp.stack(columns, axis=-1).reshape(-1, ndim + 1)

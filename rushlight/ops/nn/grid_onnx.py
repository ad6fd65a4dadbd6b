"""Sampling at a grid in plain nodes, for opsets whose GridSample is missing or takes images only."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .grid_kernels import BICUBIC, NEAREST, REFLECTION, ZEROS

_INT64 = np.dtype(np.int64)


def _reflected(g: Any, place: Any, low: float, span: Any) -> Any:
    """Places folded back at the borders; ``span`` is the distance between them."""
    offset = g.Abs(g.Sub(place, g.constant(low, place.dtype)))
    whole = g.Floor(g.Div(offset, span))
    rest = g.Sub(offset, g.Mul(whole, span))
    odd = g.Greater(g.Sub(whole, g.Mul(g.Floor(g.Div(whole, 2.0)), 2.0)), 0.5)
    return g.Add(g.where(odd, g.Sub(span, rest), rest), g.constant(low, place.dtype))


def _inside(g: Any, place: Any, last: Any, padding_mode: int, align_corners: bool) -> Any:
    """Places brought into the input as the padding says."""
    zero, one = g.constant(0, place.dtype), g.constant(1, place.dtype)
    if padding_mode == REFLECTION:
        span = g.maximum(last, one) if align_corners else g.Add(last, one)  # of one element, which is all there is
        place = _reflected(g, place, 0.0 if align_corners else -0.5, span)
    return place if padding_mode == ZEROS else g.minimum(g.maximum(place, zero), last)


def _cubic(g: Any, t: Any) -> list[Any]:
    """Weights of four neighbours, for a place ``t`` after the second."""
    a = -0.75

    def polynomial(x: Any, *factors: float) -> Any:
        value = g.Mul(x, factors[0])
        for factor in factors[1:-1]:
            value = g.Mul(g.Add(value, factor), x) if factor else g.Mul(value, x)
        return g.Add(value, factors[-1])

    far, near = (a, -5 * a, 8 * a, -4 * a), (a + 2, -(a + 3), 0.0, 1.0)
    before, after = g.Sub(g.constant(1, t.dtype), t), g.Sub(g.constant(2, t.dtype), t)
    return [polynomial(g.Add(t, 1.0), *far), polynomial(t, *near), polynomial(before, *near), polynomial(after, *far)]


def _taps(g: Any, grid: Any, size: Any, mode: int, padding_mode: int, align_corners: bool) -> list[tuple[Any, Any]]:
    """Along one dimension the places that points are made of, and their weights; those outside weigh nothing."""
    kind = grid.dtype
    count = g.number(size, kind)
    last = g.Sub(count, 1.0)
    moved = g.Add(grid, 1.0)
    place = g.Div(g.Mul(moved, last) if align_corners else g.Sub(g.Mul(moved, count), 1.0), 2.0)
    if mode == BICUBIC:
        base = g.Floor(place)
        weights = _cubic(g, g.Sub(place, base))
        steps = [_inside(g, g.Add(base, float(at)), last, padding_mode, align_corners) for at in range(-1, 3)]
        found = list(zip(steps, weights))
    else:
        place = _inside(g, place, last, padding_mode, align_corners)
        if mode == NEAREST:
            found = [(g.Round(place), g.constant(1, kind))]
        else:
            base = g.Floor(place)
            part = g.Sub(place, base)
            found = [(base, g.Sub(g.constant(1, kind), part)), (g.Add(base, 1.0), part)]
    taps = []
    for index, weight in found:
        outside = g.Or(g.Less(index, 0.0), g.Greater(index, last))
        zero = g.constant(0, kind)
        taps.append((g.cast(g.where(outside, zero, index), _INT64), g.where(outside, zero, weight)))
    return taps


def sample(g: Any, input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool) -> Any:
    """For each combination of taps: gather, weigh, add."""
    ndim, size = input.rank - 2, input.shape[2:]
    batch, channels = input.shape[:2]
    points = math.prod(grid.shape[1:-1])
    flat = g.reshape(input, (batch, channels, math.prod(size)))
    columns = []
    for axis in range(ndim):  # grids count the last dimension first
        column = g.reshape(g.gather(grid, [ndim - 1 - axis], ndim + 1), (batch, 1, points))
        columns.append(_taps(g, column, size[axis], mode, padding_mode, align_corners))
    total: Any = None
    for taps in itertools.product(*columns):
        place, weight = taps[0]
        for (index, share), n in zip(taps[1:], size[1:]):
            place, weight = g.Add(g.Mul(place, g.number(n, _INT64)), index), g.Mul(weight, share)
        everywhere = g.expand(place, (batch, channels, points))
        found = g.Mul(g.GatherElements(flat, everywhere, axis=2), weight)
        total = found if total is None else g.Add(total, found)
    total.shape = (batch, channels, points)
    return g.reshape(total, g.outputs[0].shape)

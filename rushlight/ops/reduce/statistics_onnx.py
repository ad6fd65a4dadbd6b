"""The ONNX forms of counts and histograms: each value is compared with every bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_INT64 = np.dtype(np.int64)


def _flat(g: Any, x: Any) -> Any:
    """All elements as a column."""
    return g.reshape(x, (math.prod(x.shape), 1))


def bincount_form(g: Any, input: Any, weights: Any, minlength: int) -> Any:
    """How often each number up to the largest is there."""
    if g.is_empty(input):
        return g.full((minlength,), 0, _INT64)
    x = g.cast(input, _INT64)
    count = g.Add(g.reduce("ReduceMax", x, None), g.constant(1, _INT64))
    if minlength:
        count = g.maximum(count, g.constant(minlength, _INT64))
    count.shape = ()
    bins = g.range(0, count)
    bins.shape = g.outputs[0].shape
    there = g.Equal(g.unsqueeze(x, [1]), bins)
    if weights is None:
        return g.reduce("ReduceSum", g.cast(there, _INT64), [0])
    dtype = g.outputs[0].dtype
    return g.MatMul(g.cast(weights, dtype), g.cast(there, dtype))


def _outer_edges(g: Any, values: Any, given: Any) -> tuple[Any, Any]:
    """The ends of a histogram: as given, or those of the values; never the same."""
    if given is None and g.is_empty(values):
        given = (0.0, 1.0)
    if given is not None:
        low, high = map(float, given)
        ends = (low - 0.5, high + 0.5) if low == high else (low, high)
        return g.constant(ends[0], values.dtype), g.constant(ends[1], values.dtype)
    low, high = g.reduce("ReduceMin", values, None), g.reduce("ReduceMax", values, None)
    # Half of one to either side where all values are the same.
    more = g.Mul(g.cast(g.Not(g.Less(low, high)), values.dtype), g.constant(0.5, values.dtype))
    return g.Sub(low, more), g.Add(high, more)


def histc_form(g: Any, input: Any, bins: int, min: Any, max: Any) -> Any:
    """How many elements fall in each of equal bins."""
    if g.is_empty(input):
        return g.full((bins,), 0, input.dtype)
    values = _flat(g, input)
    low, high = _outer_edges(g, values, None if min == max else (min, max))
    scaled = g.Div(g.Mul(g.Sub(values, low), g.constant(bins, input.dtype)), g.Sub(high, low))
    last = g.minimum(g.Floor(scaled), g.constant(bins - 1, input.dtype))  # the last bin takes its right edge too
    places = g.where(g.Or(g.Greater(values, high), g.IsNaN(values)), bins, last)
    there = g.Equal(g.cast(places, _INT64), g.constant(np.arange(bins)))
    return g.reduce("ReduceSum", g.cast(there, input.dtype), [0])


def _edges(g: Any, values: Any, bins: Any, given: Any) -> Any:
    """The edges along one dimension, counted from the nearer end so that both ends are exact."""
    if hasattr(bins, "shape"):
        return bins
    low, high = _outer_edges(g, values, given)
    step = g.Div(g.Sub(high, low), g.constant(bins, values.dtype))
    count = np.arange(bins + 1)
    up = g.Add(low, g.Mul(step, g.constant(count, values.dtype)))
    down = g.Sub(high, g.Mul(step, g.constant(bins - count, values.dtype)))
    return g.where(g.constant(count < (bins + 1) // 2), up, down)


def _membership(g: Any, values: Any, edges: Any) -> Any:
    """1 where a value (of a column) is in a bin, else 0: a bin takes its left edge, the last bin both."""
    large = 1 << 62
    left, right = g.slice(edges, [0], [-1], [0]), g.slice(edges, [1], [large], [0])
    left.shape = right.shape = (edges.shape[0] - 1,)
    last = g.slice(edges, [-1], [large], [0])
    last.shape = (1,)
    beyond = g.Not(g.Less(values, right))
    on_edge = g.Not(g.Or(g.Less(values, last), g.Greater(values, last)))  # of the last bin only: no other ends there
    below = g.Or(g.Less(values, left), g.IsNaN(values))
    inside = g.Not(g.Or(below, beyond))
    at_end = g.And(on_edge, g.Not(g.Less(right, last)))
    return g.cast(g.Or(inside, g.And(at_end, g.Not(below))), values.dtype)


def histogram_points_form(g: Any, input: Any, edges: Any, bins: Any, range: Any, weight: Any, density: bool) -> list[Any]:
    """The histogram of points, then the edges along each dimension."""
    number = input.shape[-1]
    many = math.prod(input.shape[:-1])
    points = g.reshape(input, (many, number))
    made: list[Any] = []
    joint: Any = None
    for axis, each in enumerate(edges or bins):
        column = g.gather(points, g.constant([axis], _INT64), 1)
        made.append(_edges(g, column, each, None if range is None else range[2 * axis : 2 * axis + 2]))
        inside = _membership(g, column, made[-1])
        if joint is None:
            joint = inside
        else:
            both = g.Mul(g.unsqueeze(joint, [2]), g.unsqueeze(inside, [1]))
            joint = g.reshape(both, (many, joint.shape[1] * inside.shape[1]))
    if weight is None:
        counts = g.reduce("ReduceSum", joint, [0])
    else:
        counts = g.MatMul(g.reshape(weight, (many,)), joint)
        counts.shape = (joint.shape[1],)
    counts = g.reshape(counts, g.outputs[0].shape)
    if density:
        counts = g.Div(counts, g.reduce("ReduceSum", counts, None))
        for axis, each in enumerate(made):
            width = g.Sub(g.slice(each, [1], [1 << 62], [0]), g.slice(each, [0], [-1], [0]))
            width.shape = (each.shape[0] - 1,)
            counts = g.Div(counts, g.unsqueeze(width, np.arange(1, number - axis).tolist()))
    return [counts, *made]


def histogram_form(g: Any, input: Any, bins: Any, range: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    """The histogram of all elements, and the edges of its bins."""
    edges = [bins] if hasattr(bins, "shape") else []
    counts, made = histogram_points_form(g, _flat(g, input), edges, [] if edges else [bins], range, weight, density)
    return counts, made

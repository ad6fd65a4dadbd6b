"""The ONNX forms of running sums, products and extremes, and of sorting.

What ONNX has no node for is a ``Scan``: a small graph that is run on one slice after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.families import normalize_dim
from .reductions_onnx import ordered_type

_INT32, _INT64, _FLOAT32, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.bool_)


def _without(shape: Any, axis: int) -> list[Any]:
    return [size for at, size in enumerate(shape) if at != axis]


def _scan(g: Any, step: Any, states: list[Any], x: Any, axis: int, outputs: int) -> list[Any]:
    """A ``Scan``, which can't be over nothing: where the length is open, the first state goes before the first slice."""
    if type(x.shape[axis]) is int:
        return g.scan(step, states, x, axis, outputs)  # type: ignore[no-any-return]
    longer = g.concat([g.unsqueeze(states[0], [axis]), x], axis)
    found = [g.slice(each, [1], [1 << 62], [axis]) for each in g.scan(step, states, longer, axis, outputs)]
    for each in found:
        each.shape = x.shape
    return found


def running_form(name: str, start: int) -> Any:
    """A running sum or product."""

    def form(g: Any, input: Any, dim: Any, dtype: Any) -> Any:
        wanted = g.outputs[0].dtype
        x = g.cast(input, wanted if wanted.itemsize >= 4 else _FLOAT32 if wanted.kind in "fV" else _INT64)
        if not x.rank or g.is_empty(x):
            return x
        axis = normalize_dim(dim, x.rank)
        if name == "Add" and g.opset >= 11:
            return g.CumSum(x, g.constant(axis, _INT64))

        def step(inner: Any, state: Any, item: Any) -> Any:
            total = inner.make(name, (state, item), {})
            return total, total

        return _scan(g, step, [g.full(_without(x.shape, axis), start, x.dtype)], x, axis, 1)[0]

    return {9: form}


def reversed_sum_form(g: Any, input: Any, dim: Any) -> Any:
    """The sums from each element on."""
    if not input.rank or g.is_empty(input):
        return input
    return g.CumSum(input, g.constant(normalize_dim(dim, input.rank), _INT64), reverse=1)


def shift_form(g: Any, input: Any, dim: Any, fill: Any, back: bool) -> Any:
    """Elements one place on, or back: what falls off is cut away, and a number set in at the other end."""
    if not input.rank:
        return g.constant(fill, input.dtype)
    if g.is_empty(input):
        return input
    axis = normalize_dim(dim, input.rank)
    kept = g.slice(input, [1], [g.TO_THE_END], [axis]) if back else g.slice(input, [0], [-1], [axis])
    made = g.pad_dim(kept, axis, int(not back), int(back), fill)
    made.shape = input.shape
    return made


def recurrence_form(g: Any, decay: Any, input: Any, dim: Any) -> Any:
    """Each element plus a part of the result before it: a Scan over both."""
    if not input.rank or g.is_empty(input):
        return input
    axis = normalize_dim(dim, input.rank)
    order = [axis, *(at for at in range(input.rank) if at != axis)]
    transposed = [g.transpose(g.cast(each, input.dtype), order) for each in (decay, input)]
    shape = tuple(transposed[1].shape[1:])

    def step(inner: Any, state: Any, factor: Any, item: Any) -> Any:
        found = inner.Add(inner.Mul(factor, state), item)
        found.shape = shape
        return found, found

    graph = g.subgraph([(input.dtype, shape)] * 3, step)
    _, made = g.op("Scan", g.full(shape, 0, input.dtype), *transposed, outputs=2, body_g=graph, num_scan_inputs_i=2)
    made.dtype, made.shape = input.dtype, transposed[1].shape
    return g.transpose(made, [order.index(at) for at in range(input.rank)])


def running_logsumexp_form(g: Any, input: Any, dim: Any) -> Any:
    """The running logarithm of a sum of exponentials, of which the largest is taken out at every step."""
    if not input.rank or g.is_empty(input):
        return input
    axis = normalize_dim(dim, input.rank)
    largest = np.finfo(input.dtype).max

    def step(inner: Any, state: Any, item: Any) -> Any:
        peak = inner.maximum(state, item)
        peak = inner.where(inner.Greater(inner.Abs(peak), inner.constant(largest, input.dtype)), 0, peak)
        total = inner.Add(inner.Exp(inner.Sub(state, peak)), inner.Exp(inner.Sub(item, peak)))
        found = inner.Add(inner.Log(total), peak)
        return found, found

    return _scan(g, step, [g.full(_without(input.shape, axis), -np.inf, input.dtype)], input, axis, 1)[0]


def running_extreme_form(largest: bool) -> dict[int, Any]:
    """A running extreme and where it is: among equals the last, and NaN is more extreme than any number."""

    def form(g: Any, input: Any, dim: Any) -> tuple[Any, Any]:
        if not input.rank:
            return input, g.constant(0, _INT64)
        if g.is_empty(input):
            return input, g.full(input.shape, 0, _INT64)
        x = g.cast(input, ordered_type(g, input.dtype))
        axis = normalize_dim(dim, x.rank)
        shape = _without(x.shape, axis)
        limits: Any = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        worst = (limits.min if largest else limits.max) if limits else (-np.inf if largest else np.inf)

        def step(inner: Any, best: Any, place: Any, position: Any, item: Any) -> Any:
            worse = inner.Less(item, best) if largest else inner.Greater(item, best)
            if x.dtype.kind == "f":
                worse = inner.Or(worse, inner.And(inner.IsNaN(best), inner.Not(inner.IsNaN(item))))
            best, place = inner.where(worse, best, item), inner.where(worse, place, position)
            return best, place, inner.Add(position, inner.constant(1, _INT64)), best, place

        first = 0 if type(x.shape[axis]) is int else -1  # the place of what `_scan` puts before
        states = [g.full(shape, worst, x.dtype), g.full(shape, 0, _INT64), g.constant(first, _INT64)]
        values, places = _scan(g, step, states, x, axis, 2)
        return values, places

    return {9: form}


# -- sorting -----------------------------------------------------------------------------------------------------


def _equal(g: Any, a: Any, b: Any) -> Any:
    """Whether numbers are equal; before opset 11 ``Equal`` takes no floats."""
    return g.Equal(a, b) if g.opset >= 11 or a.dtype.kind != "f" else g.Not(g.Or(g.Less(a, b), g.Greater(a, b)))


def _places(g: Any, x: Any, axis: int) -> Any:
    """0, 1, 2 ... along a dimension, to be broadcast with a value."""
    return g.unsqueeze(g.range(0, g.size(x, axis)), list(range(1, x.rank - axis)))


def _pick(g: Any, x: Any, place: Any, axis: int) -> Any:
    """The element at one place of each row (a dimension of size 1)."""
    if g.opset >= 11:
        found = g.op("GatherElements", x, place, axis_i=axis)
    else:
        found = g.reduce("ReduceSum", g.where(g.Equal(_places(g, x, axis), place), x, 0), [axis], True)
    found.shape = tuple(1 if at == axis else size for at, size in enumerate(x.shape))
    return found


def _picked(g: Any, input: Any, k: Any, axis: int, largest: bool, ordered: bool = True) -> tuple[Any, Any]:
    shape = tuple(k if at == axis else size for at, size in enumerate(input.shape))
    if any(type(size) is int and size == 0 for size in shape):
        return g.full(shape, 0, input.dtype), g.full(shape, 0, _INT64)
    values, places = g.top_k(g.cast(input, ordered_type(g, input.dtype)), k, axis, largest, ordered)
    values.shape = places.shape = shape
    return g.cast(values, input.dtype), places


def sort_form(g: Any, input: Any, dim: Any, descending: bool, stable: Any) -> tuple[Any, Any]:
    """All elements in order: ``TopK`` of all."""
    if not input.rank:
        return input, g.constant(0, _INT64)
    axis = normalize_dim(dim, input.rank)
    return _picked(g, input, g.size(input, axis), axis, bool(descending))


def topk_form(g: Any, input: Any, k: Any, dim: Any, largest: bool, sorted: bool) -> tuple[Any, Any]:
    """The k greatest or smallest."""
    if not input.rank:
        return input, g.constant(0, _INT64)
    return _picked(g, input, k, normalize_dim(dim, input.rank), bool(largest), bool(sorted))


def kthvalue_form(g: Any, input: Any, k: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    """The last of the k smallest."""
    if not input.rank:
        return input, g.constant(0, _INT64)
    axis = normalize_dim(dim, input.rank)
    values, places = _picked(g, input, k, axis, False)
    index = g.sizes([k - 1]) if keepdim else g.number(k - 1, _INT64)
    return g.gather(values, index, axis), g.gather(places, index, axis)


def median_form(skip: bool) -> dict[int, Any]:
    """The lower median along a dimension."""

    def form(g: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
        if not input.rank:
            return input, g.constant(0, _INT64)
        axis = normalize_dim(dim, input.rank)
        if input.dtype.kind != "f":
            return kthvalue_form(g, input, (g.size(input, axis) + 1) // 2, dim, keepdim)
        missing = g.IsNaN(input)
        if not skip:  # NaN, and the first place of it, if there is one; in what order `TopK` puts NaN is open
            value, place = kthvalue_form(g, input, (g.size(input, axis) + 1) // 2, dim, keepdim)
            ones = g.cast(missing, _INT32)
            some = g.cast(g.reduce("ReduceMax", ones, [axis], bool(keepdim)), _BOOL)
            first = g.op("ArgMax", ones, axis_i=axis, keepdims_i=int(bool(keepdim)))
            return g.where(some, np.nan, value), g.where(some, first, place)
        values, places = _picked(g, g.where(missing, np.inf, input), g.size(input, axis), axis, False)
        there = g.reduce("ReduceSum", g.cast(g.Not(missing), _INT64), [axis], True)
        rank = g.Div(g.maximum(g.Sub(there, g.constant(1, _INT64)), g.constant(0, _INT64)), g.constant(2, _INT64))
        found, place = (_pick(g, each, rank, axis) for each in (values, places))
        found = g.where(g.Equal(there, g.constant(0, _INT64)), np.nan, found)
        return (found, place) if keepdim else (g.squeeze(found, [axis]), g.squeeze(place, [axis]))

    return {9: form}


def median_of_all_form(skip: bool) -> dict[int, Any]:
    """The lower median of all elements."""
    along = median_form(skip)[9]

    def form(g: Any, input: Any) -> Any:
        if not input.rank:
            return input
        count: Any = 1
        for size in input.shape:
            count = count * size
        if type(count) is int and not count:
            return g.constant(np.nan if input.dtype.kind == "f" else np.iinfo(input.dtype).min, input.dtype)
        flat = input if input.rank == 1 else g.reshape(input, (count,))
        return along(g, flat, 0, False)[0]

    return {9: form}


def mode_form(g: Any, input: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    """The smallest of the most frequent: each is compared with all others, in rising order."""
    if not input.rank:
        return input, g.constant(0, _INT64)
    axis = normalize_dim(dim, input.rank)
    values, _ = _picked(g, input, g.size(input, axis), axis, False)
    values = g.cast(values, ordered_type(g, input.dtype))
    x = g.cast(input, values.dtype)
    same = _equal(g, g.unsqueeze(values, [axis + 1]), g.unsqueeze(values, [axis]))
    often = g.reduce("ReduceSum", g.cast(same, _INT32), [axis + 1])
    found = _pick(g, values, g.op("ArgMax", often, axis_i=axis, keepdims_i=1), axis)
    # The last place where it is: of those where it is not, -1.
    place = g.reduce("ReduceMax", g.where(_equal(g, x, found), _places(g, x, axis), -1), [axis], bool(keepdim))
    return g.cast(found if keepdim else g.squeeze(found, [axis]), input.dtype), place

"""ONNX forms of embeddings and their bags."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_INT64 = np.dtype(np.int64)


def rows(g: Any, weight: Any, input: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """Rows of a table: Gather."""
    return g.gather(weight, input if input.dtype.name in ("int32", "int64") else g.cast(input, _INT64), 0)


def rows_backward(g: Any, grad: Any, input: Any, count: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The sums of the gradients of each row's uses: ScatterND, or before opset 16 a product with the matrix of who uses what."""
    width = grad.shape[-1]
    total = math.prod(input.shape)
    index = g.reshape(g.cast(input, _INT64), (total,))
    values = g.reshape(grad, (total, width))
    if padding_idx >= 0:
        padding = g.Equal(index, g.constant(padding_idx, _INT64))
        padding.shape = (total,)
        values = g.where(g.unsqueeze(padding, [1]), g.constant(0, grad.dtype), values)
        values.shape = (total, width)
    if g.opset >= 16 and not scale_grad_by_freq:
        zeros = g.full((count, width), 0, grad.dtype)
        return g.op("ScatterND", zeros, g.unsqueeze(index, [1]), values, reduction_s="add")
    uses = g.Equal(g.unsqueeze(g.range(0, count), [1]), g.unsqueeze(index, [0]))
    uses.shape = (count, total)
    members = g.cast(uses, grad.dtype)
    found = g.MatMul(members, values)
    if not scale_grad_by_freq:
        return found
    often = g.reduce("ReduceSum", members, [1], True)
    return g.Div(found, g.maximum(often, g.constant(1, grad.dtype)))


def _norms(g: Any, values: Any, p: float) -> Any:
    """The p-norms of rows, as a column."""
    if p in (1, 2):
        return g.reduce("ReduceL1" if p == 1 else "ReduceL2", values, [values.rank - 1], True)
    if p == float("inf"):
        return g.reduce("ReduceMax", g.Abs(values), [values.rank - 1], True)
    total = g.reduce("ReduceSum", g.Pow(g.Abs(values), float(p)), [values.rank - 1], True)
    return g.Pow(total, 1 / p)


def embedding(
    g: Any,
    input: Any,
    weight: Any,
    padding_idx: Any,
    max_norm: Any,
    norm_type: float,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """Rows of a table; those with a norm above the largest are shrunk."""
    found = rows(g, weight, input, -1, False)
    if max_norm is None:
        return found
    norms = _norms(g, found, norm_type)
    shrunk = g.Mul(found, g.Div(g.constant(max_norm, found.dtype), g.Add(norms, 1e-7)))
    return g.where(g.Greater(norms, float(max_norm)), shrunk, found)


def _membership(g: Any, count: Any, offsets: Any, include_last: bool) -> Any:
    """A matrix of booleans: which index (column) is in which bag (row)."""
    places = g.unsqueeze(g.range(0, count), [0])
    offsets = g.cast(offsets, _INT64)
    if include_last:
        starts, ends = g.slice(offsets, [0], [-1], [0]), g.slice(offsets, [1], [1 << 62], [0])
    else:
        starts = offsets
        ends = g.concat([g.slice(offsets, [1], [1 << 62], [0]), g.sizes([count])], 0)
    before, after = g.Less(places, g.unsqueeze(starts, [1])), g.Less(places, g.unsqueeze(ends, [1]))
    return g.And(g.Not(before), after)


def embedding_bag(
    g: Any, input: Any, weight: Any, offsets: Any, max_norm: Any, norm_type: float, scale_grad_by_freq: bool, mode: str,
    sparse: bool, per_sample_weights: Any, include_last_offset: bool, padding_idx: int | None,
) -> Any:  # fmt: skip
    """Rows reduced along the bags of a matrix of indices, or by a product with the matrix of who is in which bag."""
    found = embedding(g, input, weight, None, max_norm, norm_type, False, False)
    kept = None
    if padding_idx is not None:
        rows_of_table = g.size(weight, 0)
        place = padding_idx if padding_idx >= 0 else g.Add(g.number(rows_of_table, _INT64), padding_idx)
        kept = g.Not(g.Equal(input, g.number(place, input.dtype)))
    if per_sample_weights is not None:
        found = g.Mul(found, g.unsqueeze(per_sample_weights, [input.rank]))
    if input.rank == 2:
        return _reduced(g, found, 1, mode, kept)
    inside = _membership(g, g.size(input, 0), offsets, include_last_offset)
    if kept is not None:
        inside = g.And(inside, g.unsqueeze(kept, [0]))
    if mode == "max":
        return _maximum(g, g.unsqueeze(found, [0]), g.unsqueeze(inside, [2]), 1)
    members = g.cast(inside, found.dtype)
    total = g.MatMul(members, found)
    return total if mode == "sum" else g.Div(total, g.maximum(g.reduce("ReduceSum", members, [1], True), g.constant(1, found.dtype)))


def _maximum(g: Any, values: Any, inside: Any, axis: int) -> Any:
    """The largest of what is inside, 0 where nothing is."""
    found = g.reduce("ReduceMax", g.where(inside, values, g.constant(-np.inf, values.dtype)), [axis])
    return g.where(g.Less(found, g.constant(np.finfo(np.float32).min, values.dtype)), g.constant(0, values.dtype), found)


def _reduced(g: Any, values: Any, axis: int, mode: str, kept: Any) -> Any:
    """Bags that are rows of a matrix of indices."""
    if kept is None:
        return g.reduce({"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}[mode], values, [axis])
    inside = g.unsqueeze(kept, [2])
    if mode == "max":
        return _maximum(g, values, inside, axis)
    total = g.reduce("ReduceSum", g.where(inside, values, g.constant(0, values.dtype)), [axis])
    if mode == "sum":
        return total
    members = g.reduce("ReduceSum", g.cast(inside, values.dtype), [axis])
    return g.Div(total, g.maximum(members, g.constant(1, values.dtype)))

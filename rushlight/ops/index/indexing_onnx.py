"""The ONNX forms of reading and writing by tensors of positions or masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import contiguous_strides
from ...core.families import broadcast_shapes

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


def _is_mask(index: Any) -> bool:
    return index is not None and index.dtype.name in ("bool", "uint8")


# -- index and index_put -----------------------------------------------------------------------------------------


def _without_masks(g: Any, indices: Sequence[Any]) -> list[Any]:
    """Masks as the positions where they are true, one vector for each of their dimensions."""
    places: list[Any] = []
    for index in indices:
        if not _is_mask(index):
            places.append(index if index is None else g.cast(index, _INT64))
        elif not index.rank:
            raise g.unsupported("a mask without dimensions as an index")
        else:
            rows = g.split(g.nonzero(g.cast(index, _BOOL)), [1] * index.rank, 0)
            places += [g.squeeze(row, [0]) for row in rows]
    return places


def _mask_of(place: Any) -> Any:
    """The node whose parts are the positions of one mask; of other positions their own."""
    node = place.owner
    split = node.inputsAt(0).owner if node is not None and node.kind() == "onnx::Squeeze" else None
    return node if split is None or split.kind() != "onnx::Split" else split


def _together(g: Any, places: list[Any]) -> list[Any]:
    """Positions in one shape; where that is known only at run time, it is read off their sum."""
    shapes = [each.shape for each in places]
    if len(places) == 1:
        return places
    if all(isinstance(size, int) for shape in shapes for size in shape):
        shape = broadcast_shapes([tuple(each) for each in shapes])
        return [g.expand(each, shape) for each in places]
    if all(len(shape) == 1 and not isinstance(shape[0], int) for shape in shapes) and len({_mask_of(each) for each in places}) == 1:
        return places  # vectors of one mask
    total = places[0]
    for each in places[1:]:
        total = g.Add(total, each)
    rank = max(len(shape) for shape in shapes)
    made = [g.Expand(each, g.op("Shape", total)) for each in places]
    for each in made:
        each.shape = (None,) * rank
    return made


def _from_front(g: Any, places: list[Any], sizes: Sequence[Any]) -> list[Any]:
    """Positions counted from the front, for nodes that know no others."""
    made = []
    for each, size in zip(places, sizes):
        if each.constant is not None and isinstance(size, int) and (each.constant >= 0).all():
            made.append(each)
            continue
        found = g.where(g.Less(each, g.number(0, _INT64)), g.Add(each, g.number(size, _INT64)), each)
        found.shape = each.shape
        made.append(found)
    return made


class Layout:
    """Which dimensions are indexed, and the order that puts them first."""

    def __init__(self, rank: int, places: Sequence[Any]) -> None:
        self.dims = [dim for dim, place in enumerate(places) if place is not None]
        self.rest = [dim for dim in range(rank) if dim not in self.dims]
        self.order = [*self.dims, *self.rest]
        adjacent = self.dims[-1] - self.dims[0] + 1 == len(self.dims)
        self.start = self.dims[0] if adjacent else 0  # where the indices' own dimensions come in the result

    def to_result(self, rank: int) -> list[int]:
        """From (indices' dimensions, rest) to the order of the result."""
        depth = rank - len(self.rest)
        return [*range(depth, depth + self.start), *range(depth), *range(depth + self.start, rank)]

    def from_result(self, rank: int) -> list[int]:
        """From the order of the result to (indices' dimensions, rest)."""
        order = self.to_result(rank)
        return [order.index(dim) for dim in range(rank)]


def _stacked(g: Any, places: list[Any]) -> Any:
    """Positions as ``GatherND`` takes them: the last dimension names one for each indexed dimension."""
    places = _together(g, places)
    rank = places[0].rank
    made = g.concat([g.unsqueeze(each, [rank]) for each in places], rank)
    made.shape = (*places[0].shape, len(places))
    return made


def _linear(g: Any, places: list[Any], sizes: Sequence[Any]) -> Any:
    """Positions in the indexed dimensions seen as one."""
    result = None
    for place, step in zip(_from_front(g, places, sizes), contiguous_strides(tuple(sizes))):
        part = place if type(step) is int and step == 1 else g.Mul(place, g.number(step, _INT64))
        result = part if result is None else g.Add(result, part)
    return result


def index_form(g: Any, input: Any, indices: Sequence[Any]) -> Any:
    """``index``: one node where one dimension is indexed, or where one mask picks."""
    given = [index for index in indices if index is not None]
    if not given:
        return input
    before = next(dim for dim, index in enumerate(indices) if index is not None)
    if len(given) == 1 and _is_mask(given[0]):
        mask = g.cast(given[0], _BOOL)
        shape = input.shape
        if mask.rank == input.rank > 0:
            return g.Compress(input, g.reshape(mask, (math.prod(mask.shape),)))
        if mask.rank > 1 and not before and g.opset >= 11 and any(type(size) is not int for size in shape):
            return g.op("GatherND", input, g.transpose(g.nonzero(mask), [1, 0]))
        merged = (*shape[:before], math.prod(shape[before : before + mask.rank]), *shape[before + mask.rank :])
        return g.Compress(g.reshape(input, merged), g.reshape(mask, (merged[before],)), axis=before)
    places = _without_masks(g, indices)
    layout = Layout(input.rank, places)
    chosen = [places[dim] for dim in layout.dims]
    if len(chosen) == 1:
        return g.gather(input, chosen[0], layout.dims[0])
    front = g.transpose(input, layout.order)
    rank = max(each.rank for each in chosen) + len(layout.rest)
    if g.opset >= 11:
        made = g.op("GatherND", front, _stacked(g, chosen))
    else:
        sizes = front.shape[: len(chosen)]
        made = g.gather(g.reshape(front, (math.prod(sizes), *front.shape[len(chosen) :])), _linear(g, chosen, sizes), 0)
    made.shape = None
    return g.transpose(made, layout.to_result(rank))


def index_put_form(g: Any, input: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    """``index_put``: a choice where one mask takes one number, else a scatter."""
    given = [index for index in indices if index is not None]
    values = g.cast(values, input.dtype)
    if not given:
        values = g.expand(values, input.shape)
        return g.Add(input, values) if accumulate else values
    if len(given) == 1 and _is_mask(given[0]) and all(type(size) is int and size == 1 for size in values.shape):
        mask, before = g.cast(given[0], _BOOL), len(indices) - 1
        mask = g.unsqueeze(mask, range(mask.rank, input.rank - before)) if mask.rank else mask
        value = g.reshape(values, ())
        return g.where(mask, g.Add(input, value) if accumulate else value, input)
    if len(given) == 1 and _is_mask(given[0]) and not given[0].rank:  # all or nothing
        values = g.squeeze(values, [0]) if values.rank > input.rank else values
        return g.where(g.cast(given[0], _BOOL), g.Add(input, values) if accumulate else values, input)
    places = _without_masks(g, indices)
    layout = Layout(input.rank, places)
    chosen = _together(g, [places[dim] for dim in layout.dims])
    depth = max(each.rank for each in chosen)
    front = g.transpose(input, layout.order)
    rest = front.shape[len(chosen) :]
    size = [g.size(chosen[0], dim) for dim in range(depth)] if depth else []
    rank = depth + len(rest)
    shape = [*size, *rest]
    wanted = [shape[dim] for dim in layout.to_result(rank)]
    values = g.transpose(g.expand(values, wanted), layout.from_result(rank))
    written = _write(g, front, chosen, values, shape, accumulate)
    return g.transpose(written, [layout.order.index(dim) for dim in range(input.rank)])


def _write(g: Any, front: Any, places: list[Any], values: Any, shape: list[Any], accumulate: bool) -> Any:
    """Values at positions in the first dimensions of a tensor."""
    if accumulate and front.dtype.itemsize == 2:  # narrow types are added up in float32
        front, values = (g.cast(each, np.float32) for each in (front, values))
    if g.opset >= (16 if accumulate else 11):
        more = {"reduction_s": "add"} if accumulate else {}
        made = g.op("ScatterND", front, _stacked(g, places), values, **more)
        made.shape = front.shape
        return made
    # All indexed dimensions as one, all others as one.
    count = len(places)
    sizes, rest = front.shape[:count], front.shape[count:]
    flat = g.reshape(front, (math.prod(sizes), math.prod(rest)))
    linear = g.unsqueeze(g.Reshape(_linear(g, places, sizes), g.constant([-1], _INT64)), [1])
    linear.shape = (None, 1)
    updates = g.Reshape(values, g.sizes([-1, math.prod(rest)])) if math.prod(rest) else values
    index = g.Expand(linear, g.op("Shape", updates))
    many = math.prod(shape[: len(shape) - len(rest)]) if all(isinstance(each, int) for each in shape) else None
    index.shape = updates.shape = (many, math.prod(rest))
    made = g.scatter_elements(flat, index, updates, 0, "add" if accumulate else None)
    return g.reshape(made, front.shape)


def index_backward_form(g: Any, grad: Any, shape: Any, indices: Sequence[Any]) -> Any:
    """The gradient of ``index``: what was read, added up where it was."""
    return index_put_form(g, g.full(shape, 0, grad.dtype), indices, grad, True)


# -- along one dimension -----------------------------------------------------------------------------------------


def index_select_form(g: Any, input: Any, dim: int, index: Any) -> Any:
    """``index_select``."""
    if not input.rank:
        return input
    return g.gather(input, g.at_least_1d(index), dim % input.rank)


def _spread(g: Any, index: Any, dim: int, shape: Sequence[Any]) -> Any:
    """A vector of positions as positions of every element of slices."""
    index = g.at_least_1d(index)
    return g.expand(g.unsqueeze(index, [at for at in range(len(shape)) if at != dim]), shape)


def write_slices(g: Any, input: Any, dim: int, index: Any, source: Any, reduction: str | None = None) -> Any:
    """Slices written, or added, to positions along a dimension."""
    shape = input.shape
    whole = g.at_least_1d(input)
    dim = dim % whole.rank
    index = g.at_least_1d(index)
    source = g.expand(g.at_least_1d(source), (*whole.shape[:dim], index.shape[0], *whole.shape[dim + 1 :]))
    if reduction and whole.dtype == _BOOL:
        whole, source = (g.cast(each, _INT64) for each in (whole, source))
    if reduction and whole.dtype.itemsize == 2:
        whole, source = (g.cast(each, np.float32) for each in (whole, source))
    if dim == 0 and g.opset >= (11 if reduction is None else 16):
        more = {} if reduction is None else {"reduction_s": reduction}
        made = g.op("ScatterND", whole, g.unsqueeze(g.cast(index, _INT64), [1]), source, **more)
        made.shape = whole.shape
    else:
        made = g.scatter_elements(whole, _spread(g, index, dim, source.shape), source, dim, reduction)
    return g.reshape(made, shape)


def index_add_form(g: Any, input: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    """``index_add``."""
    if alpha != 1:
        source = g.Mul(source, g.number(alpha, source.dtype))
    return write_slices(g, input, dim, index, source, "add")


def index_fill_form(g: Any, input: Any, dim: int, index: Any, value: Any) -> Any:
    """``index_fill``."""
    return write_slices(g, input, dim, index, g.number(value, input.dtype))


# -- gather and scatter ------------------------------------------------------------------------------------------


def _positions(g: Any, index: Any, dim: int, shape: Sequence[Any]) -> Any:
    """The positions in a row-major tensor of a shape of the elements that ``index`` selects along a dimension."""
    strides = contiguous_strides(tuple(shape))
    result = g.cast(index, _INT64)
    if not (type(strides[dim]) is int and strides[dim] == 1):
        result = g.Mul(result, g.number(strides[dim], _INT64))
    for other, size in enumerate(index.shape):
        if other != dim:
            steps, stride = g.range(0, size), strides[other]
            steps = steps if type(stride) is int and stride == 1 else g.Mul(steps, g.number(stride, _INT64))
            steps.shape = (size,)
            result = g.Add(result, g.unsqueeze(steps, range(1, len(shape) - other)))
    return result


def _is_empty(g: Any, input: Any, index: Any) -> bool:
    """Whether an index names nothing: only then it may have another number of dimensions."""
    return max(index.rank, 1) != max(input.rank, 1) or g.is_empty(index)


def gather_form(g: Any, input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    """``gather``: ``GatherElements``, or (before opset 11) ``Gather`` from the elements in one dimension."""
    source, places = g.at_least_1d(input), g.at_least_1d(index)
    if _is_empty(g, input, index):
        return g.full(index.shape, 0, input.dtype)
    dim = dim % source.rank
    if g.opset >= 11:
        made = g.GatherElements(source, places, axis=dim)
    else:
        made = g.gather(g.reshape(source, (math.prod(source.shape),)), _positions(g, places, dim, source.shape), 0)
    made.shape = places.shape
    return g.reshape(made, index.shape)


def _reached(g: Any, source: Any, index: Any) -> Any:
    """The part of a source that an index reaches."""
    shape = index.shape
    if g.opset >= 10 and not all(type(size) is int for size in shape) and not g.same_shape(source.shape, shape):
        made = g.op("Slice", source, g.constant([0] * source.rank, _INT64), g.op("Shape", index))
        made.shape = shape
        return made
    axes = [dim for dim, (have, want) in enumerate(zip(source.shape, shape)) if not g.same_size(have, want)]
    return g.slice(source, [0] * len(axes), [shape[dim] for dim in axes], axes) if axes else source


def scatter_form(g: Any, input: Any, dim: int, index: Any, src: Any, reduction: str | None = None) -> Any:
    """``scatter`` of a tensor or a number, and with a reduction."""
    if _is_empty(g, input, index):
        return input
    target, places = g.at_least_1d(input), g.at_least_1d(index)
    if hasattr(src, "rank"):
        updates = _reached(g, g.at_least_1d(g.cast(src, input.dtype)), places)
    else:
        updates = g.full(places.shape, src, input.dtype)
    if reduction and target.dtype.itemsize == 2:
        target, updates = (g.cast(each, np.float32) for each in (target, updates))
    made = g.scatter_elements(target, places, updates, dim % target.rank, reduction)
    return g.reshape(made, input.shape)


_REDUCTIONS = {"sum": "add", "prod": "mul", "mean": "add", "amax": "max", "amin": "min"}


def scatter_reduce_form(g: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """``scatter_reduce``; a mean is a sum divided by a count."""
    if _is_empty(g, input, index):
        return input
    kind = input.dtype
    if kind.itemsize == 2 and kind.kind != "i":  # narrow types are reduced in float32
        whole, parts = g.cast(input, np.float32), g.cast(src, np.float32)
        return scatter_reduce_form(g, whole, dim, index, parts, reduce, include_self)
    if kind == _BOOL:
        whole, parts = g.cast(input, _INT64), g.cast(src, _INT64)
        return g.cast(scatter_reduce_form(g, whole, dim, index, parts, reduce, include_self), _BOOL)
    start = input
    if not include_self:
        low, high = (-np.inf, np.inf) if kind.kind == "f" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
        neutral = {"prod": 1, "amax": low, "amin": high}.get(reduce, 0)
        start = scatter_form(g, input, dim, index, neutral)
    made = scatter_form(g, start, dim, index, src, _REDUCTIONS[reduce])
    if reduce in ("amax", "amin") and kind.kind == "f":  # a NaN is the extreme of all
        start, src = (g.cast(g.IsNaN(each), np.float32) for each in (start, src))
        found = scatter_form(g, start, dim, index, src, "add")
        return g.where(g.Greater(found, g.number(0, np.float32)), g.number(math.nan, kind), made)
    if reduce != "mean":
        return made
    ones, zeros = (g.full(shape, number, kind) for shape, number in ((index.shape, 1), (input.shape, 0)))
    count = scatter_form(g, g.full(input.shape, 1, kind) if include_self else zeros, dim, index, ones, "add")
    if not include_self:
        count = g.maximum(count, g.number(1, kind))
    quotient = g.Div(made, count)
    if kind.kind == "f":
        return quotient
    below = g.Less(made, g.Mul(quotient, count))  # division cuts off, and the mean is rounded down
    return g.Sub(quotient, g.cast(below, kind))


# -- as if the tensor had one dimension, and one_hot -------------------------------------------------------------


def take_form(g: Any, input: Any, index: Any) -> Any:
    """``take``."""
    return g.gather(g.reshape(input, (math.prod(input.shape),)), index, 0)


def put_form(g: Any, input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    """``put``."""
    count, many = math.prod(input.shape), math.prod(index.shape)
    if type(many) is int and many == 0:
        return input
    flat, places, values = (g.reshape(each, (size,)) for each, size in ((input, count), (index, many), (source, many)))
    if g.opset < 11 or (accumulate and g.opset < 16):
        places = _from_front(g, [places], [count])[0]
    return g.reshape(g.scatter_elements(flat, places, values, 0, "add" if accumulate else None), input.shape)


def one_hot_form(g: Any, input: Any, num_classes: int) -> Any:
    """``one_hot``: without a number of classes, one more than the greatest."""
    if not isinstance(num_classes, int) or num_classes != -1:
        depth = g.number(num_classes, _INT64)
    else:
        depth = g.Add(g.reduce("ReduceMax", input, None), g.number(1, _INT64))
    made = g.OneHot(g.at_least_1d(input), depth, g.constant([0, 1], _INT64), axis=-1)
    return made if input.rank else g.squeeze(made, [0])

"""Batching rules of indexing: the example's number becomes one more index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import make
from ..core.declare import Op, table
from ..core.dispatch import dispatch
from ..core.errors import OperationError
from ..core.families import broadcast_shapes, normalize_dim
from ..ops.index.indexing import index, index_backward, index_put
from ..ops.nn.embedding import embedding_backward, embedding_rows
from ..ops.pointwise.where_clamp import where
from ..ops.shape.permute import permute
from ..ops.shape.views import expand, view_shape
from .batched import padded
from .batching_rules import decomposed, on_the_whole, rule
from .level import Level, each_example

_MASKS = (np.dtype(np.bool_), np.dtype(np.uint8))


def positions(level: Level, indices: Any) -> list[Any]:
    """For each dimension an index of positions, or None; masks are converted, which is impossible for a batched one."""
    found: list[Any] = []
    for each in indices:
        if each is None or each._array.dtype not in _MASKS:
            found.append(each)
        elif level.holds(each):
            raise OperationError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
                "boolean mask."
            )
        else:
            found += table["nonzero_columns"].call(each)
    return found


def first_adjacent(indices: list[Any]) -> int | None:
    """The first indexed dimension if they are adjacent, else None."""
    dims = [dim for dim, each in enumerate(indices) if each is not None]
    return dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else None


def numbered(level: Level, indices: list[Any]) -> tuple[list[Any], int]:
    """Indices for the batch: the examples' numbers, then each index with the batch in front; and their common rank."""
    rank = max(each._array.ndim for each in indices if each is not None)
    numbers = make(np.arange(level.size).reshape((level.size,) + (1,) * rank))
    batch = [
        None if each is None
        else padded(level.peel(each), rank - each._array.ndim) if level.holds(each)
        else each
        for each in indices
    ]  # fmt: skip
    return [numbers, *batch], rank


def moved(tensor: Any, source: int, count: int, target: int) -> Any:
    """A tensor with ``count`` dimensions moved to another place."""
    if source == target:
        return tensor
    order = [dim for dim in range(tensor._array.ndim) if not source <= dim < source + count]
    order[target:target] = range(source, source + count)
    return permute(tensor, order)


def common_shape(indices: list[Any]) -> tuple[int, ...]:
    """The shape that indices broadcast to."""
    return broadcast_shapes([tuple(each._array.shape) for each in indices if each is not None])


@rule("index")
def read(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j]``."""
    input, indices = args[0], positions(level, args[1])
    if not any(level.holds(each) for each in indices):
        found = index(level.peel(input), [None, *indices])
        start = first_adjacent(indices)
        return level.wrap(moved(found, 0 if start is not None else len(common_shape(indices)), 1, 0))
    start = first_adjacent(indices)
    if not level.holds(input):
        rank = max(each._array.ndim for each in indices if each is not None)
        batch = [padded(level.peel(i), rank - i._array.ndim) if level.holds(i) else i for i in indices]
        return level.wrap(moved(index(input, batch), start or 0, 1, 0))
    batch, rank = numbered(level, indices)
    return level.wrap(moved(index(level.peel(input), batch), 1, rank, 1 + (start or 0)))


@rule("index_put")
def write(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j] = v``, on a copy."""
    input, indices, values, accumulate = args
    last = indices[-1] if indices else None
    if last is not None and level.holds(last) and last._array.dtype in _MASKS and not any(i is not None for i in indices[:-1]):
        if values._array.size == 1 and not accumulate:  # one value wherever a mask is true
            behind = input._array.ndim - (len(indices) - 1) - last._array.ndim
            return level.inside(_fill_where, input, last, values, behind)
    indices = positions(level, indices)
    batch, rank = numbered(level, indices)
    together = common_shape(indices)
    shape, start = tuple(input._array.shape), first_adjacent(indices) or 0
    rest = [size for dim, size in enumerate(shape) if dim >= len(indices) or indices[dim] is None]
    layout = (*rest[:start], *together, *rest[start:])
    if values._array.ndim > len(layout):
        return each_example(level, op, args)
    if level.holds(values):
        values = padded(level.peel(values), len(layout) - values._array.ndim)
        values = moved(expand(values, (level.size, *layout)), 1 + start, rank, 1)
    else:
        values = moved(expand(values, layout), start, rank, 0)
    return level.wrap(index_put(level.lift(input), batch, values, accumulate))


def _fill_where(input: Any, mask: Any, values: Any, behind: int) -> Any:
    mask = mask.reshape((*mask._array.shape, *(1,) * behind)).bool()
    return where(mask, values.reshape(()).to(input.dtype), input)


@decomposed("index_backward")
def _index_backward(grad: Any, shape: Any, indices: Any) -> Any:
    return index_put(grad.new_zeros(shape), indices, grad, True)


@decomposed("take")
def _take(input: Any, place: Any) -> Any:
    return index(input.reshape(-1), [place])


@decomposed("put")
def _put(input: Any, place: Any, source: Any, accumulate: bool) -> Any:
    line = index_put(input.reshape(-1), [place.reshape(-1)], source.reshape(-1), accumulate)
    return line.reshape(input._array.shape)


# -- whole slices ------------------------------------------------------------------------------------------------


@rule("index_select", "index_select_backward", "index_add", "index_copy", "index_fill")
def slices(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Slices of one dimension: by one index for all examples, or by one for each, as the brackets do it."""
    named = {parameter.name: value for parameter, value in zip(op.parameters, args)}
    shape = named.get("shape", args[0]._array.shape)
    place = named["index"]
    if not shape or level.holds(named.get("value")):
        return each_example(level, op, args)
    dim = normalize_dim(named["dim"], len(shape))
    if not level.holds(place):
        values = []
        for parameter, value in zip(op.parameters, args):
            if parameter.name == "dim":
                value = dim + 1
            elif parameter.name == "shape":
                value = (level.size, *value)
            elif parameter.name in ("input", "grad", "source"):
                value = level.lift(value)
            values.append(value)
        if named.get("source") is not None and named["source"]._array.ndim != len(shape):
            return each_example(level, op, args)
        return level.wrap(dispatch(op, tuple(values)))
    return level.inside(_slices_by_brackets, op.name, args[0], shape, dim, named)


def _slices_by_brackets(name: str, input: Any, shape: Any, dim: int, named: dict[str, Any]) -> Any:
    places = [*(None,) * dim, named["index"].reshape(-1)]
    if name == "index_select":
        return index(input, places)
    if name == "index_select_backward":
        return index_backward(input, shape, places)
    if name == "index_add":
        whole = input._array.dtype.kind in "iub"
        scale = int(named["alpha"]) if whole else named["alpha"]
        return index_put(input, places, (named["source"] * scale).to(input.dtype), True)
    return index_put(input, places, named["source"] if name == "index_copy" else input.new_full((), named["value"]), False)


# -- embeddings --------------------------------------------------------------------------------------------------


def _own_rows(level: Level, input: Any, rows: int) -> Any:
    """Indices into the tables of all examples, one below the other."""
    batch = level.lift(input)
    first = make((np.arange(level.size) * rows).reshape((level.size,) + (1,) * (batch._array.ndim - 1)))
    return batch + first


@rule("embedding")
def embedded(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Rows of a table; where every example has its own, they are read from one long table."""
    weight, input, padding, by_frequency = args
    if not level.holds(weight):
        return on_the_whole(level, op, args) if not by_frequency else each_example(level, op, args)
    if by_frequency:
        return each_example(level, op, args)
    batch = level.peel(weight)
    rows, width = weight._array.shape
    found = embedding_rows(batch.reshape(level.size * rows, width), _own_rows(level, input, rows))
    if padding >= 0:  # rows of padding have no gradient
        found = where((level.lift(input) == padding).unsqueeze(-1), found.detach(), found)
    return level.wrap(found)


@rule("embedding_backward")
def embedded_backward(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Gradients added up in the rows that they belong to."""
    grad, input, rows, padding, by_frequency = args
    if by_frequency:
        return each_example(level, op, args)
    batch = level.lift(grad)
    width = grad._array.shape[-1]
    if padding >= 0:
        batch = batch.masked_fill((level.lift(input) == padding).unsqueeze(-1), 0)
    found = embedding_backward(batch, _own_rows(level, input, rows), rows * level.size, -1, False)
    return level.wrap(view_shape(found, (level.size, rows, width)))


# -- searching ---------------------------------------------------------------------------------------------------


@decomposed("isin")
def _isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    if not hasattr(test_elements, "_array"):
        found = elements == test_elements
    elif not hasattr(elements, "_array"):
        found = (test_elements == elements).any()
    else:
        found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


@rule("searchsorted")
def searched(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Places in sorted rows: every example may have its own row."""
    rows, input, *options, sorter = args
    if not hasattr(input, "_array"):
        return each_example(level, op, args)
    alone = rows._array.ndim == 1
    if alone and not level.holds(rows) and not level.holds(sorter):
        return on_the_whole(level, op, args)
    shape = tuple(input._array.shape)
    batch = level.lift(input)
    order = None if sorter is None else level.lift(sorter)
    found = dispatch(op, (level.lift(rows), batch.reshape(level.size, input._array.size) if alone else batch, *options, order))
    return level.wrap(found.reshape((level.size, *shape)))


@rule("one_hot")
def hot(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """A row for each class number; how many classes there are must be said."""
    if args[1] == -1:
        return each_example(level, op, args)  # which refuses
    return on_the_whole(level, op, args)


__all__: list[str] = []

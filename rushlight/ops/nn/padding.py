"""Padding: a border of a constant, of mirrored, repeated or wrapped-around elements; negative padding cuts off."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY
from ...core.errors import ArgumentError, NotSupported, ShapeError
from ..index.indexing_onnx import write_slices
from ..index.masking import fitting_scalar

# -- a constant --------------------------------------------------------------------------------------------------


def by_dimension(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """What to add before and behind each dimension; ``pad`` starts with the last one."""
    if not isinstance(pad, (tuple, list)):
        raise ArgumentError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for place, each in enumerate(pad):
        if not hasattr(each, "__index__"):
            raise ArgumentError(
                f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type {type(each).__name__} at pos {place}"
            )
    if len(pad) % 2:
        raise ShapeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise ShapeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {ndim}"
        )
    pairs = list(zip(pad[::2], pad[1::2]))
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _constant_meta(input: Any, pad: Any, value: Any = 0) -> Spec:
    shape = []
    for size, (before, behind) in zip(input.shape, by_dimension(pad, input.ndim)):
        kept = size + min(before, 0) + min(behind, 0)
        if kept < 0:
            raise ShapeError(
                f"The input size {size}, plus negative padding {before} and {behind}, resulted in a negative output "
                "size, which is "
                "invalid: check the padding"
            )
        shape.append(size + before + behind)
    return Spec(tuple(shape), input.dtype)


def _constant_kernel(xp: Any, input: Any, pad: Any, value: Any = 0) -> Any:
    spec = _constant_meta(input, pad, value)
    result = xp.full(spec.shape, fitting_scalar(value, input.dtype) if value else input.dtype.type(0), input.dtype)
    pairs = by_dimension(pad, input.ndim)
    inner = tuple(slice(max(before, 0), size - max(behind, 0)) for size, (before, behind) in zip(spec.shape, pairs))
    kept = tuple(slice(max(-before, 0), size - max(-behind, 0)) for size, (before, behind) in zip(input.shape, pairs))
    result[inner] = input[kept]
    return result


def _constant_onnx(g: Any, input: Any, pad: Any, value: Any) -> Any:
    pairs = by_dimension(pad, input.rank)
    if input.dtype.kind in "iu" and isinstance(value, float):
        value = int(value)
    return g.pad(input, [each[0] for each in pairs] + [each[1] for each in pairs], value=0 if value is None else value)


@primitive(
    out=False,
    layout="channels last",
    meta=_constant_meta,
    kernel=_constant_kernel,
    vjp={"input": lambda g, pad: constant_pad_nd(g, [-each for each in pad], 0)},
    exact=True,
    method=False,
    onnx={9: _constant_onnx},
)
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """A border of one value; negative padding cuts off."""


# -- a border made of the tensor itself --------------------------------------------------------------------------

Piece = tuple[int, int, int, int]  # where it starts in the padded dimension, its length, its source's start and step


def _pieces(size: int, before: int, behind: int, mode: str) -> list[Piece]:
    """The runs of elements that a padded dimension is made of; step -1 is a mirrored run, 0 one element repeated."""
    if mode == "circular":
        first, last = max(-before, 0), size - max(-behind, 0)
        kept, front, back = last - first, max(before, 0), max(behind, 0)
        if kept < 0:
            raise ShapeError("Negative padding value is resulting in an empty dimension")
        if front > kept or back > kept:
            raise ShapeError("Padding value causes wrapping around more than once.")
        return [(0, front, last - front, 1), (front, kept, first, 1), (front + kept, back, first, 1)]
    length = size + before + behind
    if length < 1:
        raise ShapeError(f"input (W: {size}) is too small. Calculated output W: {length}")
    if mode == "reflect" and (before >= size or behind >= size):
        raise ShapeError(
            f"Padding size should be less than the corresponding input dimension, but got: padding ({before}, "
            f"{behind}) at a dimension "
            f"of size {size}"
        )
    # Places are counted in the input: the border before it has negative ones, that behind it those from `size` on.
    first, last = -before, size + behind
    front, inner, back = min(0, last) - first, (max(first, 0), min(last, size)), max(first, size)
    pieces = [(0, max(front, 0), before, -1) if mode == "reflect" else (0, max(front, 0), 0, 0)]
    pieces.append((inner[0] - first, max(inner[1] - inner[0], 0), inner[0], 1))
    mirrored = 2 * (size - 1) - back
    pieces.append((back - first, max(last - back, 0), *((mirrored, -1) if mode == "reflect" else (size - 1, 0))))
    return pieces


def _source(piece: Piece) -> slice:
    """Where a piece comes from, as a slice of the input."""
    _, count, start, step = piece
    if step == 0:
        return slice(start, start + 1)
    stop = start + count * step
    return slice(start, None if stop < 0 else stop, step)


def _border_meta(input: Any, pad: Any, mode: str) -> Spec:
    pairs = by_dimension(pad, input.ndim)
    count = len(pad) // 2
    if count not in (1, 2, 3) or input.ndim not in (count + 1, count + 2):
        raise NotSupported(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor: for mode '{mode}' a tensor "
            "with (batch and) "
            "channels has 1, 2 or 3 more dimensions, all of which are padded"
        )
    if mode != "circular":
        if input.dtype.kind == "b":
            raise NotSupported(f"padding mode '{mode}' is not implemented for {BY_NUMPY[input.dtype]}")
        if 0 in input.shape[input.ndim - count - 1 :]:
            raise ShapeError(f"Expected non-zero channels and spatial dimensions for padding mode '{mode}', but got: {list(input.shape)}")
    shape = tuple(sum(each[1] for each in _pieces(size, *pair, mode)) if pair != (0, 0) else size for size, pair in zip(input.shape, pairs))
    return Spec(shape, input.dtype)


def _border_kernel(xp: Any, input: Any, pad: Any, mode: str) -> Any:
    spec = _border_meta(input, pad, mode)
    result = input
    for dim, (before, behind) in enumerate(by_dimension(pad, input.ndim)):
        if before == behind == 0:
            continue
        whole = (slice(None),) * dim
        padded = xp.empty((*result.shape[:dim], spec.shape[dim], *result.shape[dim + 1 :]), input.dtype)
        for piece in _pieces(input.shape[dim], before, behind, mode):
            if piece[1]:
                padded[(*whole, slice(piece[0], piece[0] + piece[1]))] = result[(*whole, _source(piece))]
        result = padded
    return result.copy() if result is input else result


def _cropped(g: Any, input: Any, pairs: Any) -> Any:
    """The input without what negative padding cuts off."""
    cut = [
        (dim, max(-before, 0), behind if behind < 0 else g.TO_THE_END)
        for dim, (before, behind) in enumerate(pairs) if min(before, behind) < 0
    ]  # fmt: skip
    if not cut:
        return input
    dims, starts, ends = zip(*cut)
    return g.slice(input, starts, ends, dims)


def _border_onnx(g: Any, input: Any, pad: Any, mode: str) -> Any:
    pairs = by_dimension(pad, input.rank)
    if g.is_empty(g.outputs[0]):
        return g.full(g.outputs[0].shape, 0, input.dtype)
    if mode == "circular":  # what is cut off is not repeated; of the others it is only not shown
        input = _cropped(g, input, pairs)
    grown = [(max(before, 0), max(behind, 0)) for before, behind in pairs]
    pads = [each[0] for each in grown] + [each[1] for each in grown]
    fixed = all(type(each) is int for each in pads)
    whole = 0 not in input.shape  # of nothing, runtimes do not pad circularly
    if (g.opset >= 19 and whole) or (mode != "circular" and (g.opset >= 11 or (fixed and input.dtype.kind == "f"))):
        result = g.pad(input, pads, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))
    else:
        result = input
        for dim, (before, behind) in enumerate(grown):
            if before or behind:
                result = _border_of_slices(g, result, dim, before, behind, mode)
    return result if mode == "circular" else _cropped(g, result, pairs)


def _border_of_slices(g: Any, input: Any, dim: int, before: int, behind: int, mode: str) -> Any:
    """A border of one dimension where there is no node for it."""
    if mode == "circular":
        front, back = g.slice(input, [-before], [g.TO_THE_END], [dim]), g.slice(input, [0], [behind], [dim])
    elif mode == "reflect":
        front = g.slice(input, [before], [0], [dim], [-1])
        back = g.slice(input, [-2], [-behind - 2], [dim], [-1])
    else:
        first, last = g.slice(input, [0], [1], [dim]), g.slice(input, [-1], [g.TO_THE_END], [dim])
        shape = input.shape
        front, back = (g.expand(each, (*shape[:dim], count, *shape[dim + 1 :])) for each, count in ((first, before), (last, behind)))
    return g.concat([*([front] if before else []), input, *([back] if behind else [])], dim)


@primitive(
    layout="channels last",
    meta=_border_meta,
    kernel=_border_kernel,
    vjp={"input": lambda g, input_shape, pad, mode: border_fold(g, tuple(input_shape), pad, mode)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _border_onnx},
)
def border_pad(input: Tensor, pad: Any, mode: str) -> Tensor:
    """A border of elements of the tensor: ``mode`` is ``"reflect"``, ``"replicate"`` or ``"circular"``."""


def _fold_kernel(xp: Any, grad: Any, shape: Any, pad: Any, mode: str) -> Any:
    result = grad
    for dim, (before, behind) in enumerate(by_dimension(pad, grad.ndim)):
        if before == behind == 0:
            continue
        whole = (slice(None),) * dim
        folded = xp.zeros((*result.shape[:dim], shape[dim], *result.shape[dim + 1 :]), grad.dtype)
        for piece in _pieces(shape[dim], before, behind, mode):
            part = result[(*whole, slice(piece[0], piece[0] + piece[1]))]
            if piece[1]:
                folded[(*whole, _source(piece))] += part if piece[3] else part.sum(dim, keepdims=True)
        result = folded
    return result.copy() if result is grad else result


def _fold_onnx(g: Any, grad: Any, shape: Any, pad: Any, mode: str) -> Any:
    if not all(type(size) is int for size in shape):
        raise g.unsupported("the gradient of a border of a tensor whose sizes are not fixed")
    result = grad
    for dim, (before, behind) in enumerate(by_dimension(pad, grad.rank)):
        if before == behind == 0:
            continue
        pieces = _pieces(shape[dim], before, behind, mode)
        places = np.concatenate([start + step * np.arange(count) for _, count, start, step in pieces])
        zeros = g.full((*result.shape[:dim], shape[dim], *result.shape[dim + 1 :]), 0, grad.dtype)
        result = write_slices(g, zeros, dim, g.constant(places.astype(np.int64)), result, "add")
    return result


@primitive(
    meta=lambda grad, shape, pad, mode: Spec(shape, grad.dtype),
    kernel=_fold_kernel,
    vjp={"grad": lambda g, pad, mode: border_pad(g, pad, mode)},
    namespace=None,
    method=False,
    out=False,
    onnx={9: _fold_onnx},
)
def border_fold(grad: Tensor, shape: Any, pad: Any, mode: str) -> Tensor:
    """The border added to the elements that it was made of: the gradient of ``border_pad``."""


@composite(namespace="nn.functional")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """A border around the last dimensions, given from the last one back as (before, behind) pairs.

    ``mode`` is ``"constant"`` (of ``value``, by default 0), ``"reflect"``, ``"replicate"`` or ``"circular"``.
    """
    by_dimension(pad, input._array.ndim)
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotSupported(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise ShapeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return border_pad(input, pad, mode)

"""Sizes and the arrangement of elements: reshaping, cutting, joining, repeating, padding."""

from __future__ import annotations

import math
from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import Int, Ints, NodeContext, importer
from .values import moves_elements, positive_axes


@importer("Identity")
def identity(node: NodeContext, x: Any) -> Any:
    return x


@importer("Shape")
def shape(node: NodeContext, x: Any) -> Any:
    """The sizes of a value (of tensors, ``operators.py`` gives them as numbers)."""
    return rl.tensor(list(x.shape)[node.get("start") : node.get("end")], dtype=rl.int64)


@importer("Size")
def size(node: NodeContext, x: Any) -> Any:
    """How many elements a value has (of tensors, ``operators.py`` gives it as a number)."""
    return rl.tensor(math.prod(x.shape), dtype=rl.int64)


@importer("ConstantOfShape")
def constant_of_shape(node: NodeContext, sizes: Ints) -> Any:
    value = node.get("value")
    if value is None:
        return rl.zeros(sizes, dtype=rl.float32)
    return value.reshape(()).expand(sizes).clone()


@importer("Reshape", since=5)
@moves_elements
def reshape(node: NodeContext, x: Any, sizes: Ints) -> Any:
    wanted = list(sizes)
    if not node.get("allowzero"):
        wanted = [x.shape[index] if each.__class__ is int and each == 0 else each for index, each in enumerate(wanted)]
    if -1 in wanted and 0 in wanted and 0 in x.shape:  # what is left follows from the sizes that are not zero
        left = math.prod(each for each in x.shape if each) // math.prod(each for each in wanted if each not in (0, -1))
        wanted = [left if each == -1 else each for each in wanted]
    return x.reshape(wanted)


@importer("Reshape")
def reshape_1(node: NodeContext, x: Any) -> Any:
    return reshape(node, x, node["shape"])


@importer("Flatten")
@moves_elements
def flatten(node: NodeContext, x: Any) -> Any:
    axis = node["axis"]
    axis = axis + x.dim() if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@importer("Squeeze")
@moves_elements
def squeeze(node: NodeContext, x: Any, axes: Ints | None = None) -> Any:
    dims = node.get("axes") if node.opset < 13 else axes
    return x.squeeze() if dims is None else x.squeeze(tuple(dims))


@importer("Unsqueeze", since=13)
@moves_elements
def unsqueeze(node: NodeContext, x: Any, axes: Ints) -> Any:
    for axis in sorted(positive_axes(axes, x.dim() + len(axes))):
        x = x.unsqueeze(axis)
    return x


@importer("Unsqueeze")
def unsqueeze_1(node: NodeContext, x: Any) -> Any:
    return unsqueeze(node, x, node["axes"])


@importer("Transpose")
@moves_elements
def transpose(node: NodeContext, x: Any) -> Any:
    return x.permute(node.get("perm", list(range(x.dim()))[::-1]))


@importer("Expand")
@moves_elements
def expand(node: NodeContext, x: Any, sizes: Ints) -> Any:
    return x.expand(rl.broadcast_shapes(tuple(x.shape), tuple(sizes)))


@importer("Tile", since=6)
@moves_elements
def tile(node: NodeContext, x: Any, repeats: Ints) -> Any:
    return x.repeat(repeats)


@importer("Tile")
@moves_elements
def tile_1(node: NodeContext, x: Any, count: Int, axis: Int) -> Any:
    return x.repeat([count if each == axis else 1 for each in range(x.dim())])


@importer("Concat")
@moves_elements
def concat(node: NodeContext, *parts: Any) -> Any:
    return rl.cat(parts, node["axis"])


@importer("Split")
@moves_elements
def split(node: NodeContext, x: Any, sizes: Ints | None = None) -> Any:
    axis = node.get("axis", 0)
    lengths = node.get("split") if node.opset < 13 or sizes is None else sizes
    if lengths is None:
        lengths = even_lengths(x.shape[axis], node.outputs)
    return tuple(rl.split(x, lengths, axis))


def even_lengths(total: int, count: int) -> list[int]:
    """Lengths of parts that are equal, but for a last one that may be shorter."""
    each = -(-total // count)
    return [min(each, max(total - index * each, 0)) for index in range(count)]


@importer("Slice", since=10)
@moves_elements
def slice_axes(node: NodeContext, x: Any, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None) -> Any:
    dims = list(range(len(starts))) if axes is None else positive_axes(axes, x.dim())
    strides = [1] * len(starts) if steps is None else steps
    for axis, first, last, stride in zip(dims, starts, ends, strides, strict=True):
        x = sliced(x, axis, first, last, stride)
    return x


@importer("Slice")
def slice_1(node: NodeContext, x: Any) -> Any:
    return slice_axes(node, x, node["starts"], node["ends"], node.get("axes"))


def sliced(x: Any, axis: int, first: int, last: int, stride: int) -> Any:
    """A slice as Python means it, along one axis; a negative stride goes backwards."""
    if stride > 0:
        return x[(slice(None),) * axis + (slice(first, last, stride),)]
    start, stop, step = slice(first, last if last > -(1 << 62) else None, stride).indices(x.shape[axis])
    count = len(range(start, stop, step))
    if not count:
        return x.narrow(axis, 0, 0)
    least = start + (count - 1) * step
    return x[(slice(None),) * axis + (slice(least, start + 1, -step),)].flip(axis)


# -- padding ---------------------------------------------------------------------------------------------------------------------


@importer("Pad")
def pad(node: NodeContext, x: Any, pads: Ints | None = None, value: Any = None, axes: Ints | None = None) -> Any:
    if node.opset < 11:
        amounts, fill = node.get("pads") or node["paddings"], node["value"]
    else:
        amounts, fill = pads, 0 if value is None else value
    dims = list(range(x.dim())) if axes is None else positive_axes(axes, x.dim())
    pairs = [(0, 0)] * x.dim()
    for index, axis in enumerate(dims):
        pairs[axis] = (amounts[index], amounts[index + len(dims)])
    return padded(x, pairs, node["mode"], fill)


def padded(x: Any, pairs: list[tuple[int, int]], mode: str = "constant", fill: Any = 0) -> Any:
    """Padding before and behind every dimension; negative amounts cut."""
    for axis, (before, behind) in enumerate(pairs):
        if before < 0 or behind < 0:
            x = x.narrow(axis, max(-before, 0), x.shape[axis] + min(before, 0) + min(behind, 0))
    pairs = [(max(before, 0), max(behind, 0)) for before, behind in pairs]
    if mode == "constant":
        return filled_around(x, pairs, fill)
    for axis, (before, behind) in enumerate(pairs):
        if before or behind:
            x = rl.index_select(x, axis, mirrored_positions(x.shape[axis], before, behind, mode))
    return x


def filled_around(x: Any, pairs: list[tuple[int, int]], fill: Any) -> Any:
    """A tensor with a number, or a tensor of one number, around it."""
    flat = [amount for pair in reversed(pairs) for amount in pair]
    if not any(flat):
        return x
    if not isinstance(fill, rl.Tensor):
        return F.pad(x, flat, value=fill)
    inside = F.pad(rl.ones_like(x, dtype=rl.bool), flat, value=False)
    return rl.where(inside, F.pad(x, flat), fill.reshape(()).to(x.dtype))


def mirrored_positions(length: int, before: int, behind: int, mode: str) -> Any:
    """Where the elements of a padded axis come from."""
    positions = rl.arange(-before, length + behind)
    if mode == "edge":
        return rl.clamp(positions, 0, length - 1)
    if mode == "wrap":
        return rl.remainder(positions, length)
    if mode == "reflect":
        period = max(2 * (length - 1), 1)
        positions = rl.remainder(positions, period)
        return rl.minimum(positions, period - positions) if length > 1 else positions * 0
    raise ValueError(f"Pad: mode {mode!r} is not constant, reflect, edge or wrap")


@importer("CenterCropPad")
def center_crop_pad(node: NodeContext, x: Any, sizes: Ints) -> Any:
    axes = positive_axes(node.get("axes", list(range(x.dim()))), x.dim())
    for axis, wanted in zip(axes, sizes, strict=True):
        missing = wanted - x.shape[axis]
        if missing < 0:
            x = x.narrow(axis, -missing // 2, wanted)
        elif missing > 0:
            pairs = [(0, 0)] * x.dim()
            pairs[axis] = (missing // 2, missing - missing // 2)
            x = padded(x, pairs)
    return x


# -- blocks ----------------------------------------------------------------------------------------------------------------------


@importer("DepthToSpace")
@moves_elements
def depth_to_space(node: NodeContext, x: Any) -> Any:
    block = node.get("blocksize")
    n, c, h, w = x.shape
    if node.get("mode", "DCR") == "DCR":
        x = x.reshape(n, block, block, c // block**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // block**2, block, block, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // block**2, h * block, w * block)


@importer("SpaceToDepth")
@moves_elements
def space_to_depth(node: NodeContext, x: Any) -> Any:
    block = node.get("blocksize")
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // block, block, w // block, block)
    x = x.permute(0, 1, 3, 5, 2, 4) if node.get("mode", "DCR") == "CRD" else x.permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * block**2, h // block, w // block)


@importer("EyeLike")
def eye_like(node: NodeContext, x: Any) -> Any:
    rows, columns = x.shape
    dtype = node.dtype("dtype", x.dtype)
    offset = node["k"]
    return (rl.arange(columns).reshape(1, -1) == rl.arange(rows).reshape(-1, 1) + offset).to(dtype)


@importer("Trilu")
def trilu(node: NodeContext, x: Any, k: Int = 0) -> Any:
    rows = rl.arange(x.shape[-2]).reshape(-1, 1) + k
    columns = rl.arange(x.shape[-1]).reshape(1, -1)
    kept = columns >= rows if node["upper"] else columns <= rows
    return rl.where(kept, x, rl.zeros_like(x))

"""Pools over windows and over everything."""

from __future__ import annotations

import math
from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import Ints, NodeContext, importer
from .convolution import CONVOLUTIONS, spatial
from .reductions import least
from .shapes import padded
from .windows import Windows, windows

MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEAN_POOLS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def pool_windows(node: NodeContext, x: Any) -> tuple[Windows, list[int]]:
    """The windows of a pool, and how many there are."""
    over = windows(node, x.shape[2:], node["kernel_shape"])
    return over, over.counts(x.shape[2:], bool(node.get("ceil_mode", 0)))


def overhang(over: Windows, counts: list[int], sizes: Any) -> list[int]:
    """How far the last windows go over the padded end."""
    return [
        max((count - 1) * stride + extent - size - before - behind, 0)
        for count, stride, extent, size, before, behind in zip(counts, over.strides, over.extents, sizes, over.before, over.behind)
    ]


@importer("MaxPool")
def max_pool(node: NodeContext, x: Any) -> Any:
    over, counts = pool_windows(node, x)
    pool = MAX_POOLS[spatial(node, x.dim() - 2)]
    sizes = list(x.shape[2:])
    beyond = overhang(over, counts, sizes)
    padding = over.before
    if not over.symmetric or any(beyond) or any(2 * each > size for each, size in zip(padding, over.kernel)):
        pairs = [(before, behind + more) for before, behind, more in zip(over.before, over.behind, beyond)]
        x, padding = padded(x, [(0, 0), (0, 0), *pairs], "constant", least(x.dtype)), [0] * len(padding)
    options = (over.kernel, over.strides, padding, over.dilations)
    if node.outputs == 1:
        return pool(x, *options)
    values, indices = pool(x, *options, return_indices=True)
    return values, whole_indices(
        indices,
        sizes,
        list(x.shape[2:]),
        over.before if x.shape[2:] != tuple(sizes) else [0] * len(sizes),
        bool(node.get("storage_order", 0)),
    )


def whole_indices(indices: Any, sizes: list[int], seen: list[int], before: list[int], columns_first: bool) -> Any:
    """Positions in the whole value, from positions in each channel of what is padded."""
    coordinates = []
    for size, start in zip(reversed(seen), reversed(before)):
        coordinates.append(rl.remainder(indices, size) - start)
        indices = rl.div(indices, size, rounding_mode="floor")
    axes = list(range(len(sizes))) if not columns_first else [*range(len(sizes) - 2), len(sizes) - 1, len(sizes) - 2][-len(sizes) :]
    flat: Any = 0
    for axis in axes:
        flat = flat * sizes[axis] + coordinates[len(sizes) - 1 - axis]
    channels = rl.arange(flat.shape[0] * flat.shape[1]).reshape(*flat.shape[:2], *(1,) * len(sizes))
    return flat + channels * math.prod(sizes)


def window_sums(node: NodeContext, x: Any, over: Windows, counts: list[int], sizes: Any) -> Any:
    """The sum of each window of a value, which is zero outside."""
    beyond = overhang(over, counts, sizes)
    pairs = [(before, behind + more) for before, behind, more in zip(over.before, over.behind, beyond)]
    x = padded(x, [(0, 0), (0, 0), *pairs])
    ones = rl.ones((1, 1, *over.kernel), dtype=x.dtype)
    sums = CONVOLUTIONS[spatial(node, len(pairs))](x.reshape(-1, 1, *x.shape[2:]), ones, None, over.strides, 0, over.dilations)
    return sums.reshape(*x.shape[:2], *sums.shape[2:])


@importer("AveragePool")
def average_pool(node: NodeContext, x: Any) -> Any:
    over, counts = pool_windows(node, x)
    sizes = x.shape[2:]
    include = bool(node.get("count_include_pad", 0))
    fits = over.symmetric and all(2 * each <= size for each, size in zip(over.before, over.kernel)) and set(over.dilations) == {1}
    if fits and not any(overhang(over, counts, sizes)):
        pool = MEAN_POOLS[spatial(node, x.dim() - 2)]
        return pool(x, over.kernel, over.strides, over.before, False, include)
    counted = rl.ones((1, 1, *sizes), dtype=x.dtype)
    inner = over
    if include:
        counted = padded(counted, over.pairs(), "constant", 1)
        inner = Windows(over.kernel, over.strides, over.dilations, [0] * len(sizes), [0] * len(sizes))
    return window_sums(node, x, over, counts, sizes) / window_sums(node, counted, inner, counts, counted.shape[2:])


@importer("LpPool")
def lp_pool(node: NodeContext, x: Any) -> Any:
    over, counts = pool_windows(node, x)
    p = node["p"]
    return rl.pow(window_sums(node, rl.pow(rl.abs(x), p), over, counts, x.shape[2:]), 1 / p)


def spatial_axes(x: Any) -> list[int]:
    """The dimensions behind batch and channels."""
    return list(range(2, x.dim()))


@importer("GlobalAveragePool")
def global_average_pool(node: NodeContext, x: Any) -> Any:
    return rl.mean(x, spatial_axes(x), True)


@importer("GlobalMaxPool")
def global_max_pool(node: NodeContext, x: Any) -> Any:
    return rl.amax(x, spatial_axes(x), True)


@importer("GlobalLpPool")
def global_lp_pool(node: NodeContext, x: Any) -> Any:
    p = node["p"]
    return rl.pow(rl.sum(rl.pow(rl.abs(x), p), spatial_axes(x), True), 1 / p)


@importer("MaxUnpool")
def max_unpool(node: NodeContext, x: Any, indices: Any, output_shape: Ints | None = None) -> Any:
    over = windows(node, x.shape[2:], node["kernel_shape"])
    usual = [
        (size - 1) * stride - before - behind + kernel
        for size, stride, before, behind, kernel in zip(x.shape[2:], over.strides, over.before, over.behind, over.kernel)
    ]
    shape = (*x.shape[:2], *usual)
    y = rl.zeros(math.prod(shape), dtype=x.dtype).scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(shape)
    if output_shape is None:
        return y
    return padded(y, [(0, wanted - size) for wanted, size in zip(output_shape, shape)])

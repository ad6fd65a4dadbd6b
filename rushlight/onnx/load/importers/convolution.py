"""Convolutions: plain, transposed, deformable, of integers, with a state; and their columns."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ....nn import functional as F
from .. import calls as rl
from ..registry import Ints, NodeContext, importer
from .shapes import padded
from .windows import Windows, windows

CONVOLUTIONS = {1: rl.conv1d, 2: rl.conv2d, 3: rl.conv3d}
TRANSPOSED = {1: rl.conv_transpose1d, 2: rl.conv_transpose2d, 3: rl.conv_transpose3d}


def spatial(node: NodeContext, rank: int) -> int:
    """How many spatial dimensions there are, of those that a convolution of ours can have."""
    if rank not in CONVOLUTIONS:
        raise node.not_supported(f"there are convolutions over one, two and three spatial dimensions here, not over {rank}")
    return rank


@importer("Conv")
def conv(node: NodeContext, x: Any, w: Any, b: Any = None) -> Any:
    return convolved(node, x, w, b, windows(node, x.shape[2:], w.shape[2:]))


def convolved(node: NodeContext, x: Any, w: Any, b: Any, over: Windows) -> Any:
    """A convolution over windows."""
    convolution = CONVOLUTIONS[spatial(node, x.dim() - 2)]
    padding = over.before
    if not over.symmetric:
        x, padding = padded(x, over.pairs()), [0] * len(padding)
    return convolution(x, w, b, over.strides, padding, over.dilations, node["group"])


@importer("ConvTranspose")
def conv_transpose(node: NodeContext, x: Any, w: Any, b: Any = None) -> Any:
    rank = spatial(node, x.dim() - 2)
    over = windows(node, x.shape[2:], w.shape[2:])
    extra = list(node.get("output_padding") or [0] * rank)
    full = [stride * (size - 1) + extent for stride, size, extent in zip(over.strides, x.shape[2:], over.extents)]
    wanted, mode = node.get("output_shape"), node.get("auto_pad", "NOTSET")
    if not wanted and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * stride for size, stride in zip(x.shape[2:], over.strides)]
    if wanted:
        totals = [size + more - final for size, more, final in zip(full, extra, wanted[-rank:])]
        lesser = mode == "SAME_UPPER"  # whether the lesser half of an odd padding goes before
        over.before = [max(total // 2 if lesser else total - total // 2, 0) for total in totals]
        over.behind = [total - before for total, before in zip(totals, over.before)]  # what is missing is added at the end
    transposed, group = TRANSPOSED[rank], node["group"]
    plain = all(more < max(stride, dilation) for more, stride, dilation in zip(extra, over.strides, over.dilations))
    if over.symmetric and min(over.before) >= 0 and plain:
        return transposed(x, w, b, over.strides, over.before, extra, group, over.dilations)
    y = transposed(x, w, None, over.strides, 0, 0, group, over.dilations)
    cuts = [(-before, more - behind) for before, behind, more in zip(over.before, over.behind, extra)]
    y = padded(y, [(0, 0), (0, 0), *cuts])
    return y if b is None else y + b.reshape((-1,) + (1,) * rank)


@importer("CausalConvWithState")
def causal_conv(node: NodeContext, x: Any, w: Any, b: Any = None, past: Any = None) -> Any:
    memory = w.shape[-1] - 1
    if past is None:
        past = rl.zeros((x.shape[0], x.shape[1], memory), dtype=x.dtype)
    whole = rl.cat([past, x], 2)
    y = rl.conv1d(whole, w, b, groups=x.shape[1])
    if node["activation"] in ("silu", "swish"):
        y = F.silu(y)
    return y, whole.narrow(2, whole.shape[2] - memory, memory)


# -- deformable -------------------------------------------------------------------------------------------------------------------


@importer("DeformConv")
def deform_conv(node: NodeContext, x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None) -> Any:
    over = windows(node, x.shape[2:], w.shape[2:])
    rank, taps, groups = x.dim() - 2, math.prod(over.kernel), node["offset_group"]
    out = tuple(over.counts(x.shape[2:]))
    batch, channels = x.shape[:2]
    offset = offset.reshape(batch, groups, taps, rank, *out)
    steps = np.stack(np.meshgrid(*(np.arange(size) for size in over.kernel), indexing="ij")).reshape(rank, taps)
    positions = []
    for axis in range(rank):
        tap = rl.tensor((steps[axis] * over.dilations[axis] - over.before[axis]).tolist(), dtype=x.dtype)
        line = rl.arange(out[axis], dtype=x.dtype) * over.strides[axis]
        here = tap.reshape(taps, *(1,) * rank) + line.reshape([-1 if each == axis else 1 for each in range(rank)])
        positions.append(here + offset[:, :, :, axis])
    sampled = linearly_sampled(x.reshape(batch, groups, channels // groups, *x.shape[2:]), positions)
    if mask is not None:
        sampled = sampled * mask.reshape(batch, groups, 1, taps, *out)
    group = node["group"]
    columns = sampled.reshape(batch, group, channels // group * taps, -1)
    y = rl.matmul(w.reshape(group, w.shape[0] // group, -1), columns).reshape(batch, w.shape[0], *out)
    return y if b is None else y + b.reshape((-1,) + (1,) * rank)


def linearly_sampled(x: Any, positions: list[Any]) -> Any:
    """Values between the elements of the last dimensions, at positions along each of them; zero outside.

    ``x`` is (batch, groups, channels, sizes...), each position (batch, groups, places...); the result is (batch, groups, channels, places...).
    """
    sizes = x.shape[3:]
    flat = x.reshape(*x.shape[:3], -1)
    places = positions[0].shape[2:]
    floors = [rl.floor(each) for each in positions]
    total: Any = 0
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight: Any = 1
        inside: Any = True
        index: Any = 0
        for step, floor, position, size in zip(corner, floors, positions, sizes):
            at = floor + step
            part = position - floor
            weight = weight * (part if step else 1 - part)
            inside = (at >= 0) & (at < size) & inside
            index = index * size + rl.clamp(at, 0, size - 1)
        weight = rl.where(inside, weight, rl.zeros_like(weight))
        where = index.to(rl.int64).reshape(*x.shape[:2], 1, -1).expand(*x.shape[:3], math.prod(places))
        total = total + rl.gather(flat, 3, where).reshape(*x.shape[:3], *places) * weight.unsqueeze(2)
    return total


# -- columns ----------------------------------------------------------------------------------------------------------------------


@importer("Col2Im")
def col2im(node: NodeContext, x: Any, image: Ints, block: Ints) -> Any:
    over = windows(node, image, block)
    taps, rank = math.prod(block), len(image)
    batch, channels = x.shape[0], x.shape[1] // taps
    whole = [size + before + behind for size, before, behind in zip(image, over.before, over.behind)]
    index: Any = 0
    for axis, (size, count) in enumerate(zip(whole, over.counts(image))):
        shape = [1] * (2 * rank)
        at = np.arange(block[axis])[:, None] * over.dilations[axis] + np.arange(count) * over.strides[axis]
        shape[axis], shape[rank + axis] = at.shape
        index = index * size + at.reshape(shape)
    columns = x.reshape(batch, channels, index.size)
    flat = rl.zeros((batch, channels, math.prod(whole)), dtype=x.dtype).index_add(2, rl.from_numpy(index.reshape(-1)), columns)
    cuts = [(-before, -behind) for before, behind in zip(over.before, over.behind)]
    return padded(flat.reshape(batch, channels, *whole), [(0, 0), (0, 0), *cuts])

"""Convolution on arrays, for any number of dimensions: windows copied to panels that fit a cache, then matrix products.

``convolve`` slides a weight over the input; ``spread`` is its transpose (the gradient of the input, and transposed
convolution); ``weight_gradient`` correlates input and output gradient.  Shapes: input ``(N, C, *size)``, weight
``(O, C / groups, *kernel)``, output ``(N, O, *counts)``.  ``pads`` are pairs: before and after each dimension.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from .sliding_windows import window_count, window_view

Ints = Sequence[int]
PANEL_BYTES = 1 << 20  # what the panel of one matrix product may fill: about a core's second-level cache
ENOUGH_COLUMNS = 512  # narrower matrices waste BLAS: several small images are concatenated


def _split(columns_of_image: int, rows: int, batch: int, bytes_of_column: int) -> tuple[int, int]:
    """How many images, and how many rows of an image, one panel holds."""
    columns = max(ENOUGH_COLUMNS, PANEL_BYTES // max(bytes_of_column, 1))
    if columns_of_image > columns:
        blocks = -(-columns_of_image // columns)
        return 1, -(-rows // blocks)
    return max(1, min(batch, ENOUGH_COLUMNS // columns_of_image)), rows


def _panels(
    xp: Any, input: Any, kernel: Ints, stride: Ints, pads: Sequence[tuple[int, int]], dilation: Ints, counts: Ints, groups: int
) -> Iterator[tuple[int, int, int, int, Any]]:
    """Blocks of the windows of an input, as matrices ``(groups, channels * kernel, columns)``.

    Yields first and last image, first and last row, and the matrix; it is valid until the next one is asked for.
    """
    batch, channels = input.shape[:2]
    depth, row = channels * math.prod(kernel), math.prod(counts[1:])
    images, rows = _split(counts[0] * row, counts[0], batch, depth * input.itemsize)
    bordered = any(before or after for before, after in pads)
    if bordered:
        size = input.shape[2:]
        source = xp.zeros((images, channels, *(n + sum(pad) for n, pad in zip(size, pads))), input.dtype)
        inside = source[(..., *(slice(before, before + n) for n, (before, _) in zip(size, pads)))]
    else:
        source = input
    # (N, C, *kernel, *counts) -> (C, *kernel, N, *counts)
    windows = xp.moveaxis(window_view(xp, source, kernel, stride, dilation, counts), 0, 1 + len(kernel))
    by_image = (slice(None),) * (1 + len(kernel))
    single = math.prod(kernel) == 1 and images == 1
    buffer: Any = None if single else xp.empty(depth * images * rows * row, input.dtype)
    for start in range(0, batch, images):
        stop = min(start + images, batch)
        if bordered:
            inside[: stop - start] = input[start:stop]
        block = windows[(*by_image, slice(0, stop - start) if bordered else slice(start, stop))]
        for first in range(0, counts[0], rows):
            last = min(first + rows, counts[0])
            part = block[(*by_image, slice(None), slice(first, last))]
            columns = (stop - start) * (last - first) * row
            if single:  # one tap: the image is its own panel, where its layout allows
                panel = part.reshape(groups, depth // groups, columns)
            else:
                panel = buffer[: depth * columns]
                panel.reshape(part.shape)[...] = part
                panel = panel.reshape(groups, depth // groups, columns)
            yield start, stop, first, last, panel


def _plain(xp: Any, array: Any) -> Any:
    """The array, or a copy where it repeats elements (as a gradient that was expanded does): BLAS takes none of these."""
    return xp.ascontiguousarray(array) if 0 in array.strides else array


def convolve(
    xp: Any, input: Any, weight: Any, bias: Any, stride: Ints, pads: Sequence[tuple[int, int]], dilation: Ints, groups: int
) -> Any:
    """The convolution of an input with a weight."""
    kernel, channels = weight.shape[2:], weight.shape[0]
    counts = [
        window_count(n, k, s, before, after, d) for n, k, s, (before, after), d in zip(input.shape[2:], kernel, stride, pads, dilation)
    ]
    result = xp.empty((input.shape[0], channels, *counts), input.dtype)
    if not weight.size or not result.size:
        result[...] = 0 if bias is None else bias.reshape(-1, *[1] * len(counts))
        return result
    input, matrix = _plain(xp, input), xp.ascontiguousarray(weight).reshape(groups, channels // groups, -1)
    row = math.prod(counts[1:])
    offset = None if bias is None else bias.reshape(groups, -1, 1)
    for start, stop, first, last, panel in _panels(xp, input, kernel, stride, pads, dilation, counts, groups):
        if stop - start == 1:
            target = result[start].reshape(groups, channels // groups, -1)[..., first * row : last * row]
            xp.matmul(matrix, panel, out=target)
            if offset is not None:
                target += offset
        else:
            product = xp.matmul(matrix, panel)
            if offset is not None:
                product += offset
            result[start:stop, :, first:last] = product.reshape(channels, stop - start, last - first, *counts[1:]).swapaxes(0, 1)
    return result


def weight_gradient(
    xp: Any, input: Any, grad: Any, kernel: Ints, stride: Ints, pads: Sequence[tuple[int, int]], dilation: Ints, groups: int
) -> Any:
    """The gradient of the weight: each tap's input, times the gradient of the output, summed over images and places."""
    input, grad = _plain(xp, input), _plain(xp, grad)
    counts, channels = grad.shape[2:], grad.shape[1]
    depth = input.shape[1] * math.prod(kernel)
    total = xp.zeros((groups, depth // groups, channels // groups), grad.dtype)
    row = math.prod(counts[1:])
    if input.size and grad.size:
        for start, stop, first, last, panel in _panels(xp, input, kernel, stride, pads, dilation, counts, groups):
            if stop - start == 1:
                block = grad[start].reshape(groups, channels // groups, -1)[..., first * row : last * row]
            else:
                block = grad[start:stop, :, first:last].swapaxes(0, 1).reshape(groups, channels // groups, -1)
            total += xp.matmul(panel, block.swapaxes(1, 2))
    return xp.ascontiguousarray(total.swapaxes(1, 2)).reshape(channels, input.shape[1] // groups, *kernel)


def spread(xp: Any, grad: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints) -> Any:
    """The transposed convolution, cut to ``size``: each element of ``grad`` spreads the weight over the result."""
    kernel, counts = weight.shape[2:], grad.shape[2:]
    inner, outer = weight.shape[0] // groups, weight.shape[1]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    pads = [(r - p, n - count + p) for r, p, n, count in zip(reach, padding, size, counts)]
    if inner <= outer and all(s == 1 for s in stride) and all(min(pad) >= 0 for pad in pads) or not grad.size:
        if grad.size:
            # A convolution with the taps in reverse; worth it where the windows of grad are no more than the products.
            flipped = weight.reshape(groups, inner, outer, *kernel).swapaxes(1, 2)[(..., *[slice(None, None, -1)] * len(kernel))]
            flipped = xp.ascontiguousarray(flipped).reshape(groups * outer, inner, *kernel)
            return convolve(xp, grad, flipped, bias, stride, pads, dilation, groups)
        result = xp.zeros((grad.shape[0], groups * outer, *size), grad.dtype)
    else:
        result = _spread_taps(xp, grad, weight, stride, padding, dilation, groups, size)
    if bias is not None:
        result += bias.reshape(-1, *[1] * len(size))
    return result


def _spread_taps(xp: Any, grad: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints) -> Any:
    """One matrix product gives every tap's contribution; each is added at its place.

    With a stride the result falls into phases (the places with the same remainder), and within a phase each tap is
    a shift.  Rows are widened to those of the result, so that a shift is one run through memory.
    """
    grad = _plain(xp, grad)
    batch, counts, kernel = grad.shape[0], grad.shape[2:], weight.shape[2:]
    inner, outer = weight.shape[0] // groups, weight.shape[1]
    taps = math.prod(kernel)
    matrix = xp.ascontiguousarray(weight.reshape(groups, inner, outer, taps).transpose(0, 3, 2, 1))
    matrix = matrix.reshape(groups, taps * outer, inner)
    widened = [count + d * (k - 1) // s for count, k, s, d in zip(counts, kernel, stride, dilation)]
    steps = [math.prod(widened[axis + 1 :]) for axis in range(len(widened))]
    row = steps[0]
    images, rows = _split(counts[0] * row, counts[0], batch, groups * taps * outer * grad.itemsize)
    length = math.prod(widened)
    slack = sum(d * (k - 1) // s * step for k, s, d, step in zip(kernel[1:], stride[1:], dilation[1:], steps[1:]))
    phases = xp.empty((*stride, groups, outer, images, length + slack), grad.dtype)
    narrow = tuple(widened[1:]) == tuple(counts[1:])  # nothing to widen
    wide = None if narrow else xp.zeros((groups, inner, images, counts[0], *widened[1:]), grad.dtype)
    places = []  # of each tap: its phase, and by how much it is shifted there
    for tap in itertools.product(*map(range, kernel)):
        phase = tuple(d * k % s for d, k, s in zip(dilation, tap, stride))
        places.append((phase, sum(d * k // s * step for d, k, s, step in zip(dilation, tap, stride, steps))))
    result = xp.zeros((batch, groups * outer, *size), grad.dtype)
    for start in range(0, batch, images):
        number = min(images, batch - start)
        block = grad[start : start + number].swapaxes(0, 1).reshape(groups, inner, number, *counts)
        if wide is not None:
            wide[(slice(None), slice(None), slice(0, number), slice(None), *(slice(0, n) for n in counts[1:]))] = block
            block = wide[:, :, :number]
        target = phases[..., :number, :]
        target[...] = 0
        for first in range(0, counts[0], rows):
            last = min(first + rows, counts[0])
            columns = (last - first) * row
            values = block[:, :, :, first:last].reshape(groups, inner, number * columns)
            if inner > 1:
                product = xp.matmul(matrix, values).reshape(groups, taps, outer, number, columns)
            for index, (phase, shift) in enumerate(places):
                begin = shift + first * row
                if inner > 1:
                    contribution = product[:, index]
                else:  # one channel in a group: a product of numbers, not of matrices
                    factors = matrix[:, index * outer : (index + 1) * outer]
                    contribution = (factors * values).reshape(groups, outer, number, columns)
                target[phase][..., begin : begin + columns] += contribution
        image = result[start : start + number].swapaxes(0, 1)
        for phase in itertools.product(*map(range, stride)):
            values = target[phase][..., :length].reshape(groups * outer, number, *widened)
            _place_phase(image, values, phase, stride, padding)
    return result


def _place_phase(image: Any, values: Any, phase: Ints, stride: Ints, padding: Ints) -> None:
    """Write the values of one phase to every ``stride``-th place of the image, without the padding."""
    here: list[slice] = [slice(None), slice(None)]
    there: list[slice] = [slice(None), slice(None)]
    for axis, (remainder, step, before) in enumerate(zip(phase, stride, padding), 2):
        begin = max(-(-(before - remainder) // step), 0)  # the first value that is not in the padding
        place = begin * step + remainder - before
        number = min(values.shape[axis] - begin, -(-(image.shape[axis] - place) // step))
        if number <= 0:
            return
        there.append(slice(begin, begin + number))
        here.append(slice(place, place + (number - 1) * step + 1, step))
    image[tuple(here)] = values[tuple(there)]

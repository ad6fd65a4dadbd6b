"""Resampling on arrays: along each dimension an output is a weighted sum of a few inputs, listed in a table.

The transpose of such a map (its gradient) has a table too, so forward, backward and double backward are one function.
Positions and weights are computed in the precision that PyTorch uses, for they decide which elements are neighbours.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .pooling_kernels import average, average_backward, even_pool
from .sliding_windows import adaptive_windows

BLOCK_ELEMENTS = 1 << 18  # of a result worked on at a time
DENSE_TAPS = 40  # up to this many inputs for each tap, a product with the whole matrix is faster than a gather

Filter = Callable[[np.ndarray], np.ndarray]


class Table:
    """A sparse matrix from ``size`` inputs to ``count`` outputs: each output sums the same number of weighted taps."""

    __slots__ = ("count", "identity", "plain", "size", "taps", "transposed", "weights")

    def __init__(self, inputs: np.ndarray, outputs: np.ndarray, weights: np.ndarray, size: int, count: int) -> None:
        """From the entries of the matrix, in the order of their outputs."""
        self.size = size
        self.count = count
        place = np.arange(len(outputs)) - np.searchsorted(outputs, outputs)  # the how-manieth of its output
        shape = (int(np.max(place, initial=0)) + 1, count)
        self.taps, self.weights = np.zeros(shape, np.intp), np.zeros(shape, weights.dtype)
        self.taps[place, outputs], self.weights[place, outputs] = inputs, weights
        self.plain = bool((self.weights == 1).all())  # sums without weights
        self.identity = self.plain and size == count and np.array_equal(self.taps, np.arange(count)[None])
        self.transposed = self

    def matrix(self) -> np.ndarray:
        """The entries, zeros and all."""
        result = np.zeros((self.size, self.count), self.weights.dtype)
        np.add.at(result, (self.taps, np.arange(self.count)), self.weights)
        return result


def _make_table(taps: np.ndarray, weights: np.ndarray, size: int) -> Table:
    """A table and its transpose, from taps that may be repeated."""
    count = taps.shape[1]
    entries, place = np.unique(taps + np.arange(count) * size, return_inverse=True)
    total = np.zeros(len(entries), weights.dtype)
    np.add.at(total, place.reshape(-1), weights.reshape(-1))
    entries, total = entries[total != 0], total[total != 0]
    inputs, outputs = entries % size, entries // size
    order = np.argsort(inputs, kind="stable")
    result = Table(inputs, outputs, total, size, count)
    result.transposed = Table(outputs[order], inputs[order], total[order], count, size)
    result.transposed.transposed = result
    return result


def _linear(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: np.ndarray, a: float = -0.5) -> np.ndarray:
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0).astype(x.dtype)


_FILTERS: dict[str, tuple[Filter, int]] = {"linear": (_linear, 2), "cubic": (_cubic, 4), "lanczos": (_lanczos, 6)}


def step_between(kind: Any, size: int, count: int, align_corners: bool, factor: float | None) -> Any:
    """How far apart the sources of two neighbouring outputs are."""
    if align_corners:
        return kind(size - 1) / kind(count - 1) if count > 1 else kind(0)
    return kind(1.0 / factor) if factor is not None and factor > 0 else kind(size) / kind(count)


def _windows(mode: str, size: int, count: int, align_corners: bool, factor: float | None, kind: Any) -> Any:
    """Taps and weights by a filter around the source of each output, widened with the scale so that it leaves none out."""
    function, width = _FILTERS[mode]
    scale = step_between(kind, size, count, align_corners, factor)
    stretch = max(scale, kind(1))
    support = kind(width / 2) * stretch
    centre = scale * (np.arange(count).astype(kind) + kind(0.5))
    first = np.maximum((centre - support + kind(0.5)).astype(np.int64), 0)
    last = np.minimum((centre + support + kind(0.5)).astype(np.int64), size)
    taps = first + np.arange(max(int((last - first).max()), 1))[:, None]
    weights = function((taps.astype(kind) - centre + kind(0.5)) / stretch)
    weights = np.where(taps < last, weights, kind(0))
    total = weights.sum(axis=0)
    return np.minimum(taps, size - 1), weights / np.where(total == 0, kind(1), total)


def _neighbours(mode: str, size: int, count: int, align_corners: bool, factor: float | None, kind: Any) -> Any:
    """Taps and weights of linear and cubic interpolation between neighbours; the border is repeated."""
    scale = step_between(kind, size, count, align_corners, factor)
    source = np.arange(count).astype(kind)
    source = scale * source if align_corners else scale * (source + kind(0.5)) - kind(0.5)
    if mode == "linear":
        source = np.maximum(source, 0)
        first = np.minimum(source.astype(np.int64), size - 1)
        part = np.clip(source - first.astype(kind), 0, 1)
        return np.stack([first, np.minimum(first + 1, size - 1)]), np.stack([1 - part, part])
    first = np.floor(source).astype(np.int64)
    part = np.clip(source - first.astype(kind), 0, 1)
    taps = np.clip(first + np.arange(-1, 3)[:, None], 0, size - 1)
    return taps, np.stack([_cubic(part + 1, -0.75), _cubic(part, -0.75), _cubic(1 - part, -0.75), _cubic(2 - part, -0.75)])


def _nearest(mode: str, size: int, count: int, factor: float | None) -> Any:
    half = np.float32(0.5 if mode == "nearest-exact" else 0.0)
    scale = step_between(np.float32, size, count, False, factor)
    taps = np.floor((np.arange(count).astype(np.float32) + half) * scale).astype(np.int64)
    return np.minimum(taps, size - 1)[None], np.ones((1, count))


def _means(size: int, count: int) -> Any:
    """Windows that share the inputs as evenly as they can: what adaptive pooling takes the mean of."""
    first, last = adaptive_windows(size, count)
    taps = first + np.arange(max(int((last - first).max(initial=1)), 1))[:, None]
    return np.minimum(taps, size - 1), np.where(taps < last, 1.0 / (last - first), 0.0)


@functools.lru_cache(maxsize=256)
def table(mode: str, size: int, count: int, align_corners: bool, factor: float | None, antialias: bool, dtype: str) -> Table:
    """The table of one dimension; ``dtype`` is that of the tensor (or "uint8", which is computed in whole numbers)."""
    kind: Any = np.float32 if dtype == "float32" else np.float64
    if mode == "area":
        taps, weights = _means(size, count)
    elif mode.startswith("nearest"):
        taps, weights = _nearest(mode, size, count, factor)
    elif size == count and (antialias or mode == "linear"):
        taps, weights = np.arange(count)[None], np.ones((1, count))
    elif antialias:
        taps, weights = _windows(mode, size, count, align_corners, factor, kind)
    else:
        taps, weights = _neighbours(mode, size, count, align_corners, factor, kind)
    return _make_table(taps.astype(np.intp), weights.astype(kind), size)


def apply(xp: Any, array: Any, axis: int, rule: Table) -> Any:
    """One dimension of an array, mapped by a table."""
    shape, count = array.shape, rule.count
    lead, rest = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    source = array.reshape(lead, rule.size, rest)
    result = xp.empty((lead, count, rest), array.dtype)
    if len(rule.taps) == 1 and rule.plain:
        xp.take(source, xp.asarray(rule.taps[0]), axis=1, out=result, mode="clip")
    elif rule.size <= DENSE_TAPS * len(rule.taps) and xp.isfinite(source.sum()):
        matrix = xp.asarray(rule.matrix().astype(array.dtype))  # an inf or nan would reach all outputs by its zeros
        if rest == 1:
            xp.matmul(source[:, :, 0], matrix, out=result[:, :, 0])
        else:
            xp.matmul(matrix.T, source, out=result)
    else:
        _gather(xp, source, rule, result)
    return result.reshape(*shape[:axis], count, *shape[axis + 1 :])


def _gather(xp: Any, source: Any, rule: Table, result: Any) -> None:
    weights = xp.asarray(rule.weights.astype(source.dtype))[..., None]
    step = max(1, BLOCK_ELEMENTS // max(math.prod(result.shape[1:]), 1))
    for start in range(0, source.shape[0], step):
        block, target = source[start : start + step], result[start : start + step]
        for number, taps in enumerate(rule.taps):
            part = xp.take(block, xp.asarray(taps), axis=1)
            if not rule.plain:
                part *= weights[number]
                if not rule.weights[number].all():  # a tap that is not there must not bring in inf or nan
                    part[:, rule.weights[number] == 0] = 0
            if number:
                target += part
            else:
                target[...] = part


def whole_weights(rule: Table) -> tuple[np.ndarray, int]:
    """The weights of a table as whole numbers of 16 bits, and by how many bits they are moved to be so."""
    largest = max(float(rule.weights.max()), 1e-12)
    precision = 0
    while precision < 22 and int(0.5 + largest * (1 << (precision + 1))) < (1 << 15):
        precision += 1
    return np.trunc(rule.weights * (1 << precision) + np.copysign(0.5, rule.weights)).astype(np.int64), precision


def _apply_bytes(xp: Any, array: Any, axis: int, rule: Table) -> Any:
    """Bytes are interpolated in whole numbers, and rounded after each dimension."""
    whole, precision = whole_weights(rule)
    total = xp.full((*array.shape[:axis], rule.count, *array.shape[axis + 1 :]), 1 << (precision - 1), np.int64)
    for taps, weights in zip(rule.taps, whole):
        total += xp.take(array, xp.asarray(taps), axis=axis) * xp.asarray(weights).reshape(-1, *[1] * (array.ndim - 1 - axis))
    return xp.clip(total >> precision, 0, 255).astype(np.uint8)


def resample(
    xp: Any, array: Any, size: Sequence[int], counts: Sequence[int], mode: str, align_corners: bool,
    factors: Sequence[float | None], antialias: bool, backward: bool = False,
) -> Any:  # fmt: skip
    """The last dimensions resampled from ``size`` to ``counts``; backward, the transpose of that, from counts to size."""
    pool = even_pool(size, counts) if mode == "area" else None
    if pool is not None:
        return average_backward(xp, array, pool, True, None) if backward else average(xp, array, pool, True, None)
    lead = array.ndim - len(size)
    rules = []
    for axis, (n, count, factor) in enumerate(zip(size, counts, factors)):
        if mode == "nearest" and len(size) == 2 and count in (n, 2 * n):
            factor = None  # in two dimensions PyTorch doubles exactly, whatever the factor was that came to this
        rule = table(mode, n, count, align_corners, factor, antialias, array.dtype.name)
        if not rule.identity:
            rules.append((lead + axis, rule.transposed if backward else rule))
    if array.dtype == np.uint8 and not mode.startswith("nearest"):
        for axis, rule in reversed(rules):
            array = _apply_bytes(xp, array, axis, rule)
        return array
    # The dimension that grows least goes first, and of equals the last, whose elements are next to each other.
    for axis, rule in sorted(rules, key=lambda each: (each[1].count / max(each[1].size, 1), -each[0])):
        array = apply(xp, array, axis, rule)
    return array if rules else array.copy()

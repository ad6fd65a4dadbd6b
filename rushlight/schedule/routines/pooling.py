"""Descriptions of pooling: windows of one size or adaptive ones; maxima (with their indices), means, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ops.nn.pooling import make_pool
from ...ops.nn.pooling_kernels import Pool, even_pool
from ..lowering import routine
from ..tensor_ir import Reference, TensorIRBuilder
from .convolution import Three, three


@dataclass(frozen=True)
class PoolWindows:
    """Windows of one size over planes, in three dimensions (those that are missing come first)."""

    size: Three
    counts: Three  # results
    kernel: Three
    stride: Three
    padding: Three
    dilation: Three

    @staticmethod
    def of(pool: Pool) -> PoolWindows:
        size, counts, kernel, stride = (three(tuple(each), 1) for each in (pool.size, pool.counts, pool.kernel, pool.stride))
        return PoolWindows(size, counts, kernel, stride, three(tuple(pool.padding), 0), three(tuple(pool.dilation), 1))

    @property
    def has_gaps(self) -> bool:
        """Whether a window may step over a small image between two taps; eager mode has rules of its own for that."""
        return any(self.padding) and any(each > 1 for each in self.dilation)

    def is_inside(self, axis: int) -> bool:
        """Whether all windows are inside the image along a dimension."""
        last = (self.counts[axis] - 1) * self.stride[axis] - self.padding[axis] + (self.kernel[axis] - 1) * self.dilation[axis]
        return not self.padding[axis] and last < self.size[axis]

    def valid(self, tap: int) -> tuple[int, int]:
        """The results of a row for which a tap along the last dimension is inside: the first, and the end."""
        shift = tap * self.dilation[2] - self.padding[2]
        return max(0, -(shift // self.stride[2])), min(self.counts[2], -(-(self.size[2] - shift) // self.stride[2]))


@dataclass(frozen=True)
class AdaptiveWindows:
    """The windows of adaptive pooling: neighbours may share elements, and not all are of one size."""

    size: Three
    counts: Three


@dataclass(frozen=True)
class MaxPool:
    """The largest element of each window, and its index in the plane: the first of equals, and the last NaN."""

    source: Reference
    windows: PoolWindows
    with_indices: bool


@dataclass(frozen=True)
class MaxPoolGradient:
    """``values`` added at the positions of the maxima of ``source``; or, with ``selects``, the elements of ``values`` at these positions."""

    values: Reference
    source: Reference
    windows: PoolWindows
    selects: bool


@dataclass(frozen=True)
class MeanPool:
    """Means of windows of one size, or with ``gradient`` their gradients; ``divisor`` replaces the number of elements."""

    source: Reference
    windows: PoolWindows
    counts_padding: bool = True
    divisor: int | None = None
    gradient: bool = False


@dataclass(frozen=True)
class AdaptiveMeanPool:
    """Means of adaptive windows, or with ``gradient`` their gradients; ``even`` is the same by windows of one size, where they are."""

    source: Reference
    windows: AdaptiveWindows
    even: MeanPool | None
    gradient: bool = False


@dataclass(frozen=True)
class AdaptiveMaxPool:
    """Maxima of adaptive windows, and their indices."""

    source: Reference
    windows: AdaptiveWindows


def max_pool(ndim: int, with_indices: bool) -> Callable[..., Any]:
    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, first = args[0], spec[0] if with_indices else spec
        windows = PoolWindows.of(make_pool("max_pool", source.shape, ndim, *args[1:6]))
        return MaxPool(source, windows, with_indices) if source.dtype.char in "fd" and first.size else NotImplemented

    return describe


def max_pool_gradient(selects: bool) -> Callable[..., Any]:
    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        values, source, ndim = args[0], args[1], args[3]
        windows = PoolWindows.of(make_pool("max_pool", source.shape, ndim, *args[4:]))
        fits = source.dtype.char in "fd" and values.dtype == source.dtype and spec.size
        return MaxPoolGradient(values, source, windows, selects) if fits else NotImplemented

    return describe


def mean_pool(ndim: int) -> Callable[..., Any]:
    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, kernel, stride, padding, ceil_mode, counts_padding, *rest = args
        windows = PoolWindows.of(make_pool("avg_pool", source.shape, ndim, kernel, stride, padding, 1, ceil_mode))
        fits = source.dtype.char in "fd" and spec.size
        return MeanPool(source, windows, bool(counts_padding), rest[0] if rest else None) if fits else NotImplemented

    return describe


@routine.register("avg_pool_backward")
def mean_pool_gradient(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, shape, ndim, kernel, stride, padding, ceil_mode, counts_padding, divisor = args
    windows = PoolWindows.of(make_pool("avg_pool", tuple(shape), ndim, kernel, stride, padding, 1, ceil_mode))
    return MeanPool(grad, windows, bool(counts_padding), divisor, True) if grad.dtype.char in "fd" and spec.size else NotImplemented


def adaptive_mean(source: Reference, size: tuple[Any, ...], counts: tuple[Any, ...], gradient: bool) -> AdaptiveMeanPool:
    pool = even_pool(size, counts)
    even = None if pool is None else MeanPool(source, PoolWindows.of(pool), gradient=gradient)
    return AdaptiveMeanPool(source, AdaptiveWindows(three(size, 1), three(counts, 1)), even, gradient)


def adaptive_mean_pool(ndim: int) -> Callable[..., Any]:
    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source = args[0]
        if source.dtype.char not in "fd" or not spec.size:
            return NotImplemented
        return adaptive_mean(source, source.shape[len(source.shape) - ndim :], tuple(spec.shape[len(spec.shape) - ndim :]), False)

    return describe


@routine.register("resample_backward")
def adaptive_mean_gradient(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
    grad, size, mode, *_ = args
    if mode != "area" or grad.dtype.char not in "fd" or not spec.size or 0 in grad.shape or not all(type(each) is int for each in size):
        return NotImplemented
    return adaptive_mean(grad, tuple(size), grad.shape[len(grad.shape) - len(size) :], True)


def adaptive_max_pool(ndim: int) -> Callable[..., Any]:
    def describe(builder: TensorIRBuilder, args: tuple[Any, ...], spec: Any, node: Any) -> Any:
        source, first = args[0], spec[0]
        if source.dtype.char not in "fd" or not first.size:
            return NotImplemented
        size, counts = source.shape[len(source.shape) - ndim :], tuple(first.shape[len(first.shape) - ndim :])
        return AdaptiveMaxPool(source, AdaptiveWindows(three(size, 1), three(counts, 1)))

    return describe


# -- pooling to one element --------------------------------------------------------------------------------------


for _ndim in (1, 2, 3):
    routine.set(max_pool(_ndim, False), f"max_pool{_ndim}d")
    routine.set(max_pool(_ndim, True), f"max_pool{_ndim}d_with_indices")
    routine.set(mean_pool(_ndim), f"avg_pool{_ndim}d")
    routine.set(adaptive_mean_pool(_ndim), f"adaptive_avg_pool{_ndim}d")
    routine.set(adaptive_max_pool(_ndim), f"adaptive_max_pool{_ndim}d_with_indices")
routine.set(max_pool_gradient(False), "max_pool_backward")
routine.set(max_pool_gradient(True), "max_pool_select")

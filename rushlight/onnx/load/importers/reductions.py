"""Reductions, positions of extremes, running sums and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dtypes import iinfo
from .. import calls as rl
from ..registry import Int, Ints, NodeContext, importer
from .values import positive_axes

AXES_INPUT_SINCE = {"ReduceSum": 13}  # the others have their axes as an input since opset 18


def sum_of(x: Any, axes: Any, keep: bool) -> Any:
    """A sum with the type of its terms."""
    return rl.sum(x, axes, keep, dtype=x.dtype)


def product(x: Any, axes: list[int], keep: bool) -> Any:
    """A product over several axes."""
    for axis in sorted(axes, reverse=True):
        x = rl.prod(x, axis, keepdim=keep, dtype=x.dtype)
    return x


def mean(x: Any, axes: list[int], keep: bool) -> Any:
    """A mean; of integers, without its fraction."""
    return rl.mean(x, axes, keep) if x.is_floating_point() or x.is_complex() else rl.mean(x.to(rl.float64), axes, keep).to(x.dtype)


def as_float(x: Any) -> Any:
    """A tensor with a floating type."""
    return x if x.is_floating_point() else x.to(rl.float64)


def extreme(function: Callable[..., Any], empty: Callable[[Any], Any]) -> Callable[..., Any]:
    """A largest or smallest element; of nothing, the neutral one of the type."""

    def reduce(x: Any, axes: list[int], keep: bool) -> Any:
        if x.dtype is rl.bool:
            return reduce(x.to(rl.uint8), axes, keep).to(rl.bool)
        if x.numel() == 0:
            sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape) if keep or axis not in axes]
            return rl.full(sizes, empty(x.dtype), dtype=x.dtype)
        return function(x, axes, keep)

    return reduce


def least(dtype: Any) -> Any:
    """The number that no other of a dtype is below."""
    return float("-inf") if dtype.is_floating_point else iinfo(dtype).min


def largest(dtype: Any) -> Any:
    """The number that no other of a dtype is above."""
    return float("inf") if dtype.is_floating_point else iinfo(dtype).max


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceL1": lambda x, axes, keep: sum_of(rl.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: rl.sqrt(sum_of(rl.square(as_float(x)), axes, keep)).to(x.dtype),
    "ReduceLogSum": lambda x, axes, keep: rl.log(as_float(sum_of(x, axes, keep))).to(x.dtype),
    "ReduceLogSumExp": lambda x, axes, keep: rl.logsumexp(as_float(x), axes, keep).to(x.dtype),
    "ReduceMax": extreme(rl.amax, least),
    "ReduceMean": mean,
    "ReduceMin": extreme(rl.amin, largest),
    "ReduceProd": product,
    "ReduceSum": sum_of,
    "ReduceSumSquare": lambda x, axes, keep: sum_of(rl.square(x), axes, keep),
}


def declare(name: str, function: Callable[..., Any]) -> None:
    """A reduction over axes that are an attribute in older opsets and an input in newer ones."""

    @importer(name)
    def reduction(node: NodeContext, x: Any, axes: Ints | None = None) -> Any:
        chosen = node.get("axes", []) if axes is None else axes
        if not chosen and node.get("noop_with_empty_axes"):
            return function(x.unsqueeze(0), [0], False)  # what the reduction makes of each element alone
        dims = positive_axes(chosen, x.dim()) if chosen else list(range(x.dim()))
        keep = bool(node["keepdims"])
        return function(x, dims, keep) if dims else function(x.unsqueeze(0), [0], False)


for _name, _function in REDUCTIONS.items():
    declare(_name, _function)


def declare_arg(name: str, function: Callable[..., Any]) -> None:
    """The position of an extreme along an axis, the first or the last of equal ones."""

    @importer(name)
    def position(node: NodeContext, x: Any) -> Any:
        axis, keep = node["axis"], bool(node["keepdims"])
        if not node.get("select_last_index"):
            return function(x, axis, keepdim=keep)
        return x.shape[axis] - 1 - function(x.flip(axis), axis, keepdim=keep)


declare_arg("ArgMax", rl.argmax)
declare_arg("ArgMin", rl.argmin)


def running(x: Any, axis: int, function: Callable[..., Any], neutral: int, exclusive: bool, reverse: bool) -> Any:
    """A running sum or product, without the own element where it is exclusive, from the end where it is in reverse."""
    if reverse:
        x = x.flip(axis)
    result = function(x, axis, dtype=x.dtype)
    if exclusive:
        first = rl.full_like(x.narrow(axis, 0, min(1, x.shape[axis])), neutral)
        result = rl.cat([first, result.narrow(axis, 0, max(x.shape[axis] - 1, 0))], axis)
    return result.flip(axis) if reverse else result


@importer("CumSum")
def cumulative_sum(node: NodeContext, x: Any, axis: Int) -> Any:
    return running(x, axis, rl.cumsum, 0, bool(node["exclusive"]), bool(node["reverse"]))


@importer("CumProd")
def cumulative_product(node: NodeContext, x: Any, axis: Int) -> Any:
    return running(x, axis, rl.cumprod, 1, bool(node["exclusive"]), bool(node["reverse"]))


@importer("TopK")
def top_k(node: NodeContext, x: Any, k: Int | None = None) -> Any:
    """The first elements in order; equal ones come in the order of their positions, which our ``topk`` keeps."""
    count = node.get("k") if node.opset < 10 else k
    axis = node["axis"]
    return tuple(rl.topk(x, count, axis, bool(node.get("largest", 1)), True))

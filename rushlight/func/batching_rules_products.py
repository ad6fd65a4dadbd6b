"""Batching rules of products, convolutions, pooling and losses: the batch is merged into a dimension that they have."""

from __future__ import annotations

import functools
from typing import Any

from ..core.declare import Op, table
from ..core.dispatch import dispatch
from ..core.named_results import named_result
from ..ops.linalg.matmul import matmul
from ..ops.nn.convolution import convolution, convolution_weight_gradient
from ..ops.shape.permute import transpose
from .batched import padded
from .batching_rules import decomposed, on_the_whole, rule
from .level import Level, each_example

# -- matrices ----------------------------------------------------------------------------------------------------


@rule("matmul")
def product(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Matrices and vectors: one large product where only one side is batched, else a product for each example."""
    a, b = args
    rank_a, rank_b = a._array.ndim, b._array.ndim
    if not rank_a or not rank_b:
        return each_example(level, op, args)  # which refuses
    if not level.holds(b) and rank_b <= 2:
        return level.wrap(matmul(level.peel(a), b))
    if not level.holds(a) and rank_a <= 2 and rank_b == 1:
        return level.wrap(matmul(level.peel(b), transpose(a, 0, 1) if rank_a == 2 else a))
    rank = max(rank_a, rank_b, 2)
    found = matmul(_matrices(level, a, -2, rank), _matrices(level, b, -1, rank))
    if rank_a == 1:
        found = found.squeeze(-2)
    if rank_b == 1:
        found = found.squeeze(-1)
    return level.wrap(found)


def _matrices(level: Level, tensor: Any, place: int, rank: int) -> Any:
    """The batch behind a tensor, in which vectors are made matrices, with as many dimensions as the other operand has."""
    value = level.peel(tensor)
    if tensor._array.ndim == 1:
        value = value.unsqueeze(place)
    return padded(value, rank - max(tensor._array.ndim, 2)) if level.holds(tensor) else value


@rule("linear")
def linear(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """``x @ w.T + b``: as it is where only the input is batched."""
    input, weight, bias = args
    if not level.holds(weight) and not level.holds(bias):
        return on_the_whole(level, op, args)
    return level.inside(_linear, input, weight, bias)


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    found = matmul(input, weight.transpose(-1, -2) if weight._array.ndim > 1 else weight)
    return found if bias is None else found + bias


def _sum(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@decomposed("addmm", "addmv", "baddbmm")
def _added(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    return _sum(input, matmul(a, b), beta, alpha)


# -- convolutions ------------------------------------------------------------------------------------------------


def _folded(value: Any) -> Any:
    """A batch of batches as one batch."""
    shape = value._array.shape
    return value.reshape((shape[0] * shape[1], *shape[2:]))


def _channels(value: Any) -> Any:
    """The batch among the channels of every element: groups keep the examples apart."""
    shape = value._array.shape
    return value.transpose(0, 1).reshape((shape[1], shape[0] * shape[2], *shape[3:]))


def _examples(value: Any, size: int) -> Any:
    """The batch taken out of the channels again."""
    shape = value._array.shape
    return value.reshape((shape[0], size, shape[1] // size, *shape[2:])).transpose(0, 1)


@rule("convolution")
def convolved(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """One weight for all examples: they are one long batch.  A weight for each: they are groups of channels."""
    input, weight, bias, *middle, groups = args
    if not level.holds(weight) and not level.holds(bias):
        count = input._array.shape[0]
        found = convolution(_folded(level.peel(input)), weight, bias, *middle, groups)
        return level.wrap(found.reshape((level.size, count, *found._array.shape[1:])))
    if not level.holds(weight):
        found = level.inside(convolution, input, weight, None, *middle, groups)
    else:
        joined = convolution(_channels(level.lift(input)), _folded(level.lift(weight)), None, *middle, groups * level.size)
        found = level.wrap(_examples(joined, level.size))
    if bias is None:
        return found
    return level.inside(lambda: found + bias.reshape((-1,) + (1,) * (weight._array.ndim - 2)))


@rule("convolution_weight_gradient")
def convolved_weight(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The gradient of each example's weight: again they are groups of channels."""
    input, grad, *middle, groups = args
    pair = _channels(level.lift(input)), _channels(level.lift(grad))
    found = convolution_weight_gradient(*pair, *middle, groups * level.size)
    shape = found._array.shape
    return level.wrap(found.reshape((level.size, shape[0] // level.size, *shape[1:])))


# -- windows -----------------------------------------------------------------------------------------------------


def windows(level: Level, op: Op, args: tuple[Any, ...], planes: int | None = None) -> Any:
    """Ops on planes of so many dimensions, behind the channels and, perhaps, a batch: the new batch is folded into that one, or becomes it."""
    named = {parameter.name: value for parameter, value in zip(op.parameters, args)}
    first = args[0]._array.ndim
    if planes is None and "ndim" in named:
        planes = named["ndim"]
    elif planes is None and "size" in named:
        planes = len(named["size"])
    has_batch = first == planes + 2 if planes is not None else True
    values = list(args)
    for position, parameter in enumerate(op.parameters):
        value = args[position]
        if parameter.kind != "value" and hasattr(value, "_array"):
            if value._array.ndim != first:
                return each_example(level, op, args)
            values[position] = _folded(level.lift(value)) if has_batch else level.lift(value)
        elif parameter.name == "shape":
            values[position] = (level.size * value[0], *value[1:]) if has_batch else (level.size, *value)
    result = dispatch(op, tuple(values))
    if has_batch:
        count = args[0]._array.shape[0]
        unfold = lambda each: each.reshape((level.size, count, *each._array.shape[1:]))  # noqa: E731
        result = unfold(result) if op.returns is None else [unfold(each) for each in result]
    return level.wrap(result, op)


_PLANES = {
    1: "max_pool1d max_pool1d_with_indices adaptive_max_pool1d_with_indices avg_pool1d adaptive_avg_pool1d nn_functional_fold",
    2: "max_pool2d max_pool2d_with_indices adaptive_max_pool2d_with_indices avg_pool2d adaptive_avg_pool2d nn_functional_unfold grid_sampler_2d",
    3: "max_pool3d max_pool3d_with_indices adaptive_max_pool3d_with_indices avg_pool3d adaptive_avg_pool3d grid_sampler_3d",
    None: "resample max_unpool scatter_planes border_pad border_fold channel_shuffle max_pool_backward max_pool_select avg_pool_backward "
          "gather_planes",  # their arguments say it
}  # fmt: skip
for _ndim, _names in _PLANES.items():
    rule(*_names.split())(functools.partial(windows, planes=_ndim))


# -- losses ------------------------------------------------------------------------------------------------------


def _target_weights(target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """The targets with ignored ones at 0, and the weight of every target (0 where it is ignored)."""
    counted = target != ignore_index
    safe = target.masked_fill(~counted, 0).long()
    return safe, counted.to(dtype) if weight is None else table["index"].call(weight, [safe]).masked_fill(~counted, 0)


@decomposed("nll_forward")
def _nll_forward(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    op = table["nll_forward"]
    op.meta(op, [getattr(each, "_array", each) for each in (input, target, weight, reduction, ignore_index)])
    axis = 1 if input._array.ndim > 1 else 0
    safe, weights = _target_weights(target, weight, ignore_index, input.dtype)
    loss = -input.gather(axis, safe.unsqueeze(axis)).squeeze(axis) * weights
    total = weights.detach().sum()
    if reduction != "none":
        loss = loss.sum() / total if reduction == "mean" else loss.sum()
    return named_result(op)(loss, total)


@decomposed("nll_gradient")
def _nll_gradient(grad: Any, shape: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    axis = 1 if len(shape) > 1 else 0
    safe, weights = _target_weights(target, weight, ignore_index, grad.dtype)
    values = (-weights * (grad / total if reduction == "mean" else grad)).unsqueeze(axis)
    return table["scatter_elements"].call(values.new_zeros(shape), axis, safe.unsqueeze(axis), values)


__all__: list[str] = []

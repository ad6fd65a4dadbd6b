"""``loss_parallel``: cross entropy of logits whose classes are sharded over a mesh, without gathering them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ....autograd.function import Function
from ....core.declare import exports
from ....core.process_group import world
from ...recorded_calls import as_functional
from .._api import DTensor, _apply
from .._dtensor_spec import DTensorSpec, TensorMeta
from .._utils import compute_local_shape_and_global_offset
from ..placement_types import Replicate, Shard

__all__ = ["loss_parallel"]


class _CrossEntropy(Function):
    """The mean (or sum, or each) of -log softmax at the targets: the maximum and the sum of exponentials are reduced, not the logits."""

    @staticmethod
    def forward(ctx: Any, logits: Any, target: Any, weight: Any, reduction: str, ignore: int) -> Any:  # type: ignore[override]
        spec, local = logits._spec, logits._local_tensor
        group, ops = spec.mesh.get_group(0), world.collectives.ReduceOp
        offset = compute_local_shape_and_global_offset(spec.shape, spec.mesh, spec.placements)[1][1]
        own = target - offset
        outside = (own < 0) | (own >= local.shape[1])
        index = own.masked_fill(outside, 0).unsqueeze(1)
        with as_functional():
            largest = local.amax(1, keepdim=True)
            world.collectives.all_reduce(largest, op=ops.MAX, group=group)
            exponentials = (local - largest).exp()
            total = exponentials.sum(1, keepdim=True)
            world.collectives.all_reduce(total, group=group)
            chosen = (local - largest).gather(1, index).masked_fill(outside.unsqueeze(1), 0)
            world.collectives.all_reduce(chosen, group=group)
        ignored = target == ignore
        factors = exports["", "ones_like"](target, dtype=local.dtype) if weight is None else weight[target.masked_fill(ignored, 0)]
        factors = factors.masked_fill(ignored, 0)
        if reduction == "mean":
            factors = factors / factors.sum()
        losses = (total.log() - chosen).squeeze(1) * factors
        result = losses if reduction == "none" else losses.sum()
        ctx.save_for_backward(exponentials / total, index, outside, factors)
        ctx.spec = spec
        meta = TensorMeta(result.shape, tuple(result.stride()), result.dtype)
        return DTensor(result, DTensorSpec(spec.mesh, (Replicate(),), meta), requires_grad=False)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        shares, index, outside, factors = ctx.saved_tensors
        given = gradient.redistribute(placements=[Replicate()])._local_tensor if isinstance(gradient, DTensor) else gradient
        ones = exports["", "ones_like"](index, dtype=shares.dtype).masked_fill(outside.unsqueeze(1), 0)
        found = shares.scatter_add(1, index, -ones) * (factors * given).unsqueeze(1)
        return (
            DTensor(found, DTensorSpec(ctx.spec.mesh, ctx.spec.placements, ctx.spec.tensor_meta), requires_grad=False),
            None,
            None,
            None,
            None,
        )


def _cross_entropy(
    input: Any, target: Any, weight: Any, size_average: Any, ignore_index: int, reduce: Any, reduction: str, label_smoothing: float
) -> Any:
    """Cross entropy of a DTensor while ``loss_parallel`` is on."""
    if not isinstance(input, DTensor) or input.placements != (Shard(1),) or input.dim() < 2:
        placed = input.placements if isinstance(input, DTensor) else None
        raise ValueError(
            f"loss_parallel() should be enabled only when the input tensor is sharded on dimension 1, of one dimension of a mesh; it is {placed}"
        )
    if label_smoothing or size_average is not None or reduce is not None or target.is_floating_point():
        raise NotImplementedError(
            "loss_parallel: label smoothing, probabilities as targets, and size_average and reduce are not computed on parts"
        )
    target, weight = (each.full_tensor() if isinstance(each, DTensor) else each for each in (target, weight))
    return _apply(_CrossEntropy, input, target, weight, reduction, ignore_index)


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A context in which ``cross_entropy`` of a DTensor that is split by classes (dimension 1) is computed on parts."""
    before, DTensor.composites = DTensor.composites, {**DTensor.composites, "nn.functional.cross_entropy": _cross_entropy}
    try:
        yield
    finally:
        DTensor.composites = before

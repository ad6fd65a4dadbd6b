"""``loss_parallel``: cross entropy of logits whose classes are sharded over a mesh, without gathering them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ....autograd.function import Function
from ....core.declare import exports
from ....core.process_group import world
from ....nn import functional
from .._api import DTensor
from .._dtensor_spec import DTensorSpec
from .._utils import compute_local_shape_and_global_offset
from ..placement_types import Replicate, Shard

__all__ = ["loss_parallel"]


class _CrossEntropy(Function):
    """The mean (or sum, or each) of -log softmax at the targets: the maximum and the sum of exponentials are reduced, not the logits."""

    @staticmethod
    def forward(ctx: Any, logits: Any, target: Any, reduction: str, ignore: int) -> Any:  # type: ignore[override]
        spec, local = logits._spec, logits._local_tensor
        group, ops = spec.mesh.get_group(0), world.collectives.ReduceOp
        offset = compute_local_shape_and_global_offset(spec.shape, spec.mesh, spec.placements)[1][1]
        largest = local.amax(1, keepdim=True)
        world.collectives.all_reduce(largest, op=ops.MAX, group=group)
        exponentials = (local - largest).exp()
        total = exponentials.sum(1, keepdim=True)
        world.collectives.all_reduce(total, group=group)
        own = target - offset
        outside = (own < 0) | (own >= local.shape[1])
        index = own.masked_fill(outside, 0).unsqueeze(1)
        chosen = (local - largest).gather(1, index).masked_fill(outside.unsqueeze(1), 0)
        world.collectives.all_reduce(chosen, group=group)
        ignored = target == ignore
        losses = (total.log() - chosen).squeeze(1).masked_fill(ignored, 0)
        count = (~ignored).sum()
        ctx.save_for_backward(exponentials / total, index, outside | ignored, ignored, count)
        ctx.spec, ctx.reduction = spec, reduction
        return losses if reduction == "none" else (losses.sum() / count if reduction == "mean" else losses.sum())

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        shares, index, outside, ignored, count = ctx.saved_tensors
        found = shares.masked_fill(ignored.unsqueeze(1), 0)
        ones = exports["", "ones_like"](index, dtype=found.dtype).masked_fill(outside.unsqueeze(1), 0)
        found = found.scatter_add(1, index, -ones)
        scale = gradient.unsqueeze(1) if ctx.reduction == "none" else (gradient / count if ctx.reduction == "mean" else gradient)
        return (
            DTensor(found * scale, DTensorSpec(ctx.spec.mesh, ctx.spec.placements, ctx.spec.tensor_meta), requires_grad=False),
            None,
            None,
            None,
        )


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A context in which ``cross_entropy`` of a DTensor that is split by classes (dimension 1) is computed on parts."""
    plain = functional.cross_entropy

    def cross_entropy(
        input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
        reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> Any:  # fmt: skip
        if not isinstance(input, DTensor) or input.placements != (Shard(1),) or input.dim() != 2:
            return plain(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        if weight is not None or label_smoothing:
            raise NotImplementedError("loss_parallel: weights of classes and label smoothing are not computed on parts")
        if isinstance(target, DTensor):
            target = target.redistribute(placements=[Replicate()]).to_local()
        return _CrossEntropy.apply(input, target, reduction, ignore_index)

    functional.cross_entropy = cross_entropy
    try:
        yield
    finally:
        functional.cross_entropy = plain

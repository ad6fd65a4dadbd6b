"""Batch normalisation over the batches of all processes of a group, as a differentiable function."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.declare import exports
from ...core.dtypes import BY_NAME
from ...core.process_group import world

__all__ = ["SyncBatchNorm"]


def _along_channels(values: Any, like: Any) -> Any:
    return values.view(1, -1, *[1] * (like.dim() - 2))


class SyncBatchNorm(Function):
    """Statistics of each process are gathered, weighted by their counts; backward adds up the sums that the gradient needs."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        input: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        eps: float,
        momentum: float,
        group: Any,
        size: int,
    ) -> Any:
        """The normalised input; running statistics are updated."""
        channels = input.shape[1]
        around = [each for each in range(input.dim()) if each != 1]
        values = input if input.dtype == BY_NAME["float64"] else input.float()
        count = input.numel() // channels
        if count:
            mean, variance = values.mean(around), values.var(around, correction=0)
        else:  # a process whose batch is empty takes part all the same
            mean = variance = exports["", "zeros"](channels, dtype=values.dtype, device=input.device)
        own = exports["", "cat"]([mean, variance, exports["", "full"]((1,), count, dtype=values.dtype, device=input.device)])
        gathered = exports["", "empty"](size, 2 * channels + 1, dtype=values.dtype, device=input.device)
        world.collectives.all_gather_into_tensor(gathered, own, group=group)
        means, variances, counts = gathered[:, :channels], gathered[:, channels:-1], gathered[:, -1:]
        total = counts.sum()
        mean = (counts * means).sum(0) / total
        variance = (counts * (variances + (means - mean).square())).sum(0) / total
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            unbiased = variance * (total / (total - 1).clamp(min=1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
        scale = (variance + eps).rsqrt()
        ctx.save_for_backward(input, weight, mean, scale, total)
        ctx.group = group
        result = (values - _along_channels(mean, input)) * _along_channels(scale, input)
        if weight is not None:
            result = result * _along_channels(weight, input)
        if bias is not None:
            result = result + _along_channels(bias, input)
        return result.to(input.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        """Gradients of input, weight and bias; those of the parameters are this process's own."""
        input, weight, mean, scale, total = ctx.saved_tensors
        around = [each for each in range(input.dim()) if each != 1]
        values = (input if input.dtype == BY_NAME["float64"] else input.float()) - _along_channels(mean, input)
        incoming = gradient.to(values.dtype)
        sums, products = incoming.sum(around), (incoming * values).sum(around)
        to_input = None
        if ctx.needs_input_grad[0]:
            both = exports["", "cat"]([sums, products])
            world.collectives.all_reduce(both, group=ctx.group)
            all_sums, all_products = both.chunk(2)
            factor = scale if weight is None else scale * weight
            to_input = incoming - _along_channels(all_sums / total, input)
            to_input = to_input - values * _along_channels(all_products * scale.square() / total, input)
            to_input = (to_input * _along_channels(factor, input)).to(input.dtype)
        to_weight = (products * scale).to(weight.dtype) if weight is not None and ctx.needs_input_grad[1] else None
        to_bias = sums.to(weight.dtype if weight is not None else input.dtype) if ctx.needs_input_grad[2] else None
        return to_input, to_weight, to_bias, None, None, None, None, None, None

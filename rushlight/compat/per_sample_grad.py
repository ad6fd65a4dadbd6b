"""`torch.nn.utils._per_sample_grad`: gradients of single samples by one backward pass."""

from __future__ import annotations

import functools
from typing import Any

from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..core.base import TensorBase
from ..func import functional_call, vjp, vmap
from ..nn.modules.module import Module
from ..utils.trees import flatten


def call_for_per_sample_grads(module: Any, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True) -> Any:
    """A function that calls the Module; its backward gives each parameter a ``grad_sample`` with a dimension of samples in front."""
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if batch_size is not None and not isinstance(batch_size, int):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError("Batch size must be positive")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    named = {name: each for name, each in module.named_parameters() if each._requires_grad}
    for each in named.values():
        if getattr(each, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without clearing gradients."
            )

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        along = 0 if batch_first else 1
        inputs = [index for index, each in enumerate(leaves) if isinstance(each, TensorBase) and each._array.ndim > along]
        sizes = {leaves[index]._array.shape[along] for index in inputs}
        size = batch_size or (sizes.pop() if len(sizes) == 1 else None)
        if size is None:
            raise RuntimeError("When using batch_size=None, all inputs must have the same batch dimension")

        def one(tensors: dict[str, Any], *sample: Any) -> Any:
            filled = list(leaves)
            for index, each in zip(inputs, sample):
                filled[index] = each.unsqueeze(along)
            given, options = structure.unflatten(filled)
            return functional_call(module, tensors, given, options).squeeze(along)

        class PerSample(Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                ctx.save_for_backward(*tensors)
                given, options = structure.unflatten(leaves)
                return module(*given, **options)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                tensors = dict(zip(named, ctx.saved_tensors))
                samples = [leaves[index].detach() for index in inputs]

                def gradient(cotangent: Any, *sample: Any) -> Any:
                    return vjp(lambda held, *given: one(held, *given), tensors, *sample)[1](cotangent)

                with enable_grad():
                    found = vmap(gradient, in_dims=(along, *(along for _ in samples)), randomness="different")(gradients[0], *samples)
                for name, parameter in named.items():
                    per_sample = found[0][name].detach()
                    parameter.grad_sample = per_sample * size if loss_reduction == "mean" else per_sample  # type: ignore[attr-defined]
                return tuple(None for _ in named)

        return PerSample.apply(*named.values())

    return call

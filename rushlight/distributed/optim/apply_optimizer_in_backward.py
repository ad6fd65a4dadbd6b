"""Optimizers that step inside of backward: each parameter is updated as soon as its gradient is there, which is then freed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...optim.optimizer import Optimizer

__all__: list[str] = []


def _apply_optimizer_in_backward(
    optimizer_class: type[Optimizer], params: Iterable[Any], optimizer_kwargs: dict[str, Any], register_hook: bool = True
) -> None:
    """Give each parameter an optimizer of its own, which steps when the gradient has been accumulated."""
    for param in params:  # one that is given twice has two
        if not hasattr(param, "_in_backward_optimizers"):
            param._in_backward_optimizers, param._optimizer_classes, param._optimizer_kwargs = [], [], []
            if register_hook:
                param.register_post_accumulate_grad_hook(_step)
        param._optimizer_classes.append(optimizer_class)
        param._optimizer_kwargs.append(optimizer_kwargs)
        param._in_backward_optimizers.append(optimizer_class([param], **optimizer_kwargs))


def _step(param: Any) -> None:
    for optimizer in param._in_backward_optimizers:
        optimizer.step()
    param.grad = None


def _get_in_backward_optimizers(module: Any) -> list[Optimizer]:
    """The optimizers of a module's parameters."""
    return [each for param in module.parameters() for each in getattr(param, "_in_backward_optimizers", [])]

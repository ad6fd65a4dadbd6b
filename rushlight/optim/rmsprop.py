"""RMSprop."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_not_negative, check_rate


class RMSprop(ElementwiseOptimizer):
    """Steps by the gradient over the root of a running mean of its square (of its variance, if ``centered``)."""

    def __init__(
        self, params: ParamsT, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
        centered: bool = False, capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay, capturable=capturable,
            foreach=foreach, maximize=maximize, differentiable=differentiable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        entries = {"step": 0.0, "square_avg": 0.0}
        if group["momentum"] > 0:
            entries["momentum_buffer"] = 0.0
        if group["centered"]:
            entries["grad_avg"] = 0.0
        return entries

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        alpha = group["alpha"]
        return (step + 1,), (group["lr"], alpha, 1 - alpha, group["eps"], group["momentum"], group["weight_decay"])

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, square_avg: Any, *others: Any) -> None:
        lr, old, new, eps, momentum, weight_decay = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        square_avg *= old
        square_avg += new * (grad * grad)
        variance = square_avg
        if group["centered"]:
            grad_avg = others[-1]
            grad_avg += new * (grad - grad_avg)
            variance = square_avg - grad_avg * grad_avg
        change = grad / (xp.sqrt(variance) + eps)
        if group["momentum"] > 0:
            buffer = others[0]
            buffer *= momentum
            buffer += change
            change = buffer
        param -= lr * change


__all__ = ["RMSprop"]

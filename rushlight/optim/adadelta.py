"""Adadelta."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_not_negative, check_rate


class Adadelta(ElementwiseOptimizer):
    """Steps by the gradient times the root mean square of past steps over that of past gradients."""

    def __init__(
        self, params: ParamsT, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable, foreach=foreach,
            differentiable=differentiable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "square_avg": 0.0, "acc_delta": 0.0}

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        return (step + 1,), (group["lr"], group["rho"], 1 - group["rho"], group["eps"], group["weight_decay"])

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, square_avg: Any, acc_delta: Any) -> None:
        lr, old, new, eps, weight_decay = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        square_avg *= old
        square_avg += new * (grad * grad)
        delta = xp.sqrt(acc_delta + eps) / xp.sqrt(square_avg + eps) * grad
        acc_delta *= old
        acc_delta += new * (delta * delta)
        param -= lr * delta


__all__ = ["Adadelta"]

"""Adamax: Adam with the largest gradient in place of the root of the mean square."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_betas, check_not_negative, check_rate


class Adamax(ElementwiseOptimizer):
    """Steps by a running mean of the gradient over a decaying maximum of its size."""

    def __init__(
        self, params: ParamsT, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "exp_avg": 0.0, "exp_inf": 0.0}

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        step += 1
        beta1, beta2 = group["betas"]
        return (step,), (group["lr"] / (1 - beta1**step), 1 - beta1, beta2, group["eps"], group["weight_decay"])

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, exp_avg: Any, exp_inf: Any) -> None:
        step_size, new1, old2, eps, weight_decay = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        exp_avg += new1 * (grad - exp_avg)
        exp_inf[...] = largest = xp.maximum(old2 * exp_inf, xp.abs(grad) + eps)
        param -= step_size * (exp_avg / largest)


__all__ = ["Adamax"]

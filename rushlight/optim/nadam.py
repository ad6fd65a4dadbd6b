"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_betas, check_not_negative, check_rate


class NAdam(ElementwiseOptimizer):
    """Adam that looks ahead along its momentum, which grows to ``betas[0]`` over time."""

    _scalars = ("step", "mu_product")

    def __init__(
        self, params: ParamsT, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "mu_product": 1.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _plan(self, group: dict[str, Any], step: float, mu_product: float) -> Any:
        step += 1
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        mu = beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        mu_product *= mu
        return (step, mu_product), (
            lr * (1 - mu) / (1 - mu_product), lr * mu_next / (1 - mu_product * mu_next), 1 - beta1, beta2, 1 - beta2,
            1 - beta2**step, group["eps"], 1 - lr * weight_decay if group["decoupled_weight_decay"] else weight_decay,
        )  # fmt: skip

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any) -> None:
        by_gradient, by_momentum, new1, old2, new2, correction, eps, decay = numbers
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                param *= decay
            else:
                grad = decayed(grad, param, decay)
        exp_avg += new1 * (grad - exp_avg)
        exp_avg_sq *= old2
        exp_avg_sq += new2 * (grad * grad)
        denominator = xp.sqrt(exp_avg_sq / correction) + eps
        param -= by_gradient * (grad / denominator)
        param -= by_momentum * (exp_avg / denominator)


__all__ = ["NAdam"]

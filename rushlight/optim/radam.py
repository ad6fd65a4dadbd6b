"""RAdam: Adam whose adaptive rate waits until its variance is known."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_betas, check_not_negative, check_rate


class RAdam(ElementwiseOptimizer):
    """Rectified Adam: plain momentum in the first steps, then Adam with its rate scaled by how sure it is."""

    def __init__(
        self, params: ParamsT, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        step += 1
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction  # of a simple average that is as certain
        scale, adaptive = 1.0, 0.0
        if length > 5:
            certain = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            scale, adaptive = (certain * correction) ** 0.5, 1.0
        return (step,), (
            lr / (1 - beta1**step) * scale, adaptive, 1 - beta1, beta2, 1 - beta2, group["eps"],
            1 - lr * weight_decay if group["decoupled_weight_decay"] else weight_decay,
        )  # fmt: skip

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any) -> None:
        step_size, adaptive, new1, old2, new2, eps, decay = numbers
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                param *= decay
            else:
                grad = decayed(grad, param, decay)
        exp_avg += new1 * (grad - exp_avg)
        exp_avg_sq *= old2
        exp_avg_sq += new2 * (grad * grad)
        param -= step_size * (exp_avg / (xp.sqrt(exp_avg_sq) + eps) if adaptive else exp_avg)


__all__ = ["RAdam"]

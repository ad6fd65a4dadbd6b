"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed, plain_rate
from .optimizer import ParamsT, check_not_negative, check_rate


class ASGD(ElementwiseOptimizer):
    """Gradient descent with a decaying rate; ``state[param]["ax"]`` is the average of the parameter since step ``t0``."""

    _scalars = ("step", "eta", "mu")

    def __init__(
        self, params: ParamsT, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "eta": plain_rate(group), "mu": 1.0, "ax": 0.0}

    def _plan(self, group: dict[str, Any], step: float, eta: float, mu: float) -> Any:
        step += 1
        lr, lambd = plain_rate(group), group["lambd"]
        after = step, lr / (1 + lambd * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"])
        return after, (eta, 1 - lambd * eta, mu, group["weight_decay"])

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, average: Any) -> None:
        eta, decay, mu, weight_decay = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        param *= decay
        param -= eta * grad
        if mu == 1:
            average[...] = param
        else:
            average += mu * (param - average)


__all__ = ["ASGD"]

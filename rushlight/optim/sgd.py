"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_implementations, check_not_negative, check_rate


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, with momentum where it is asked for.

    ``foreach`` and ``fused`` are accepted and change nothing: there is one implementation.
    """

    _scalars = ()

    def __init__(
        self, params: ParamsT, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: Any = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
            foreach=foreach, differentiable=differentiable, fused=fused,
        ))  # fmt: skip
        check_implementations(foreach, fused, differentiable)

    def _step_group(self, group: dict[str, Any], through_ops: Any) -> None:
        if group["momentum"]:  # a buffer starts as a gradient, not as a part of one
            params = [param for param in group["params"] if param._grad is not None]
            new = [param for param in params if self.state[param].get("momentum_buffer") is None]
            if new:
                for param in new:
                    self.state[param].pop("momentum_buffer", None)
                super()._step_group({**group, "params": new, "first": True}, through_ops)
                started = set(new)
                group = {**group, "params": [param for param in params if param not in started]}
        super()._step_group(group, through_ops)

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _plan(self, group: dict[str, Any]) -> Any:
        return (), (group["lr"], group["weight_decay"], group["momentum"], 1 - group["dampening"])

    def _update_sparse(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])  # refused: the sum would be dense
        if group["momentum"]:
            entries = self.state[param]
            buffer = entries.get("momentum_buffer")
            if buffer is None:
                buffer = entries["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        param.add_(grad, alpha=-group["lr"])

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, buffer: Any = None) -> None:
        lr, weight_decay, momentum, undamped = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        if buffer is not None:
            if "first" in group:
                buffer[...] = grad
            else:
                buffer *= momentum
                buffer += undamped * grad if group["dampening"] else grad
            grad = grad + momentum * buffer if group["nesterov"] else buffer
        param -= lr * grad


__all__ = ["SGD"]

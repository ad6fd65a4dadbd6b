"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..ops.sparse.values import with_values
from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_implementations, check_not_negative, check_rate


class Adagrad(ElementwiseOptimizer):
    """Steps by the gradient over the root of the sum of all its squares so far."""

    def __init__(
        self, params: ParamsT, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
        eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        check_implementations(foreach, fused, differentiable)
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            foreach=foreach, maximize=maximize, differentiable=differentiable, fused=fused,
        ))  # fmt: skip
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(self.state[param], self._initial(group), param)

    def share_memory(self) -> None:
        """Move the state to where other processes can see it."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "sum": group["initial_accumulator_value"]}

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        step += 1
        return (step,), (group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"], group["weight_decay"])

    def _update_sparse(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        entries = self.state[param]
        (step,), (rate, eps, _) = self._plan(group, float(entries["step"]))
        entries["step"].fill_(step)
        grad = grad.coalesce()
        entries["sum"].add_(grad.pow(2))
        roots = entries["sum"].sparse_mask(grad).values().sqrt() + eps
        param.add_(with_values(grad._array, grad.values() / roots), alpha=-rate)

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, total: Any) -> None:
        lr, eps, weight_decay = numbers
        if group["weight_decay"]:
            grad = decayed(grad, param, weight_decay)
        total += grad * grad
        param -= lr * (grad / (xp.sqrt(total) + eps))


__all__ = ["Adagrad"]

"""Resilient propagation."""

from __future__ import annotations

from typing import Any

from .elementwise import ElementwiseOptimizer, plain_rate
from .optimizer import ParamsT, check_rate


class Rprop(ElementwiseOptimizer):
    """Steps by the gradient's sign; each element's step grows while the sign stays and shrinks when it turns."""

    def __init__(
        self, params: ParamsT, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50),
        *, capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize, differentiable=differentiable,
            capturable=capturable,
        ))  # fmt: skip

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0.0, "prev": 0.0, "step_size": plain_rate(group)}

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        return (step + 1,), (*group["etas"], *group["step_sizes"], 0.0)

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, prev: Any, step_size: Any) -> None:
        shrink, grow, smallest, largest, nothing = numbers
        agreement = grad * prev
        sign_changed = agreement < 0
        size = xp.where(sign_changed, step_size * shrink, xp.where(agreement > 0, step_size * grow, step_size))
        step_size[...] = size = xp.clip(size, smallest, largest)
        prev[...] = grad = xp.where(sign_changed, nothing, grad)  # after a turn, the next step neither grows nor shrinks
        param -= xp.sign(grad) * size


__all__ = ["Rprop"]

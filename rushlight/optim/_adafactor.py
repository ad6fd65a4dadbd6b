"""Adafactor: second moments of a matrix kept as one row and one column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import enable_grad, no_grad
from ..core.base import TensorBase
from ..core.dtypes import finfo
from ..ops.create.factories import zeros_like
from .elementwise import scalar_tensor
from .optimizer import Optimizer, ParamsT


class Adafactor(Optimizer):
    """Steps by the gradient over the root of its estimated square, of a size relative to the parameter's.

    For a parameter of two or more dimensions the squares are estimated from their means over rows and over columns.
    ``foreach`` is accepted and changes nothing.
    """

    def __init__(
        self, params: ParamsT, lr: Any = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, TensorBase) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(
            lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
        ))  # fmt: skip

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; a closure recomputes loss and gradients, and its loss is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(group, param, -param.grad if group["maximize"] else param.grad)
        return loss

    def _update(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[param]
        factored = grad.dim() > 1
        if not state:
            state["step"] = scalar_tensor(0.0)
            if factored:
                state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
                state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
            else:
                state["variance"] = zeros_like(grad)
        state["step"] += 1
        step, lr = float(state["step"]), float(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = finfo(param.dtype).eps if eps1 is None else eps1
        new = step ** group["beta2_decay"]
        size = max(eps2, _root_mean_square(param)) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        if factored:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(grad.square().mean(dim=-1, keepdim=True), new)
            columns.lerp_(grad.square().mean(dim=-2, keepdim=True), new)
            estimate = (rows @ columns) / rows.mean(dim=-2, keepdim=True).clamp(min=eps1)
        else:
            estimate = state["variance"].lerp_(grad.square(), new)
        update = estimate.clamp(min=eps1 * eps1).rsqrt_() * grad
        param.sub_(update, alpha=size / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(tensor: Any) -> float:
    return float(tensor.norm(2)) / tensor.numel() ** 0.5


__all__ = ["Adafactor"]

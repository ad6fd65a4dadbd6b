"""Muon: momentum made orthogonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import enable_grad, no_grad
from ..core.base import TensorBase
from ..ops.create.factories import zeros_like
from ..ops.linalg.affine import addmm
from .optimizer import Optimizer, ParamsT

_MOST_STEPS = 100


class Muon(Optimizer):
    """Steps by the matrix nearest to the momentum whose singular values are all (about) 1.

    For matrices only: the weights of hidden layers. ``adjust_lr_fn`` is ``"original"`` or ``"match_rms_adamw"``.
    """

    def __init__(
        self, params: ParamsT, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(lr, TensorBase) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(
            lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
            ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn,
        ))  # fmt: skip
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}")

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
                    self._update(group, param, param.grad)
        return loss

    def _update(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        buffer, lr = state["momentum_buffer"], float(group["lr"])
        buffer.lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        update = orthogonalize(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * max(rows, columns) ** 0.5
        else:
            ratio = max(1, rows / columns) ** 0.5
        param.mul_(1 - lr * group["weight_decay"])
        param.sub_(update.to(param.dtype), alpha=lr * ratio)


def orthogonalize(matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Push all singular values towards 1 by Newton-Schulz iterations of the fifth degree, in bfloat16."""
    if steps >= _MOST_STEPS:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = addmm(gram, gram, gram, beta=b, alpha=c)
        x = addmm(x, polynomial, x, beta=a)
    return x.T if tall else x


__all__ = ["Muon"]

"""Adam."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from .elementwise import ElementwiseOptimizer, decayed
from .optimizer import ParamsT, check_betas, check_implementations, check_not_negative, check_rate, check_tensor_rate


class Adam(ElementwiseOptimizer):
    """Steps by a running mean of the gradient over the root of one of its square.

    ``foreach``, ``fused`` and ``capturable`` are accepted and change nothing: there is one implementation.
    """

    def __init__(
        self, params: ParamsT, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        check_tensor_rate(lr, foreach, capturable)
        check_rate(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=_check_tensor_betas(betas, foreach, capturable), eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize, foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        ))  # fmt: skip
        check_implementations(foreach, fused, differentiable)

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        names = ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return dict.fromkeys(names if group["amsgrad"] else names[:3], 0.0)

    def _plan(self, group: dict[str, Any], step: float) -> Any:
        step += 1
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        return (step,), (
            lr / (1 - beta1**step), 1 - beta1, beta2, 1 - beta2, (1 - beta2**step) ** 0.5, group["eps"],
            1 - lr * weight_decay if group["decoupled_weight_decay"] else weight_decay,
        )  # fmt: skip

    @staticmethod
    def _update(
        xp: Any, group: dict[str, Any], numbers: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, largest: Any = None
    ) -> None:
        step_size, new1, old2, new2, correction, eps, decay = numbers
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                param *= decay
            else:
                grad = decayed(grad, param, decay)
        exp_avg += new1 * (grad - exp_avg)
        exp_avg_sq *= old2
        exp_avg_sq += new2 * (grad * grad)
        if largest is not None:
            largest[...] = exp_avg_sq = xp.maximum(largest, exp_avg_sq)
        param -= step_size * (exp_avg / (xp.sqrt(exp_avg_sq) / correction + eps))


def _check_tensor_betas(betas: Any, foreach: bool | None, capturable: bool) -> Any:
    """Betas may be two tensors of one element, which are kept as 0-dim tensors."""
    if all(isinstance(beta, float) for beta in betas):
        return betas
    if not all(isinstance(beta, TensorBase) for beta in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if foreach and not capturable:
            raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        if beta._array.size != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")
    return tuple(beta.reshape(()) for beta in betas)


__all__ = ["Adam"]

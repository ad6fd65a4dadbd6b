"""SparseAdam: Adam for gradients that are sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import enable_grad, no_grad
from ..core.base import TensorBase
from ..core.errors import OperationError
from ..core.sparse import SPARSE
from ..ops.create.factories import zeros_like
from ..ops.sparse.values import values_of, with_values
from .optimizer import Optimizer, ParamsT, check_betas, check_rate


class SparseAdam(Optimizer):
    """Adam in which only the elements that a sparse gradient keeps move, and only their running averages."""

    def __init__(
        self, params: ParamsT, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        if isinstance(lr, TensorBase) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        check_rate(lr)
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [([i, j], param) for i, group in enumerate(self.param_groups) for j, param in enumerate(group["params"])]
        if sparse := [place for place, param in places if param._array.__class__ in SPARSE]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complexes := [place for place, param in places if param._array.dtype.kind == "c"]:
            raise ValueError(f"Complex params at indices {complexes}: SparseAdam does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; a closure recomputes loss and gradients, and its loss is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._update(group, param)
        return loss

    def _update(self, group: dict[str, Any], param: Any) -> None:
        grad = param.grad
        if grad._array.__class__ not in SPARSE:
            raise OperationError("SparseAdam does not support dense gradients, please consider Adam instead")
        entries = self.state[param]
        if not entries:
            entries.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
        entries["step"] += 1
        kept = (-grad if group["maximize"] else grad).coalesce()
        structure, values = kept._array, kept.values()
        if not values.numel():
            return
        beta1, beta2 = group["betas"]
        first, second = entries["exp_avg"], entries["exp_avg_sq"]
        old = values_of(first, structure), values_of(second, structure)
        change = (values - old[0]) * (1 - beta1), (values * values - old[1]) * (1 - beta2)
        for buffer, each in zip((first, second), change):
            buffer.add_(with_values(structure, each))
        mean, square = change[0] + old[0], change[1] + old[1]
        corrected = 1 - beta1 ** entries["step"], 1 - beta2 ** entries["step"]
        lr = group["lr"]
        rate = (lr.reshape(()) if isinstance(lr, TensorBase) else lr) * corrected[1] ** 0.5 / corrected[0]
        param.add_(with_values(structure, -rate * (mean / (square.sqrt() + group["eps"]))))


__all__ = ["SparseAdam"]

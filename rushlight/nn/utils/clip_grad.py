"""Keeping gradients small."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ...autograd import no_grad
from ...core.base import TensorBase
from ...core.state import flags
from ...ops.linalg.norms import linalg_vector_norm
from ...ops.shape.concat import stack
from ...tensor.construct import tensor


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


@no_grad()
def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """The norm of all tensors as if they were one vector."""
    tensors, norm_type = _listed(tensors), float(norm_type)
    if not tensors:
        return tensor(0.0)
    norms = [linalg_vector_norm(each, norm_type) for each in tensors]
    total = linalg_vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. With "
            "`error_if_nonfinite=False` the gradients are scaled by it all the same."
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the gradients down, in place, so that a total norm that is known becomes at most ``max_norm``."""
    gradients = [each.grad for each in _listed(parameters) if each.grad is not None]
    factor: Any
    if flags.special or total_norm.is_meta:  # a capture must not depend on the number
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    else:
        factor = float(max_norm) / (total_norm.item() + 1e-6)
        if factor >= 1.0:
            return
    for gradient in gradients:
        gradient.mul_(factor)


@no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Scale the gradients down, in place, so that their norm as one vector is at most ``max_norm``; return what it was."""
    generator = isinstance(parameters, Iterator)
    parameters, max_norm = _listed(parameters), float(max_norm)
    if generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    gradients = [each.grad for each in parameters if each.grad is not None]
    total_norm = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The old name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of the gradients between ``-clip_value`` and ``clip_value``, in place."""
    clip_value = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(-clip_value, clip_value)


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

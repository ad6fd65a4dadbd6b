"""``requires_grad``: whether operations on a tensor are recorded, and when that may be changed."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import GradientError
from ..core.state import state


def refuse_inside_transforms() -> None:
    """Raise inside of a function that ``func`` transforms: what is differentiated there is for the transforms to say."""
    if state.transforms:
        raise GradientError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function "
            "being transformed by a functorch transform. This is unsupported, please attempt to use the transforms of torch.func (e.g. "
            "grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed instead."
        )


def set_requires_grad(tensor: Any, requires_grad: bool) -> None:
    """Switch recording on or off for a leaf."""
    if not isinstance(requires_grad, (bool, int)):
        raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and BY_NUMPY[tensor._array.dtype].category < FLOATING:
        raise GradientError("only Tensors of floating point and complex dtype can require gradients")
    if tensor._grad_fn is not None and not requires_grad:
        raise GradientError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
            "that doesn't require differentiation use var_no_grad = var.detach()."
        )
    if requires_grad and tensor._inference and not state.inference:
        raise GradientError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    tensor._requires_grad = bool(requires_grad)

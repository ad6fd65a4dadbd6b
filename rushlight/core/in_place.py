"""Which tensors may be written to in place: not inference tensors elsewhere, not leaves, not views whose history a write would make wrong."""

from __future__ import annotations

from .base import TensorBase, View
from .errors import GradientError, InPlaceError
from .node import VIEW_MODES
from .state import state


def check_inference(target: TensorBase) -> None:
    """Refuse to change an inference tensor outside of inference mode."""
    if target._inference and not state.inference:
        raise GradientError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update."
        )


def check_in_place(target: TensorBase) -> None:
    """Refuse a recorded in-place write that would make gradients wrong."""
    view = target._view
    if view is not None:
        _check_view(target, view)
        if view.base._requires_grad and view.base._grad_fn is None:
            raise InPlaceError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target._requires_grad and target._grad_fn is None:
        raise InPlaceError("a leaf Variable that requires grad is being used in an in-place operation.")


def _check_view(target: TensorBase, view: View) -> None:
    if view.creation == "multiple":
        raise InPlaceError(
            f"Output {target._output_index} of {target._grad_fn.name() if target._grad_fn else 'the operation'} is a view and "
            "is being modified inplace. This view is the output of a function that returns multiple views. Such functions "
            "do not allow the output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one."
        )
    if view.creation in VIEW_MODES:
        mode = VIEW_MODES[view.creation]
        raise InPlaceError(
            f"A view was created in {mode} mode and is being modified inplace with grad mode enabled. Given that this use "
            "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
            f"inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside "
            "(if you want the inplace to be tracked)."
        )
    if view.creation == "function":
        raise InPlaceError(
            f"Output {target._output_index} of {'a custom Function' if target._grad_fn is None else target._grad_fn.name()} is a view and is being "
            "modified inplace. This view was created inside a custom "
            "Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override "
            "the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
            "forbidden. You can fix this by cloning the output of the custom Function."
        )

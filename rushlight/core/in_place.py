"""Checks of in-place writes: to inference tensors outside of inference mode, to leaves, through views whose history would be wrong, and to memory
that several elements share or that operands overlap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .base import Spec, TensorBase, View
from .declare import Op
from .devices import device_type_of
from .errors import GradientError, InPlaceError, OverlapError
from .lazy_views import memory_of
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
        if view.base._grad_fn is None and (target._requires_grad or view.base._requires_grad):  # also of a view that was made a leaf itself
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


def overlaps_itself(array: Any) -> bool:
    """Whether elements certainly share memory: a dimension larger than 1 with stride 0."""
    return 0 in array.strides and array.size > 0 and any(not stride and size > 1 for stride, size in zip(array.strides, array.shape))


def refuse_shared(name: str, allowed: bool | str = False) -> None:
    """Refuse an in-place op where elements share memory, unless it is allowed; ``allowed`` may be what a warning names (``Op.one_value``)."""
    if not allowed:
        raise OverlapError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if isinstance(allowed, str):
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            f"This also applies to advanced indexing e.g. {allowed}",
            UserWarning,
            stacklevel=5,
        )


def check_writable(op: Op, args: tuple[Any, ...]) -> None:
    """Refuse to write where elements share memory, or where an input partly overlaps the target."""
    target = args[0]
    if target._inference:
        check_inference(target)
    array = target._array
    if array.__class__ is Spec:
        return
    if overlaps_itself(array):
        refuse_shared(op.name, op.functional is not None and op.functional.one_value)
    if array.__class__ is np.ndarray and not array.flags.writeable:
        raise OverlapError(f"{op.public_name}(): the tensor's memory is read-only; clone() it before writing to it")
    if op.functional is not None and op.functional.apart:
        check_apart(target, [each for position, _ in op.tensor_positions[1:] for each in _tensors(args[position])])
    if target._storage is not None:
        check_partial_overlap(target, [args[position] for position, _ in op.tensor_positions[1:]])


def _tensors(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def check_apart(target: TensorBase, others: list[Any]) -> None:
    """Refuse to write at indices given by an operand that shares the target's own memory."""
    for other in others:
        shared = isinstance(other, TensorBase) and (other is target or (other._storage is not None and other._storage is target._storage))
        if shared and not isinstance(other._array, Spec):
            mine, theirs = memory_of(target._array), memory_of(other._array)
            if mine.size and theirs.size and is_dense(mine) and is_dense(theirs) and device_type_of(mine).shares_memory(mine, theirs):
                raise OverlapError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )


def check_partial_overlap(target: TensorBase, others: list[Any]) -> None:
    """Refuse to write where an operand has some of the same elements, but not just the same."""
    array, storage = target._array, target._storage
    if not is_dense(array):
        return
    for other in others:
        if (
            isinstance(other, TensorBase)
            and other._storage is storage
            and is_dense(other._array)
            and not same_place(array, other._array)
            and device_type_of(memory_of(array)).shares_memory(memory_of(array), memory_of(other._array))
        ):
            raise OverlapError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def is_dense(array: Any) -> bool:
    """Whether the elements fill a block of memory without gaps."""
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def same_place(a: Any, b: Any) -> bool:
    """Whether two arrays are the same elements of the same memory."""
    a, b = memory_of(a), memory_of(b)
    home = device_type_of(a)
    return a.shape == b.shape and a.strides == b.strides and home is device_type_of(b) and home.address(a) == home.address(b)

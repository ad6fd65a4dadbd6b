"""Which writes are refused because of the memory they would touch: elements that share it, or operands that overlap with the target."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .base import Spec, TensorBase
from .declare import Op
from .devices import device_type_of
from .errors import OverlapError
from .in_place import check_inference
from .lazy_views import memory_of


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
    """Refuse to write at places that an operand names where that operand lies in the target's own memory, were it the target itself."""
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

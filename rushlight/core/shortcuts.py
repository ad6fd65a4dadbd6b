"""Short ways of calls on the one accelerator there is: functions of its own that gradient rules call without dispatch, and writes in place."""

from __future__ import annotations

from typing import Any

from .alone_calls import PLAIN_NUMBERS
from .base import TensorBase, make, storage_of
from .declare import Op
from .devices import alone
from .node import refresh
from .state import flags, state


def shortcut(name: str, *operands: Any) -> Any:
    """What a function of the one accelerator's own makes of tensors, without dispatch; None where there is none, or a mode is on, or calls are recorded."""
    kind = alone.array_type
    if flags.special or state.grad_enabled or state.inference:
        return None
    function = alone.kind.shortcuts.get(name)
    if function is None:
        return None
    values = []
    for each in operands:
        if isinstance(each, TensorBase):
            if not isinstance(each._array, kind):
                return None
            if each._storage is not None and each._view is not None:
                refresh(each)
            each = each._array
        values.append(each)
    made = function(*values)
    return None if made is NotImplemented else make(made)


def write_alone(op: Op, target: Any, args: tuple[Any, ...]) -> bool:
    """Write to a dense tensor of the one accelerator there is by its own kernel, unrecorded; False leaves the call to the general path."""
    if target._requires_grad or target._view is not None or target._inference or op.in_place_kernel is not None:
        return False
    kind, array = alone.array_type, target._array
    write = alone.writers.get(op.name)
    if write is not None:
        other = args[1]
        if other.__class__ is float or other.__class__ is int:
            done = write(array, other, args)
        elif isinstance(other, TensorBase) and not other._requires_grad and (other._storage is None or other is target):
            done = write(array, other._array, args)
        else:
            done = False
        if done:
            (target._storage or storage_of(target)).version += 1
            return True
    into = getattr(alone.kind.kernel_for(op), "into", None)
    if into is None:
        return False
    values = list(args)
    values[0] = array
    for position, _ in op.tensor_positions[1:]:
        value = args[position]
        if isinstance(value, TensorBase):
            if value._array.__class__ is not kind or value._requires_grad or value._storage is not None and value is not target:
                return False
            values[position] = value._array
        elif value.__class__ not in PLAIN_NUMBERS:
            return False
    if not array.flags.c_contiguous or not into(array, values):
        return False
    (target._storage or storage_of(target)).version += 1
    return True

"""Functions of the one accelerator there is that gradient rules call on arrays, without dispatch."""

from __future__ import annotations

from typing import Any

from .base import TensorBase, make
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
            if each._array.__class__ is not kind:
                return None
            if each._storage is not None and each._view is not None:
                refresh(each)
            each = each._array
        values.append(each)
    made = function(*values)
    return None if made is NotImplemented else make(made)

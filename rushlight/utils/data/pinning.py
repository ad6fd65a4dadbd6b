"""Batches in page-locked memory: what ``DataLoader(pin_memory=True)`` gives where there is an accelerator."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ...core.base import TensorBase


def pinned(data: Any) -> Any:
    """The data with their tensors pinned: in containers too, and in objects that have a method ``pin_memory``."""
    if isinstance(data, TensorBase) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        made = {key: pinned(value) for key, value in data.items()}
        if not isinstance(data, MutableMapping):
            return made
        twin = copy.copy(data)
        twin.update(made)
        return twin
    if isinstance(data, tuple):
        return type(data)(*map(pinned, data)) if hasattr(data, "_fields") else type(data)(map(pinned, data))
    if isinstance(data, Sequence):
        if not isinstance(data, MutableSequence):
            return [pinned(each) for each in data]
        clone = copy.copy(data)
        for index, each in enumerate(data):
            clone[index] = pinned(each)
        return clone
    return data

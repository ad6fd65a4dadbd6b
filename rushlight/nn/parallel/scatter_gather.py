"""Scatter of batches to several devices, and gather of their results."""

from __future__ import annotations

from typing import Any

from ...core.declare import exports
from ...tensor import Tensor

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Containers of tensors as a list, with the parts of each tensor for each device; what is no tensor is repeated."""
    count = len(target_gpus)

    def parts(value: Any) -> list[Any]:
        if isinstance(value, Tensor):
            return [part.to(device) for part, device in zip(value.chunk(count, dim), target_gpus)]
        if is_namedtuple(value):
            return [type(value)(*each) for each in zip(*map(parts, value))]
        if isinstance(value, tuple) and value:
            return list(zip(*map(parts, value)))
        if isinstance(value, list) and value:
            return [list(each) for each in zip(*map(parts, value))]
        if isinstance(value, dict) and value:
            return [type(value)(each) for each in zip(*map(parts, value.items()))]
        return [value for _ in target_gpus]

    return parts(inputs)


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0) -> tuple[Any, Any]:
    """Positional and keyword arguments in parts; the shorter list is filled up."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    positional += [()] * (len(named) - len(positional))
    named += [{}] * (len(positional) - len(named))
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The gathered results of several devices: tensors are concatenated along a dimension."""
    first = outputs[0]
    if isinstance(first, Tensor):
        moved = [each.to(target_device) for each in outputs]
        return exports["", "stack"](moved) if first.dim() == 0 else exports["", "cat"](moved, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(each) == len(first) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    if is_namedtuple(first):
        return type(first)._make(gather(each, target_device, dim) for each in zip(*outputs))
    return type(first)(gather(each, target_device, dim) for each in zip(*outputs))

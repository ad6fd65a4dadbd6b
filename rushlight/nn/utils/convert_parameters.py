"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.base import TensorBase
from ...ops.shape.concat import cat


def _check_same_device(parameters: list[Any]) -> None:
    if len({each.device for each in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters, flattened and joined; gradients flow through it."""
    parameters = list(parameters)
    _check_same_device(parameters)
    return cat([each.reshape(-1) for each in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make each parameter a view of its part of a vector."""
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_same_device(parameters)
    position = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[position : position + count].view_as(parameter).data  # type: ignore[index]
        position += count


__all__ = ["parameters_to_vector", "vector_to_parameters"]

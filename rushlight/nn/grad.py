"""Gradients of convolutions as functions of their own."""

from __future__ import annotations

from typing import Any

from ..autograd import enable_grad, grad, is_grad_enabled
from ..ops.create.factories import zeros
from . import functional as F


def _gradient(
    function: Any, wanted: int, values: list[Any], grad_output: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of a convolution with respect to its input (0) or weight (1), whose values do not matter for it."""
    again = is_grad_enabled() and any(each.requires_grad for each in (*values, grad_output))
    values[wanted] = values[wanted].detach().requires_grad_()
    with enable_grad():
        output = function(*values, None, stride, padding, dilation, groups)
    return grad(output, values[wanted], grad_output, create_graph=again)[0]


def _of_input(function: Any, size: Any, weight: Any, *rest: Any) -> Any:
    return _gradient(function, 0, [zeros(tuple(size), dtype=weight.dtype, device=weight.device), weight], *rest)


def _of_weight(function: Any, input: Any, size: Any, *rest: Any) -> Any:
    return _gradient(function, 1, [input, zeros(tuple(size), dtype=input.dtype, device=input.device)], *rest)


def conv1d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv1d`` with respect to its input."""
    return _of_input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv1d`` with respect to its weight."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv2d`` with respect to its input."""
    return _of_input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv2d`` with respect to its weight."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv3d`` with respect to its input."""
    return _of_input(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of ``conv3d`` with respect to its weight."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)


__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

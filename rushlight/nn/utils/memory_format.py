"""The memory format of convolutions' weights."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d, _ConvNd


def _convert(module: Any, memory_format: Any, kinds: tuple[type[_ConvNd], ...]) -> Any:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 2-d convolutions to a memory format."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 3-d convolutions to a memory format."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

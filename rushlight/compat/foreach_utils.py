"""``torch.utils._foreach_utils``: how lists of tensors are grouped for ``_foreach`` functions."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..tensor import Tensor

Indices: TypeAlias = list[int]
TensorListList: TypeAlias = list[list[Tensor | None]]
_foreach_supported_types = [Tensor]


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Lists of tensors split by the device and dtype of the first list's tensors, and where each tensor was."""
    found: dict[Any, Any] = {}
    for index, first in enumerate(tensorlistlist[0]):
        key = None if first is None else (first.device, first.dtype)
        if key is None:
            raise RuntimeError("the first list of tensors must not have a None")
        lists, places = found.setdefault(key, ([[] for _ in tensorlistlist], []))
        for target, source in zip(lists, tensorlistlist):
            if source:
                target.append(source[index])
        if with_indices:
            places.append(index)
    return found


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices whose ``_foreach`` functions are one kernel: none here is."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices with fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: Any) -> bool:
    """Whether ``_foreach`` functions run on a device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    """Whether ``_foreach`` functions take these tensors."""
    return _device_has_foreach_support(device) and all(each is None or type(each) in _foreach_supported_types for each in tensors)

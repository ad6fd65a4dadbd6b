"""Private names of `torch.utils.checkpoint`."""

from __future__ import annotations

from typing import Any

from ..streams import get_device_module
from ..tensor import Tensor
from ..utils.selective_checkpoint import SAC_IGNORED_OPS, CheckpointPolicy, DefaultDeviceType
from ..utils.selective_checkpoint import _Kept as _VersionWrapper


def _policy_from_bool(b: bool) -> CheckpointPolicy:
    """The policy that a bool stands for."""
    return CheckpointPolicy.MUST_SAVE if b else CheckpointPolicy.PREFER_RECOMPUTE


def _infer_device_type(*args: Any) -> str:
    """The kind of device that the arguments are on, if it is not the CPU."""
    kinds = [each.device.type for each in args if isinstance(each, Tensor) and each.device.type != "cpu"]
    return kinds[0] if kinds else DefaultDeviceType.get_device_type()


def _get_device_module(device: str = "cuda") -> Any:
    """The module of a kind of devices."""
    return get_device_module(device)


__all__ = ["SAC_IGNORED_OPS", "_VersionWrapper"]

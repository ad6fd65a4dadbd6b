"""`torch.utils._device`: the mode that puts new tensors on a device, and which functions make tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.declare import table
from ..core.devices import CPU, as_device, default
from ..core.missing import missing
from ..overrides import TorchFunctionMode
from ..serialization import load
from ..tensor.construct import as_tensor, tensor

_missing = missing("rushlight.utils._device")


def __getattr__(name: str) -> Any:
    if name == "CURRENT_DEVICE":
        return None if default.device is CPU else default.device
    return _missing(name)


@functools.cache
def _device_constructors() -> set[Any]:
    """The functions that make tensors, and take a device."""
    made = (
        op.call
        for op in table.values()
        if op.public_name and not op.tensor_positions and any(each.name == "device" for each in op.parameters)
    )
    return {load, tensor, as_tensor, *made}


class DeviceContext(TorchFunctionMode):
    """A mode in which functions that make tensors put them on a device, unless the call names another."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.device = as_device(device)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose new tensors are on a device."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with as_device(device):
            return func(*args, **kwargs)

    return wrapped


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function's new tensors are on a device."""
    return lambda func: device_decorator(device, func)

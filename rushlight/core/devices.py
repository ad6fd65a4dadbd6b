"""Devices: where a tensor's elements live."""

from __future__ import annotations

from typing import Any

_KINDS = ("cpu", "cuda", "meta", "mps", "xpu", "mkldnn", "hip", "xla")


class device:
    """A place for tensors, such as ``device("cpu")`` or ``device("cuda", 0)``; also a context that sets the default."""

    __slots__ = ("index", "type", "_entered")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        elif ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in _KINDS:
            raise RuntimeError(f"Expected one of cpu, cuda, meta device type at start of device string: {type}")
        self.type = type
        self.index = index
        self._entered: list[Any] = []

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index) if self.index is not None else (self.type,))

    def __enter__(self) -> device:
        self._entered.append(default.device)
        default.device = self
        return self

    def __exit__(self, *exception: Any) -> None:
        default.device = self._entered.pop()


CPU = device("cpu")
META = device("meta")


class _Default:
    __slots__ = ("device",)

    def __init__(self) -> None:
        self.device = CPU


default = _Default()


def as_device(value: Any) -> device:
    """A device from what a user may pass for one; None is the default device."""
    if value is None:
        return default.device
    return value if isinstance(value, device) else device(value)


def get_default_device() -> device:
    """Where factory functions put tensors when no device is named."""
    return default.device


def set_default_device(device: Any) -> None:
    """Set where factory functions put tensors when no device is named."""
    default.device = as_device(device if device is not None else CPU)

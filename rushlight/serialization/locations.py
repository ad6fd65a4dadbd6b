"""Locations of storages: the tag that a file has for each, and the storage made for a tag when the file is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import Storage
from ..core.devices import META, accelerator, available, device, device_types, on_device
from ..core.errors import ArgumentError, DeviceError
from ..tensor.storage import TypedStorage, UntypedStorage

Tagger = Callable[[Any], "str | None"]
Deserializer = Callable[[Any, str], Any]
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register a location for files: ``tagger(storage)`` names it, ``deserializer(storage, tag)`` moves a storage there.

    Both return None for locations that are not theirs; lower priorities are asked first.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda each: each[0])


def location_tag(storage: Any) -> str:
    """The tag of the location where a storage is."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise DeviceError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage moved to the location of a tag."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise DeviceError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})")


def meta_storage(size: int) -> UntypedStorage:
    """A storage of so many bytes on the meta device."""
    return UntypedStorage(size, device=META)


def _tag(storage: Any) -> str | None:
    """The tag of a storage on a registered kind of device: the name of the device."""
    return str(storage.device) if storage.device.type in device_types else None


def _restore(storage: Any, location: str) -> Any:
    """A storage on the device that a tag names, if its kind is registered."""
    if location == "meta":
        return meta_storage(storage.nbytes())
    kind = location.partition(":")[0]
    if kind not in device_types and (kind != "cuda" or accelerator() is None):
        return None
    place = available(location)
    return storage if storage.device == place else UntypedStorage(Storage(on_device(storage._bytes, place)))


def validate_cuda_device(location: Any) -> int:
    """Raise: no CUDA device is registered."""
    raise DeviceError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
        "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    )


def _restore_cuda(storage: Any, location: str) -> Any:
    return validate_cuda_device(location) if location.startswith("cuda") else None


register_package(10, _tag, _restore)
register_package(20, lambda storage: None, _restore_cuda)


def restorer(map_location: Any) -> Deserializer:
    """The function that moves storages to the locations given by ``map_location``."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        place = map_location.decode("ascii") if isinstance(map_location, bytes) else map_location
        return lambda storage, location: default_restore_location(storage, place)
    if isinstance(map_location, device):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise ArgumentError(f"map_location must be a device, a string, a dict or a function, not {type(map_location).__name__}")

    def restore(storage: Any, location: str) -> Any:
        found = map_location(storage, location)
        if found is None:
            return default_restore_location(storage, location)
        if isinstance(found, TypedStorage):
            return found.untyped()
        if not isinstance(found, UntypedStorage):
            raise ArgumentError(f"map_location returned {type(found).__name__}, not a storage or None")
        return found

    return restore


def needs_no_data(map_location: Any, location: str) -> bool:
    """Whether a storage is loaded to the meta device, so that its data are not read."""
    if isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif isinstance(map_location, (str, device)):
        location = str(map_location)
    elif map_location is not None:
        return False
    return location == "meta"

"""Where storages are: the tag that a file gives each, and the storage that a tag asks for when the file is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import Spec, Storage
from ..core.devices import META, device
from ..core.dtypes import uint8
from ..core.errors import ArgumentError, DeviceError
from ..tensor.storage import TypedStorage, UntypedStorage

Tagger = Callable[[Any], "str | None"]
Deserializer = Callable[[Any, str], Any]
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teach files a new place: ``tagger(storage)`` names it, ``deserializer(storage, tag)`` brings a storage there.

    Both return None for places that are not theirs; lower priorities are asked first.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda each: each[0])


def location_tag(storage: Any) -> str:
    """The name of the place where a storage is."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise DeviceError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage brought to the place of this name."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise DeviceError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})")


def meta_storage(size: int) -> UntypedStorage:
    """A storage of so many bytes without data."""
    return UntypedStorage(Storage(Spec((size,), uint8.numpy)))


def _tag(storage: Any) -> str:
    return str(storage.device)


def _restore_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _restore_meta(storage: Any, location: str) -> Any:
    return meta_storage(storage.nbytes()) if location == "meta" else None


def validate_cuda_device(location: Any) -> int:
    """Raise: there are no CUDA devices for tensors here."""
    raise DeviceError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
        "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    )


def _restore_cuda(storage: Any, location: str) -> Any:
    return validate_cuda_device(location) if location.startswith("cuda") else None


register_package(10, lambda storage: "cpu" if _tag(storage) == "cpu" else None, _restore_cpu)
register_package(20, lambda storage: None, _restore_cuda)
register_package(30, lambda storage: "meta" if storage.device == META else None, _restore_meta)


def restorer(map_location: Any) -> Deserializer:
    """What ``map_location`` says about a storage and its tag."""
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
    """Whether a storage goes to the meta device, so that its data need not be read."""
    if isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif isinstance(map_location, (str, device)):
        location = str(map_location)
    elif map_location is not None:
        return False
    return location == "meta"

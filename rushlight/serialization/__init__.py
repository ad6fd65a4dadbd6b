"""Checkpoints: ``save`` and ``load`` of objects with tensors, in PyTorch's file formats.

In: objects and files.  Out: files that PyTorch reads, and objects; a file never runs code that was not registered as safe.  Read
``saving.py`` first, then ``loading.py`` and ``unpickler.py``.

>>> import io, rushlight
>>> file = io.BytesIO()
>>> rushlight.save({"weight": rushlight.ones(2)}, file)
>>> _ = file.seek(0)
>>> rushlight.load(file)
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any, TypeAlias

from ..core.devices import device
from ..core.missing import missing
from ..tensor.legacy import TENSOR_TYPES
from ..tensor.storage import TypedStorage, UntypedStorage
from .loading import get_unsafe_globals_in_checkpoint, load
from .locations import default_restore_location, location_tag, register_package, validate_cuda_device
from .options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import DEFAULT_PROTOCOL, MAGIC_NUMBER, PROTOCOL_VERSION, save

FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]
STORAGE: TypeAlias = TypedStorage | UntypedStorage

StorageType = Any
__all__ = [
    "DEFAULT_PROTOCOL", "MAGIC_NUMBER", "MAP_LOCATION", "PROTOCOL_VERSION", "LoadEndianness", "SourceChangeWarning", "add_safe_globals",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag",
    "normalize_storage_type", "register_package", "safe_globals", "save", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data", "storage_to_tensor_type", "validate_cuda_device",
]  # fmt: skip


# What `load(map_location=...)` takes, as annotations name it.
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None


class SourceChangeWarning(Warning):
    """The code of a class has changed since an object of it was saved.  Kept as a name: files no longer hold code."""


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages by which files know a storage class."""
    return storage_type


def storage_to_tensor_type(storage: Any) -> Any:
    """The tensor type, such as ``FloatTensor``, that goes with a storage."""
    return TENSOR_TYPES[storage.pickle_storage_type().replace("Storage", "Tensor")]


def check_module_version_greater_or_equal(module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True) -> bool:
    """Whether a module's version is at least another."""
    try:
        found = tuple(type(wanted)(part) for wanted, part in zip(req_version_tuple, module.__version__.split(".")))
    except (AttributeError, ValueError) as error:
        if error_if_malformed:
            raise RuntimeError(
                f"'{module.__name__}' module version string is malformed '{getattr(module, '__version__', None)}' and cannot be compared "
                f"with tuple {req_version_tuple}"
            ) from error
        return True
    return found >= req_version_tuple


def validate_hpu_device(location: Any) -> int:
    """The index of a Habana device: there is none."""
    raise RuntimeError("Attempting to deserialize object on a HPU device, but there is none here: use map_location=torch.device('cpu')")


__getattr__ = missing(__name__)

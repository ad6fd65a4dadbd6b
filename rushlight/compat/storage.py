"""`torch.storage`: the classes of storages where PyTorch has them."""

from __future__ import annotations

import io
from typing import Any

from ..core.missing import missing
from ..serialization import load
from ..tensor.storage import STORAGE_TYPES, TypedStorage, UntypedStorage

__getattr__ = missing("rushlight.storage")
_StorageBase = UntypedStorage
StorageBase = UntypedStorage
_LegacyStorage = TypedStorage


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The names of the classes of storages, by dtype."""
    return {kind.dtype: name for name, kind in STORAGE_TYPES.items()}


def _storage_type_to_dtype_map() -> dict[str, Any]:
    """The dtypes of storages, by the names of their classes."""
    return {name: kind.dtype for name, kind in STORAGE_TYPES.items()}


def _load_from_bytes(b: bytes) -> Any:
    """What plain pickles of PyTorch's storages name."""
    return load(io.BytesIO(b), weights_only=False)

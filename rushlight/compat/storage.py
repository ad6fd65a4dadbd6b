"""`torch.storage`: the classes of storages where PyTorch has them."""

from __future__ import annotations

import io
from typing import Any

from ..core.missing import missing
from ..serialization import load
from ..tensor.storage import TypedStorage, UntypedStorage

__getattr__ = missing("rushlight.storage")
_StorageBase = UntypedStorage
StorageBase = UntypedStorage
_LegacyStorage = TypedStorage


def _load_from_bytes(b: bytes) -> Any:
    """What plain pickles of PyTorch's storages name."""
    return load(io.BytesIO(b), weights_only=False)

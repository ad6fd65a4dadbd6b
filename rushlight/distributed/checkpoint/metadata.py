"""The metadata of a checkpoint: for each name a tensor in chunks, or an object; and the location of each chunk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.missing import missing

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]
__getattr__ = missing(__name__)


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: its offsets and its shape."""

    offsets: Any
    sizes: Any


@dataclass
class TensorProperties:
    """The dtype of a tensor."""

    dtype: Any = None
    requires_grad: bool = False

    def __setstate__(self, state: Any) -> None:
        self.dtype, _, self.requires_grad, *_ = state


@dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its shape and its chunks."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object."""


@dataclass(frozen=True)
class MetadataIndex:
    """The index of a chunk: the name of its tensor, and its offsets."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)


@dataclass
class StorageMeta:
    """Where a checkpoint is, and which save it is of."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StoredAt:
    """The location of bytes: a file of the checkpoint, the offset, and the length."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None  # how they were transformed: compressed, for instance


@dataclass
class Metadata:
    """The whole metadata: names, locations of chunks, and how names were made of nested containers."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: dict[MetadataIndex, StoredAt] = field(default_factory=dict)
    storage_meta: StorageMeta | None = None
    version: str | None = None

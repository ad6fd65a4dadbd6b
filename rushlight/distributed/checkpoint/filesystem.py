"""Checkpoints in folders: a file of data from each process, and ``.metadata``, whose appearance makes the checkpoint whole.

A save writes files with new names.  When all processes have, the first one writes the metadata beside the old, and renames it into its place: until
that moment the folder is the checkpoint before, whatever happens to a process.  Files that no metadata names are removed then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.dtypes import BY_NAME
from ...core.errors import NotSupported
from ...core.missing import missing
from ...core.size import Size
from ...tensor.construct import frombuffer
from ._items import tensor_bytes
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    StoredAt,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import WriteItem

__all__ = ["FileSystemReader", "FileSystemWriter", "StorageReader", "StorageWriter"]
__getattr__ = missing(__name__)

METADATA = ".metadata"
FORMAT = "rushlight 1"


class StorageWriter:
    """Where checkpoints are written: subclasses have ``write_items`` and ``finish``."""


class StorageReader:
    """Where checkpoints are read from: subclasses have ``read_metadata`` and ``read``."""


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint to a folder."""

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True, _extensions: Any = None,
        serialization_format: Any = None,
    ) -> None:  # fmt: skip
        if _extensions:
            raise NotSupported("FileSystemWriter(_extensions=...): data are written as they are")
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Take another folder."""
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def prepare(self) -> None:
        """Make the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")

    def write_items(self, rank: int, save_id: str, items: Iterable[tuple[WriteItem, Any]]) -> dict[MetadataIndex, StoredAt]:
        """Write this process's file; where each item lies."""
        name, places = f"__{rank}_{save_id}.distcp", {}
        with open(self.path / name, "wb") as file:
            for item, value in items:
                start = file.tell()
                file.write(value if isinstance(value, bytes) else tensor_bytes(value))
                places[MetadataIndex(item.fqn, item.offsets)] = StoredAt(name, start, file.tell() - start)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return places

    def finish(self, metadata: Metadata) -> None:
        """Put the metadata in their place, and remove the files of saves before."""
        text = json.dumps(_as_json(metadata))
        beside = self.path / f"{METADATA}.tmp"
        with open(beside, "w", encoding="utf8") as file:
            file.write(text)
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        os.replace(beside, self.path / METADATA)
        if self.sync_files and hasattr(os, "O_DIRECTORY"):
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        named = {each.relative_path for each in metadata.storage_data.values()}
        for old in self.path.glob("__*.distcp"):
            if old.name not in named:
                old.unlink(missing_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name is that of a folder that there is, or could be."""
        return "://" not in str(checkpoint_id)


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.path = Path(path)
        self._files: dict[str, Any] = {}

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Take another folder."""
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def read_metadata(self) -> Metadata:
        """What the checkpoint holds."""
        with open(self.path / METADATA, "rb") as file:
            data = file.read()
        if not data.startswith(b"{"):
            raise NotSupported(
                f"{self.path / METADATA} is no metadata of rushlight's: checkpoints in parts that PyTorch has written are not read"
            )
        return _from_json(json.loads(data))

    def read(self, place: StoredAt) -> bytearray:
        """The bytes of a chunk or an object."""
        with open(self.path / place.relative_path, "rb") as file:
            file.seek(place.offset)
            data = bytearray(place.length)
            if file.readinto(data) != place.length:
                raise RuntimeError(f"{self.path / place.relative_path} is shorter than its metadata say: the checkpoint is damaged")
        return data

    def read_chunk(self, place: StoredAt, sizes: Any, dtype: Any) -> Any:
        """A chunk of a tensor."""
        data = self.read(place)
        if not data:
            return frombuffer(bytearray(dtype.itemsize), dtype=dtype)[:0].reshape(tuple(sizes))
        return frombuffer(data, dtype=dtype).reshape(tuple(sizes))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name is that of a folder."""
        return "://" not in str(checkpoint_id)


def _as_json(metadata: Metadata) -> dict[str, Any]:
    """Metadata as text: readable, and without code."""
    entries: dict[str, Any] = {}
    for name, each in metadata.state_dict_metadata.items():
        if isinstance(each, TensorStorageMetadata):
            chunks = []
            for chunk in each.chunks:
                place = metadata.storage_data[MetadataIndex(name, tuple(chunk.offsets))]
                chunks.append([list(chunk.offsets), list(chunk.sizes), place.relative_path, place.offset, place.length])
            entries[name] = {"dtype": str(each.properties.dtype).partition(".")[2], "size": list(each.size), "chunks": chunks}
        else:
            place = metadata.storage_data[MetadataIndex(name)]
            entries[name] = {"object": [place.relative_path, place.offset, place.length]}
    save_id = metadata.storage_meta.save_id if metadata.storage_meta else None
    return {
        "format": FORMAT,
        "save_id": save_id,
        "paths": {name: list(path) for name, path in metadata.planner_data.items()},
        "entries": entries,
    }


def _from_json(data: dict[str, Any]) -> Metadata:
    if data.get("format") != FORMAT:
        raise NotSupported(f"a checkpoint of the format {data.get('format')!r}: this version reads {FORMAT!r}")
    entries: dict[str, Any] = {}
    places: dict[MetadataIndex, StoredAt] = {}
    for name, each in data["entries"].items():
        if "object" in each:
            entries[name] = BytesStorageMetadata()
            places[MetadataIndex(name)] = StoredAt(*each["object"])
            continue
        chunks = []
        for offsets, sizes, *place in each["chunks"]:
            chunks.append(ChunkStorageMetadata(Size(offsets), Size(sizes)))
            places[MetadataIndex(name, tuple(offsets))] = StoredAt(*place)
        entries[name] = TensorStorageMetadata(TensorProperties(BY_NAME[each["dtype"]]), Size(each["size"]), chunks)
    paths = {name: tuple(path) for name, path in data["paths"].items()}
    return Metadata(entries, paths, places, StorageMeta(save_id=data["save_id"]), FORMAT)

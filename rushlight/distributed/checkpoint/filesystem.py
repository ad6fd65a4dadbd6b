"""Checkpoints in folders, in PyTorch's format: a file of data from each process, and ``.metadata``, whose appearance makes the checkpoint whole.

In a file of data every chunk and every object is what ``torch.save`` makes of it; the metadata have their offsets.

A save writes files with new names.  When all processes have, the first one writes the metadata beside the old, and renames it into its place: until
then the folder is the previous checkpoint, whatever happens to a process.  Files that no metadata names are removed then.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.errors import NotSupported
from ...core.missing import missing
from ...serialization import load, save
from . import _pickled
from .metadata import Metadata, MetadataIndex, StoredAt
from .planner import WriteItem

__all__ = ["FileSystemReader", "FileSystemWriter", "StorageReader", "StorageWriter"]
__getattr__ = missing(__name__)

METADATA = ".metadata"


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
        """Write this process's file; the location of each item."""
        name, places = f"__{rank}_{save_id}.distcp", {}
        with open(self.path / name, "wb") as file:
            for item, value in items:
                start = file.tell()
                file.write(value if isinstance(value, bytes) else _saved(value))
                places[MetadataIndex(item.fqn, item.offsets)] = StoredAt(name, start, file.tell() - start)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return places

    def finish(self, metadata: Metadata) -> None:
        """Rename the metadata into place, and remove the files of earlier saves."""
        beside = self.path / f"{METADATA}.tmp"
        with open(beside, "wb") as file:
            file.write(_pickled.written(metadata, str(self.path)))
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
        return _pickled.read(data)

    def read(self, place: StoredAt) -> bytearray:
        """The bytes of a chunk or an object."""
        if place.transform_descriptors:
            raise NotSupported(f"the checkpoint has data that went through {place.transform_descriptors} when it was written")
        with open(self.path / place.relative_path, "rb") as file:
            file.seek(place.offset)
            data = bytearray(place.length)
            if file.readinto(data) != place.length:
                raise RuntimeError(f"{self.path / place.relative_path} is shorter than its metadata say: the checkpoint is damaged")
        return data

    def read_chunk(self, place: StoredAt, sizes: Any, dtype: Any) -> Any:
        """A chunk of a tensor."""
        found = load(io.BytesIO(self.read(place)), map_location="cpu", weights_only=True)
        if tuple(found.shape) != tuple(sizes):
            raise RuntimeError(
                f"{self.path / place.relative_path} has a chunk of shape {tuple(found.shape)} where its metadata say {tuple(sizes)}"
            )
        return found

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name is that of a folder."""
        return "://" not in str(checkpoint_id)


def _saved(part: Any) -> bytes:
    """A chunk as a file of its own: with its elements alone, if it is a part of a larger storage."""
    file = io.BytesIO()
    part = part.detach().cpu()
    save(
        part
        if part.is_contiguous() and part.untyped_storage().nbytes() == part.numel() * part.element_size()
        else part.contiguous().clone(),
        file,
    )
    return file.getvalue()

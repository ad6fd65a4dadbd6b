"""Checkpoints in safetensors files, as the Hugging Face hub has them: whole tensors, or the parts of each process, in PyTorch's layout.

A file with parts says in its header where each begins in its tensor; the shape of the whole is where the last part ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.declare import exports
from ...core.size import Size
from ...tensor.construct import frombuffer
from ...utils import safetensors
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, StoredAt, TensorProperties, TensorStorageMetadata
from .planner import WriteItem
from .state_dict_loader import whole

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

INDEX, SHARDING = "model.safetensors.index.json", "DCP_SHARDING_INFO"
PARTS = "sharded"  # the folder of the parts that are put together afterwards


def _file_name(index: int, count: int, rank: int | None = None) -> str:
    start = "" if rank is None else f"shard-{rank:05d}-"
    return f"{start}model-{index:05d}-of-{count:05d}.safetensors"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes safetensors files: of a whole state, or (``save_distributed``) of each process's parts, which can be put together afterwards.

    ``fqn_to_index_mapping`` says in which file, counted from 1, a tensor is.
    """

    def __init__(
        self, path: str | os.PathLike[str], fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1,
        save_distributed: bool = False, enable_consolidation: bool = False, thread_count_consolidation: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(path)
        self._final = Path(path)
        self.fqn_to_index_mapping, self.save_distributed = fqn_to_index_mapping, save_distributed
        self.enable_consolidation = enable_consolidation
        self._set_folder()

    def _set_folder(self) -> None:
        self.path = self._final / PARTS if self.enable_consolidation else self._final

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Take another folder."""
        if checkpoint_id is not None:
            self._final = Path(checkpoint_id)
            self._set_folder()

    def write_items(self, rank: int, save_id: str, items: Iterable[tuple[WriteItem, Any]]) -> dict[MetadataIndex, StoredAt]:
        """Write this process's files; the location of each item."""
        mapping = self.fqn_to_index_mapping
        count = max(mapping.values()) if mapping else 1
        files: dict[int, list[tuple[WriteItem, Any]]] = {}
        for item, value in items:
            if item.offsets is None:
                raise ValueError(f"safetensors files hold tensors alone, and {item.fqn!r} is another value")
            if not self.save_distributed and tuple(item.sizes) != tuple(item.shape):
                raise ValueError(f"{item.fqn!r} is in parts: save_distributed=True writes those of each process")
            if mapping and item.fqn not in mapping:
                raise ValueError(f"fqn_to_index_mapping has no file for {item.fqn!r}")
            files.setdefault(mapping[item.fqn] if mapping else 1, []).append((item, value))
        places = {}
        for index, found in files.items():
            name = _file_name(index, count, rank if self.save_distributed else None)
            about = {"format": "pt"}
            if self.save_distributed:
                about |= {
                    SHARDING: json.dumps({item.fqn: {"saved_offsets": list(item.offsets or ())} for item, _ in found}),
                    "DCP_VERSION": "1.0",
                }
            safetensors.save_file({item.fqn: value.detach().cpu().contiguous() for item, value in found}, self.path / name, metadata=about)
            for item, _ in found:
                places[MetadataIndex(item.fqn, item.offsets)] = StoredAt(name, 0, item.nbytes)
        return places

    def finish(self, metadata: Metadata) -> None:
        """Write the index, or put the parts together."""
        if self.enable_consolidation:
            consolidate_safetensors_files(str(self.path), str(self._final), self.fqn_to_index_mapping)
        elif not self.save_distributed:
            _write_index(self.path, {index.fqn: place.relative_path for index, place in metadata.storage_data.items()}, metadata)


def _write_index(folder: Path, files: dict[str, str], metadata: Metadata) -> None:
    tensors = [each for each in metadata.state_dict_metadata.values() if isinstance(each, TensorStorageMetadata)]
    total = sum(Size(each.size).numel() * each.properties.dtype.itemsize for each in tensors)
    with open(folder / INDEX, "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": files}, file, indent=2)


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder: whole tensors, or parts of several processes."""

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)

    def read_metadata(self) -> Metadata:
        """What the files hold."""
        entries: dict[str, Any] = {}
        places: dict[MetadataIndex, StoredAt] = {}
        for path in sorted(self.path.glob("*.safetensors")):
            file = safetensors.safe_open(path)
            parts = _saved_offsets(path, file)
            for name, (dtype, sizes, start, length) in file.places().items():
                offsets = parts.get(name, (0,) * len(sizes))
                if len(offsets) != len(sizes):
                    raise safetensors.SafetensorError(f"{path}: the part of {name!r} begins at {offsets}, and has {len(sizes)} dimensions")
                ends = [offset + size for offset, size in zip(offsets, sizes)]
                held = entries.setdefault(name, TensorStorageMetadata(TensorProperties(dtype), Size(ends), []))
                if len(held.size) != len(ends):
                    raise safetensors.SafetensorError(f"{path}: the parts of {name!r} have different numbers of dimensions")
                held.size = Size([max(pair) for pair in zip(held.size, ends)])
                held.chunks.append(ChunkStorageMetadata(Size(offsets), Size(sizes)))
                places[MetadataIndex(name, offsets)] = StoredAt(path.name, start, length)
        if not entries:
            raise FileNotFoundError(f"{self.path} has no safetensors files")
        for name, held in entries.items():
            count = sum({tuple(each.offsets): each.sizes.numel() for each in held.chunks}.values())
            if count < held.size.numel():
                raise safetensors.SafetensorError(
                    f"{self.path}: the files have {count} elements of {name!r}, of {held.size.numel()}: a part is missing"
                )
        return Metadata(entries, {}, places, StorageMeta(checkpoint_id=str(self.path)))

    def read_chunk(self, place: StoredAt, sizes: Any, dtype: Any) -> Any:
        """A tensor, or a part of one."""
        data = self.read(place)
        return frombuffer(data, dtype=dtype).reshape(tuple(sizes)) if data else exports["", "empty"](tuple(sizes), dtype=dtype)


def _saved_offsets(path: Path, file: safetensors.safe_open) -> dict[str, tuple[int, ...]]:
    """Where in the whole tensors the parts in a file begin; a file of whole tensors does not say."""
    text = (file.metadata() or {}).get(SHARDING)
    if text is None:
        return {}
    try:
        found = {name: tuple(each["saved_offsets"]) for name, each in json.loads(text).items()}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise safetensors.SafetensorError(f"{path}: {SHARDING} does not say where its parts begin: {repr(error)[:100]}") from error
    if not all(type(each) is int and 0 <= each < 2**63 for offsets in found.values() for each in offsets):
        raise safetensors.SafetensorError(f"{path}: {SHARDING} has a part that begins at no natural number")
    return found


def consolidate_safetensors_files(
    input_dir: str, output_dir: str | None = None, fqn_to_index_mapping: dict[str, int] | None = None, num_threads: int = 1
) -> None:
    """Put the parts of several processes' files together, as files of whole tensors with an index."""
    source, folder = HuggingFaceStorageReader(input_dir), Path(output_dir or input_dir)
    metadata = source.read_metadata()
    folder.mkdir(parents=True, exist_ok=True)
    indices = fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
    count = max(indices.values())
    for index in sorted(set(indices.values())):
        tensors = {
            name: whole(source, metadata, name, held)
            for name, held in metadata.state_dict_metadata.items()
            if indices[name] == index and isinstance(held, TensorStorageMetadata)
        }
        safetensors.save_file(tensors, folder / _file_name(index, count), metadata={"format": "pt"})
    _write_index(folder, {name: _file_name(index, count) for name, index in indices.items()}, metadata)

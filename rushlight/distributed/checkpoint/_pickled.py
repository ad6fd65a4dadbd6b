"""The metadata of a checkpoint as PyTorch pickles them: written opcode by opcode under PyTorch's names, and read without running anything.

A pickle names classes and functions, which reading calls.  Here reading knows the few names that metadata have, and refuses all others.
"""

from __future__ import annotations

import io
import pickle
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from ...core.dtypes import BY_NAME
from ...core.errors import NotSupported
from ...core.size import Size
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

_CLASSES = "torch.distributed.checkpoint.metadata"
_FILES = "torch.distributed.checkpoint.filesystem"
VERSION = "1.0.0"


# -- writing ---------------------------------------------------------------------------------------------------------


class _Name(NamedTuple):
    """A class or function by its name."""

    module: str
    name: str


class _Instance:
    """An object of a class, with its state."""

    def __init__(self, name: str, state: Any, module: str = _CLASSES) -> None:
        self.kind, self.state = _Name(module, name), state


class _Result:
    """What a function gives for arguments."""

    def __init__(self, function: _Name, *args: Any) -> None:
        self.function, self.args = function, args


class _Pickler(pickle._Pickler):  # type: ignore[misc, name-defined]  # the one written in Python, whose ``save`` can be extended
    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object, or the description of one."""
        if isinstance(obj, _Name):
            self.save(obj.module)
            self.save(obj.name)
            self.write(pickle.STACK_GLOBAL)
        elif isinstance(obj, _Instance):
            self.save(obj.kind)
            self.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
            self.save(obj.state)
            self.write(pickle.BUILD)
        elif isinstance(obj, _Result):
            self.save(obj.function)
            self.save(obj.args)
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)  # type: ignore[misc]  # of the pickler in Python, which stubs do not show


def _size(sizes: Any) -> _Result:
    return _Result(_Name("torch", "Size"), tuple(int(each) for each in sizes))


def _entry(held: TensorStorageMetadata | BytesStorageMetadata) -> _Instance:
    if isinstance(held, BytesStorageMetadata):
        return _Instance("BytesStorageMetadata", {})
    properties = held.properties
    dtype = _Name("torch", str(properties.dtype).partition(".")[2])
    layout = _Result(_Name("torch.serialization", "_get_layout"), "torch.strided")
    memory = _Result(_Name(_CLASSES, "_MEM_FORMAT_ENCODING"), 0)
    chunks = [_Instance("ChunkStorageMetadata", {"offsets": _size(each.offsets), "sizes": _size(each.sizes)}) for each in held.chunks]
    state = (dtype, layout, properties.requires_grad, memory, False)
    return _Instance(
        "TensorStorageMetadata", {"properties": _Instance("TensorProperties", state), "size": _size(held.size), "chunks": chunks}
    )


def written(metadata: Metadata, checkpoint_id: str) -> bytes:
    """Metadata as PyTorch reads them."""
    places = {}
    for index, place in metadata.storage_data.items():
        offset = None if index.offset is None else _size(index.offset)
        key = _Instance("MetadataIndex", {"fqn": index.fqn, "offset": offset, "index": index.index})
        state = {"relative_path": place.relative_path, "offset": place.offset, "length": place.length, "transform_descriptors": None}
        places[key] = _Instance("_StorageInfo", state, _FILES)
    save_id = metadata.storage_meta.save_id if metadata.storage_meta else None
    meta = _Instance("StorageMeta", {"checkpoint_id": checkpoint_id, "save_id": save_id, "load_id": None, "modules": []})
    entries = {name: _entry(held) for name, held in metadata.state_dict_metadata.items()}
    state = {
        "state_dict_metadata": entries,
        "planner_data": metadata.planner_data,
        "storage_data": places,
        "storage_meta": meta,
        "version": VERSION,
    }
    file = io.BytesIO()
    _Pickler(file, 4).dump(_Instance("Metadata", state))
    return file.getvalue()


# -- reading ---------------------------------------------------------------------------------------------------------

_KNOWN: dict[tuple[str, str], Any] = {
    **{(_CLASSES, each.__name__): each for each in (BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta,
                                                    TensorProperties, TensorStorageMetadata)},
    (_FILES, "_StorageInfo"): StoredAt, ("torch", "Size"): Size, (_CLASSES, "_MEM_FORMAT_ENCODING"): int,
    ("torch.serialization", "_get_layout"): str, ("collections", "OrderedDict"): dict,
    **{("pathlib" + room, name): kind for room in ("", "._local") for name, kind in
       (("PosixPath", PurePosixPath), ("PurePosixPath", PurePosixPath), ("WindowsPath", PureWindowsPath))},
}  # fmt: skip


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for: one of those that metadata have."""
        if module == "torch" and name in BY_NAME:
            return BY_NAME[name]
        if (module, name) not in _KNOWN:
            raise NotSupported(f"the metadata of the checkpoint name {module}.{name}, which metadata of tensors and objects do not need")
        return _KNOWN[module, name]


def read(data: bytes) -> Metadata:
    """Metadata that PyTorch, or `written`, has pickled; raises where they are something else."""
    try:
        found = _Unpickler(io.BytesIO(data)).load()
    except NotSupported:
        raise
    except Exception as error:
        raise RuntimeError(f"the metadata of the checkpoint can't be read: {error}") from error
    if not isinstance(found, Metadata):
        raise RuntimeError(f"the metadata of the checkpoint are a {type(found).__name__}: this is no checkpoint in parts")
    return found

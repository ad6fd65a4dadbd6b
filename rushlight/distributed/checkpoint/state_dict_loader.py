"""Reading sharded checkpoints: every process reads what its tensors need, whichever and however many processes wrote it."""

from __future__ import annotations

import os
from typing import Any

from ...autograd import no_grad
from ...core.missing import missing
from ...core.process_group import world
from ...tensor import Tensor
from ..tensor._api import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset
from ..tensor.placement_types import Partial, Replicate, _StridedShard
from ._items import flatten, object_of, plain_state, put
from .api import gathered
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, StorageReader
from .metadata import Metadata, MetadataIndex, TensorStorageMetadata
from .planner import LoadPlanner, checked
from .stateful import Stateful

__all__ = ["load", "load_state_dict"]
__getattr__ = missing(__name__)


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_reader: Any = None, planner: Any = None,
    process_group: Any = None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Fill a state from a checkpoint: its tensors are written in place, other values replaced; every process of the group calls it."""
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specificed if storage_reader/storage_writer is None.")
        storage_reader = FileSystemReader(checkpoint_id)
    else:
        checked(storage_reader, StorageReader).reset(checkpoint_id)
    plan = checked(planner, LoadPlanner) if planner is not None else DefaultLoadPlanner()
    alone = no_dist or world.default is None
    plain = plain_state(state_dict)

    def read() -> None:
        metadata = storage_reader.read_metadata()
        if isinstance(plan, _EmptyStateDictLoadPlanner):
            if plain:
                raise AssertionError("_EmptyStateDictLoadPlanner reads into an empty dict, and this state has values")
            read_all(storage_reader, metadata, plain, plan.keys)
        else:
            _fill(storage_reader, metadata, plain, getattr(plan, "flatten_state_dict", True), plan.allow_partial_load)

    gathered("read", read, process_group, alone)
    for name, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(plain[name])
    for name, value in plain.items():
        if not isinstance(state_dict.get(name), Stateful):
            state_dict[name] = value


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """The old name of :func:`load`."""
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)


def _fill(reader: Any, metadata: Metadata, state: dict[str, Any], nested: bool, partial: bool) -> None:
    values, paths = flatten(state) if nested else (state, {name: (name,) for name in state})
    for name, value in values.items():
        held = metadata.state_dict_metadata.get(name)
        if held is None:
            if partial:
                continue
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if isinstance(held, TensorStorageMetadata) and isinstance(value, Tensor):
            if tuple(held.size) != tuple(value.shape):
                raise ValueError(f"Size mismatch between saved {held.size} and current: {value.shape} for {name}")
            _fill_tensor(reader, metadata, name, held, value)
        elif isinstance(held, TensorStorageMetadata):
            put(state, paths[name], whole(reader, metadata, name, held))
        else:
            put(state, paths[name], object_of(bytes(reader.read(metadata.storage_data[MetadataIndex(name)]))))


def _fill_tensor(reader: Any, metadata: Metadata, name: str, held: TensorStorageMetadata, value: Any) -> None:
    """Write this process's part of a tensor, from the chunks that overlap it."""
    with no_grad():
        if not isinstance(value, DTensor):
            _copy(reader, metadata, name, held, value.detach(), (0,) * value.dim())
            return
        spec = value._spec
        if any(isinstance(each, (_StridedShard, Partial)) for each in spec.placements):
            source = DTensor.from_local(whole(reader, metadata, name, held), spec.mesh, [Replicate()] * spec.mesh.ndim, shape=held.size)
            value._local_tensor.copy_(source.redistribute(placements=spec.placements)._local_tensor)
            return
        offsets = compute_local_shape_and_global_offset(spec.shape, spec.mesh, spec.placements)[1]
        _copy(reader, metadata, name, held, value._local_tensor.detach(), offsets)


def _copy(reader: Any, metadata: Metadata, name: str, held: TensorStorageMetadata, target: Any, offsets: Any) -> None:
    for chunk in held.chunks:
        source, into = [], []
        for at, (start, size) in enumerate(zip(chunk.offsets, chunk.sizes)):
            low, high = max(start, offsets[at]), min(start + size, offsets[at] + target.shape[at])
            source.append(slice(low - start, high - start))
            into.append(slice(low - offsets[at], high - offsets[at]))
            if low >= high:
                break
        else:
            read = reader.read_chunk(metadata.storage_data[MetadataIndex(name, tuple(chunk.offsets))], chunk.sizes, held.properties.dtype)
            if target.dim():
                target[tuple(into)] = read[tuple(source)].to(target.dtype)
            else:
                target.copy_(read)


def whole(reader: Any, metadata: Metadata, name: str, held: TensorStorageMetadata) -> Any:
    """A tensor, put together."""
    found = [
        reader.read_chunk(metadata.storage_data[MetadataIndex(name, tuple(chunk.offsets))], chunk.sizes, held.properties.dtype)
        for chunk in held.chunks
    ]
    if len(found) == 1 and tuple(held.chunks[0].sizes) == tuple(held.size):
        return found[0]
    result = found[0].new_zeros(tuple(held.size))
    for chunk, part in zip(held.chunks, found):
        result[tuple(slice(start, start + size) for start, size in zip(chunk.offsets, chunk.sizes))] = part
    return result


def read_all(reader: Any, metadata: Metadata, state: dict[str, Any], keys: Any = None) -> None:
    """Put all that a checkpoint has into a dict, whole."""
    for name, held in metadata.state_dict_metadata.items():
        path = metadata.planner_data.get(name, (name,))
        if keys is not None and name not in keys and not any(".".join(map(str, path[:end])) in keys for end in range(1, len(path) + 1)):
            continue
        if isinstance(held, TensorStorageMetadata):
            put(state, path, whole(reader, metadata, name, held))
        else:
            put(state, path, object_of(bytes(reader.read(metadata.storage_data[MetadataIndex(name)]))))

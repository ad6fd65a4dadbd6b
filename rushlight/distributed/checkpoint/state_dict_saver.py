"""Writing sharded checkpoints: every process writes what only it has, and a share of what is replicated."""

from __future__ import annotations

import copy
import os
import threading
import uuid
from concurrent.futures import Future
from typing import Any

from ...core.dtypes import BY_NAME
from ...core.missing import missing
from ...core.process_group import world
from ...core.size import Size
from ...tensor import Tensor
from ..tensor._api import DTensor
from ._items import flatten, item_of, plain_state, stored_paths
from .api import gathered
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter, StorageWriter
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import SavePlanner, WriteItem, checked

__all__ = ["async_save", "save", "save_state_dict"]
__getattr__ = missing(__name__)


def _writer(checkpoint_id: Any, storage_writer: Any) -> Any:
    if storage_writer is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specificed if storage_reader/storage_writer is None.")
        return FileSystemWriter(checkpoint_id)
    checked(storage_writer, StorageWriter).reset(checkpoint_id)
    return storage_writer


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: Any = None, planner: Any = None,
    process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Write a state as a checkpoint in parts; every process of the group calls it.

    Tensors that all processes have are written by one of them, DTensors by each in its part.  The checkpoint that was there before
    stays whole until the new one is.
    """
    plan = checked(planner, SavePlanner) if planner is not None else DefaultSavePlanner()
    return _save(plain_state(state_dict), _writer(checkpoint_id, storage_writer), plan, process_group, no_dist or world.default is None)


def _save(state: dict[str, Any], writer: Any, plan: Any, group: Any, alone: bool) -> Metadata:
    values = flatten(state)[0] if plan.flatten_state_dict else state
    paths = stored_paths(state) if plan.flatten_state_dict else {name: (name,) for name in state}
    rank = 0 if alone else world.collectives.get_rank(group)
    own: dict[tuple[str, Any], tuple[WriteItem, Any]] = {}

    def describe() -> Any:
        if rank == 0:
            writer.prepare()
        for name, value in values.items():
            item, part = item_of(name, value)
            own[item.fqn, item.offsets] = item, part
        return [item for item, _ in own.values()], paths, uuid.uuid4().hex[:12]

    plans = gathered("plan", describe, group, alone)
    save_id = plans[0][2]
    owners = _owners([items for items, _, _ in plans], getattr(plan, "dedup_save_to_lowest_rank", False))

    def write() -> Any:
        return writer.write_items(rank, save_id, [own[key] for key, chosen in owners.items() if chosen == rank])

    places: dict[MetadataIndex, Any] = {}
    for found in gathered("write", write, group, alone):
        places.update(found)
    metadata = _metadata(
        [items for items, _, _ in plans], {name: path for _, some, _ in plans for name, path in some.items()}, places, save_id
    )

    def finish() -> None:
        if rank == 0:
            writer.finish(metadata)

    gathered("finish", finish, group, alone)
    return metadata


def _owners(plans: list[list[WriteItem]], lowest: bool) -> dict[tuple[str, Any], int]:
    """Which process writes each chunk: of those that have it, the one with least to write; the same on all processes."""
    having: dict[tuple[str, Any], tuple[WriteItem, list[int]]] = {}
    for rank, items in enumerate(plans):
        for item in items:
            having.setdefault((item.fqn, item.offsets), (item, []))[1].append(rank)
    load = [0] * len(plans)
    result = {}
    for key, (item, ranks) in sorted(
        having.items(), key=lambda pair: (len(pair[1][1]) > 1, -pair[1][0].nbytes, pair[0][0], pair[0][1] or ())
    ):
        chosen = ranks[0] if lowest else min(ranks, key=lambda each: load[each])
        load[chosen] += item.nbytes
        result[key] = chosen
    return result


def _metadata(plans: list[list[WriteItem]], paths: dict[str, Any], places: dict[MetadataIndex, Any], save_id: str) -> Metadata:
    entries: dict[str, Any] = {}
    for items in plans:
        for item in items:
            if item.offsets is None:
                entries[item.fqn] = BytesStorageMetadata()
                continue
            held = entries.setdefault(item.fqn, TensorStorageMetadata(TensorProperties(BY_NAME[item.dtype]), Size(item.shape), []))
            if tuple(held.size) != item.shape:
                raise ValueError(f"processes have tensors of several shapes for {item.fqn!r}: {tuple(held.size)} and {item.shape}")
            if not any(tuple(each.offsets) == item.offsets for each in held.chunks):
                held.chunks.append(ChunkStorageMetadata(Size(item.offsets), Size(item.sizes)))
    return Metadata(entries, paths, places, StorageMeta(save_id=save_id))


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> Metadata:
    """The old name of :func:`save`."""
    return save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)


class _Background:
    """The process group of background saves, so that their collectives do not mix with the program's."""

    group: Any = None
    of: Any = None


def _copied(value: Any) -> Any:
    """A value that later steps do not change."""
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.detach().clone(), value._spec, requires_grad=False)
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else copy.deepcopy(value)


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: Any = None, planner: Any = None,
    process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Any:  # fmt: skip
    """Copy a state, and write it in the background while the program runs; a future of the metadata."""
    alone = no_dist or world.default is None
    writer = _writer(checkpoint_id, storage_writer)
    plan = checked(planner, SavePlanner) if planner is not None else DefaultSavePlanner()
    state = _copied(plain_state(state_dict))
    if not alone and (_Background.group is None or _Background.of is not world.default):
        _Background.group, _Background.of = world.collectives.new_group(), world.default
    result: Future[Metadata] = Future()

    def work() -> None:
        try:
            result.set_result(_save(state, writer, plan, None if alone else _Background.group, alone))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=work, name="checkpoint", daemon=True).start()
    return result

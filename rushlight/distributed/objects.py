"""Collectives of Python objects: pickled, their lengths exchanged first, then their bytes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..tensor.construct import tensor
from ..tensor.interop import from_numpy
from .collectives import _root, all_gather, broadcast, gather, recv, scatter, send
from .groups import NON_MEMBER, member


def _bytes(value: Any) -> Any:
    """An object as a tensor of bytes."""
    return from_numpy(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8))


def _object(data: Any) -> Any:
    return pickle.loads(data.numpy().tobytes())


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Any, Any]:
    """An object as a tensor of bytes, and how many."""
    data = _bytes(obj)
    return data, tensor([data.numel()])


def _tensor_to_object(data: Any, tensor_size: Any, group: Any = None) -> Any:
    """The object of a tensor of bytes."""
    return _object(data[: int(tensor_size)])


def _lengths(found: Any, data: Any) -> list[int]:
    """How many bytes each process has."""
    lengths = [tensor([0]) for _ in range(found.size())]
    all_gather(lengths, tensor([data.numel()]), found)
    return [int(each.item()) for each in lengths]


def _buffers(lengths: list[int]) -> list[Any]:
    return [from_numpy(np.empty(each, np.uint8)) for each in lengths]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give every process a list of all processes' objects."""
    found = member(group)
    if found == NON_MEMBER:
        return
    data = _bytes(obj)
    buffers = _buffers(_lengths(found, data))
    all_gather(buffers, data, found)
    for at, each in enumerate(buffers):
        object_list[at] = _object(each)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Give one process a list of all processes' objects."""
    found = member(group)
    if found == NON_MEMBER:
        return
    root = _root(found, dst, group_dst, 0)
    here = found.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = _bytes(obj)
    longest = max(_lengths(found, data))
    padded = from_numpy(np.zeros(longest, np.uint8))
    padded[: data.numel()] = data
    buffers = _buffers([longest] * found.size()) if here else None
    gather(padded, buffers, group=found, group_dst=root)
    if here and object_gather_list is not None and buffers is not None:
        for at, each in enumerate(buffers):
            object_gather_list[at] = _object(each)  # what follows a pickle's end is not read


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Copy objects of one process to all."""
    if not isinstance(object_list, list):
        raise TypeError(f"object_list must be a list, not {type(object_list).__name__}")
    found = member(group)
    if found == NON_MEMBER:
        return
    root = _root(found, src, group_src, 0)
    here = found.rank() == root
    data = _bytes(object_list) if here else None
    length = tensor([data.numel() if data is not None else 0, len(object_list)])
    broadcast(length, group=found, group_src=root)
    if not here and int(length[1]) != len(object_list):
        raise ValueError(f"object_list has {len(object_list)} places here, and {int(length[1])} on the source rank")
    data = data if data is not None else _buffers([int(length[0])])[0]
    broadcast(data, group=found, group_src=root)
    if not here:
        object_list[:] = _object(data)


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Give each process one of a list of objects."""
    found = member(group)
    if found == NON_MEMBER:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = _root(found, src, group_src, 0)
    parts: list[Any] | None = None
    if found.rank() == root:
        if not scatter_object_input_list:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        if len(scatter_object_input_list) != found.size():
            raise ValueError(
                f"scatter_object_input_list must hold one object for each process, {found.size()}, and holds {len(scatter_object_input_list)}"
            )
        parts = [_bytes(each) for each in scatter_object_input_list]
    longest = tensor([max(each.numel() for each in parts) if parts else 0])
    broadcast(longest, group=found, group_src=root)
    padded = None
    if parts is not None:
        padded = [from_numpy(np.zeros(int(longest), np.uint8)) for _ in parts]
        for into, each in zip(padded, parts):
            into[: each.numel()] = each
    mine = _buffers([int(longest)])[0]
    scatter(mine, padded, group=found, group_src=root)
    scatter_object_output_list[0] = _object(mine)


def send_object_list(
    object_list: Any, dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None, use_batch: bool = False
) -> None:
    """Send objects to another process."""
    if member(group) == NON_MEMBER:
        return
    data = _bytes(list(object_list))
    send(tensor([data.numel(), len(object_list)]), dst, group, group_dst=group_dst)
    send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None, use_batch: bool = False
) -> int:
    """Receive objects from another process, or from any; the rank of the sender."""
    if member(group) == NON_MEMBER:
        return -1
    length = tensor([0, 0])
    source = recv(length, src, group, group_src=group_src)
    data = _buffers([int(length[0])])[0]
    recv(data, source, group)
    if int(length[1]) != len(object_list):
        raise ValueError(f"object_list has {len(object_list)} places here, and {int(length[1])} objects were sent")
    object_list[:] = _object(data)
    return source

"""Checks of what is given to the methods of process groups: wrong calls raise a RuntimeError before anything is exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor


def sole(tensors: Any, name: str, kind: str = "") -> Any:
    """The tensor of an argument that is a list of one."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise RuntimeError(f"{name}: requires a single-element {kind}tensor list, and was given {len(tensors)} tensors")
    return tensors[0]


def check_some(tensors: Any, name: str, kind: str = "") -> None:
    """A list of tensors has one at least."""
    if not isinstance(tensors, Tensor) and not len(tensors):
        raise RuntimeError(f"{name}: requires non-empty {kind}tensor list")


def check_root(name: str, root: int, size: int, chosen: int = 0, count: int = 1) -> None:
    """The root is a rank of the group, and its tensor one of those that are given."""
    if not 0 <= root < size:
        raise RuntimeError(f"{name}: invalid root rank: {root}; the group has {size} processes")
    if not 0 <= chosen < count:
        raise RuntimeError(f"{name}: invalid root tensor: {chosen}; {count} tensors are given")


def check_lists(name: str, lists: Any, count: int) -> None:
    """There are as many lists for what comes in as tensors that go out."""
    if len(lists) != count:
        raise RuntimeError(f"{name}: requires input/output tensor lists to have the same length, {count}, and not {len(lists)}")


def check_list(name: str, kind: str, tensors: Any, size: int) -> list[Any]:
    """The one list of a call, with a tensor for each process."""
    lists = tensors if tensors and isinstance(tensors[0], (list, tuple)) else [tensors]
    if len(lists) != 1 or not lists[0]:
        raise RuntimeError(f"{name}: requires a single-element {kind} list containing a list with {size} tensors.")
    if len(lists[0]) != size:
        raise RuntimeError(
            f"{name}: Incorrect {kind} list size {len(lists[0])}. {kind.capitalize()} list size should be {size}, with one tensor for each process of "
            "the group"
        )
    return list(lists[0])


def check_alike(name: str, tensors: Sequence[Any], like: Any, sizes: bool = True) -> None:
    """Tensors have the layout, the dtype and (``sizes``) the sizes of another."""
    for at, each in enumerate(tensors):
        if each.layout != like.layout:
            raise RuntimeError(f"{name}: invalid tensor layout at index {at} (expected {like.layout}, got {each.layout})")
        if each.dtype != like.dtype:
            raise RuntimeError(f"{name}: invalid tensor type at index {at} (expected {like.dtype}, got {each.dtype})")
        if sizes and each.shape != like.shape:
            raise RuntimeError(f"{name}: invalid tensor size at index {at} (expected {tuple(like.shape)}, got {tuple(each.shape)})")

"""`torch._utils`: small helpers that libraries import, and the functions that pickles name."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import rushlight

from ..compiler import is_compiling
from ..core.declare import exports
from ..core.devices import as_device
from ..core.missing import missing
from ..serialization.rebuild import FUNCTIONS
from ..streams import get_device_module
from ..utils.data.worker import caught

__getattr__ = missing("rushlight._utils")
globals().update({name.rpartition(".")[2]: function for name, function in FUNCTIONS.items() if name.startswith("torch._utils.")})


def _element_size(dtype: Any) -> int:
    """Bytes of an element."""
    return int(dtype.itemsize)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of an accelerator: there is none, so that a plain number is all there can be."""
    if isinstance(device, int):
        return device
    found = as_device(device)
    if found.type == "cpu" and allow_cpu:
        return -1
    if found.index is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return found.index


def _get_all_device_indices() -> list[int]:
    """No devices."""
    return []


def _get_available_device_type() -> None:
    """None: there is no accelerator."""


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of devices: ``torch.cuda``."""
    return get_device_module(device_type)


def _get_device_attr(get_member: Any) -> None:
    """None: there is no accelerator."""


def _is_privateuse1_backend_available() -> bool:
    """Whether the module of an extension's devices (`torch.privateuseone`) says that there is one."""
    module = getattr(rushlight, "privateuseone", None)
    return bool(module is not None and module.is_available())


def _flatten_dense_tensors(tensors: Any) -> Any:
    """Tensors as one of one dimension."""
    return exports["", "cat"]([each.reshape(-1) for each in tensors]) if len(tensors) else exports["", "empty"](0)


def _unflatten_dense_tensors(flat: Any, tensors: Any) -> tuple[Any, ...]:
    """One tensor as views with the shapes of several."""
    found, at = [], 0
    for each in tensors:
        found.append(flat[at : at + each.numel()].view(each.shape))
        at += each.numel()
    return tuple(found)


def _take_tensors(tensors: Any, size_limit: int) -> Iterator[list[Any]]:
    """Tensors of one type in groups of at most so many bytes."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    sizes: dict[Any, int] = defaultdict(int)
    for each in tensors:
        size = each.numel() * each.element_size()
        if sizes[each.dtype] + size > size_limit and sizes[each.dtype]:
            yield groups.pop(each.dtype)
            sizes[each.dtype] = 0
        groups[each.dtype].append(each)
        sizes[each.dtype] += size
    yield from (group for group in groups.values() if group)


def _import_dotted_name(name: str) -> Any:
    """What a name with dots stands for."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module(first)
    for each in rest:
        found = getattr(found, each)
    return found


def _is_compiling() -> bool:
    """Whether a program is being captured."""
    return is_compiling()


class ExceptionWrapper:
    """An exception on its way from another thread or process."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.where = where
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))

    def reraise(self) -> None:
        """Raise it here."""
        raise caught(self.exc_type, f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}")

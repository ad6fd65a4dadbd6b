"""The names of groups and collectives in one module, as PyTorch has them."""

from __future__ import annotations

from ..core.missing import missing
from ..core.process_group import default_group as _get_default_group
from . import collectives, debug, groups, objects, options, process_group, reductions, stores, work
from .constants import default_pg_nccl_timeout, default_pg_timeout

_PARTS = (options, work, debug, reductions, process_group, groups, collectives, objects, stores)
for _part in _PARTS:
    globals().update({_name: _value for _name, _value in vars(_part).items() if not _name.startswith("__") and _name != "annotations"})


def _get_default_store() -> object:
    """The store of the default group."""
    return _get_default_group()._store


def _rank_not_in_group(group: object) -> bool:
    """Whether this process is no member of a group."""
    return group is not None and group == groups.NON_MEMBER


def _get_pg_default_device(group: object = None) -> object:
    """The device that a group communicates from."""
    return collectives.Tensor([]).device


__getattr__ = missing(__name__)

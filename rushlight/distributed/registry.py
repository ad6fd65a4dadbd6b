"""Which groups this process has, and which back-ends programs have registered.

A program may replace ``distributed_c10d._world``, which is where PyTorch keeps groups: then the groups are kept there.  Simulators do that, with one world for each thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from ..core.process_group import GivenWorld, World, world


class Plugin(NamedTuple):
    """How groups of a registered back-end are made."""

    creator_fn: Callable[..., Any]
    extended_api: bool


class DistributedBackendOptions:
    """What a registered back-end's function is told of the group that it makes."""

    def __init__(self) -> None:
        self.store: Any = None
        self.group_rank = self.group_size = -1
        self.timeout = timedelta(minutes=5)
        self.group_id = ""
        self.global_ranks_in_group: list[int] = []


class Registry:
    """The groups by name, and how many have been made."""

    def __init__(self) -> None:
        self.groups: dict[str, Any] = {}
        self.count = 0
        self.watch: Any = None  # of the processes that MPI has started, kept when groups end and others are made

    def named(self) -> dict[str, Any]:
        """The groups by name."""
        given = world.given
        return self.groups if given is None else {name: each for each, name in given.pg_names.items()}

    def number(self) -> int:
        """The number of a new group: none is used twice, as messages about an earlier group may be in flight."""
        given = world.given
        if given is None:
            self.count += 1
            return self.count - 1
        found = int(given.group_count)
        given.group_count = found + 1
        return found

    def add(self, name: str, group: Any) -> None:
        """Keep a group."""
        given = world.given
        if given is None:
            self.groups[name] = group
            return
        given.pg_names[group] = name
        given.pg_map[group] = (group._backend, group._store)
        given.pg_group_ranks[group] = {rank: at for at, rank in enumerate(group._ranks)}
        given.pg_backend_config[group] = group._backend
        tag = f"ptd:{name}"
        given.tags_to_pg.setdefault(tag, []).append(group)
        given.pg_to_tag[group] = tag

    def remove(self, group: Any) -> None:
        """Forget a group."""
        given = world.given
        if given is None:
            self.groups.pop(group.group_name, None)
            return
        for each in (given.pg_map, given.pg_group_ranks, given.pg_backend_config, given.pg_names):
            each.pop(group, None)
        given.tags_to_pg.pop(given.pg_to_tag.pop(group, None), None)

    def clear(self) -> list[Any]:
        """Forget all groups; these are returned."""
        found = list(self.named().values())
        for each in found:
            self.remove(each)
        self.groups = {}
        if world.given is not None:
            world.given.group_count = 0
        return found


registry = Registry()


def use_world(given: Any) -> None:
    """Keep groups in a world of the program's own; None for ours."""
    world.__class__ = World if given is None else GivenWorld
    world.given = given


def check_devices(name: str, devices: Any) -> list[str]:
    """The kinds of devices that a back-end is registered for."""
    if devices is None:
        warnings.warn(
            f"Device capability of {name} unspecified, assuming `cpu` and `cuda` or `xpu`. Please specify it via the `devices` argument of "
            "`register_backend`.",
            stacklevel=3,
        )
        return ["cpu", "cuda"]
    return [devices] if isinstance(devices, str) else list(devices)

"""The default process group: who this process is among those that compute together.

There is one process: a group has one member.  The state is here, below the rooms that read it (``nn.parallel``, samplers, ``distributed``).
"""

from __future__ import annotations

from typing import Any

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class World:
    """The default group, None before ``init_process_group``, and the collectives that rooms below ``distributed`` call."""

    __slots__ = ("collectives", "default")

    def __init__(self) -> None:
        self.default: Any = None
        self.collectives: Any = None  # the functions of ``distributed``, which puts itself here when it is loaded


world = World()


def default_group() -> Any:
    """The default group; raises where there is none."""
    if world.default is None:
        raise ValueError(NOT_INITIALIZED)
    return world.default

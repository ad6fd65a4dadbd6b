"""The default process group: who this process is among those that compute together.

The state is here, below the rooms that read it (``nn.parallel``, samplers, ``distributed``).
"""

from __future__ import annotations

from typing import Any

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class World:
    """The default group, None before ``init_process_group``, and the collectives that rooms below ``distributed`` call."""

    __slots__ = ("collectives", "default", "failing", "given", "used")

    def __init__(self) -> None:
        self.default: Any = None
        self.collectives: Any = None  # the functions of ``distributed``, which puts itself here when it is loaded
        self.failing: Any = None  # what tells the other processes that this one ends with a status other than 0
        self.given: Any = None  # a world of the program's own, in which groups are kept instead
        self.used = False  # a group has been made in this process


class GivenWorld(World):
    """The world while a program has put one of its own in place: its default group is the one."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def default(self) -> Any:  # type: ignore[override]
        """The default group of the program's world."""
        return self.given.default_pg

    @default.setter
    def default(self, value: Any) -> None:
        self.given.default_pg = value


world = World()


def default_group() -> Any:
    """The default group; raises where there is none."""
    if world.default is None:
        raise ValueError(NOT_INITIALIZED)
    return world.default

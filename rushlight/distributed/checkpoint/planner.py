"""What each process writes and reads: plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.missing import missing

__all__ = ["LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner", "WriteItem"]
__getattr__ = missing(__name__)


@dataclass(frozen=True)
class WriteItem:
    """A chunk of a tensor, or an object, that a process has."""

    fqn: str
    offsets: tuple[int, ...] | None = None  # None for an object
    sizes: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    dtype: str = ""
    nbytes: int = 0


@dataclass(frozen=True)
class ReadItem:
    """A part of a tensor that a process wants."""

    fqn: str
    offsets: tuple[int, ...] | None = None
    sizes: tuple[int, ...] = ()


@dataclass
class SavePlan:
    """What a process writes."""

    items: list[WriteItem] = field(default_factory=list)


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem] = field(default_factory=list)


class SavePlanner:
    """How a state becomes items; :class:`DefaultSavePlanner` is the one that is there."""

    flatten_state_dict: bool = True


class LoadPlanner:
    """How items fill a state; :class:`DefaultLoadPlanner` is the one that is there."""

    allow_partial_load: bool = False


def checked(planner: Any, kind: type) -> Any:
    """A planner that a user has given."""
    if not isinstance(planner, kind):
        raise TypeError(
            f"a {kind.__name__} is needed, not {type(planner).__name__}: planners with methods of their own are not called here"
        )
    return planner

"""What each process writes and reads: plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.errors import NotSupported
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


# Methods of PyTorch's planners, writers and readers that a save or load does not call: a class that has one expects it to be.
_UNCALLED = (
    "commit_tensor", "create_global_plan", "create_local_plan", "finish_plan", "load_bytes", "lookup_object", "lookup_tensor", "prepare_global_plan",
    "prepare_local_plan", "read_data", "resolve_bytes", "resolve_data", "resolve_tensor", "set_up_planner", "set_up_storage_reader",
    "set_up_storage_writer", "transform_object", "transform_tensor", "write_data",
)  # fmt: skip


def checked(given: Any, kind: type) -> Any:
    """A planner, writer or reader that a user has given; one whose methods would be ignored is refused."""
    if not isinstance(given, kind):
        raise TypeError(f"a {kind.__name__} is needed, not {type(given).__name__}")
    ignored = [name for name in _UNCALLED if hasattr(given, name)]
    if ignored:
        raise NotSupported(
            f"{type(given).__name__}.{ignored[0]}: methods of planners, writers and readers of a program are not called here"
        )
    return given

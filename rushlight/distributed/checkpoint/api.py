"""The error of a checkpoint that some process could not write or read."""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["CheckpointException", "gathered"]

from ...core.process_group import world


class CheckpointException(BaseException):
    """What went wrong, on which processes."""

    def __init__(self, msg: str, failures: dict[int, tuple[BaseException, str]]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, tuple[BaseException, str]]:
        """The error of each process that had one, and its traceback."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n{trace}{type(error).__name__}: {error}\n"
        return text


def gathered(step: str, work: Any, group: Any, alone: bool) -> list[Any]:
    """What every process's ``work()`` returns; an error of one is raised on all, with its rank."""
    try:
        own: Any = (True, work())
    except Exception as error:
        trace = "".join(traceback.format_tb(error.__traceback__))
        try:
            error.__traceback__ = None
            own = (False, (error, trace))
        finally:
            del error
    if alone:
        found = [own]
    else:
        found = [None] * world.collectives.get_world_size(group)
        try:
            world.collectives.all_gather_object(found, own, group=group)
        except TypeError:  # an error that can't be sent: its text is
            own = (False, (RuntimeError(str(own[1][0])), own[1][1]))
            world.collectives.all_gather_object(found, own, group=group)
    failures = {rank: value for rank, (good, value) in enumerate(found) if not good}
    if failures:
        raise CheckpointException(step, failures)
    return [value for _, value in found]

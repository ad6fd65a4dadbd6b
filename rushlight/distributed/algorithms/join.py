"""Uneven inputs of several processes; with one process, they are even."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process does that has no inputs left while others have some."""

    def main_hook(self) -> None:
        """Called once for each iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all have ended."""


class Joinable(ABC):
    """An object that can take part in a :class:`Join`."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config: Any = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Its hook."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device it communicates from."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """Its group."""


class Join:
    """A context for uneven inputs: when this process ends all have ended, and hooks get their last call."""

    def __init__(self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        self._enable = enable

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if self._enable and kind is None:
            for hook in self._hooks:
                hook.post_hook(True)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Say that this process has inputs left: nobody waits for it."""

"""Uneven inputs: processes that have run out of them shadow the collectives of those that have not."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from ...core.declare import exports
from ...core.process_group import world

__all__ = ["Join", "JoinHook", "Joinable"]

WARN_AFTER = 1000


class JoinHook:
    """What a process does that has no inputs left while others have some."""

    def main_hook(self) -> None:
        """Called once for each iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all have ended."""


class _JoinConfig(NamedTuple):
    """How an object takes part in a :class:`Join`."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """Outside of a context."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """An object whose collectives a :class:`Join` shadows on processes without inputs."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()
        self._joined_count: Any = None

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
    """A context for uneven inputs: a process that leaves it early shadows the collectives of the others until all have left.

    The first of ``joinables`` counts, at each iteration, the processes that still have inputs.
    """

    def __init__(self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        for at, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, at == 0)
        devices, groups = {str(each.join_device) for each in joinables}, {id(each.join_process_group) for each in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        if len(devices) > 1:
            raise ValueError("Using join context manager with multiple devices")
        self._group, self._device = joinables[0].join_process_group, joinables[0].join_device
        self._rank = world.collectives.get_rank(self._group)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if not self._enable or kind:
            return
        all_joined, last = False, True
        iterations, warned = 0, False
        while not all_joined:
            if iterations > WARN_AFTER and not warned:
                warned = True
                warnings.warn(
                    f"Detected uneven input skew of greater than {WARN_AFTER}. This means that rank {self._rank} has at least {WARN_AFTER} "
                    "fewer inputs than other currently-active ranks. This level of skew could lead to performance degradation during "
                    "training.",
                    stacklevel=2,
                )
            active = self._active()
            if active == 0:
                all_joined = True
                continue
            if self._throw:
                self._notify_procs_to_terminate()
            for hook in self._hooks:
                hook.main_hook()
            last = False
            iterations += 1
        for hook in self._hooks:
            hook.post_hook(last)

    def _active(self) -> int:
        """The number of processes with inputs left, reduced by one that has none."""
        count = exports["", "zeros"](1, device=self._device)
        world.collectives.all_reduce(count, group=self._group)
        return int(count.item())

    def _notify_procs_to_terminate(self) -> None:
        ones = exports["", "ones"](1, device=self._device)
        world.collectives.all_reduce(ones, group=self._group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Say, at the start of an iteration, that this process has inputs left; the work that counts those that have, or None."""
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor: the object has no join configuration"
            )
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        ones = exports["", "ones"](1, device=device)
        work = world.collectives.all_reduce(ones, group=group, async_op=True)
        joinable._joined_count = ones  # when the work has ended: the number of processes with inputs
        if config.throw_on_early_termination:
            zeros = exports["", "zeros"](1, device=device)
            world.collectives.all_reduce(zeros, group=group)
            if zeros.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work

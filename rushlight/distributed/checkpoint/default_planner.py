"""The planners that are there: options of saving and loading."""

from __future__ import annotations

from typing import Any

from ...core.missing import missing
from .planner import LoadPlanner, SavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]
__getattr__ = missing(__name__)


class DefaultSavePlanner(SavePlanner):
    """Each process writes the chunks that are given to it: one of several processes that have a chunk, the one with least to write."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False, enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank


class DefaultLoadPlanner(LoadPlanner):
    """Each process reads what its tensors need, whichever processes wrote it."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Reads all of a checkpoint, or what is under some keys, into an empty dict."""

    def __init__(self, keys: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

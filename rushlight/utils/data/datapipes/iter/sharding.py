"""Samples divided among workers and processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..priorities import SHARDING_PRIORITIES


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every so-manieth sample, once ``apply_sharding`` has said how many take part and which one this is."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances = 1
        self.instance_id = 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = SHARDING_PRIORITIES.DEFAULT) -> None:
        """Say among how many the samples are divided, and which of them this is."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        if sharding_group == SHARDING_PRIORITIES.DEFAULT:
            if len(self.groups) and SHARDING_PRIORITIES.DEFAULT not in self.groups:
                raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        elif SHARDING_PRIORITIES.DEFAULT in self.groups:
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        count, number = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter is None or group == self.sharding_group_filter:
                size, place = self.groups[group]
                number += count * place
                count *= size
        self.num_of_instances, self.instance_id = count, number

    def __iter__(self) -> Iterator[Any]:
        for number, each in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield each

    def __len__(self) -> int:
        count = len(self.source_datapipe)
        return count // self.num_of_instances + (1 if self.instance_id < count % self.num_of_instances else 0)


__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]

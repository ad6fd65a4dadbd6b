"""A sampler for data-parallel training: every process takes its part of the samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...core.declare import table
from ...core.process_group import default_group
from ...tensor.generator import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The part of the indices that belongs to one of several processes.  Call ``set_epoch`` before every epoch."""

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
        drop_last: bool = False,
    ) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            group = default_group()
            num_replicas = group.size() if num_replicas is None else num_replicas
            rank = group.rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = table["randperm"].call(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if not self.drop_last and indices:  # the first ones come again, so that every process has as many
            indices = (indices * math.ceil(self.total_size / count))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch begins, so that each has an order of its own that all processes agree on."""
        self.epoch = epoch

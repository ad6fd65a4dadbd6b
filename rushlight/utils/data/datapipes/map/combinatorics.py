"""Samples in random order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..datapipe import IterDataPipe, MapDataPipe
from ..iter.combinatorics import new_seed


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples of an indexed pipe in random order: an iterable pipe."""

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Shuffle, or leave the order."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iteration."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for place in self.indices:
                yield self.datapipe[place]
        else:
            while self._shuffled_indices:
                yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Draw a new order."""
        if self._enabled:
            self._rng.seed(new_seed() if self._seed is None else self._seed)
            self._seed = None
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)

__all__ = ["ShufflerIterDataPipe"]

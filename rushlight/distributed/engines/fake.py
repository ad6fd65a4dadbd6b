"""Engines that exchange nothing: the fake one completes at once, and an absent one refuses every exchange by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .alone import AloneEngine


class FakeEngine(AloneEngine):
    """One process of a group whose others do not exist: every collective completes at once, as if all processes had this one's arrays."""

    name = "fake"

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def all_gather(self, out: Any, array: Any, counts: Sequence[int] | None = None) -> Any:
        """This process's array at every place that has its length."""
        flat, at = out.reshape(-1), 0
        for length in counts or [array.size] * self.size:
            flat[at : at + min(length, array.size)] = array.reshape(-1)[:length]
            at += length

    def gather(self, out: Any, array: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """This process's array at every place."""
        if out is not None:
            self.all_gather(out, array, counts)

    def scatter(self, array: Any, source: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """This process's part, where it is the source."""
        if source is not None:
            np.copyto(array, source.reshape(self.size, -1)[self.rank].reshape(array.shape))

    def reduce_scatter(self, out: Any, array: Any, op: str, counts: Sequence[int] | None = None) -> Any:
        """This process's part of its array."""
        start = sum((counts or [out.size] * self.size)[: self.rank])
        np.copyto(out, array.reshape(-1)[start : start + out.size].reshape(out.shape))

    def all_to_all(self, out: Any, array: Any, out_counts: Sequence[int], in_counts: Sequence[int]) -> Any:
        """Copy the array, as far as it fits."""
        length = min(out.size, array.size)
        out.reshape(-1)[:length] = array.reshape(-1)[:length]

    def send(self, array: Any, to: int, tag: int) -> Any:
        """Send to nobody."""
        return None

    def receive(self, array: Any, source: int | None, tag: int) -> Any:
        """Leave the array as it is."""
        return None

    def roll_call(self, seconds: float, ranks: Sequence[int] | None = None) -> list[int]:
        """Nobody is missing."""
        return []

    def part(self, ranks: Sequence[int]) -> FakeEngine:
        """The engine of some of the processes."""
        return FakeEngine(list(ranks).index(self.rank), len(ranks))


class NoEngine:
    """The engine of a group that a program has written itself: what the program does not define is refused."""

    name = "none"
    segment = None

    def __init__(self, rank: int, size: int, backend: str) -> None:
        self.rank, self.size, self._backend = rank, size, backend

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise RuntimeError(f"Backend {self._backend} does not support {name}")

    def close(self) -> None:
        """Nothing is held."""

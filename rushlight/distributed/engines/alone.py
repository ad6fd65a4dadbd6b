"""The engine of a group of one process: everything is a copy, and completes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class AloneEngine:
    """Exchange within one process; it needs no library, and is what every engine looks like."""

    name = "alone"
    rank = 0
    size = 1
    segment = None

    def all_reduce(self, array: Any, op: str) -> Any:
        """Reduce an array over all processes, in place."""
        return None

    def reduce(self, array: Any, op: str, root: int) -> Any:
        """Reduce an array to one process, in place there."""
        return None

    def broadcast(self, array: Any, root: int) -> Any:
        """Copy an array of one process to all."""
        return None

    def all_gather(self, out: Any, array: Any, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays concatenated in ``out``; ``counts`` are their lengths where they differ."""
        np.copyto(out, array)

    def gather(self, out: Any, array: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays in one process's ``out``, None elsewhere."""
        np.copyto(out, array)

    def scatter(self, array: Any, source: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """A part of one process's ``source`` (None elsewhere) for each."""
        np.copyto(array, source)

    def reduce_scatter(self, out: Any, array: Any, op: str, counts: Sequence[int] | None = None) -> Any:
        """Reduce an array; each process gets its part."""
        np.copyto(out, array)

    def all_to_all(self, out: Any, array: Any, out_counts: Sequence[int], in_counts: Sequence[int]) -> Any:
        """A part of the array for each process, and one from each."""
        np.copyto(out, array)

    def send(self, array: Any, to: int, tag: int) -> Any:
        """Send to a process: there is no other."""
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")

    def receive(self, array: Any, source: int | None, tag: int) -> Any:
        """Receive from a process: there is no other."""
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")

    def barrier(self) -> Any:
        """Wait for the others: there are none."""
        return None

    def part(self, ranks: Sequence[int]) -> AloneEngine:
        """The engine of some of the processes; all of them call it for ``ranks`` in the same order."""
        return AloneEngine()

    def close(self) -> None:
        """Release the engine's resources."""

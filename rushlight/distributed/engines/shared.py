"""Reductions between processes of one machine in shared memory (an MPI window).

MPI reduces by messages: each part is copied into a queue and out of it, sequentially.  Here every process copies its array to its
own segment of the window, and reads the others' in place: a small array is reduced whole by each process, of a large one each
reduces its share, and then reads the shares of the others.  Counters in the window have each process's progress.

An exchange is a request with ``Test``, as MPI's own are, so that it can be abandoned when another process fails.  Exchanges of a group run sequentially,
in the order in which they were begun, which is the same on all processes.

Counters order the memory only where a processor keeps the order of its stores (x86-64); elsewhere, and between machines, MPI does it all.
"""

from __future__ import annotations

import functools
import math
import os
import platform
import zlib
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

UFUNCS: dict[str, Any] = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
                          "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor, "AVG": np.add}  # fmt: skip
PLACES = 3  # slots of pieces, used round-robin; two are in flight, so that a slot is free when its turn comes
REDUCED, ENDED = (8, 16)  # counters of pieces reduced, and finished, in separate cache lines; before them the tags of the slots
HEADER = 4096
PIECE = int(os.environ.get("RUSHLIGHT_SHARED_PIECE", 512 << 10))  # bytes
WHOLE = 16 << 10  # bytes up to which each process reduces everything itself
NUMBERS = 0x7FFFFFFF  # the bits of a piece's number in a tag
DIFFER = "processes reduce arrays of different sizes or dtypes, or in different ways"


def shared_segment(mpi: Any, communicator: Any) -> SharedSegment | None:
    """The shared memory of a group whose processes are all on this machine; None elsewhere.  All of them call it."""
    if communicator.Get_size() == 1 or os.environ.get("RUSHLIGHT_SHARED_MEMORY") == "0":
        return None
    here = communicator.Split_type(mpi.COMM_TYPE_SHARED)
    size = here.Get_size()
    here.Free()
    fits = (
        size == communicator.Get_size()
        and platform.machine() in ("x86_64", "AMD64")
        and _free_memory() > 4 * size * (HEADER + PLACES * PIECE)
    )
    if not communicator.allreduce(int(fits), mpi.MIN):
        return None
    return SharedSegment(mpi, communicator)


def _free_memory() -> int:
    """The free bytes of shared memory: writing to a larger window would kill the process (SIGBUS)."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return 1 << 62
    return found.f_bavail * found.f_frsize


class SharedSegment:
    """The shared-memory segment of a group of processes, and the exchanges that go on in it."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self._window = mpi.Win.Allocate_shared(HEADER + PLACES * PIECE, 1, comm=communicator)
        segments = [np.frombuffer(self._window.Shared_query(each)[0], np.uint8) for each in range(self.size)]
        segments[self.rank][:HEADER] = 0
        self.counters = [memoryview(each[:HEADER]).cast("q") for each in segments]  # type: ignore[arg-type]
        self.mine = self.counters[self.rank]
        self.others = [each for rank, each in enumerate(self.counters) if rank != self.rank]
        self.places = [[each[HEADER + at * PIECE : HEADER + (at + 1) * PIECE] for each in segments] for at in range(PLACES)]
        self.count = 0  # pieces that this process has published
        self.whole = 4 * WHOLE if self.size == 2 else WHOLE if self.size <= 4 else WHOLE // 4
        self.waiting: deque[Exchange] = deque()
        self._lock = Lock()
        self._small = False  # a small array is being added up
        self._views: dict[Any, Any] = {}
        communicator.Barrier()

    def begin(self, array: Any, op: str) -> Exchange:
        """Begin to reduce an array over all processes, in place."""
        made = Exchange(self, array, op)
        self.waiting.append(made)
        made.Test()
        return made

    def sum_now(self, array: Any, spins: int, note: Callable[..., None], tensor: Any) -> Exchange | None:
        """Sum an array over all processes, in place; the request to wait for, where the others have not arrived in time.

        ``note(tensor, size)`` is called once the array is published.
        """
        if array.nbytes > self.whole or self.waiting or self._small:
            note(tensor, array.size)
            return self.begin(array, "SUM")
        self._small = True
        try:
            self.count = count = self.count + 1
            at = count % PLACES
            key = (array.dtype, array.shape, at)
            own, first, second, rest, what = self._views.get(key) or self._make_views(*key)
            own[...] = array
            self.mine[at] = published = (count & NUMBERS) << 32 | what
            note(tensor, array.size)
            for each in self.others:
                while each[at] != published:
                    spins -= 1
                    if spins < 0:
                        made = Exchange(self, array, "SUM", count)
                        self.waiting.append(made)
                        return made
            np.add(first, second, array)
            for each in rest:
                np.add(array, each, array)
            self.mine[REDUCED] = self.mine[ENDED] = count
            return None
        finally:
            self._small = False

    def _make_views(self, dtype: Any, shape: tuple[int, ...], at: int) -> Any:
        """The views of a slot for small arrays: this process's, the first, the second and the others; and their signature."""
        size = dtype.itemsize * math.prod(shape)
        views = [each[:size].view(dtype).reshape(shape) for each in self.places[at]]
        if len(self._views) > 256:
            self._views.clear()
        found = self._views[dtype, shape, at] = (views[self.rank], *views[:2], views[2:], _signature(dtype, "SUM", size))
        return found

    def advance(self) -> None:
        """Make progress without blocking; another thread may be doing so."""
        waiting = self.waiting
        while waiting and not self._small and self._lock.acquire(False):
            try:
                if not waiting or not waiting[0].advance():
                    return
                waiting.popleft()
            except RuntimeError as error:
                waiting[0].error, waiting[0].ended = error, True
                return
            finally:
                self._lock.release()

    def close(self) -> None:
        """Free the memory; all processes call it."""
        for each in self.counters:
            each.release()
        self._window.Free()


class Exchange:
    """The request of a reduction in shared memory."""

    __slots__ = (
        "_array",
        "_at",
        "_divisor",
        "_gathered",
        "_laid",
        "_lane",
        "_parts",
        "_pieces",
        "_reduced",
        "_step",
        "_ufunc",
        "_what",
        "ended",
        "error",
    )

    def __init__(self, segment: SharedSegment, array: Any, op: str, published: int = 0) -> None:
        self._lane, self._array, self._ufunc = segment, array.reshape(-1), UFUNCS[op]
        self._divisor = array.dtype.type(segment.size) if op == "AVG" else None
        self._step = PIECE // array.itemsize
        self._pieces = max(1, -(-array.size // self._step))  # of an empty array one, so that counters agree
        self._what = _signature(array.dtype, op, array.nbytes)
        self._at = published - 1  # pieces of exchanges before this one
        self._laid, self._reduced, self._gathered = int(published > 0), 0, 0
        self.ended = False
        self.error: Exception | None = None

    def Test(self) -> bool:
        """Make progress without blocking; whether it is done."""
        if not self.ended:
            self._lane.advance()
        if self.error is not None:
            raise self.error
        return self.ended

    def advance(self) -> bool:
        """Publish pieces, reduce, and gather; whether all is done."""
        segment = self._lane
        mine, others = segment.mine, segment.others
        if self._laid == 0:
            self._at = segment.count
        while self._gathered < self._pieces:
            before = self._laid + self._reduced + self._gathered
            at = self._at + self._gathered + 1
            if self._gathered < self._reduced and have_come(others, REDUCED, at):
                self._gather(self._gathered)
                self._gathered += 1
                mine[ENDED] = at
            at = self._at + self._reduced + 1
            if self._reduced < self._laid and self._all_laid(at):
                self._reduce(self._reduced)
                self._reduced += 1
                mine[REDUCED] = at
            at = self._at + self._laid + 1
            if self._laid < self._pieces and self._laid < self._gathered + 2 and have_come(others, ENDED, at - PLACES):
                self._lay(self._laid)
                self._laid += 1
                mine[at % PLACES] = (at & NUMBERS) << 32 | self._what
                segment.count = at
            if before == self._laid + self._reduced + self._gathered:
                return False
        self.ended = True
        return True

    def _all_laid(self, at: int) -> bool:
        """Whether all processes have published a piece; raises where signatures differ."""
        number, place = at & NUMBERS, at % PLACES
        for each in self._lane.others:
            found = each[place]
            if found >> 32 != number:
                return False
            if found & 0xFFFFFFFF != self._what:
                raise RuntimeError(DIFFER)
        return True

    def _views(self, number: int) -> tuple[Any, list[Any]]:
        """A piece of the array, and its slots in the segments of all processes."""
        piece = self._array[number * self._step : (number + 1) * self._step]
        places = self._lane.places[(self._at + number + 1) % PLACES]
        return piece, [each[: piece.nbytes].view(piece.dtype) for each in places]

    def _share(self, length: int, rank: int) -> slice:
        """The part of a piece that a process reduces."""
        return slice(length * rank // self._lane.size, length * (rank + 1) // self._lane.size)

    def _lay(self, number: int) -> None:
        piece, places = self._views(number)
        own = places[self._lane.rank]
        if self._array.nbytes <= self._lane.whole:
            own[...] = piece
            return
        share = self._share(piece.size, self._lane.rank)  # no other process needs it
        own[: share.start], own[share.stop :] = piece[: share.start], piece[share.stop :]

    def _reduce(self, number: int) -> None:
        piece, places = self._views(number)
        rank, size = self._lane.rank, self._lane.size
        if self._array.nbytes <= self._lane.whole:  # in the same order on all processes, so that results are bitwise equal
            self._ufunc(places[0], places[1], piece)
            for each in places[2:]:
                self._ufunc(piece, each, piece)
            if self._divisor is not None:
                np.divide(piece, self._divisor, piece)
            return
        share = self._share(piece.size, rank)
        part = piece[share]
        for other in range(1, size):
            self._ufunc(part, places[(rank + other) % size][share], part)
        if self._divisor is not None:
            np.divide(part, self._divisor, part)
        places[rank][share] = part

    def _gather(self, number: int) -> None:
        if self._array.nbytes <= self._lane.whole:
            return
        piece, places = self._views(number)
        rank, size = self._lane.rank, self._lane.size
        for other in range(1, size):
            share = self._share(piece.size, (rank + other) % size)
            piece[share] = places[(rank + other) % size][share]


def have_come(counters: list[Any], which: int, to: int) -> bool:
    """Whether a counter of all of some processes has reached a number."""
    for each in counters:  # noqa: SIM110 (a third of the time of all())
        if each[which] < to:
            return False
    return True


@functools.lru_cache(1024)
def _signature(dtype: Any, op: str, size: int) -> int:
    """A hash of dtype, reduction and size, to detect mismatched calls."""
    return zlib.crc32(f"{dtype} {op} {size}".encode())

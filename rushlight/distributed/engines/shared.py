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
SLOTS = 3  # slots for chunks, used round-robin; two are in flight, so that a slot is free when its turn comes
REDUCED, ENDED = (8, 16)  # counters of chunks reduced, and finished, in separate cache lines; before them the tags of the slots
HEADER = 4096
CHUNK = int(os.environ.get("RUSHLIGHT_SHARED_PIECE", 512 << 10))  # bytes
WHOLE = 16 << 10  # bytes up to which each process reduces everything itself
NUMBERS = 0x7FFFFFFF  # the bits of a chunk's number in a tag
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
        and _free_memory() > 4 * size * (HEADER + SLOTS * CHUNK)
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
        self._window = mpi.Win.Allocate_shared(HEADER + SLOTS * CHUNK, 1, comm=communicator)
        segments = [np.frombuffer(self._window.Shared_query(each)[0], np.uint8) for each in range(self.size)]
        segments[self.rank][:HEADER] = 0
        self.counters = [memoryview(each[:HEADER]).cast("q") for each in segments]  # type: ignore[arg-type]
        self.mine = self.counters[self.rank]
        self.others = [each for rank, each in enumerate(self.counters) if rank != self.rank]
        self.slots = [[each[HEADER + at * CHUNK : HEADER + (at + 1) * CHUNK] for each in segments] for at in range(SLOTS)]
        self.count = 0  # chunks that this process has published
        self.whole = 4 * WHOLE if self.size == 2 else WHOLE if self.size <= 4 else WHOLE // 4
        self.queue: deque[Exchange] = deque()
        self._lock = Lock()
        self._small = False  # a small array is being added up
        self._views: dict[Any, Any] = {}
        communicator.Barrier()

    def begin(self, array: Any, op: str) -> Exchange:
        """Begin to reduce an array over all processes, in place."""
        made = Exchange(self, array, op)
        self.queue.append(made)
        made.Test()
        return made

    def sum_now(self, array: Any, spins: int, note: Callable[..., None], tensor: Any) -> Exchange | None:
        """Sum an array over all processes, in place; the request to wait for, where the others have not arrived in time.

        ``note(tensor, size)`` is called once the array is published.
        """
        if array.nbytes > self.whole or self.queue or self._small:
            note(tensor, array.size)
            return self.begin(array, "SUM")
        self._small = True
        try:
            self.count = count = self.count + 1
            at = count % SLOTS
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
                        self.queue.append(made)
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
        views = [each[:size].view(dtype).reshape(shape) for each in self.slots[at]]
        if len(self._views) > 256:
            self._views.clear()
        found = self._views[dtype, shape, at] = (views[self.rank], *views[:2], views[2:], _signature(dtype, "SUM", size))
        return found

    def advance(self) -> None:
        """Make progress without blocking; another thread may be doing so."""
        queue = self.queue
        while queue and not self._small and self._lock.acquire(False):
            try:
                if not queue or not queue[0].advance():
                    return
                queue.popleft()
            except RuntimeError as error:
                queue[0].error, queue[0].ended = error, True
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
        "_published",
        "_segment",
        "_parts",
        "_chunks",
        "_reduced",
        "_step",
        "_ufunc",
        "_signature",
        "ended",
        "error",
    )

    def __init__(self, segment: SharedSegment, array: Any, op: str, published: int = 0) -> None:
        self._segment, self._array, self._ufunc = segment, array.reshape(-1), UFUNCS[op]
        self._divisor = array.dtype.type(segment.size) if op == "AVG" else None
        self._step = CHUNK // array.itemsize
        self._chunks = max(1, -(-array.size // self._step))  # of an empty array one, so that counters agree
        self._signature = _signature(array.dtype, op, array.nbytes)
        self._at = published - 1  # chunks of exchanges before this one
        self._published, self._reduced, self._gathered = int(published > 0), 0, 0
        self.ended = False
        self.error: Exception | None = None

    def Test(self) -> bool:
        """Make progress without blocking; whether it is done."""
        if not self.ended:
            self._segment.advance()
        if self.error is not None:
            raise self.error
        return self.ended

    def advance(self) -> bool:
        """Publish chunks, reduce, and gather; whether all is done."""
        segment = self._segment
        mine, others = segment.mine, segment.others
        if self._published == 0:
            self._at = segment.count
        while self._gathered < self._chunks:
            before = self._published + self._reduced + self._gathered
            at = self._at + self._gathered + 1
            if self._gathered < self._reduced and have_come(others, REDUCED, at):
                self._gather(self._gathered)
                self._gathered += 1
                mine[ENDED] = at
            at = self._at + self._reduced + 1
            if self._reduced < self._published and self._all_published(at):
                self._reduce(self._reduced)
                self._reduced += 1
                mine[REDUCED] = at
            at = self._at + self._published + 1
            if self._published < self._chunks and self._published < self._gathered + 2 and have_come(others, ENDED, at - SLOTS):
                self._publish(self._published)
                self._published += 1
                mine[at % SLOTS] = (at & NUMBERS) << 32 | self._signature
                segment.count = at
            if before == self._published + self._reduced + self._gathered:
                return False
        self.ended = True
        return True

    def _all_published(self, at: int) -> bool:
        """Whether all processes have published a chunk; raises where signatures differ."""
        number, slot = at & NUMBERS, at % SLOTS
        for each in self._segment.others:
            found = each[slot]
            if found >> 32 != number:
                return False
            if found & 0xFFFFFFFF != self._signature:
                raise RuntimeError(DIFFER)
        return True

    def _views(self, number: int) -> tuple[Any, list[Any]]:
        """A chunk of the array, and its slots in the segments of all processes."""
        chunk = self._array[number * self._step : (number + 1) * self._step]
        slots = self._segment.slots[(self._at + number + 1) % SLOTS]
        return chunk, [each[: chunk.nbytes].view(chunk.dtype) for each in slots]

    def _share(self, length: int, rank: int) -> slice:
        """The part of a chunk that a process reduces."""
        return slice(length * rank // self._segment.size, length * (rank + 1) // self._segment.size)

    def _publish(self, number: int) -> None:
        chunk, slots = self._views(number)
        own = slots[self._segment.rank]
        if self._array.nbytes <= self._segment.whole:
            own[...] = chunk
            return
        share = self._share(chunk.size, self._segment.rank)  # no other process needs it
        own[: share.start], own[share.stop :] = chunk[: share.start], chunk[share.stop :]

    def _reduce(self, number: int) -> None:
        chunk, slots = self._views(number)
        rank, size = self._segment.rank, self._segment.size
        if self._array.nbytes <= self._segment.whole:  # in the same order on all processes, so that results are bitwise equal
            self._ufunc(slots[0], slots[1], chunk)
            for each in slots[2:]:
                self._ufunc(chunk, each, chunk)
            if self._divisor is not None:
                np.divide(chunk, self._divisor, chunk)
            return
        share = self._share(chunk.size, rank)
        part = chunk[share]
        for other in range(1, size):
            self._ufunc(part, slots[(rank + other) % size][share], part)
        if self._divisor is not None:
            np.divide(part, self._divisor, part)
        slots[rank][share] = part

    def _gather(self, number: int) -> None:
        if self._array.nbytes <= self._segment.whole:
            return
        chunk, slots = self._views(number)
        rank, size = self._segment.rank, self._segment.size
        for other in range(1, size):
            share = self._share(chunk.size, (rank + other) % size)
            chunk[share] = slots[(rank + other) % size][share]


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

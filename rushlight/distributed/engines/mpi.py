"""The engine of MPI, by mpi4py: every exchange is one nonblocking MPI call on arrays in host memory.

Nonblocking, because a blocking one could not be abandoned at its timeout.  Reductions of dtypes that MPI does not know (the 16-bit floats, where
libraries differ, and the 8-bit ones) are operators of our own, which compute in the dtype's own arithmetic.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...core.errors import NotSupported
from .shared import SharedSegment, shared_segment

SETTINGS = {
    # a process that waits gives its core to others at once: processes may be more than cores
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "0"
}
NO_MPI = (
    "mpi4py is not installed, which process groups of several processes need: pip install 'rushlight[mpi]' brings it with an MPI, "
    "and `rushlight launch -n 2 train.py` starts the processes"
)


def load() -> Any:
    """``mpi4py.MPI``, initialized; raises one clear sentence where it isn't there."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import mpi4py
    except ImportError as error:
        raise NotSupported(NO_MPI) from error
    if not hasattr(mpi4py, "MPI"):
        mpi4py.rc.finalize = False  # ``watch`` does it: where a process has failed, MPI's own end would wait for it for ever
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise NotSupported(
            f"mpi4py is installed, but no MPI library can be loaded ({error}): pip install mpich brings one, or load your cluster's MPI module"
        ) from error
    return MPI


def unlink_files() -> None:
    """Unlink shared-memory files that all processes of the machine have opened: else they leak when one is killed."""
    try:
        with open("/proc/self/maps", encoding="utf8", errors="replace") as file:
            found = {line.split(None, 5)[5].strip() for line in file if "/dev/shm/mpich_shm_" in line}
    except OSError:
        return
    for each in found:
        with contextlib.suppress(OSError):  # another process has done it
            os.unlink(each)


def is_running() -> bool:
    """Whether MPI has been initialized in this process."""
    return "mpi4py.MPI" in sys.modules


def is_installed() -> bool:
    """Whether mpi4py can be imported."""
    return find_spec("mpi4py") is not None


PIECE = 16 << 20  # chunk size of an all-reduce in bytes
_LOGICAL = {"SUM": "LOR", "MAX": "LOR", "BOR": "LOR", "PROD": "LAND", "MIN": "LAND", "BAND": "LAND", "BXOR": "LXOR"}
_UFUNCS: dict[str, Any] = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum}


class MpiEngine:
    """Exchange by MPI on one communicator."""

    name = "mpi"

    def __init__(self, mpi: Any, communicator: Any, segment: SharedSegment | None = None) -> None:
        self.mpi, self.communicator, self.segment = mpi, communicator, segment
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self._plain_sums = {np.dtype(each): _type_and_operator(mpi, np.dtype(each), "SUM")[0] for each in ("f4", "f8", "i4", "i8")}
        self._in_place, self._start_sum, self._sum = mpi.IN_PLACE, communicator.Iallreduce, mpi.SUM

    # -- buffers -------------------------------------------------------------------------------------------------

    def _reducible(self, array: Any, op: str) -> tuple[Any, Any, Any]:
        """An array's memory, its MPI type, and the MPI operator for a reduction."""
        return _plain(array), *_type_and_operator(self.mpi, array.dtype, op)

    def _counted(self, array: Any, counts: Sequence[int]) -> list[Any]:
        """An array in parts: memory, lengths, offsets and type, in bytes."""
        width = array.itemsize
        lengths = [each * width for each in counts]
        return [_plain(array).view(np.uint8), lengths, np.concatenate(([0], np.cumsum(lengths)[:-1])).tolist(), self.mpi.BYTE]

    def _bytes(self, array: Any) -> list[Any]:
        return [_plain(array), array.nbytes, self.mpi.BYTE]

    # -- exchange ------------------------------------------------------------------------------------------------

    def all_reduce(self, array: Any, op: str) -> Any:
        """Reduce an array over all processes, in place; a large one piece by piece, so that MPI's buffers stay in the caches."""
        if self.segment is not None:
            return self.segment.begin(array, op)
        if array.nbytes > PIECE:
            flat, length = array.reshape(-1), PIECE // array.itemsize
            return _Pieces([flat[at : at + length] for at in range(0, flat.size, length)], lambda piece: self._all_reduce(piece, op))
        return self._all_reduce(array, op)

    def _all_reduce(self, array: Any, op: str) -> Any:
        if op == "SUM" and array.dtype in self._plain_sums:
            return self._start_sum(self._in_place, [array, self._plain_sums[array.dtype]], self._sum)
        memory, kind, operator = self._reducible(array, op)
        return self.communicator.Iallreduce(self.mpi.IN_PLACE, [memory, kind], operator)

    def reduce(self, array: Any, op: str, root: int) -> Any:
        """Reduce an array to one process, in place there."""
        memory, kind, operator = self._reducible(array, op)
        if self.rank == root:
            return self.communicator.Ireduce(self.mpi.IN_PLACE, [memory, kind], operator, root)
        return self.communicator.Ireduce([memory, kind], None, operator, root)

    def broadcast(self, array: Any, root: int) -> Any:
        """Copy an array of one process to all."""
        return self.communicator.Ibcast(self._bytes(array), root)

    def all_gather(self, out: Any, array: Any, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays concatenated in ``out``."""
        if counts is None:
            return self.communicator.Iallgather(self._bytes(array), [_plain(out), array.nbytes, self.mpi.BYTE])
        return self.communicator.Iallgatherv(self._bytes(array), self._counted(out, counts))

    def gather(self, out: Any, array: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays in one process's ``out``."""
        if self.rank != root:
            into = None
        elif counts is None:
            into = [_plain(out), array.nbytes, self.mpi.BYTE]
        else:
            into = self._counted(out, counts)
        if counts is None:
            return self.communicator.Igather(self._bytes(array), into, root)
        return self.communicator.Igatherv(self._bytes(array), into, root)

    def scatter(self, array: Any, source: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """A part of one process's ``source`` for each."""
        given = [_plain(source), array.nbytes, self.mpi.BYTE] if self.rank == root else None
        return self.communicator.Iscatter(given, self._bytes(array), root)

    def reduce_scatter(self, out: Any, array: Any, op: str, counts: Sequence[int] | None = None) -> Any:
        """Reduce an array; each process gets its part."""
        memory, kind, operator = self._reducible(array, op)
        if counts is None:
            return self.communicator.Ireduce_scatter_block([memory, kind], [_plain(out), kind], operator)
        return self.communicator.Ireduce_scatter([memory, kind], [_plain(out), kind], list(counts), operator)

    def all_to_all(self, out: Any, array: Any, out_counts: Sequence[int], in_counts: Sequence[int]) -> Any:
        """A part of the array for each process, and one from each."""
        sent = np.array(in_counts, np.int64)
        announced = np.empty_like(sent)
        counts = self.communicator.Ialltoall(sent, announced)
        parts = self.communicator.Ialltoallv(self._counted(array, in_counts), self._counted(out, out_counts))
        return _Exchange(counts, parts, sent, announced, out_counts)

    def send(self, array: Any, to: int, tag: int) -> Any:
        """Send an array to a process."""
        return self.communicator.Isend(self._bytes(array), to, tag)

    def receive(self, array: Any, source: int | None, tag: int) -> Any:
        """Receive an array from a process, or from any."""
        request = self.communicator.Irecv(self._bytes(array), self.mpi.ANY_SOURCE if source is None else source, tag)
        return _Receiving(self.mpi, request, array.nbytes)

    def barrier(self) -> Any:
        """Wait for the others."""
        return self.communicator.Ibarrier()

    def roll_call(self, seconds: float, ranks: Sequence[int] | None = None) -> list[int]:
        """A barrier of some processes, which all call it; those that have not arrived in time, as the first of them saw it.

        The first waits for a message from each of the others, and then sends them who was missing.
        """
        ranks = range(self.size) if ranks is None else ranks
        first, tag, end = ranks[0], _ROLL_CALL + _tag(ranks), time.monotonic() + seconds
        if self.rank != first:
            answer = np.zeros(64, np.int64)
            word = self.communicator.Isend([np.ones(1, np.int64), self.mpi.INT64_T], first, tag)
            heard = self.communicator.Irecv([answer, self.mpi.INT64_T], first, tag)
            if not _until(lambda: word.Test() and heard.Test(), end + 2):
                return [first]
            return [int(each) for each in answer[1 : 1 + answer[0]]]
        others = [each for each in ranks if each != first]
        words = [self.communicator.Irecv([np.zeros(1, np.int64), self.mpi.INT64_T], each, tag) for each in others]
        come: set[int] = set()

        def all_have() -> bool:
            come.update(rank for rank, word in zip(others, words) if rank not in come and word.Test())
            return len(come) == len(others)

        _until(all_have, end)
        absent = [each for each in others if each not in come]
        answer = np.zeros(64, np.int64)
        answer[0] = min(len(absent), 63)
        answer[1 : 1 + answer[0]] = absent[:63]
        sent = [self.communicator.Isend([answer, self.mpi.INT64_T], each, tag) for each in come]
        _until(lambda: all(each.Test() for each in sent), time.monotonic() + 2)
        return absent

    def part(self, ranks: Sequence[int]) -> MpiEngine | None:
        """The engine of some of the processes, which alone call it; None in the others."""
        group = self.communicator.Get_group().Incl(list(ranks))
        try:
            made = self.communicator.Create_group(group, _tag(ranks))
        finally:
            group.Free()
        return None if made == self.mpi.COMM_NULL else MpiEngine(self.mpi, made, shared_segment(self.mpi, made))

    def close(self) -> None:
        """Free the communicator."""
        if not self.mpi.Is_finalized():
            if self.segment is not None:
                self.segment.close()
            self.communicator.Free()


_ROLL_CALL = 31000  # tags above those of groups that are being made


def _until(done: Callable[[], bool], end: float) -> bool:
    """Poll until something is done; False where it is not by a deadline."""
    turns = 0
    while not done():
        turns += 1
        if turns > 100:
            if time.monotonic() > end:
                return False
            time.sleep(2e-4)
    return True


class _Pieces:
    """The request of a chunked operation: a chunk begins when the one before has completed."""

    def __init__(self, pieces: list[Any], begin: Callable[[Any], Any]) -> None:
        self._left, self._begin = pieces[::-1], begin
        self._request = begin(self._left.pop())

    def Test(self) -> bool:
        """Whether all pieces are there."""
        while self._request.Test():
            if not self._left:
                return True
            self._request = self._begin(self._left.pop())
        return False


class _Exchange:
    """The requests of an exchange of parts, and of their sizes: parts of other sizes than a process expects are refused, which MPI would cut or leave out."""

    def __init__(self, counts: Any, parts: Any, sent: Any, announced: Any, expected: Sequence[int]) -> None:
        self._counts, self._parts, self._sent, self._announced, self._expected = counts, parts, sent, announced, list(expected)

    def Test(self) -> bool:
        """Whether all parts are there."""
        if self._counts is not None and self._counts.Test():
            self._counts = None
            for rank, (size, wanted) in enumerate(zip(self._announced.tolist(), self._expected)):
                if size != wanted:
                    raise RuntimeError(f"rank {rank} of the group sends {size} elements, and {wanted} are expected from it")
        return bool(self._parts.Test()) and self._counts is None


class _Receiving:
    """The request of a receive: records the sender, and refuses a message of another length."""

    def __init__(self, mpi: Any, request: Any, length: int) -> None:
        self._request, self._status, self._length, self._mpi = request, mpi.Status(), length, mpi
        self.source = -1

    def Test(self) -> bool:
        """Whether the message is there."""
        if not self._request.Test(self._status):
            return False
        self.source = self._status.Get_source()
        if self._status.Get_count(self._mpi.BYTE) != self._length:
            raise RuntimeError(
                f"the message from rank {self.source} has {self._status.Get_count(self._mpi.BYTE)} bytes, the tensor {self._length}"
            )
        return True


def _tag(ranks: Sequence[int]) -> int:
    """A tag for creating a group: groups that are created concurrently don't collide."""
    return functools.reduce(lambda tag, rank: (tag * 31 + rank + 1) % 30011, ranks, 7)


def _plain(array: Any) -> Any:
    """An array as NumPy's own numbers: the memory of dtypes that the buffer protocol does not know."""
    return array if _known(array.dtype) else array.reshape(-1).view(np.uint8)


def _known(dtype: Any) -> bool:
    """Whether MPI has arithmetic for a dtype: NumPy's own numbers, without the 16-bit float."""
    return dtype.isbuiltin == 1 and dtype.kind in "iufc" and dtype.char != "e"


@functools.cache
def _type_and_operator(mpi: Any, dtype: Any, op: str) -> tuple[Any, Any]:
    """MPI's type and operator for a reduction of arrays of a dtype."""
    if dtype.kind == "b":
        return mpi.C_BOOL, getattr(mpi, _LOGICAL[op])
    if _known(dtype):
        return mpi.Datatype.fromcode(dtype.char), getattr(mpi, op)
    kind = mpi.BYTE.Create_contiguous(dtype.itemsize).Commit()
    return kind, mpi.Op.Create(_operator(dtype, _UFUNCS[op]), commute=True)


def _operator(dtype: Any, ufunc: Any) -> Callable[[Any, Any, Any], None]:
    """What MPI calls to reduce a part of two arrays into the second."""

    def combine(one: Any, other: Any, kind: Any) -> None:
        into = np.frombuffer(other, dtype)
        ufunc(np.frombuffer(one, dtype), into, out=into)

    return combine

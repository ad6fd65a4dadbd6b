"""The engine of NCCL, by CuPy's binding: exchange of arrays between GPUs, one GPU a process.

Collectives run on a side stream, which waits for the current stream; a request's ``Test`` queries the event at their end.  NCCL
has reductions and moves whole arrays; gathers, scatters and exchanges of parts are sends and receives in one NCCL group.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np

_DTYPES = {
    "int8": "INT8", "uint8": "UINT8", "int32": "INT32", "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64", "float16": "FLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64",
}  # fmt: skip
_BFLOAT16 = 9  # ncclBfloat16, which older bindings have no name for
_REDUCTIONS = {"SUM": "SUM", "PROD": "PROD", "MIN": "MIN", "MAX": "MAX"}
_OF_BOOLS = {"SUM": "MAX", "MAX": "MAX", "BOR": "MAX", "PROD": "MIN", "MIN": "MIN", "BAND": "MIN"}


def is_available() -> bool:
    """Whether CuPy is installed with NCCL, and there is a GPU."""
    if find_spec("cupy") is None:
        return False
    try:
        import cupy.cuda.nccl  # no part of cupy.cuda until it is asked for

        return bool(cupy.cuda.runtime.getDeviceCount()) and bool(getattr(cupy.cuda.nccl, "available", False))
    except (ImportError, RuntimeError):  # no library of NCCL; no driver, of which CuPy's error is a RuntimeError
        return False


def make(group: Any, device: int) -> NcclEngine:
    """The engine of a group's GPUs: the first process creates the NCCL id, and the group's own engine broadcasts it."""
    if not is_available():
        raise RuntimeError(
            "Distributed package doesn't have NCCL built in: CUDA tensors need CuPy with NCCL (pip install 'rushlight[cuda]')"
        )
    import cupy

    number, plain = np.zeros(128, np.uint8), np.zeros(1, np.uint8)
    if group.rank() == 0:
        drawn = cupy.cuda.nccl.get_unique_id()  # bytes, or, of older bindings, a tuple of signed numbers
        number[:] = np.frombuffer(drawn, np.uint8) if isinstance(drawn, bytes) else np.array(drawn, np.int64).astype(np.uint8)
        plain[0] = isinstance(drawn, bytes)
    group._exchange_bytes(number)
    group._exchange_bytes(plain)
    given: Any = number.tobytes() if plain[0] else tuple(number.astype(np.int8).tolist())
    return NcclEngine(cupy, group.size(), group.rank(), given, device)


class _Event:
    """The request of an exchange on a GPU: it has ended when the event on its stream has."""

    def __init__(self, event: Any, kept: Any) -> None:
        self._event, self._kept = event, kept  # the arrays live until the exchange has ended
        self.source = -1

    def Test(self) -> bool:
        """Whether the exchange has ended."""
        if not self._event.done:
            return False
        self._kept = None
        return True


class NcclEngine:
    """Exchange by NCCL; the methods are those of every engine (``alone.py``)."""

    name = "nccl"
    segment = None  # NCCL shares memory itself

    def __init__(self, cupy: Any, size: int, rank: int, number: bytes | tuple[int, ...], device: int = 0) -> None:
        self._cupy, self._nccl = cupy, cupy.cuda.nccl
        self.size, self.rank, self._device = size, rank, device
        with cupy.cuda.Device(device):
            self._communicator = self._nccl.NcclCommunicator(size, number, rank)
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def _type(self, array: Any) -> tuple[int, int]:
        """NCCL's type for an array, and how many of it the array is."""
        name = str(array.dtype)
        if name == "bool":
            return self._nccl.NCCL_UINT8, array.size
        if name == "bfloat16":
            return getattr(self._nccl, "NCCL_BFLOAT16", _BFLOAT16), array.size
        if name in ("complex64", "complex128"):
            return (self._nccl.NCCL_FLOAT32 if name == "complex64" else self._nccl.NCCL_FLOAT64), array.size * 2
        if name in _DTYPES:
            return getattr(self._nccl, f"NCCL_{_DTYPES[name]}"), array.size
        raise ValueError(f"NCCL has no reductions of {name}: convert the tensor, or exchange it in host memory")

    def _operator(self, array: Any, op: str) -> int:
        names = _OF_BOOLS if str(array.dtype) == "bool" else _REDUCTIONS
        if op not in names:
            raise ValueError(f"Cannot use ReduceOp.{op.upper()} with NCCL")
        return int(getattr(self._nccl, f"NCCL_{names[op]}"))

    def _run(self, start: Any, *arrays: Any) -> _Event:
        """Launch on the side stream, which waits for the current stream."""
        with self._cupy.cuda.Device(self._device):
            ready = self._cupy.cuda.get_current_stream().record()
            self._stream.wait_event(ready)
            start(self._stream.ptr)
            return _Event(self._stream.record(), arrays)

    def _group(self, start: Any, *arrays: Any) -> _Event:
        """Launch sends and receives as one NCCL group."""

        def together(stream: int) -> None:
            self._nccl.groupStart()
            try:
                start(stream)
            finally:
                self._nccl.groupEnd()

        return self._run(together, *arrays)

    def _move(self, method: Any, array: Any, start: int, count: int, other: int, stream: int) -> None:
        """Send or receive a part of an array, as bytes."""
        if count:
            method(array.data.ptr + start * array.itemsize, count * array.itemsize, self._nccl.NCCL_UINT8, other, stream)

    def all_reduce(self, array: Any, op: str) -> Any:
        """Reduce an array over all processes, in place."""
        (kind, count), operator, at = self._type(array), self._operator(array, op), array.data.ptr
        return self._run(lambda stream: self._communicator.allReduce(at, at, count, kind, operator, stream), array)

    def reduce(self, array: Any, op: str, root: int) -> Any:
        """Reduce an array to one process, in place there."""
        (kind, count), operator, at = self._type(array), self._operator(array, op), array.data.ptr
        return self._run(lambda stream: self._communicator.reduce(at, at, count, kind, operator, root, stream), array)

    def broadcast(self, array: Any, root: int) -> Any:
        """Copy an array of one process to all."""
        at, count = array.data.ptr, array.nbytes
        return self._run(lambda stream: self._communicator.broadcast(at, at, count, self._nccl.NCCL_UINT8, root, stream), array)

    def all_gather(self, out: Any, array: Any, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays concatenated in ``out``."""
        if counts is None:
            return self._run(
                lambda stream: self._communicator.allGather(array.data.ptr, out.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, stream),
                out,
                array,
            )
        return self.all_to_all(out, array, counts, [array.size] * self.size, spread=False)

    def gather(self, out: Any, array: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """All processes' arrays in one process's ``out``."""
        lengths = list(counts) if counts is not None else [array.size] * self.size

        def start(stream: int) -> None:
            self._move(self._communicator.send, array, 0, array.size, root, stream)
            if self.rank == root:
                for other, at in enumerate(accumulate([0, *lengths[:-1]])):
                    self._move(self._communicator.recv, out, at, lengths[other], other, stream)

        return self._group(start, out, array)

    def scatter(self, array: Any, source: Any, root: int, counts: Sequence[int] | None = None) -> Any:
        """A part of one process's ``source`` for each."""

        def start(stream: int) -> None:
            if self.rank == root:
                for other in range(self.size):
                    self._move(self._communicator.send, source, other * array.size, array.size, other, stream)
            self._move(self._communicator.recv, array, 0, array.size, root, stream)

        return self._group(start, array, source)

    def reduce_scatter(self, out: Any, array: Any, op: str, counts: Sequence[int] | None = None) -> Any:
        """Reduce an array; each process gets its part."""
        (kind, count), operator = self._type(out), self._operator(array, op)
        if counts is None:
            return self._run(
                lambda stream: self._communicator.reduceScatter(array.data.ptr, out.data.ptr, count, kind, operator, stream), out, array
            )
        width = count // out.size if out.size else 1

        def start(stream: int) -> None:
            for other, at in enumerate(accumulate([0, *counts[:-1]])):
                begin = array.data.ptr + at * array.itemsize
                self._communicator.reduce(begin, out.data.ptr, counts[other] * width, kind, operator, other, stream)

        return self._group(start, out, array)

    def all_to_all(self, out: Any, array: Any, out_counts: Sequence[int], in_counts: Sequence[int], spread: bool = True) -> Any:
        """A part of the array for each process (the same for all where not ``spread``), and one from each."""
        begins = list(accumulate([0, *in_counts[:-1]])) if spread else [0] * self.size

        def start(stream: int) -> None:
            for other, at in enumerate(accumulate([0, *out_counts[:-1]])):
                self._move(self._communicator.send, array, begins[other], in_counts[other], other, stream)
                self._move(self._communicator.recv, out, at, out_counts[other], other, stream)

        return self._group(start, out, array)

    def send(self, array: Any, to: int, tag: int) -> Any:
        """Send an array to a process; NCCL has no tags, messages come in order."""
        return self._run(lambda stream: self._move(self._communicator.send, array, 0, array.size, to, stream), array)

    def receive(self, array: Any, source: int | None, tag: int) -> Any:
        """Receive an array from a process."""
        if source is None:
            raise ValueError("recv without a source: NCCL receives from a process that is named (src=...)")
        return self._run(lambda stream: self._move(self._communicator.recv, array, 0, array.size, source, stream), array)

    def barrier(self) -> Any:
        """Wait for the others."""
        with self._cupy.cuda.Device(self._device):
            return self.all_reduce(self._cupy.zeros(1, np.int32), "SUM")

    def close(self) -> None:
        """Destroy the communicator."""
        self._communicator.destroy()

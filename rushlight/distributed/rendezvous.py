"""Rendezvous: rank and world size, from arguments, from variables that launchers set, and from MPI.

``rushlight launch`` and ``torchrun`` set RANK and WORLD_SIZE; ``mpiexec`` and ``srun`` set variables of their own.  Where a launcher of MPI has
started several processes, MPI's word counts, and everything else must agree with it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import parent_process
from typing import Any, NamedTuple

from ..core.errors import NotSupported
from .adoption import companions
from .engines import mpi
from .stores import FileStore, Store
from .tcp_store import TCPStore

_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_LOCAL = ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


class Place(NamedTuple):
    """A process among others: how many there are, its number, and whether MPI connects them."""

    size: int
    rank: int
    by_mpi: bool
    adopted: str | None = None  # a child of a program that starts its processes itself: where they meet


def _first(names: tuple[str, ...]) -> int | None:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def launched_by_mpi() -> bool:
    """Whether a launcher of MPI has started this process."""
    return _first(_RANKS) is not None


def launched_size() -> int | None:
    """How many processes the launcher says there are; None where it doesn't say."""
    found = _first(_SIZES)
    if found is None and "SLURM_STEP_ID" in os.environ and os.environ.get("SLURM_NTASKS", "").isdigit():
        return int(os.environ["SLURM_NTASKS"])  # in a step of srun; a batch script itself is one process
    return found


def launched_rank() -> int | None:
    """The rank that the launcher has assigned to this process."""
    found = _first(_RANKS)
    if found is None and "SLURM_STEP_ID" in os.environ:
        return _first(("SLURM_PROCID",))
    return found


def local_rank() -> int | None:
    """The local rank of this process, if a launcher has set it."""
    return _first(_LOCAL)


def find(init_method: str, world_size: int, rank: int) -> Place:
    """World size and rank, from the arguments, from where the address says, or from the launcher."""
    kind, _, rest = init_method.partition("://")
    if kind not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {kind}://")
    query = dict(part.partition("=")[::2] for part in rest.partition("?")[2].split("&") if "=" in part)
    world_size, rank = int(query.get("world_size", world_size)), int(query.get("rank", rank))
    if (world_size, rank) == (1, 0):
        return Place(1, 0, False)  # asked for in so many words, whatever the launcher says
    for variable, given in (("WORLD_SIZE", world_size), ("RANK", rank)) if kind == "env" else ():
        text = os.environ.get(variable)
        if given == -1 and text is not None:
            if not text.isdigit():
                raise ValueError(f"the environment variable {variable} must be a number, and is {text!r}")
            world_size, rank = (int(text), rank) if variable == "WORLD_SIZE" else (world_size, int(text))
    if launched_by_mpi() or (launched_size() or 1) > 1:
        return _launched(world_size, rank)
    _complete(kind, world_size, rank)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in a group of {world_size} process{'' if world_size == 1 else 'es'}")
    if world_size > 1 and parent_process() is not None and hasattr(socket, "send_fds"):
        return Place(world_size, rank, True, f"{os.getppid()} {init_method} {os.environ.get('MASTER_PORT')}")
    port, address = os.environ.get("MASTER_PORT"), f"{os.environ.get('MASTER_ADDR')} {os.environ.get('MASTER_PORT')}"
    if world_size > 1 and kind == "env" and port is not None and companions(port, rank, address):
        if mpi.is_running():
            raise NotSupported(
                f"a process group of {world_size} processes, in one that has imported mpi4py.MPI before, alone: MPI can't be started a second time; "
                f"`rushlight launch -n {world_size} program.py` starts the processes so that it need not be"
            )
        return Place(world_size, rank, True, address)
    if world_size > 1:
        raise NotSupported(
            f"a process group of {world_size} processes, but no launcher of MPI has started this one: start the program with "
            f"`rushlight launch -n {world_size} program.py`, `mpiexec -n {world_size} python program.py` or srun"
        )
    return Place(1, 0, False)


def _complete(kind: str, world_size: int, rank: int) -> None:
    """Raise, in PyTorch's words, where a number is missing."""
    hint = " (`rushlight launch -n 2 program.py` starts processes with all of them set)"
    for value, variable, word in ((rank, "RANK", "rank parameter"), (world_size, "WORLD_SIZE", "world size parameter")):
        if value == -1:
            raise _incomplete(kind, f"environment variable {variable} expected, but not set{hint}" if kind == "env" else word)


def _incomplete(kind: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {kind}:// rendezvous: {what}{'' if kind == 'env' else ' missing'}")


def _launched(world_size: int, rank: int) -> Place:
    """The place of a process that a launcher has started: the launcher's numbers, which the others must fit."""
    size, number = launched_size(), launched_rank()
    if size is not None and world_size not in (-1, size):
        raise ValueError(
            f"WORLD_SIZE is {world_size}, but the launcher has started {size} process{'' if size == 1 else 'es'}: they must be the same"
        )
    size = size if size is not None else world_size
    if rank != -1 and size != -1 and not 0 <= rank < size:
        raise ValueError(f"rank {rank} is not in a group of {size} processes")
    return Place(size, rank if rank != -1 else number or 0, size != 1)


@contextmanager
def deadline(seconds: float, sentence: str) -> Iterator[None]:
    """End the process with a sentence if what is inside, a call that can't be left, takes longer.

    A child does it, and no thread: MPI starts inside of an import, which lets no other thread run.
    """
    guard = subprocess.Popen([sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), str(seconds), sentence], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        guard.kill()
        guard.wait()


_GUARD = """\
import os, sys, time
parent, seconds, sentence = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
end = time.monotonic() + seconds
while time.monotonic() < end:
    time.sleep(min(1, max(0, end - time.monotonic())))
    if os.getppid() != parent:
        sys.exit()
print(sentence, file=sys.stderr, flush=True)
os.kill(parent, 9)
"""


def communicator(library: Any, place: Place) -> Any:
    """A communicator of all processes, in the order of their ranks."""
    everyone = library.COMM_WORLD
    size = everyone.Get_size()
    if size == 1 and place.size != 1:
        raise RuntimeError(
            f"the launcher has started {place.size} processes, but MPI sees each of them alone: mpi4py's MPI is not the launcher's "
            "(use the mpiexec of the same MPI; with Slurm srun --mpi=pmi2 or --mpi=pmix)"
        )
    if place.size not in (-1, size):
        raise ValueError(f"WORLD_SIZE is {place.size}, but MPI has {size} processes: they must be the same")
    return everyone.Split(0, place.rank)


_handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]) -> None:
    """Let a function answer ``rendezvous`` for a scheme of its own."""
    if scheme in _handlers or scheme in ("env", "tcp", "file"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Iterator[tuple[Store, int, int]]:
    """A store that the processes of an address share, the rank of this process, and how many there are."""
    kind, _, rest = url.partition("://")
    if kind in _handlers:
        return _handlers[kind](url, rank=rank, world_size=world_size, **options)
    if kind not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {kind}://")
    address, _, asked = rest.partition("?")
    query = dict(part.partition("=")[::2] for part in asked.split("&") if "=" in part)
    if (rank != -1 and "rank" in query) or (world_size != -1 and "world_size" in query):
        raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
    return _shared_store(kind, address, query, rank, world_size, options)


def _shared_store(
    kind: str, address: str, query: dict[str, str], rank: int, world_size: int, options: dict[str, Any]
) -> Iterator[tuple[Store, int, int]]:
    fallback = os.environ if kind == "env" else {}
    rank = int(query.get("rank", rank if rank != -1 else fallback.get("RANK", -1)))
    world_size = int(query.get("world_size", world_size if world_size != -1 else fallback.get("WORLD_SIZE", -1)))
    host, _, port = address.partition(":") if kind == "tcp" else (fallback.get("MASTER_ADDR", ""), "", fallback.get("MASTER_PORT", ""))
    if kind == "file" and not address:
        raise _incomplete(kind, "path")
    if kind == "tcp" and not port:
        raise _incomplete(kind, "port number")
    _complete(kind, world_size, rank)
    limit = options.get("timeout", timedelta(minutes=5))
    if kind == "file":
        yield FileStore(address, world_size), rank, world_size
        return
    if kind == "env" and not (host and port):
        raise _incomplete(kind, f"environment variable {'MASTER_PORT' if host else 'MASTER_ADDR'} expected, but not set")
    by_libuv = query.get("use_libuv", os.environ.get("USE_LIBUV", "1")) == "1"
    yield (
        TCPStore(host, int(port), world_size, rank == 0, limit, wait_for_workers=False, multi_tenant=True, use_libuv=by_libuv),
        rank,
        world_size,
    )

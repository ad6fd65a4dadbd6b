"""The forwarder, which MPI's launcher starts instead of each process: it starts the process itself, and forwards its output and signals.

It needs nothing but Python, sets the variables that ``torchrun`` sets, and outlives its child: so a process that dies is reported with its status
and its last words, and the others have time to say what they were doing before MPI's launcher ends them.  Output goes to the launcher
of rushlight as frames through a named pipe, if it is on this machine, and else to stdout and stderr with the rank in front of each line.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any

FRAME = struct.Struct("<iBH")  # rank, kind, length
STDOUT, STDERR, STARTED, ENDED, LEFT = range(5)
_LONGEST = 4096 - FRAME.size  # writes to a pipe up to this size are atomic


def mark_of(rank: int | str) -> str | None:
    """The file that a process has while MPI runs in it: one that ends without removing it has left the others in the middle of the program."""
    pipe = os.environ.get("RUSHLIGHT_PIPE")
    return None if pipe is None or not os.path.exists(pipe) else f"{pipe}.mpi.{rank}"


def number(*names: str) -> int | None:
    """The first of some variables that is set, as a number."""
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def variables() -> dict[str, str]:
    """What ``torchrun`` sets, from what MPI's launcher says."""
    rank = number("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID") or 0
    size = number("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "RUSHLIGHT_PROCESSES") or 1
    local = number("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
    local_size = number("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE") or size
    local = rank % local_size if local is None else local
    machines = max(1, size // local_size)
    found = {
        "RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": local_size, "GROUP_RANK": rank // local_size, "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": size, "GROUP_WORLD_SIZE": machines, "ROLE_NAME": "default",
    }  # fmt: skip
    if "OMP_NUM_THREADS" not in os.environ:  # processes of a machine share its cores
        found["OMP_NUM_THREADS"] = max(
            1, len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) // local_size
        )
    return {name: str(value) for name, value in found.items()}


def set_place(environment: Any) -> None:
    """Set what ``torchrun`` sets, in a process that another launcher has started; what is set already stays.

    Threads are left to that launcher, which has given each process its cores.
    """
    found = {name: value for name, value in variables().items() if name != "OMP_NUM_THREADS"}
    alone = found["LOCAL_WORLD_SIZE"] == found["WORLD_SIZE"]
    found["MASTER_ADDR"] = "127.0.0.1" if alone else environment.get("SLURM_LAUNCH_NODE_IPADDR", "")
    found["MASTER_PORT"] = "29500"
    for name, value in found.items():
        if value:
            environment.setdefault(name, value)


def bind(rank: int, size: int, topology: str = "/sys/devices/system/cpu") -> None:
    """Pin this process, and its child, to an equal share of the machine's CPUs; nothing where there are fewer than processes."""
    if hasattr(os, "sched_setaffinity"):
        chosen = share(sorted(os.sched_getaffinity(0)), rank, size, topology)
        if chosen:
            os.sched_setaffinity(0, chosen)


def share(processors: list[int], rank: int, size: int, topology: str) -> list[int]:
    """The CPUs of one of several processes: hardware threads of one core are adjacent, so that cores are not shared needlessly."""

    def core(processor: int) -> tuple[int, ...]:
        found = []
        for name in ("physical_package_id", "core_id"):
            try:
                with open(f"{topology}/cpu{processor}/topology/{name}", encoding="ascii") as file:
                    found.append(int(file.read()))
            except (OSError, ValueError):  # a system that does not say
                return (0, processor)
        return tuple(found)

    part = len(processors) // size
    return sorted(processors, key=lambda each: (core(each), each))[rank * part : (rank + 1) * part]


class Forwarder:
    """One process, and where its output goes."""

    def __init__(self, rank: int, pipe: str | None) -> None:
        self.rank = rank
        self.out: int | None = None
        if pipe is not None and os.path.exists(pipe):
            with contextlib.suppress(OSError):  # the launcher is gone, or on another machine
                self.out = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(self.out, True)

    def frame(self, kind: int, data: bytes) -> None:
        """Send data to the launcher."""
        if self.out is None:
            return
        with contextlib.suppress(BrokenPipeError):
            for start in range(0, max(1, len(data)), _LONGEST):
                part = data[start : start + _LONGEST]
                os.write(self.out, FRAME.pack(self.rank, kind, len(part)) + part)

    def copy(self, source: Any, kind: int) -> None:
        """Forward what the child writes until it has ended, and its own children have."""
        while data := os.read(source.fileno(), 1 << 16):
            if self.out is not None:
                self.frame(kind, data)
                continue
            while not data.endswith(b"\n") and (more := os.read(source.fileno(), 1 << 16)):
                data += more
            lines = b"".join(b"[%d] %s" % (self.rank, line) for line in data.splitlines(keepends=True))
            os.write(2 if kind == STDERR else 1, lines)


def _die_with_parent() -> None:
    """In the child: end when the forwarder is killed, which can't pass that on."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Start the process, forward, and return its status; after a failure not before the grace period is over."""
    os.environ.update(variables())
    if os.environ.get("RUSHLIGHT_BIND"):
        bind(int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
    forwarder = Forwarder(int(os.environ["RANK"]), os.environ.get("RUSHLIGHT_PIPE"))
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False,  # MPI's launcher is reached by an inherited descriptor
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )  # fmt: skip
    for each in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"):
        if hasattr(signal, each):
            signal.signal(getattr(signal, each), lambda number, frame: child.send_signal(number))
    forwarder.frame(STARTED, str(child.pid).encode())
    threads = [
        threading.Thread(target=forwarder.copy, args=(source, kind), daemon=True)
        for source, kind in ((child.stdout, STDOUT), (child.stderr, STDERR))
    ]
    for thread in threads:
        thread.start()
    status = child.wait()
    for thread in threads:
        thread.join(1)  # a grandchild may hold the pipe
    mark = mark_of(forwarder.rank)
    left = not status and mark is not None and os.path.exists(mark)
    if left:
        forwarder.frame(LEFT, b"")
    forwarder.frame(ENDED, str(status).encode())
    if status or left:
        time.sleep(float(os.environ.get("RUSHLIGHT_GRACE", "10")))
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""MPI for processes that MPI has not started: its launcher starts stand-ins, whose ranks they take over.

These are children of ``multiprocessing``, or processes that a program or a shell has started with RANK, WORLD_SIZE and MASTER_PORT in their environments.

MPI's launcher knows a process by a descriptor that it has inherited.  The first process starts the launcher with as many stand-ins as there are
processes; each waits on a socket in the file system for the process of its rank, and hands it the descriptor and the variables.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zlib

_kept: list[object] = []  # the connection to the stand-in, which ends when this process does


def companions(port: str, rank: int, about: str) -> bool:
    """Whether there are other processes of the same program: a child, the parent or a brother that was started with the same MASTER_PORT; or rank 0 has
    started the launcher.

    The processes of a program are started together: this waits for a short time.
    """
    if not hasattr(socket, "send_fds") or not os.path.isdir("/proc/self/task"):
        return False
    wanted, end = f"MASTER_PORT={port}".encode(), time.monotonic() + (5 if rank else 1)
    while time.monotonic() < end:
        if rank and os.path.exists(f"{meeting_place(about)}.{rank}"):
            return True
        for process in {os.getppid(), *_children(os.getpid()), *_children(os.getppid())} - {os.getpid()}:
            with contextlib.suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:  # it has ended, or is another user's
                if wanted in file.read().split(b"\0"):
                    return True
        time.sleep(0.05)
    return False


def _children(process: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def meeting_place(about: str) -> str:
    """The rendezvous folder of one group."""
    folder = os.path.join(tempfile.gettempdir(), f"rushlight-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise RuntimeError(f"the folder {folder} belongs to another user")
    return os.path.join(folder, str(zlib.crc32(about.encode())))


def adopt(launcher: str, size: int, rank: int, about: str, seconds: float) -> None:
    """Take over a rank of MPI's launcher, which the first process starts; raises where there is none in time."""
    place = meeting_place(about)
    if rank == 0:
        _kept.append(
            subprocess.Popen(
                [launcher, "-n", str(size), sys.executable, "-I", __file__, place],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # of stand-ins, and reports on them: where one process ends before another, they are not the user's
                start_new_session=True,
            )
        )
    end = time.monotonic() + seconds
    connection = socket.socket(socket.AF_UNIX)
    while True:
        try:
            connection.connect(f"{place}.{rank}")
            break
        except OSError as error:
            if time.monotonic() > end:
                raise RuntimeError(
                    f"init_process_group: rank 0 has not started MPI's launcher within {seconds:g} seconds (this is rank {rank})"
                ) from error
            time.sleep(0.02)
    data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 1)
    os.environ.update(json.loads(data))
    os.environ["PMI_FD"] = str(descriptors[0])
    _kept.append(connection)


def is_adopted() -> bool:
    """Whether this process has taken over a stand-in's rank."""
    return bool(_kept)


def stand_in(place: str) -> None:
    """Hand this stand-in's connection to the process of its rank, and exit with it."""
    path = f"{place}.{os.environ['PMI_RANK']}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        connection, _ = listening.accept()
    os.unlink(path)
    lent = {name: value for name, value in os.environ.items() if name.startswith(("PMI_", "MPI_")) and name != "PMI_FD"}
    socket.send_fds(connection, [json.dumps(lent).encode()], [int(os.environ["PMI_FD"])])
    connection.recv(1)  # nothing comes, until the process has ended


if __name__ == "__main__":
    stand_in(sys.argv[1])
